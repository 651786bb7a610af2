/* What of a target holds for a whole run: which of its thread pools serves the requests, and whether a thread keeps a request while that
 * is at a dependency. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "states_internal.h"

/* A pool whose busy threads do not move with the requests (decoys, housekeeping) explains nothing. */
static const double follows_correlation_min = 0.3;
static const double follows_threads_min = 0.05;
/* Queries under way may outnumber the threads seen at work by this much before an event loop is the better explanation. */
static const double threaded_ratio = 1.25;

/* Name without the process id: "java[12]/pool-" and "java[13]/pool-" are one pool. */
static bool same_pool(const char *a, const char *b)
{
	const size_t a_comm = strcspn(a, "["), b_comm = strcspn(b, "[");
	const char *a_rest = strchr(a, ']'), *b_rest = strchr(b, ']');

	if (!a_rest || !b_rest)
		return strcmp(a, b) == 0;
	return a_comm == b_comm && strncmp(a, b, a_comm) == 0 && strcmp(a_rest, b_rest) == 0;
}

size_t up_pool_first(const struct up_recording *recording, size_t track)
{
	const struct up_track *pool = &recording->track[track];

	for (size_t k = 0; k < track && pool->resource == UP_RES_THREAD_POOL; k++) {
		const struct up_track *other = &recording->track[k];

		if (other->resource == UP_RES_THREAD_POOL &&
			(other->target == pool->target ||
				(other->target && pool->target && strcmp(other->target, pool->target) == 0)) &&
			same_pool(other->name, pool->name))
			return k;
	}
	return track;
}

/* Requests in flight of SUBJECT at each tick, NAN where not known. Owned by the caller; NULL without memory. */
static double *in_flight_by_tick(const struct up_recording *r, const struct up_subject *subject)
{
	double *n = malloc((r->n_ticks + 1) * sizeof(*n));

	for (size_t i = 0; n && i < r->n_ticks; i++)
		n[i] = NAN;
	for (size_t k = 0; n && k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];

		if (track->resource != UP_RES_REQUESTS || !up_subject_has(subject, track) || !track->figure)
			continue;
		for (size_t i = 0; i < track->n; i++) {
			const float *figure = track->figure + i * UP_FIGURES;
			const double window_s = (double)track->at[i].window_s;
			double level = (double)figure[UP_FIG_AREA_S] / window_s;

			if (isnan(level))
				level = (double)figure[UP_FIG_IN_FLIGHT];
			if (isfinite(level))
				n[track->at[i].tick] = (isnan(n[track->at[i].tick]) ? 0 : n[track->at[i].tick]) + level;
		}
	}
	return n;
}

static double busy_at(const struct up_track *track, size_t i)
{
	const double busy = track->figure ? (double)track->figure[i * UP_FIGURES + UP_FIG_BUSY] : NAN;

	return isnan(busy) ? (double)track->at[i].utilization * (double)track->at[i].servers : busy;
}

/* How many threads of POOL move with N: correlation times spread, 0 when they do not. */
static double follows(const struct up_track *pool, const double *n)
{
	double count = 0, sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, correlation, spread;

	for (size_t i = 0; i < pool->n; i++) {
		const double x = n[pool->at[i].tick], y = busy_at(pool, i);

		if (isnan(x) || isnan(y))
			continue;
		count++;
		sx += x;
		sy += y;
		sxx += x * x;
		syy += y * y;
		sxy += x * y;
	}
	if (count < 3)
		return 0;
	sxx -= sx * sx / count;
	syy -= sy * sy / count;
	sxy -= sx * sy / count;
	if (!(sxx > 0) || !(syy > 0))
		return 0;
	correlation = sxy / sqrt(sxx * syy);
	spread = sqrt(syy / count);
	return correlation >= follows_correlation_min && correlation * spread >= follows_threads_min ? correlation * spread : 0;
}

static double total_busy_s(const struct up_track *pool)
{
	double sum_s = 0;

	for (size_t i = 0; i < pool->n; i++) {
		const double busy = busy_at(pool, i);

		sum_s += isnan(busy) ? 0 : busy * (double)pool->at[i].window_s;
	}
	return sum_s;
}

static double total_queries_busy_s(const struct up_recording *r, const struct up_subject *subject)
{
	double sum_s = 0;

	for (size_t k = 0; k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];
		struct up_reading reading;

		if (track->resource != UP_RES_DEPENDENCY || !up_subject_has(subject, track))
			continue;
		up_track_read(r, track, INT64_MIN, INT64_MAX, &reading);
		if (!isnan(reading.figure[UP_FIG_BUSY_AREA_S]))
			sum_s += reading.figure[UP_FIG_BUSY_AREA_S];
		else if (!isnan(reading.figure[UP_FIG_BUSY]))
			sum_s += reading.figure[UP_FIG_BUSY] * reading.covered_s;
	}
	return sum_s;
}

static void find_pool(const struct up_recording *r, const double *n, struct up_subject *subject)
{
	double best = 0, busy_s = 0;

	/* Without threads that follow the requests nothing says who holds them. */
	subject->pool_track = SIZE_MAX;
	for (size_t k = 0; k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];
		double threads;

		if (track->resource != UP_RES_THREAD_POOL || !up_subject_has(subject, track))
			continue;
		threads = follows(track, n);
		if (threads > best) {
			best = threads;
			subject->pool_track = up_pool_first(r, k);
		}
	}
	for (size_t k = 0; subject->pool_track != SIZE_MAX && k < r->n_tracks; k++)
		if (up_pool_first(r, k) == subject->pool_track)
			busy_s += total_busy_s(&r->track[k]);
	subject->threaded = subject->pool_track != SIZE_MAX && total_queries_busy_s(r, subject) <= threaded_ratio * busy_s;
}

size_t up_subjects(const struct up_recording *recording, struct up_subject *ret, size_t max)
{
	size_t count = 0;

	for (size_t k = 0; k < recording->n_tracks; k++) {
		const struct up_track *track = &recording->track[k];
		bool seen = false;
		double *n;

		if (track->resource != UP_RES_REQUESTS)
			continue;
		for (size_t i = 0; i < count; i++)
			seen = seen || up_subject_has(&ret[i], track);
		if (seen || count == max)
			continue;
		ret[count] = (struct up_subject){ .target = track->target, .pool_track = SIZE_MAX };
		n = in_flight_by_tick(recording, &ret[count]);
		if (n)
			find_pool(recording, n, &ret[count]);
		free(n);
		count++;
	}
	return count;
}
