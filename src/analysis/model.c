/* Open or closed: did the generator keep its schedule whatever the server did, or did each user wait for its answer? */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "in_flight.h"
#include "useprobe/omission.h"

enum {
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

static bool exact_stamps(const struct up_load *load)
{
	for (unsigned i = 0; i < load->n_files; i++) {
		if (load->file[i].whole_seconds || load->file[i].traits.stamp == UP_STAMP_NONE)
			return false;
	}
	return load->points.n_spilled == 0 && load->points.n >= 100;
}

static int64_t resolution_us(const struct up_load *load)
{
	int64_t coarsest_us = 0;

	for (unsigned i = 0; i < load->n_files; i++) {
		if (load->file[i].traits.resolution_us > coarsest_us)
			coarsest_us = load->file[i].traits.resolution_us;
	}
	return coarsest_us;
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

/* A stall holds the users of a closed run all together: what is in flight jumps to their number and stays there. In an open run it climbs as long as the stall
 * lasts, so little of that time is spent near the top. */
static bool from_stall(const struct up_levels *levels, double per_s, struct up_model_guess *guess)
{
	double share = levels->longest_s > 0 ? levels->plateau_s / levels->longest_s : 0;
	bool all_there = levels->top >= 0.5 * per_s * levels->longest_s; /* as many as should have come in that time */

	if (levels->top < 3 * (levels->median + 0.5) || levels->longest_s < 0.05)
		return false;
	if (share >= 0.5 && !all_there) {
		decide(guess, UP_MODEL_CLOSED, "in the longest stall (%.3g s) never more than %.0f requests were in flight",
			levels->longest_s, levels->top);
		return true;
	}
	if ((share <= 0.25 || all_there) && levels->top >= 10) {
		decide(guess, UP_MODEL_OPEN, "in the longest stall (%.3g s) the requests in flight went on rising, to %.0f",
			levels->longest_s, levels->top);
		return true;
	}
	return false;
}

static int from_times(const struct up_load *load, const struct up_levels *levels, bool exact, struct up_model_guess *guess)
{
	double span_s = (double)(load->last_end_us - load->first_start_us) / 1e6;

	if (exact && levels->at_top_share >= 0.9) {
		decide(guess, UP_MODEL_CLOSED, "%.0f requests are in flight all the time", levels->top);
		return 0;
	}
	if (exact && span_s > 0 && from_stall(levels, (double)up_points_total(&load->points) / span_s, guess))
		return 0;
	return from_slow_seconds(load, guess);
}

int up_model_recognise(struct up_load *load, struct up_model_guess *ret_guess)
{
	struct up_model_guess guess = { .users = NAN };
	struct users users = count_users(&load->seconds);
	struct up_levels levels = { 0 };
	bool exact = exact_stamps(load);
	int r = 0;

	decide(&guess, UP_MODEL_UNKNOWN, "no requests");
	if (up_points_total(&load->points) == 0) {
		*ret_guess = guess;
		return 0;
	}
	if (exact) {
		up_points_sort(&load->points, UP_POINTS_BY_START);
		r = up_in_flight_levels(&load->points, resolution_us(load), &levels);
	}
	if (r == 0 && !from_files(load, &guess) && !from_users(load, &guess))
		r = from_times(load, &levels, exact, &guess);
	if (guess.model == UP_MODEL_CLOSED && isnan(guess.users))
		guess.users = users.n > 0 ? users.max : levels.top > 0 ? levels.top : (double)NAN;
	if (r == 0)
		*ret_guess = guess;
	return r;
}
