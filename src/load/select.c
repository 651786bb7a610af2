/* Which requests, and their distribution: exact from the points in memory, or a histogram when part of them lies in the temporary file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/load.h"

const struct up_select up_select_all = { .from_us = INT64_MIN, .to_us = INT64_MAX, .name = -1 };

enum { RANGES_A_PASS = 128 }; /* histograms held at once while the points pass by */

static bool is_all(const struct up_select *select)
{
	return select->from_us == INT64_MIN && select->to_us == INT64_MAX && select->name < 0;
}

static bool chosen(const struct up_select *select, const struct up_point *point)
{
	return point->start_us >= select->from_us && point->start_us < select->to_us &&
	       (select->name < 0 || up_packed_name(point->packed) == (unsigned)select->name);
}

struct hist_pair {
	struct up_hist all, ok;
};

static int pair_add(struct hist_pair *pair, uint64_t packed)
{
	int r = up_hist_add(&pair->all, up_packed_latency_ns(packed), 1);

	if (r == 0 && !(packed & UP_POINT_FAILED))
		r = up_hist_add(&pair->ok, up_packed_latency_ns(packed), 1);
	return r;
}

static void pair_done(struct hist_pair *pair)
{
	up_hist_done(&pair->all);
	up_hist_done(&pair->ok);
}

static void pair_summary(struct hist_pair *pair, bool failed_known, struct up_summary *ret_summary)
{
	struct up_dist dist = { .n = pair->all.n, .hist = &pair->all, .hist_ok = &pair->ok };

	up_dist_summary(&dist, failed_known, ret_summary);
}

/* Copies the chosen ones of points [FIRST, LAST) in memory and sorts the copy. */
static int dist_copy(
	const struct up_points *points, size_t first, size_t last, const struct up_select *select, struct up_dist *ret_dist)
{
	uint64_t *packed = malloc((last > first ? last - first : 1) * sizeof(*packed));
	size_t n = 0;

	if (!packed)
		return -ENOMEM;
	for (size_t i = first; i < last; i++) {
		if (chosen(select, &points->at[i]))
			packed[n++] = points->at[i].packed;
	}
	up_sort_u64(packed, n);
	*ret_dist = (struct up_dist){ .n = n, .sorted = packed, .stride = 1, .owned = packed };
	return 0;
}

static int dist_memory(struct up_load *load, const struct up_select *select, struct up_dist *ret_dist)
{
	struct up_points *points = &load->points;
	size_t first = 0, last = points->n;

	if (is_all(select)) {
		up_points_sort(points, UP_POINTS_BY_LATENCY);
		*ret_dist = (struct up_dist){
			.n = points->n, .sorted = points->n ? &points->at[0].packed : NULL, .stride = sizeof(*points->at) / 8
		};
		return 0;
	}
	if (select->from_us != INT64_MIN || select->to_us != INT64_MAX) {
		up_points_sort(points, UP_POINTS_BY_START);
		first = up_points_lower_bound(points, select->from_us);
		last = up_points_lower_bound(points, select->to_us);
	}
	return dist_copy(points, first, last, select, ret_dist);
}

struct pass {
	const struct up_select *ranges; /* ascending, disjoint */
	size_t n;
	struct hist_pair *pair; /* [n] */
};

static int pass_block(void *ctx, struct up_point *block, size_t n)
{
	struct pass *pass = ctx;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		size_t lo = 0, hi = pass->n;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (pass->ranges[mid].to_us <= block[i].start_us)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < pass->n && chosen(&pass->ranges[lo], &block[i]))
			r = pair_add(&pass->pair[lo], block[i].packed);
	}
	return r;
}

static int dist_spilled(struct up_load *load, const struct up_select *select, struct up_dist *ret_dist)
{
	struct hist_pair pair = { 0 };
	struct pass pass = { .ranges = select, .n = 1, .pair = &pair };
	struct up_dist dist = { .own_hist = true, .hist = malloc(sizeof(*dist.hist)), .hist_ok = malloc(sizeof(*dist.hist_ok)) };
	int r = dist.hist && dist.hist_ok ? up_points_each(&load->points, 0, pass_block, &pass) : -ENOMEM;

	if (r < 0) {
		free(dist.hist);
		free(dist.hist_ok);
		pair_done(&pair);
		return r;
	}
	*dist.hist = pair.all;
	*dist.hist_ok = pair.ok;
	dist.n = pair.all.n;
	*ret_dist = dist;
	return 0;
}

int up_load_dist(struct up_load *load, const struct up_select *select, struct up_dist *ret_dist)
{
	return load->points.n_spilled > 0 ? dist_spilled(load, select, ret_dist) : dist_memory(load, select, ret_dist);
}

static int summaries_spilled(struct up_load *load, const struct up_select *ranges, size_t n, struct up_summary *ret_summaries)
{
	struct hist_pair *pair = calloc(RANGES_A_PASS, sizeof(*pair));
	int r = pair ? 0 : -ENOMEM;

	for (size_t first = 0; r == 0 && first < n; first += RANGES_A_PASS) {
		struct pass pass = {
			.ranges = ranges + first, .n = n - first < RANGES_A_PASS ? n - first : RANGES_A_PASS, .pair = pair
		};

		r = up_points_each(&load->points, 0, pass_block, &pass);
		for (size_t i = 0; i < pass.n; i++) {
			if (r == 0)
				pair_summary(&pair[i], load->failed_known, &ret_summaries[first + i]);
			pair_done(&pair[i]);
		}
	}
	free(pair);
	return r;
}

int up_load_summaries(struct up_load *load, const struct up_select *ranges, size_t n, struct up_summary *ret_summaries)
{
	if (load->points.n_spilled > 0)
		return summaries_spilled(load, ranges, n, ret_summaries);
	up_points_sort(&load->points, UP_POINTS_BY_START);
	for (size_t i = 0; i < n; i++) {
		struct up_dist dist;
		int r = dist_copy(&load->points, up_points_lower_bound(&load->points, ranges[i].from_us),
			up_points_lower_bound(&load->points, ranges[i].to_us), &ranges[i], &dist);

		if (r < 0)
			return r;
		up_dist_summary(&dist, load->failed_known, &ret_summaries[i]);
		up_dist_done(&dist);
	}
	return 0;
}

static bool one_name(const struct up_points *points)
{
	for (size_t i = 1; i < points->n; i++) {
		if (up_packed_name(points->at[i].packed) != up_packed_name(points->at[0].packed))
			return false;
	}
	return true;
}

/* Sorted by name and then latency, every name is a run of points that needs no copy. */
static void by_name_memory(struct up_load *load, struct up_summary *ret_summaries)
{
	const struct up_points *points = &load->points;
	size_t at = 0;

	/* With one name throughout, the order by latency is the order by name too, and the caller needs it next. */
	up_points_sort(&load->points, one_name(points) ? UP_POINTS_BY_LATENCY : UP_POINTS_BY_NAME);
	for (unsigned name = 0; name < load->names.n; name++) {
		struct up_dist dist = { .stride = sizeof(*points->at) / 8 };

		while (at + dist.n < points->n && up_packed_name(points->at[at + dist.n].packed) == name)
			dist.n++;
		dist.sorted = dist.n ? &points->at[at].packed : NULL;
		up_dist_summary(&dist, load->failed_known, &ret_summaries[name]);
		at += dist.n;
	}
}

struct name_pass {
	unsigned first;
	struct hist_pair pair[RANGES_A_PASS];
};

static int name_pass_block(void *ctx, struct up_point *block, size_t n)
{
	struct name_pass *pass = ctx;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		unsigned name = up_packed_name(block[i].packed);

		if (name >= pass->first && name - pass->first < RANGES_A_PASS)
			r = pair_add(&pass->pair[name - pass->first], block[i].packed);
	}
	return r;
}

static int by_name_spilled(struct up_load *load, struct up_summary *ret_summaries)
{
	struct name_pass *pass = calloc(1, sizeof(*pass));
	int r = pass ? 0 : -ENOMEM;

	for (unsigned first = 0; r == 0 && first < load->names.n; first += RANGES_A_PASS) {
		pass->first = first;
		r = up_points_each(&load->points, 0, name_pass_block, pass);
		for (unsigned i = 0; i < RANGES_A_PASS; i++) {
			if (r == 0 && first + i < load->names.n)
				pair_summary(&pass->pair[i], load->failed_known, &ret_summaries[first + i]);
			pair_done(&pass->pair[i]);
		}
	}
	free(pass);
	return r;
}

int up_load_summaries_by_name(struct up_load *load, struct up_summary *ret_summaries)
{
	if (load->points.n_spilled > 0)
		return by_name_spilled(load, ret_summaries);
	by_name_memory(load, ret_summaries);
	return 0;
}

static int file_spilled(struct up_load *load, struct up_load_file *file)
{
	struct hist_pair pair = { 0 };
	struct pass pass = { .ranges = &up_select_all, .n = 1, .pair = &pair };
	int r = up_points_each(&load->points, file->first_point, pass_block, &pass);

	if (r == 0)
		pair_summary(&pair, file->failed_known, &file->summary);
	pair_done(&pair);
	return r;
}

int up_load_file_summary(struct up_load *load, unsigned index)
{
	struct up_load_file *file = &load->file[index];
	struct up_dist dist;
	int r;

	if (load->points.n_spilled > file->first_point)
		return file_spilled(load, file);
	r = dist_copy(&load->points, (size_t)(file->first_point - load->points.n_spilled),
		(size_t)(file->first_point - load->points.n_spilled + file->n_points), &up_select_all, &dist);
	if (r < 0)
		return r;
	up_dist_summary(&dist, file->failed_known, &file->summary);
	up_dist_done(&dist);
	return 0;
}

struct cut {
	const struct up_select *select;
	struct up_points *into;
	int64_t first_start_us, first_end_us, last_end_us;
};

static int cut_block(void *ctx, struct up_point *block, size_t n)
{
	struct cut *cut = ctx;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		int64_t end_us = up_point_end_us(&block[i]);

		if (!chosen(cut->select, &block[i]))
			continue;
		if (up_points_total(cut->into) == 0 || block[i].start_us < cut->first_start_us)
			cut->first_start_us = block[i].start_us;
		if (up_points_total(cut->into) == 0 || end_us < cut->first_end_us)
			cut->first_end_us = end_us;
		if (up_points_total(cut->into) == 0 || end_us > cut->last_end_us)
			cut->last_end_us = end_us;
		r = up_points_add(cut->into, block[i].start_us, block[i].packed);
	}
	return r;
}

static void cut_seconds(struct up_seconds *seconds, const struct up_select *select)
{
	for (size_t i = 0; i < seconds->n; i++) {
		int64_t at_us = (seconds->first_s + (int64_t)i) * 1000000;

		if (at_us + 1000000 <= select->from_us || at_us >= select->to_us)
			seconds->at[i] = (struct up_second){ .users = NAN, .users_max = NAN };
	}
}

int up_load_cut(struct up_load *load, const struct up_select *select, uint64_t *ret_left_out)
{
	struct up_points kept;
	struct cut cut = { .select = select, .into = &kept };
	uint64_t before = up_points_total(&load->points);
	int r;

	up_points_init(&kept);
	r = up_points_each(&load->points, 0, cut_block, &cut);
	if (r < 0) {
		up_points_done(&kept);
		return r;
	}
	*ret_left_out = before - up_points_total(&kept);
	up_points_done(&load->points);
	load->points = kept;
	load->first_start_us = cut.first_start_us;
	load->first_end_us = cut.first_end_us;
	load->last_end_us = cut.last_end_us;
	load->counted = false;
	cut_seconds(&load->seconds, select);
	return 0;
}
