/* The run second by second: what offered load, throughput and the requests in flight are computed from. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/load.h"

static const struct up_second empty = { .users = NAN, .users_max = NAN };

/* Makes room for N cells with BEFORE new ones in front. */
static int widen(struct up_seconds *seconds, size_t before, size_t n)
{
	if (n > seconds->room) {
		size_t room = n + n / 2 + 64;
		struct up_second *at = realloc(seconds->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		seconds->at = at;
		seconds->room = room;
	}
	if (before > 0)
		memmove(seconds->at + before, seconds->at, seconds->n * sizeof(*seconds->at));
	for (size_t i = 0; i < before; i++)
		seconds->at[i] = empty;
	for (size_t i = before + seconds->n; i < n; i++)
		seconds->at[i] = empty;
	seconds->first_s -= (int64_t)before;
	seconds->n = n;
	return 0;
}

struct up_second *up_seconds_get(struct up_seconds *seconds, int64_t second_s)
{
	size_t before = 0, n;

	if (seconds->n == 0)
		seconds->first_s = second_s;
	if (second_s < seconds->first_s) {
		if (seconds->first_s - second_s > UP_LOAD_SECONDS_MAX)
			return NULL;
		before = (size_t)(seconds->first_s - second_s);
		n = seconds->n + before;
	} else {
		if (second_s - seconds->first_s >= UP_LOAD_SECONDS_MAX)
			return NULL;
		n = (size_t)(second_s - seconds->first_s) + 1;
	}
	if (n > UP_LOAD_SECONDS_MAX)
		return NULL;
	if (n > seconds->n && widen(seconds, before, n) < 0)
		return NULL;
	return &seconds->at[second_s - seconds->first_s];
}

const struct up_second *up_seconds_find(const struct up_seconds *seconds, int64_t second_s)
{
	if (second_s < seconds->first_s || second_s - seconds->first_s >= (int64_t)seconds->n)
		return NULL;
	return &seconds->at[second_s - seconds->first_s];
}

struct count {
	struct up_load *load;
	int32_t *whole; /* [seconds.n + 1] change of the requests in flight during a whole second */
};

static int64_t second_of(int64_t us)
{
	return us >= 0 ? us / 1000000 : -((999999 - us) / 1000000);
}

static int count_block(void *ctx, struct up_point *block, size_t n)
{
	struct count *count = ctx;
	struct up_seconds *seconds = &count->load->seconds;

	for (size_t i = 0; i < n; i++) {
		int64_t start_us = block[i].start_us, end_us = up_point_end_us(&block[i]);
		size_t s = (size_t)(second_of(start_us) - seconds->first_s), e = (size_t)(second_of(end_us) - seconds->first_s);
		struct up_second *first = &seconds->at[s], *last = &seconds->at[e];

		first->starts++;
		first->late += (block[i].packed & UP_POINT_LATE) != 0;
		first->latency_sum_s += (double)up_packed_latency_ns(block[i].packed) / 1e9;
		last->ends++;
		last->ends_failed += (block[i].packed & UP_POINT_FAILED) != 0;
		if (s == e) {
			first->busy_s += (double)(end_us - start_us) / 1e6;
			continue;
		}
		first->busy_s += (double)((seconds->first_s + (int64_t)s + 1) * 1000000 - start_us) / 1e6;
		last->busy_s += (double)(end_us - (seconds->first_s + (int64_t)e) * 1000000) / 1e6;
		count->whole[s + 1]++;
		count->whole[e]--;
	}
	return 0;
}

static int no_memory(struct up_load *load)
{
	snprintf(load->error, sizeof(load->error), "out of memory");
	return -ENOMEM;
}

int up_load_count(struct up_load *load)
{
	struct count count = { .load = load };
	int64_t in_flight = 0;
	int r;

	if (load->counted || up_points_total(&load->points) == 0)
		return 0;
	if (!up_seconds_get(&load->seconds, second_of(load->first_start_us)) ||
		!up_seconds_get(&load->seconds, second_of(load->last_end_us))) {
		snprintf(load->error, sizeof(load->error),
			"the requests span %lld days, more than %d: cut the run with --from and --to",
			(long long)((load->last_end_us - load->first_start_us) / 86400000000), UP_LOAD_SECONDS_MAX / 86400);
		return -ERANGE;
	}
	count.whole = calloc(load->seconds.n + 1, sizeof(*count.whole));
	if (!count.whole)
		return no_memory(load);
	r = up_points_each(&load->points, 0, count_block, &count);
	for (size_t i = 0; r == 0 && i < load->seconds.n; i++) {
		in_flight += count.whole[i];
		load->seconds.at[i].busy_s += (double)in_flight;
	}
	free(count.whole);
	load->counted = r == 0;
	return r;
}
