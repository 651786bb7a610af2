/* Open or closed: did the generator keep its schedule whatever the server did, or did each user wait for its answer? */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/omission.h"

enum {
	SAMPLE_MAX = 400000, /* requests looked at for the requests in flight at once */
	LEVEL_US_MIN = 5000,
	SLOW_SECONDS_MIN = 2,
	SLOW_EXPECTED_MIN = 20, /* starts that should have been in the slow seconds */
};

const char *up_model_name(enum up_model model)
{
	static const char *const name[] = { "unknown", "open", "closed" };

	return name[model];
}

__attribute__((format(printf, 3, 4))) static void decide(
	struct up_model_guess *guess, enum up_model model, const char *format, ...)
{
	va_list args;

	guess->model = model;
	va_start(args, format);
	vsnprintf(guess->reason, sizeof(guess->reason), format, args);
	va_end(args);
}

static bool from_files(const struct up_load *load, struct up_model_guess *guess)
{
	uint64_t dropped = 0;
	unsigned closed = 0;

	for (unsigned i = 0; i < load->n_files; i++) {
		dropped += load->file[i].dropped;
		closed += load->file[i].traits.closed;
		if (load->file[i].intended) {
			decide(guess, UP_MODEL_OPEN, "the file has intended starts");
			return true;
		}
	}
	if (dropped > 0) {
		decide(guess, UP_MODEL_OPEN, "%llu iterations were dropped, which only a schedule can do",
			(unsigned long long)dropped);
		return true;
	}
	if (closed == load->n_files) {
		decide(guess, UP_MODEL_CLOSED, "%s makes closed runs only", load->file[0].traits.name);
		return true;
	}
	return false;
}

struct users {
	size_t n, pairs, same;
	double sum, max, busy_s;
	size_t at_least_one;
};

static struct users count_users(const struct up_seconds *seconds)
{
	struct users users = { 0 };

	for (size_t i = 0; i < seconds->n; i++) {
		const struct up_second *s = &seconds->at[i];

		if (isnan(s->users))
			continue;
		users.n++;
		users.sum += (double)s->users;
		users.busy_s += s->busy_s;
		users.max = fmax(users.max, (double)s->users);
		users.at_least_one += s->users >= 1;
		if (i > 0 && !isnan(s[-1].users)) {
			users.pairs++;
			users.same += s->users == s[-1].users;
		}
	}
	return users;
}

/* Users that think or work stay the same from second to second; "users" that only exist while a request runs come and go with it. */
static bool from_users(const struct up_load *load, struct up_model_guess *guess)
{
	struct users users = count_users(&load->seconds);

	if (users.n < 3 || users.pairs == 0)
		return false;
	if ((double)users.same >= 0.7 * (double)users.pairs && (double)users.at_least_one >= 0.8 * (double)users.n) {
		guess->users = users.max;
		decide(guess, UP_MODEL_CLOSED, "a steady number of users (%.4g) is active, whatever is in flight", users.max);
		return true;
	}
	if ((double)users.same < 0.5 * (double)users.pairs &&
		fabs(users.sum - users.busy_s) <= 0.25 * fmax(users.sum, users.busy_s)) {
		decide(guess, UP_MODEL_OPEN, "the active users come and go with the requests in flight");
		return true;
	}
	return false;
}

struct levels {
	double at_top_share; /* of the time, with the most requests in flight or one less */
	double top;
};

/* Requests in flight at once, from the exact starts and ends of a stretch in the middle of the run. */
static int in_flight_levels(struct up_load *load, struct levels *ret_levels)
{
	const struct up_points *points = &load->points;
	size_t n = points->n < SAMPLE_MAX ? points->n : SAMPLE_MAX, first = (points->n - n) / 2, start = 0, end = 0;
	uint64_t *ends, *time_us;
	uint32_t level = 0, top = 0;
	int64_t last_us = points->at[first].start_us, total_us = 0;

	ends = malloc(n * sizeof(*ends));
	time_us = calloc(n + 1, sizeof(*time_us));
	if (!ends || !time_us) {
		free(ends);
		free(time_us);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		ends[i] = (uint64_t)(up_point_end_us(&points->at[first + i]) - last_us);
	up_sort_u64(ends, n);
	while (start < n) { /* until the last start: afterwards the run only drains */
		int64_t next_us = points->at[first + start].start_us, end_us = (int64_t)ends[end] + points->at[first].start_us;
		bool is_end = end_us < next_us;

		if (is_end)
			next_us = end_us;
		time_us[level] += (uint64_t)(next_us - last_us);
		last_us = next_us;
		if (is_end) {
			level--;
			end++;
		} else {
			level++;
			start++;
		}
		top = level > top ? level : top;
	}
	for (uint32_t i = 0; i <= top; i++)
		total_us += (int64_t)time_us[i];
	/* A level that lasts a few ms in all is the rounding of the stamps, not another user. */
	for (int64_t at_least_us = 0; top > 1; top--) {
		at_least_us += (int64_t)time_us[top];
		if (at_least_us >= (int64_t)LEVEL_US_MIN && (double)at_least_us >= 0.0005 * (double)total_us)
			break;
	}
	ret_levels->top = top;
	ret_levels->at_top_share =
		total_us > 0 ? (double)(time_us[top] + (top > 1 ? time_us[top - 1] : 0)) / (double)total_us : 0;
	free(ends);
	free(time_us);
	return 0;
}

static bool exact_stamps(const struct up_load *load)
{
	for (unsigned i = 0; i < load->n_files; i++) {
		if (load->file[i].whole_seconds || load->file[i].traits.stamp == UP_STAMP_NONE)
			return false;
	}
	return load->points.n_spilled == 0 && load->points.n >= 100;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_double);
	return n ? values[n / 2] : NAN;
}

/* Mean starts of up to five normal seconds before I; -1 when there are none. */
static double normal_before(const struct up_seconds *seconds, size_t i, double slow_busy_s)
{
	double sum = 0;
	unsigned n = 0;

	while (i-- > 0 && n < 5) {
		if (seconds->at[i].busy_s > slow_busy_s)
			continue;
		sum += seconds->at[i].starts;
		n++;
	}
	return n ? sum / n : -1;
}

/* Slow seconds: three times as much in flight as usual. Do the starts go on in them? */
static int from_slow_seconds(const struct up_load *load, struct up_model_guess *guess)
{
	const struct up_seconds *seconds = &load->seconds;
	double *busy = malloc((seconds->n ? seconds->n : 1) * sizeof(*busy)), limit, expected = 0, seen = 0;
	size_t slow = 0;

	if (!busy)
		return -ENOMEM;
	for (size_t i = 0; i < seconds->n; i++)
		busy[i] = seconds->at[i].busy_s;
	limit = 3 * median(busy, seconds->n);
	free(busy);
	for (size_t i = 1; i + 1 < seconds->n; i++) {
		double normal;

		if (seconds->at[i].busy_s <= limit)
			continue;
		normal = normal_before(seconds, i, limit);
		if (normal < 0)
			continue;
		slow++;
		expected += normal;
		seen += seconds->at[i].starts;
	}
	if (slow < SLOW_SECONDS_MIN || expected < SLOW_EXPECTED_MIN)
		decide(guess, UP_MODEL_UNKNOWN, "the latency hardly changed, so open and closed look the same");
	else if (seen <= 0.6 * expected)
		decide(guess, UP_MODEL_CLOSED, "in %zu slow seconds only %.0f of the usual %.0f requests were sent", slow, seen,
			expected);
	else if (seen >= 0.9 * expected)
		decide(guess, UP_MODEL_OPEN, "in %zu slow seconds requests were sent as before (%.0f, usual %.0f)", slow, seen,
			expected);
	else
		decide(guess, UP_MODEL_UNKNOWN,
			"in %zu slow seconds %.0f of the usual %.0f requests were sent: neither open nor closed", slow, seen,
			expected);
	return 0;
}

int up_model_recognise(struct up_load *load, struct up_model_guess *ret_guess)
{
	struct up_model_guess guess = { .users = NAN };
	struct users users = count_users(&load->seconds);
	struct levels levels = { 0 };
	int r = 0;

	decide(&guess, UP_MODEL_UNKNOWN, "no requests");
	if (up_points_total(&load->points) == 0)
		goto out;
	if (exact_stamps(load)) {
		up_points_sort(&load->points, UP_POINTS_BY_START);
		r = in_flight_levels(load, &levels);
		if (r < 0)
			return r;
	}
	if (!from_files(load, &guess) && !from_users(load, &guess)) {
		if (levels.at_top_share >= 0.9)
			decide(&guess, UP_MODEL_CLOSED, "%.0f requests are in flight all the time", levels.top);
		else
			r = from_slow_seconds(load, &guess);
	}
	if (guess.model == UP_MODEL_CLOSED && isnan(guess.users))
		guess.users = users.n > 0 ? users.max : levels.top > 0 ? levels.top : NAN;
out:
	if (r == 0)
		*ret_guess = guess;
	return r;
}
