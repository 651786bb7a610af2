/* Onset: what causes the requests to pile up must not begin to grow later than they do. Only a veto: an early onset proves nothing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution_internal.h"

static const double onset_sigmas = 3 * 1.4826; /* MAD to standard deviation of a normal distribution */
static const double bound_ratio = 0.5;
static const double floor_servers_ratio = 0.05, floor_waiting = 0.2;
enum { ONSET_TICKS = 3, ONSET_MAX = 8192 };

/* Levels at each tick between the first good window and the end of the bad one. */
struct series {
	double at_s[ONSET_MAX]; /* seconds since the first */
	double inside[ONSET_MAX], suspect[ONSET_MAX];
	bool good[ONSET_MAX];
	size_t n;
};

static bool in_good(const struct up_comparison *c, int64_t us)
{
	for (size_t i = 0; i < c->n_good; i++)
		if (us > c->good[i].from_us && us <= c->good[i].to_us)
			return true;
	return false;
}

/* Waiting and busy of the suspect's station, with the kernel's queues in front of a pool. */
static double level_of(const struct up_states *states, const struct up_suspect *suspect, const struct up_station *like)
{
	const struct up_station *station = up_states_find(states, like);
	double level = 0;

	if (!station)
		return NAN;
	level = (isnan(station->waiting) ? 0 : station->waiting) + (isnan(station->busy) ? 0 : station->busy);
	if (suspect->kind == UP_STATION_WORKERS)
		level += states->state[UP_IN_SOCKET] + states->state[UP_IN_ACCEPT_QUEUE];
	return level;
}

static void fill(const struct up_comparison *c, const struct up_suspect *suspect, const struct up_station *like, int64_t from_us,
	struct series *s)
{
	const struct up_recording *r = c->recording;
	struct up_states *states = malloc(sizeof(*states));

	for (size_t i = 1; states && i < r->n_ticks && s->n < ONSET_MAX; i++) {
		const int64_t us = r->tick[i].wall_us;

		if (us <= from_us || us > c->bad.to_us)
			continue;
		up_states_compute(r, c->subject, r->tick[i - 1].wall_us, us, states);
		if (!states->known)
			continue;
		s->at_s[s->n] = (double)(us - from_us) / 1e6;
		s->inside[s->n] = states->n;
		s->suspect[s->n] = level_of(states, suspect, like);
		s->good[s->n] = in_good(c, us);
		s->n++;
	}
	free(states);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 99th percentile of the good ticks plus what noise adds. NAN without good ticks. */
static double threshold(const struct series *s, const double *level, double servers)
{
	double *good = malloc(2 * (s->n + 1) * sizeof(*good)), *deviation = good + s->n, result = NAN, median;
	size_t n = 0;

	for (size_t i = 0; good && i < s->n; i++)
		if (s->good[i] && !isnan(level[i]))
			good[n++] = level[i];
	if (n > 0) {
		median = up_median(good, n);
		for (size_t i = 0; i < n; i++)
			deviation[i] = fabs(good[i] - median);
		qsort(deviation, n, sizeof(*deviation), by_value);
		result = good[(size_t)ceil(0.99 * (double)n) - 1] +
			 fmax(onset_sigmas * deviation[n / 2],
				 fmax(floor_waiting, isnan(servers) ? 0 : floor_servers_ratio * servers));
	}
	free(good);
	return result;
}

/* Time of the first of three ticks in a row above LIMIT; NAN when there is none. */
static double onset(const struct series *s, const double *level, double limit)
{
	size_t run = 0;

	for (size_t i = 0; i < s->n; i++) {
		run = !s->good[i] && level[i] > limit ? run + 1 : 0;
		if (run == ONSET_TICKS)
			return s->at_s[i + 1 - ONSET_TICKS];
	}
	return NAN;
}

static const struct up_station *station_of(const struct up_comparison *c, const struct up_suspect *suspect)
{
	for (size_t i = 0; i < c->bad.n_stations; i++) {
		const struct up_station *station = &c->bad.at[i];

		if (station->kind == suspect->kind &&
			up_station_residence_ms(&c->bad, station) <= suspect->residence_bad_ms + 1e-6 &&
			(isnan(suspect->hold_bad_ms) || up_station_hold_ms(&c->bad, station) == suspect->hold_bad_ms))
			return station;
	}
	return NULL;
}

/* What the stations stepped through let pass: the queue of what they hold cannot be longer. */
static double bound_of(const struct up_attribution *a)
{
	double bound = INFINITY;

	for (size_t i = 0; i + 1 < a->n_walk; i++)
		if (a->walk[i].servers > 0)
			bound = fmin(bound, a->walk[i].servers);
	return bound;
}

bool up_onset_agrees(const struct up_comparison *c, const struct up_attribution *a, int64_t from_us, double uncertainty_s,
	char *why, size_t size)
{
	const struct up_station *like = station_of(c, &a->suspect);
	struct series *s = calloc(1, sizeof(*s));
	double inside_s, suspect_s, tick_s, allowed_s, limit;
	bool agrees = true;

	if (s && like)
		fill(c, &a->suspect, like, from_us, s);
	if (s && s->n > 2 * ONSET_TICKS) {
		tick_s = (s->at_s[s->n - 1] - s->at_s[0]) / (double)(s->n - 1);
		inside_s = onset(s, s->inside, threshold(s, s->inside, NAN));
		limit = threshold(s, s->suspect, a->suspect.servers);
		/* When it leaves a band that wide it is chance: two threads now and then have two tasks held back in good steps too. */
		suspect_s = limit > bound_ratio * bound_of(a) ? NAN : onset(s, s->suspect, limit);
		allowed_s = fmax(2 * tick_s, uncertainty_s);
		/* A queue behind a small pool cannot be longer than the pool: it may fill in good steps too and never leave their band. That is no late onset. */
		agrees = isnan(inside_s) || isnan(suspect_s) || suspect_s <= inside_s + allowed_s;
		if (isnan(inside_s))
			up_say(why, size, "requests inside never left the good steps' band for three ticks: onset not judged");
		else if (isnan(suspect_s))
			up_say(why, size,
				"requests inside began to grow at +%.1f s; the suspect's own level is bounded by what holds it or never left the good steps' band for three ticks: onset not judged",
				inside_s);
		else
			up_say(why, size, "onset at +%.1f s, requests inside at +%.1f s (allowed: %.1f s later)", suspect_s,
				inside_s, allowed_s);
	}
	free(s);
	return agrees;
}
