/* How many requests were in flight at once, from the exact starts and ends. */
#include <errno.h>
#include <stdlib.h>

#include "in_flight.h"

enum {
	SAMPLE_MAX = 1000000, /* requests looked at, around the slowest one */
	LEVEL_US_MIN = 5000,
};

struct stretch {
	const struct up_point *at;
	size_t n;
	int64_t longest_us;
};

/* The sample: everything, or the neighbourhood of the slowest request. POINTS are in the order of their starts. */
static struct stretch stretch_of(const struct up_points *points)
{
	struct stretch stretch = { .at = points->at, .n = points->n };
	size_t slowest = 0, first;

	for (size_t i = 1; i < points->n; i++) {
		if (points->at[i].packed > points->at[slowest].packed)
			slowest = i;
	}
	stretch.longest_us = (int64_t)(up_packed_latency_ns(points->at[slowest].packed) / 1000);
	if (points->n > SAMPLE_MAX) {
		first = slowest > SAMPLE_MAX / 2 ? slowest - SAMPLE_MAX / 2 : 0;
		first = first > points->n - SAMPLE_MAX ? points->n - SAMPLE_MAX : first;
		stretch.at += first;
		stretch.n = SAMPLE_MAX;
	}
	return stretch;
}

/* Time spent at each level until the last start (afterwards the run only drains). Returns the top level. */
static uint32_t walk(const struct stretch *s, const uint64_t *ends_us, uint64_t *time_us)
{
	const int64_t base_us = s->at[0].start_us;
	uint64_t last_us = 0;
	uint32_t level = 0, top = 0;
	size_t start = 0, end = 0;

	while (start < s->n) {
		uint64_t start_us = (uint64_t)(s->at[start].start_us - base_us);
		bool is_end = ends_us[end] < start_us;
		uint64_t now_us = is_end ? ends_us[end] : start_us;

		time_us[level] += now_us - last_us;
		last_us = now_us;
		if (is_end) {
			level--;
			end++;
		} else {
			level++;
			start++;
		}
		top = level > top ? level : top;
	}
	return top;
}

static void summarise(const uint64_t *time_us, uint32_t top, int64_t longest_us, struct up_levels *levels)
{
	uint64_t total_us = 0, seen_us = 0, near_top_us = 0;

	for (uint32_t i = 0; i <= top; i++)
		total_us += time_us[i];
	/* A level that lasts a few ms in all is the rounding of the stamps, not another user. */
	for (uint64_t at_least_us = 0; top > 1; top--) {
		at_least_us += time_us[top];
		if (at_least_us >= LEVEL_US_MIN && (double)at_least_us >= 0.0005 * (double)total_us)
			break;
	}
	for (uint32_t i = 0; i <= top; i++) {
		if (seen_us < total_us / 2)
			levels->median = i;
		seen_us += time_us[i];
		near_top_us += i >= 0.9 * top ? time_us[i] : 0;
	}
	levels->top = top;
	if (total_us > 0)
		levels->at_top_share = (double)(time_us[top] + (top > 1 ? time_us[top - 1] : 0)) / (double)total_us;
	levels->longest_s = (double)longest_us / 1e6;
	levels->plateau_s = (double)near_top_us / 1e6;
}

int up_in_flight_levels(const struct up_points *points, int64_t resolution_us, struct up_levels *ret_levels)
{
	struct stretch s = stretch_of(points);
	uint64_t *ends_us = malloc(s.n * sizeof(*ends_us)), *time_us = calloc(s.n + 1, sizeof(*time_us));
	struct up_levels levels = { 0 };
	int r = ends_us && time_us ? 0 : -ENOMEM;

	if (r == 0) {
		for (size_t i = 0; i < s.n; i++) {
			int64_t end_us = up_point_end_us(&s.at[i]) - 2 * resolution_us;

			ends_us[i] = (uint64_t)((end_us > s.at[i].start_us ? end_us : s.at[i].start_us) - s.at[0].start_us);
		}
		up_sort_u64(ends_us, s.n);
		summarise(time_us, walk(&s, ends_us, time_us), s.longest_us, &levels);
		*ret_levels = levels;
	}
	free(ends_us);
	free(time_us);
	return r;
}
