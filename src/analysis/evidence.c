/* Errors that move the verdict one station inwards: a queue grows because something was refused behind it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribution_internal.h"

static const double table_full_ratio = 0.95;
/* A pool with a thread for each request is as large as the table of descriptors lets it be. */
static const double pool_grows_ratio = 1.3;

/* Which refusals explain which station. */
static const struct {
	enum up_resource resource;
	unsigned stations; /* bit set of kinds */
	bool when_outside; /* also when nothing explained the growth */
} refusals[] = {
	{ UP_RES_DESCRIPTORS, 1u << UP_STATION_ACCEPT | 1u << UP_STATION_UNREAD | 1u << UP_STATION_CONNECTIONS, true },
	{ UP_RES_TASKS, 1u << UP_STATION_ACCEPT | 1u << UP_STATION_UNREAD | 1u << UP_STATION_WORKERS, true },
	{ UP_RES_PORTS, 1u << UP_STATION_CONNECTIONS | 1u << UP_STATION_DEPENDENCY, true },
	{ UP_RES_CONNTRACK, 1u << UP_STATION_ACCEPT, true },
};

static double errors_in_good(const struct up_comparison *c, const struct up_track *track)
{
	double sum = 0;

	for (size_t i = 0; i < c->n_good; i++) {
		struct up_reading reading;

		up_track_read(c->recording, track, c->good[i].from_us, c->good[i].to_us, &reading);
		sum += isnan(reading.errors) ? 0 : reading.errors;
	}
	return sum;
}

static void accuse(
	const struct up_comparison *c, const struct up_track *track, const struct up_reading *reading, struct up_attribution *a)
{
	const struct up_suspect before = a->suspect;

	if (a->has_suspect)
		up_add_symptom(a, "%s %s: %.3g wait (%.3g before)", before.resource, before.name, before.waiting,
			isnan(before.waiting_good) ? 0 : before.waiting_good);
	a->verdict = UP_BOTTLENECK_RESOURCE;
	a->has_suspect = true;
	a->suspect = (struct up_suspect){ .kind = before.kind,
		.scope = track->scope,
		.servers = reading->servers,
		.hold_good_ms = NAN,
		.hold_bad_ms = NAN,
		.residence_good_ms = before.residence_good_ms,
		.residence_bad_ms = before.residence_bad_ms,
		.growth_ms = a->has_suspect ? before.growth_ms : NAN,
		.share = before.share,
		.utilization = reading->utilization_max,
		.utilization_good = NAN,
		.waiting = NAN,
		.waiting_good = NAN };
	snprintf(a->suspect.resource, sizeof(a->suspect.resource), "%s", up_resource_name(track->resource));
	snprintf(a->suspect.name, sizeof(a->suspect.name), "%s", track->name);
	snprintf(a->suspect.target, sizeof(a->suspect.target), "%s", c->subject->target ? c->subject->target : "");
	a->reason[0] = '\0';
	up_say(a->reason, sizeof(a->reason),
		"%s %s: at most %.0f %% in use, %.0f refusals in the bad window and none in the good steps", a->suspect.resource,
		a->suspect.name, 100 * reading->utilization_max, isnan(reading->errors) ? 0 : reading->errors);
}

/* The pool grew with the load: then its size is no limit of its own. */
static bool grows(const struct up_comparison *c, const struct up_suspect *pool)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < c->recording->n_tracks; i++) {
		const struct up_track *track = &c->recording->track[i];

		if (track->resource != UP_RES_THREAD_POOL || strcmp(track->name, pool->name) != 0)
			continue;
		for (size_t k = 0; k <= c->n_good; k++) {
			const struct up_states *states = k < c->n_good ? &c->good[k] : &c->bad;
			struct up_reading reading;

			up_track_read(c->recording, track, states->from_us, states->to_us, &reading);
			if (!(reading.servers > 0))
				continue;
			least = fmin(least, reading.servers);
			most = fmax(most, reading.servers);
		}
	}
	return most > pool_grows_ratio * least;
}

static bool explains(const struct up_comparison *c, const struct up_attribution *a, size_t k)
{
	if (!a->has_suspect)
		return false;
	if (refusals[k].stations & 1u << a->suspect.kind)
		return true;
	return refusals[k].resource == UP_RES_DESCRIPTORS && a->suspect.kind == UP_STATION_WORKERS && grows(c, &a->suspect);
}

void up_error_evidence(const struct up_comparison *c, struct up_attribution *a)
{
	for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++) {
		const bool named = explains(c, a, k);
		const bool nameless = a->verdict == UP_BOTTLENECK_OUTSIDE && refusals[k].when_outside;

		if (!named && !nameless)
			continue;
		for (size_t i = 0; i < c->recording->n_tracks; i++) {
			const struct up_track *track = &c->recording->track[i];
			struct up_reading reading;

			if (track->resource != refusals[k].resource ||
				(track->target && c->subject->target && strcmp(track->target, c->subject->target) != 0))
				continue;
			up_track_read(c->recording, track, c->bad.from_us, c->bad.to_us, &reading);
			if ((reading.errors > 0 && errors_in_good(c, track) == 0) ||
				reading.utilization_max >= table_full_ratio) {
				accuse(c, track, &reading, a);
				return;
			}
		}
	}
}
