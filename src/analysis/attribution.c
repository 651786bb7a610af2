/* The order of questions: is the run valid, was the target frozen, is it the client's side, where does the held time lead, does anything
 * speak against it. */
#include "useprobe/attribution.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_internal.h"

const struct up_rules up_rules_default = {
	.explains_min = 0.3,
	.full_min = 0.9,
	.hold_max = 1.5,
	.clear_min = 2,
	.follow_hold = true,
	.onset_veto = true,
};

static const double late_max_ratio = 0.05;
static const double unexplained_max_ratio = 0.5;
static const double frozen_min_share = 0.5;
enum { BAD_TICKS_MIN = 2, EPISODES_MAX = 8 };

const char *up_bottleneck_verdict_name(enum up_bottleneck_verdict verdict)
{
	static const char *const names[] = { "resource", "generator", "outside", "frozen", "none", "unknown" };

	return names[verdict];
}

static void say_unknown(struct up_attribution *a, const char *reason)
{
	a->verdict = UP_BOTTLENECK_UNKNOWN;
	a->reason[0] = '\0';
	up_say(a->reason, sizeof(a->reason), "%s", reason);
}

static bool choose_subject(struct up_job *job, struct up_attribution *a)
{
	const char *target = job->in->target;

	job->n_subjects = up_subjects(job->in->recording, job->subject, UP_SUBJECTS_MAX);
	for (size_t i = 0; i < job->n_subjects; i++) {
		if (!target || (job->subject[i].target && strcmp(job->subject[i].target, target) == 0)) {
			job->chosen = i;
			return true;
		}
	}
	say_unknown(a, "");
	up_say(a->reason, sizeof(a->reason),
		"no requests of %s were measured: without requests in flight and departures there is no held time to follow",
		target ? target : "any target");
	return false;
}

static double frozen_share(const struct up_job *job, int64_t from_us, int64_t to_us, double *ret_from_s, double *ret_for_s)
{
	const struct up_recording *r = job->in->recording;
	const struct up_subject *subject = &job->subject[job->chosen];
	double frozen_s = 0, span_s = (double)(to_us - from_us) / 1e6;

	*ret_from_s = NAN;
	for (size_t k = 0; k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];

		if (track->resource != UP_RES_FROZEN ||
			(track->target && subject->target && strcmp(track->target, subject->target) != 0))
			continue;
		for (size_t i = 0; i < track->n; i++) {
			const struct up_recorded_tick *tick = &r->tick[track->at[i].tick];

			if (tick->wall_us <= from_us || tick->wall_us > to_us || !(track->at[i].saturation > 0))
				continue;
			frozen_s += (double)track->at[i].saturation * (double)track->at[i].window_s;
			if (isnan(*ret_from_s))
				*ret_from_s = tick->elapsed_s - (double)(track->at[i].saturation * track->at[i].window_s);
		}
		break;
	}
	*ret_for_s = frozen_s;
	return span_s > 0 ? frozen_s / span_s : 0;
}

/* Frozen for half of the time in which the requests piled up. */
static bool is_frozen(const struct up_job *job, const struct up_episode *episodes, size_t n, struct up_attribution *a)
{
	for (size_t i = 0; i < n; i++) {
		double from_s, for_s;

		if (episodes[i].to_us <= job->bad[0] || episodes[i].from_us >= job->bad[1] ||
			frozen_share(job, episodes[i].from_us, episodes[i].to_us, &from_s, &for_s) < frozen_min_share)
			continue;
		a->verdict = UP_BOTTLENECK_FROZEN;
		a->frozen_from_s = from_s;
		a->frozen_for_s = for_s;
		a->from_us = episodes[i].from_us;
		a->to_us = episodes[i].to_us;
		a->in_flight_good = episodes[i].usual;
		a->in_flight_bad = episodes[i].in_flight;
		up_say(a->reason, sizeof(a->reason),
			"the target was stopped for %.1f s from +%.1f s on; %.3g requests inside instead of %.3g while that lasted",
			for_s, from_s, episodes[i].in_flight, episodes[i].usual);
		return true;
	}
	return false;
}

static double late_share(const struct up_job *job)
{
	const struct up_recording *r = job->in->recording;
	int64_t from_us, to_us;

	up_job_span(job->in, &from_us, &to_us);
	for (size_t k = 0; k < r->n_tracks; k++) {
		struct up_reading reading;

		if (r->track[k].resource != UP_RES_PROBE)
			continue;
		up_track_read(r, &r->track[k], from_us, to_us, &reading);
		return isnan(reading.saturation) ? 0 : reading.saturation;
	}
	return 0;
}

/* What the generator has in flight grew, what the kernel saw inside did not: the rest waits on the way. */
static bool is_client_side(const struct up_job *job, const struct up_comparison *c, struct up_attribution *a)
{
	const struct up_attribution_input *in = job->in;
	const double inside = a->in_flight_bad - a->in_flight_good;
	double good[UP_GOOD_MAX], before, outside;
	size_t n = 0;

	if (in->bad < 0 || isnan(in->stage[in->bad].in_flight))
		return false;
	for (size_t i = 0; i < in->n_stages && n < UP_GOOD_MAX; i++)
		if (in->stage[i].verdict == UP_STAGE_GOOD && !isnan(in->stage[i].in_flight))
			good[n++] = in->stage[i].in_flight;
	before = up_median(good, n);
	outside = in->stage[in->bad].in_flight - before - inside;
	if (isnan(before) || outside <= fmax(1, before) || outside <= inside)
		return false;
	up_say(a->reason, sizeof(a->reason),
		"the generator has %.4g requests in flight (%.4g before), the kernel sees only %.4g of them in the target (%.4g before)",
		in->stage[in->bad].in_flight, before, a->in_flight_bad, a->in_flight_good);
	a->verdict = UP_BOTTLENECK_GENERATOR;
	for (size_t k = 0; k < c->recording->n_tracks; k++) {
		const struct up_track *track = &c->recording->track[k];
		struct up_reading reading;

		if (track->resource != UP_RES_NETWORK ||
			(track->target && c->subject->target && strcmp(track->target, c->subject->target) != 0))
			continue;
		up_track_read(c->recording, track, c->bad.from_us, c->bad.to_us, &reading);
		if (!(reading.waiting > inside || reading.utilization >= c->rules->full_min || reading.saturation >= 1))
			continue;
		a->verdict = UP_BOTTLENECK_RESOURCE;
		a->has_suspect = true;
		a->suspect = (struct up_suspect){ .kind = UP_STATION_REQUESTS,
			.scope = track->scope,
			.servers = NAN,
			.hold_good_ms = NAN,
			.hold_bad_ms = NAN,
			.growth_ms = NAN,
			.share = NAN,
			.utilization = reading.utilization,
			.utilization_good = NAN,
			.waiting = reading.waiting,
			.waiting_good = NAN,
			.residence_good_ms = NAN,
			.residence_bad_ms = NAN };
		snprintf(a->suspect.resource, sizeof(a->suspect.resource), "network");
		snprintf(a->suspect.name, sizeof(a->suspect.name), "%s", track->name);
		break;
	}
	return true;
}

/* "tcp:127.0.0.1:5432" or "tcp:[::]:5432" listens for "127.0.0.1:5432"? */
static bool listens_for(const char *listener, const char *peer)
{
	const char *address = strncmp(listener, "tcp:", 4) == 0 ? listener + 4 : listener;
	const char *port = strrchr(address, ':'), *peer_port = strrchr(peer, ':');

	if (!port || !peer_port || strcmp(port, peer_port) != 0)
		return false;
	return strcmp(address, peer) == 0 || strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0 ||
	       strncmp(address, "*:", 2) == 0;
}

/* Another target that is the suspect dependency; NULL when it is not among the targets. */
static const struct up_subject *target_behind(const struct up_job *job, const char *peer)
{
	const struct up_recording *r = job->in->recording;

	for (size_t i = 0; i < job->n_subjects; i++) {
		for (size_t k = 0; i != job->chosen && k < r->n_tracks; k++) {
			const struct up_track *track = &r->track[k];

			if ((track->resource == UP_RES_REQUESTS || track->resource == UP_RES_LISTEN) && track->target &&
				job->subject[i].target && strcmp(track->target, job->subject[i].target) == 0 &&
				listens_for(track->name, peer))
				return &job->subject[i];
		}
	}
	return NULL;
}

/* The walk goes on inside the target that the dependency is. Without a name there the dependency stays the suspect. */
static int walk_behind(const struct up_job *job, struct up_attribution *a)
{
	const struct up_subject *behind = target_behind(job, a->suspect.name);
	struct up_attribution *inner = behind ? calloc(1, sizeof(*inner)) : NULL;
	struct up_comparison c;
	int r;

	if (!behind)
		return 0;
	r = inner ? up_comparison_make(&c, job->in->recording, behind, job->rules, job->bad, job->good, job->n_good) : -ENOMEM;
	if (r < 0) {
		free(inner);
		return r;
	}
	if (c.n_good >= UP_GOOD_MIN && c.bad.known) {
		up_walk(&c, inner);
		up_error_evidence(&c, inner);
	}
	if (c.n_good >= UP_GOOD_MIN && c.bad.known && inner->verdict == UP_BOTTLENECK_RESOURCE) {
		up_add_symptom(a, "dependency %s answers after %.4g ms instead of %.4g ms; it is target %s", a->suspect.name,
			a->suspect.hold_bad_ms, a->suspect.hold_good_ms, behind->target);
		for (size_t i = 0; i < inner->n_symptoms; i++)
			up_add_symptom(a, "in %s: %s", behind->target, inner->symptom[i]);
		for (size_t i = 0; i < inner->n_walk && a->n_walk < UP_WALK_MAX; i++)
			a->walk[a->n_walk++] = inner->walk[i];
		a->suspect = inner->suspect;
		a->has_runner_up = inner->has_runner_up;
		a->runner_up = inner->runner_up;
		snprintf(a->reason, sizeof(a->reason), "%s", inner->reason);
	} else {
		up_add_evidence(a, "target %s is that dependency; inside it no resource can be named%s%s", behind->target,
			inner->reason[0] ? ": " : "", inner->reason);
	}
	up_comparison_done(&c);
	free(inner);
	return 0;
}

static bool windows_suffice(const struct up_comparison *c, struct up_attribution *a)
{
	if (!c->bad.known || c->bad.ticks < BAD_TICKS_MIN) {
		say_unknown(a, "the requests inside the target were not measured in the bad window");
		return false;
	}
	if (c->n_good < UP_GOOD_MIN) {
		say_unknown(a, "");
		up_say(a->reason, sizeof(a->reason),
			"%zu good step%s with at least %d samples; two are needed to tell what is usual", c->n_good,
			c->n_good == 1 ? "" : "s", UP_TICKS_MIN);
		return false;
	}
	if (!(c->bad.x_per_s > 0)) {
		say_unknown(a, "nothing left the target in the bad window: hold times need departures");
		return false;
	}
	return true;
}

static void check_onset(const struct up_job *job, const struct up_comparison *c, struct up_attribution *a)
{
	char why[UP_LINE_BYTES] = "";

	if (up_onset_agrees(c, a, c->good[0].from_us, job->in->uncertainty_s, why, sizeof(why))) {
		if (why[0])
			up_add_evidence(a, "%s", why);
		return;
	}
	up_add_evidence(a, "%s", why);
	if (!job->rules->onset_veto)
		return;
	say_unknown(a, "");
	up_say(a->reason, sizeof(a->reason), "%s %s grew most, but too late to be the cause: %s", a->suspect.resource,
		a->suspect.name, why);
}

static int judge(const struct up_job *job, const struct up_episode *episodes, size_t n_episodes, struct up_attribution *a)
{
	struct up_comparison c;
	double late;
	int r = up_comparison_make(
		&c, job->in->recording, &job->subject[job->chosen], job->rules, job->bad, job->good, job->n_good);

	if (r < 0)
		return r;
	a->from_us = job->bad[0];
	a->to_us = job->bad[1];
	a->in_flight_bad = c.bad.n;
	a->in_flight_good = up_good_states_median(&c, up_states_in_flight);
	a->residence_bad_ms = c.bad.residence_ms;
	a->residence_good_ms = up_good_states_median(&c, up_states_residence_ms);
	a->unexplained_share = c.bad.n > 0 ? c.bad.state[UP_IN_UNEXPLAINED] / c.bad.n : NAN;
	late = late_share(job);
	if (is_frozen(job, episodes, n_episodes, a) || !windows_suffice(&c, a)) {
		/* said there */
	} else if (late >= late_max_ratio) {
		say_unknown(a, "");
		up_say(a->reason, sizeof(a->reason), "%.0f %% of the samples came late: the probe itself was short of CPU",
			100 * late);
	} else if (!is_client_side(job, &c, a)) {
		up_walk(&c, a);
		up_error_evidence(&c, a);
		if (a->verdict == UP_BOTTLENECK_RESOURCE && (a->suspect.hold_bad_ms > 0 || a->suspect.waiting > 0))
			check_onset(job, &c, a);
		if (a->verdict == UP_BOTTLENECK_RESOURCE && a->unexplained_share > unexplained_max_ratio) {
			say_unknown(a, "");
			up_say(a->reason, sizeof(a->reason), "%.0f %% of the requests inside are in no state that was measured",
				100 * a->unexplained_share);
		}
		if (a->verdict == UP_BOTTLENECK_RESOURCE && a->suspect.kind == UP_STATION_DEPENDENCY)
			r = walk_behind(job, a);
	}
	up_explain(&c, a);
	if (a->verdict == UP_BOTTLENECK_RESOURCE)
		up_database_evidence(&c, a);
	up_comparison_done(&c);
	return r;
}

int up_attribution_find(const struct up_attribution_input *input, struct up_attribution *ret)
{
	struct up_job *job = calloc(1, sizeof(*job));
	struct up_episode episodes[EPISODES_MAX];
	int64_t from_us, to_us;
	int n, r = 0;

	*ret = (struct up_attribution){ .in_flight_good = NAN,
		.in_flight_bad = NAN,
		.residence_good_ms = NAN,
		.residence_bad_ms = NAN,
		.unexplained_share = NAN,
		.frozen_from_s = NAN,
		.frozen_for_s = NAN };
	if (!job)
		return -ENOMEM;
	job->in = input;
	job->rules = input->rules ? input->rules : &up_rules_default;
	if (input->generator_bound) {
		ret->verdict = UP_BOTTLENECK_GENERATOR;
		snprintf(ret->reason, sizeof(ret->reason), "%s",
			input->generator_reason ? input->generator_reason : "the generator was the limit");
		up_explain(NULL, ret);
		free(job);
		return 0;
	}
	if (!choose_subject(job, ret)) {
		free(job);
		return 0;
	}
	up_job_span(input, &from_us, &to_us);
	if (input->bad >= 0)
		to_us = input->stage[input->bad].to_us + input->shift_us;
	n = up_episodes_find(input->recording, &job->subject[job->chosen], from_us, to_us, episodes, EPISODES_MAX);
	if (n < 0) {
		free(job);
		return n;
	}
	ret->episodes = input->bad >= 0 ? 0 : (size_t)n;
	if (n > EPISODES_MAX)
		n = EPISODES_MAX;
	if (input->bad >= 0) {
		up_job_take_stages(job);
		r = judge(job, episodes, (size_t)n, ret);
	} else if (n > 0) {
		ret->episode = true;
		up_job_take_slices(job, episodes, (size_t)n);
		r = judge(job, episodes, (size_t)n, ret);
	} else {
		ret->verdict = UP_BOTTLENECK_NONE;
		up_say(ret->reason, sizeof(ret->reason),
			"no knee was reached and the requests inside never left their usual band for a second");
	}
	free(job);
	return r;
}
