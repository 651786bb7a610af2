/* From a run to its curve: where the steps are, and what happened in the settled part of each. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/curve.h"

const struct up_curve_options up_curve_defaults = { .settle_s = NAN, .start_us = INT64_MIN };

static const double settle_share_default = 0.3;
static const double balance_ratio = 0.05, little_ratio = 0.05;

enum { SETTLE_SNAP_US = 5000000 }; /* steps from this length on are measured in whole seconds */

/* Files that overlap in time are hosts of one run: a group. */
struct group {
	int64_t from_us, to_us;
};

static int compare_group(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->from_us < y->from_us ? -1 : x->from_us > y->from_us;
}

static unsigned groups_of(const struct up_load *load, struct group *group)
{
	unsigned n = 0, last = 0;

	for (unsigned i = 0; i < load->n_files; i++) {
		const struct up_load_file *file = &load->file[i];

		if (file->n_points > 0 && file->last_end_us > load->first_start_us && file->first_start_us < load->last_end_us)
			group[n++] = (struct group){ file->first_start_us, file->last_end_us + 1 };
	}
	qsort(group, n, sizeof(*group), compare_group);
	for (unsigned i = 1; i < n; i++) {
		if (group[i].from_us <= group[last].to_us)
			group[last].to_us = group[i].to_us > group[last].to_us ? group[i].to_us : group[last].to_us;
		else
			group[++last] = group[i];
	}
	return n ? last + 1 : 0;
}

static struct up_step *step_add(struct up_curve *curve, int64_t start_us, int64_t end_us)
{
	struct up_step *step;

	if (curve->n == UP_STEPS_MAX || end_us <= start_us)
		return NULL;
	step = &curve->step[curve->n++];
	*step = (struct up_step){ .start_us = start_us, .end_us = end_us };
	return step;
}

/* Steps inside the cells [FIRST, LAST) of the run's seconds. Their number or an error. */
static int find_in(const struct up_load *load, struct up_curve *curve, size_t first, size_t last, bool by_users)
{
	const struct up_second *second = load->seconds.at;
	struct up_span spans[UP_STEPS_MAX];
	double *cells = malloc((last - first + 1) * sizeof(*cells));
	int n;

	if (!cells)
		return -ENOMEM;
	for (size_t i = first; i < last; i++)
		cells[i - first] = by_users ? (double)second[i].users : (double)second[i].starts + (double)second[i].dropped;
	/* The last answers come when nothing is offered any more, and the last second of the plan is seldom a whole one: together they
	 * would look like a slow step. */
	while (!by_users && last > first + 1 && cells[last - first - 1] == 0)
		last--;
	if (!by_users && last > first + 1 && cells[last - first - 1] < cells[last - first - 2])
		last--;
	n = by_users ? up_steps_find_levels(cells, last - first, spans) : up_steps_find(cells, last - first, spans);
	free(cells);
	for (int i = 0; i < n; i++) {
		int64_t base_s = load->seconds.first_s + (int64_t)first;

		step_add(curve, (base_s + (int64_t)spans[i].first) * 1000000, (base_s + (int64_t)spans[i].last) * 1000000);
	}
	return n;
}

static int64_t clamp_cell(const struct up_load *load, int64_t us)
{
	int64_t cell = (us >= 0 ? us / 1000000 : -((999999 - us) / 1000000)) - load->seconds.first_s;

	return cell < 0 ? 0 : cell > (int64_t)load->seconds.n ? (int64_t)load->seconds.n : cell;
}

static int find_steps(const struct up_load *load, struct up_curve *curve, bool by_users)
{
	struct group group[UP_LOAD_FILES_MAX] = { 0 };
	unsigned n_groups = groups_of(load, group);

	for (unsigned i = 0; i < n_groups; i++) {
		int n = 0;

		if (!load->undated || n_groups == 1)
			n = find_in(load, curve, (size_t)clamp_cell(load, group[i].from_us),
				(size_t)clamp_cell(load, group[i].to_us + 999999), by_users);
		if (n < 0)
			return n;
		if (n == 0 && n_groups > 1)
			step_add(curve, group[i].from_us, group[i].to_us);
	}
	return 0;
}

static void ladder_steps(const struct up_load *load, struct up_curve *curve, const struct up_curve_options *options)
{
	int64_t base_us = options->start_us == INT64_MIN ? load->first_start_us / 1000000 * 1000000 : options->start_us;

	for (unsigned i = 0; i < options->ladder->count; i++) {
		double from_s, to_s;

		up_ladder_span(options->ladder, i, &from_s, &to_s);
		if (base_us + (int64_t)(from_s * 1e6) < load->last_end_us)
			step_add(curve, base_us + (int64_t)llround(from_s * 1e6), base_us + (int64_t)llround(to_s * 1e6));
	}
}

static void settle(struct up_curve *curve, double settle_s)
{
	for (size_t i = 0; i < curve->n; i++) {
		struct up_step *step = &curve->step[i];
		int64_t length_us = step->end_us - step->start_us;
		int64_t settle_us =
			isnan(settle_s) ? (int64_t)(settle_share_default * (double)length_us) : (int64_t)(settle_s * 1e6);

		if (length_us >= SETTLE_SNAP_US && step->start_us % 1000000 == 0)
			settle_us = (settle_us + 999999) / 1000000 * 1000000;
		if (settle_us >= length_us)
			settle_us = length_us / 2; /* something must be left to measure */
		step->settled_us = step->start_us + settle_us;
	}
}

struct measure {
	struct up_curve *curve;
	double *area_us; /* [3 * n] in flight in each third of each settled part */
};

static void add_area(struct measure *m, size_t index, int64_t from_us, int64_t to_us)
{
	const struct up_step *step = &m->curve->step[index];
	int64_t length_us = step->end_us - step->settled_us;

	for (unsigned third = 0; third < 3; third++) {
		int64_t lo = step->settled_us + length_us * third / 3, hi = step->settled_us + length_us * (third + 1) / 3;

		if (lo < from_us)
			lo = from_us;
		if (hi > to_us)
			hi = to_us;
		if (hi > lo)
			m->area_us[3 * index + third] += (double)(hi - lo);
	}
}

/* First step that ends behind US. */
static size_t step_after(const struct up_curve *curve, int64_t us)
{
	size_t lo = 0, hi = curve->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (curve->step[mid].end_us <= us)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int measure_block(void *ctx, struct up_point *block, size_t n)
{
	struct measure *m = ctx;

	for (size_t i = 0; i < n; i++) {
		int64_t start_us = block[i].start_us, end_us = up_point_end_us(&block[i]);

		for (size_t k = step_after(m->curve, start_us); k < m->curve->n && m->curve->step[k].start_us <= end_us; k++) {
			struct up_step *step = &m->curve->step[k];
			bool starts_here = start_us >= step->settled_us && start_us < step->end_us;

			if (starts_here) {
				step->starts++;
				step->late += (block[i].packed & UP_POINT_LATE) != 0;
			}
			if (end_us >= step->settled_us && end_us < step->end_us) {
				step->ends++;
				step->ends_failed += (block[i].packed & UP_POINT_FAILED) != 0;
			}
			add_area(m, k, start_us, end_us);
		}
	}
	return 0;
}

/* Dropped iterations and users: known by the second; a second belongs where its middle lies. */
static void measure_seconds(const struct up_load *load, struct up_curve *curve)
{
	for (size_t k = 0; k < curve->n; k++) {
		struct up_step *step = &curve->step[k];
		double users = 0, users_max = NAN, late_s = 0;
		size_t n_users = 0;

		for (int64_t cell = clamp_cell(load, step->start_us); cell < clamp_cell(load, step->end_us + 999999); cell++) {
			const struct up_second *second = &load->seconds.at[cell];
			int64_t middle_us = (load->seconds.first_s + cell) * 1000000 + 500000;

			if (middle_us < step->start_us || middle_us >= step->end_us)
				continue;
			step->dropped += second->dropped;
			if (middle_us < step->settled_us)
				continue;
			step->dropped_settled += second->dropped;
			late_s += second->late_s;
			users_max = fmax(users_max, (double)second->users_max);
			if (isnan(second->users))
				continue;
			users += (double)second->users;
			n_users++;
		}
		step->users = n_users ? users / (double)n_users : NAN;
		step->users_max = users_max;
		step->late_mean_ms = step->starts ? 1e3 * late_s / (double)step->starts : 0;
	}
}

static void rates(struct up_curve *curve, const struct up_load *load, const double *area_us)
{
	for (size_t k = 0; k < curve->n; k++) {
		struct up_step *step = &curve->step[k];
		double length_s = (double)(step->end_us - step->settled_us) / 1e6, area_s = 0;
		double gap;

		for (unsigned third = 0; third < 3; third++) {
			step->in_flight_third[third] = area_us[3 * k + third] / 1e6 / (length_s / 3);
			area_s += area_us[3 * k + third] / 1e6;
		}
		step->in_flight = area_s / length_s;
		step->arrivals = step->starts + step->dropped_settled;
		step->offered_per_s = (double)step->arrivals / length_s;
		step->achieved_per_s = (double)step->ends / length_s;
		step->achieved_ok_per_s = load->failed_known ? (double)(step->ends - step->ends_failed) / length_s : NAN;
		gap = fabs((double)step->arrivals - (double)step->ends);
		step->balanced = step->ends > 0 && gap <= balance_ratio * (double)step->ends;
	}
}

static int latencies(struct up_load *load, struct up_curve *curve)
{
	struct up_select *range = calloc(2 * curve->n, sizeof(*range));
	struct up_summary *summary = calloc(2 * curve->n, sizeof(*summary));
	int r = range && summary ? 0 : -ENOMEM;

	for (size_t k = 0; r == 0 && k < curve->n; k++) {
		range[2 * k] = (struct up_select){ curve->step[k].start_us, curve->step[k].settled_us, -1 };
		range[2 * k + 1] = (struct up_select){ curve->step[k].settled_us, curve->step[k].end_us, -1 };
	}
	if (r == 0)
		r = up_load_summaries(load, range, 2 * curve->n, summary);
	for (size_t k = 0; r == 0 && k < curve->n; k++) {
		struct up_step *step = &curve->step[k];

		step->hidden = summary[2 * k];
		step->latency = summary[2 * k + 1];
		step->little_in_flight = step->achieved_per_s * step->latency.mean_ms / 1e3;
		step->little_ok = fabs(step->in_flight - step->little_in_flight) <=
				  little_ratio * fmax(step->in_flight, step->little_in_flight);
	}
	free(range);
	free(summary);
	return r;
}

static void override_offered(struct up_curve *curve, const struct up_curve_options *options)
{
	for (size_t k = 0; k < curve->n && options->n_offered > 0; k++) {
		struct up_step *step = &curve->step[k];
		double length_s = (double)(step->end_us - step->settled_us) / 1e6;

		if (options->n_offered > 1 && k >= options->n_offered)
			break;
		step->offered_per_s = options->offered_per_s[options->n_offered == 1 ? 0 : k];
		step->arrivals = (uint64_t)llround(step->offered_per_s * length_s);
	}
}

static bool users_known(const struct up_load *load)
{
	for (unsigned i = 0; i < load->n_files; i++) {
		if (!load->file[i].tool_users_known)
			return false;
	}
	return load->n_files > 0;
}

static int measure(struct up_load *load, struct up_curve *curve, const struct up_curve_options *options)
{
	struct measure m = { .curve = curve, .area_us = calloc(3 * curve->n, sizeof(double)) };
	int r = m.area_us ? up_points_each(&load->points, 0, measure_block, &m) : -ENOMEM;

	if (r == 0) {
		measure_seconds(load, curve);
		rates(curve, load, m.area_us);
		override_offered(curve, options);
		r = latencies(load, curve);
	}
	free(m.area_us);
	return r;
}

int up_curve_build(struct up_load *load, const struct up_curve_options *options, struct up_curve *ret_curve)
{
	struct up_curve curve = { .undated = load->undated,
		.settle_share = isnan(options->settle_s) ? settle_share_default : NAN };
	int r = up_model_recognise(load, &curve.model);

	curve.step = calloc(UP_STEPS_MAX, sizeof(*curve.step));
	if (!curve.step)
		r = -ENOMEM;
	if (r == 0 && options->ladder) {
		ladder_steps(load, &curve, options);
	} else if (r == 0) {
		curve.by_users = curve.model.model == UP_MODEL_CLOSED && users_known(load);
		r = find_steps(load, &curve, curve.by_users);
		if (r == 0 && curve.n == 0 && curve.by_users) {
			curve.by_users = false;
			r = find_steps(load, &curve, false);
		}
	}
	if (r == 0 && curve.n > 0) {
		settle(&curve, options->settle_s);
		r = measure(load, &curve, options);
	}
	if (r < 0) {
		up_curve_done(&curve);
		return r;
	}
	*ret_curve = curve;
	return curve.n > 0 ? 0 : -ENODATA;
}

void up_curve_done(struct up_curve *curve)
{
	if (!curve)
		return;
	free(curve->step);
	*curve = (struct up_curve){ 0 };
}
