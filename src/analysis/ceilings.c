#include "useprobe/ceilings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_internal.h"

static const double waits_min = 0.5; /* requests that wait for a connection, on average */
static const double spread_min = 1.5; /* rates must differ by this before a line can be laid through the good steps */
static const double serves_min_share =
	0.5; /* of a pool's busy threads that must follow the rate; else it serves something else */
enum { SUBJECTS_MAX = 16 };

/* Busy servers against rate in the good steps. */
struct fit {
	double d_s, background;
	bool serves;
};

static double median_hold_s(const double *x, const double *busy, size_t n)
{
	double hold[UP_GOOD_MAX];

	for (size_t i = 0; i < n; i++)
		hold[i] = busy[i] / x[i];
	return up_median(hold, n);
}

/* busy = background + D x by least squares, the background not below 0. Only for the CPU: threads and connections that wait for something inside are
 * busy more than in proportion just below the knee, which a line would take for a longer D. */
static struct fit fit_line(const double *x, const double *busy, size_t n, bool background)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, lo = INFINITY, hi = 0, most = 0, count = (double)n;
	struct fit fit = { .serves = true };

	for (size_t i = 0; i < n; i++) {
		sx += x[i];
		sy += busy[i];
		sxx += x[i] * x[i];
		sxy += x[i] * busy[i];
		lo = fmin(lo, x[i]);
		hi = fmax(hi, x[i]);
		most = fmax(most, busy[i]);
	}
	fit.d_s = median_hold_s(x, busy, n);
	if (n < 3 || hi < spread_min * lo)
		return fit;
	fit.d_s = (count * sxy - sx * sy) / (count * sxx - sx * sx);
	fit.background = (sy - fit.d_s * sx) / count;
	fit.serves = fit.d_s * hi >= serves_min_share * most;
	if (!background) {
		fit.background = 0;
		fit.d_s = median_hold_s(x, busy, n);
	} else if (fit.background < 0) {
		fit.background = 0;
		fit.d_s = sxy / sxx;
	}
	return fit;
}

static bool has_servers(enum up_station_kind kind)
{
	return kind == UP_STATION_WORKERS || kind == UP_STATION_CPU || kind == UP_STATION_CONNECTIONS ||
	       kind == UP_STATION_DEPENDENCY;
}

static void name_it(const struct up_comparison *c, const struct up_station *station, struct up_ceiling *ret)
{
	const struct up_suspect s = up_suspect_of(c, station, 0);
	const size_t limit = station->limit_track;

	ret->kind = s.kind;
	ret->scope = s.scope;
	snprintf(ret->resource, sizeof(ret->resource), "%s", s.resource);
	snprintf(ret->name, sizeof(ret->name), "%s", s.name);
	snprintf(ret->target, sizeof(ret->target), "%s", s.target);
	if (station->kind == UP_STATION_CPU && limit != SIZE_MAX)
		snprintf(ret->name, sizeof(ret->name), "%s", c->recording->track[limit].name);
}

/* The suspect's station in the bad window; NULL without one. */
static const struct up_station *suspect_station(const struct up_comparison *c, const struct up_attribution *a)
{
	for (size_t i = 0; a && a->has_suspect && i < c->bad.n_stations; i++) {
		struct up_suspect s;

		if (c->bad.at[i].kind != a->suspect.kind)
			continue;
		s = up_suspect_of(c, &c->bad.at[i], 0);
		if (strcmp(s.target, a->suspect.target) == 0 &&
			(s.kind == UP_STATION_CPU || strcmp(s.name, a->suspect.name) == 0))
			return &c->bad.at[i];
	}
	return NULL;
}

/* Servers of STATION that only wait for the SUSPECT inside it: they would not when it is lifted, which is what a ceiling is asked for. */
static double held_for(const struct up_comparison *c, const struct up_states *good, const struct up_station *station,
	const struct up_station *suspect)
{
	const struct up_station *inner =
		suspect && up_station_inside(station->kind, suspect->kind) ? up_states_find(good, suspect) : NULL;
	struct up_reading reading;
	double waiting = inner ? inner->waiting : NAN;

	/* Other threads of the target wait for a CPU too: the pool's row tells its own. */
	if (inner && inner->kind == UP_STATION_CPU) {
		if (station->track == SIZE_MAX)
			return 0;
		up_track_read(c->recording, &c->recording->track[station->track], good->from_us, good->to_us, &reading);
		waiting = reading.figure[UP_FIG_RUNNABLE];
	}
	return waiting > 0 ? fmin(waiting, station->busy) : 0;
}

/* STATION of the bad window (or of the last good one): its line through the good windows. SCALE: requests of the first target per one here. */
static bool ceiling_of(const struct up_comparison *c, const struct up_station *station, const struct up_station *suspect,
	double scale, struct up_ceiling *ret)
{
	double x[UP_GOOD_MAX], busy[UP_GOOD_MAX];
	size_t n = 0;
	struct fit fit;

	for (size_t i = 0; i < c->n_good && n < UP_GOOD_MAX; i++) {
		const struct up_station *same = up_states_find(&c->good[i], station);

		if (!same || isnan(same->busy))
			continue;
		x[n] = c->good[i].x_per_s * scale;
		busy[n++] = same->busy - held_for(c, &c->good[i], same, suspect);
	}
	if (n < UP_GOOD_MIN)
		return false;
	fit = fit_line(x, busy, n, station->kind == UP_STATION_CPU);
	if (!fit.serves || !(fit.d_s > 0))
		return false;
	*ret = (struct up_ceiling){
		.servers = NAN, .background = fit.background, .hold_good_ms = fit.d_s * 1e3, .ceiling_per_s = NAN
	};
	name_it(c, station, ret);
	/* How many connections a pool may open shows only when it is full and somebody waits: else as many are open as there are threads to use them. */
	if (station->kind == UP_STATION_CONNECTIONS && station->limit_track == SIZE_MAX &&
		!(station->utilization >= c->rules->full_min && station->waiting >= waits_min))
		return true;
	if (station->servers > 0) {
		ret->servers = station->servers;
		ret->ceiling_per_s = fmax(0, station->servers - fit.background) / fit.d_s;
	}
	return true;
}

static int by_ceiling(const void *a, const void *b)
{
	const struct up_ceiling *x = a, *y = b;

	if (isnan(x->ceiling_per_s) || isnan(y->ceiling_per_s))
		return (int)isnan(x->ceiling_per_s) - (int)isnan(y->ceiling_per_s);
	return (x->ceiling_per_s > y->ceiling_per_s) - (x->ceiling_per_s < y->ceiling_per_s);
}

static double x_of(const struct up_states *states)
{
	return states->x_per_s;
}

/* Good windows of the stages; the bad one, or the last good one when there is none. */
static size_t windows_of(const struct up_attribution_input *in, int64_t (*good)[2], int64_t bad[2])
{
	size_t n = 0;

	for (size_t i = 0; i < in->n_stages; i++) {
		const struct up_stage *stage = &in->stage[i];

		if ((int)i == in->bad || (in->bad < 0 && stage->verdict == UP_STAGE_GOOD)) {
			bad[0] = stage->from_us + in->shift_us;
			bad[1] = stage->to_us + in->shift_us;
		}
		if (stage->verdict != UP_STAGE_GOOD || n == UP_GOOD_MAX)
			continue;
		good[n][0] = stage->from_us + in->shift_us;
		good[n++][1] = stage->to_us + in->shift_us;
	}
	return n;
}

static bool is_suspect(const struct up_attribution *a, const struct up_ceiling *ceiling)
{
	return a && a->has_suspect && a->suspect.kind == ceiling->kind && strcmp(a->suspect.name, ceiling->name) == 0 &&
	       strcmp(a->suspect.target, ceiling->target) == 0;
}

int up_ceilings_find(
	const struct up_attribution_input *input, const struct up_attribution *attribution, struct up_ceiling *ret, size_t max)
{
	struct up_subject subjects[SUBJECTS_MAX];
	const size_t n_subjects = up_subjects(input->recording, subjects, SUBJECTS_MAX);
	int64_t(*good)[2] = calloc(UP_GOOD_MAX, sizeof(*good)), bad[2] = { 0, 0 };
	double first_x = NAN;
	size_t n_good, count = 0, first = 0;
	int r = good ? 0 : -ENOMEM;

	n_good = good ? windows_of(input, good, bad) : 0;
	for (size_t i = 0; input->target && i < n_subjects; i++)
		if (subjects[i].target && strcmp(subjects[i].target, input->target) == 0)
			first = i;
	/* The target whose requests the rates count comes first; the others follow, in its currency. */
	for (size_t k = 0; r == 0 && n_good > 0 && k < n_subjects; k++) {
		const size_t i = (first + k) % n_subjects;
		struct up_comparison c;

		r = up_comparison_make(&c, input->recording, &subjects[i], input->rules ? input->rules : &up_rules_default, bad,
			(const int64_t(*)[2])good, n_good);
		if (r < 0)
			break;
		if (isnan(first_x))
			first_x = up_good_states_median(&c, x_of);
		for (size_t s = 0; s < c.bad.n_stations && count < max; s++)
			if (has_servers(c.bad.at[s].kind) && ceiling_of(&c, &c.bad.at[s], suspect_station(&c, attribution),
								     first_x / up_good_states_median(&c, x_of), &ret[count])) {
				ret[count].suspect = is_suspect(attribution, &ret[count]);
				count++;
			}
		up_comparison_done(&c);
	}
	free(good);
	if (r < 0)
		return r;
	qsort(ret, count, sizeof(*ret), by_ceiling);
	return (int)count;
}
