/* schedule - what a load test intends: ladders of rates, sweeps of users, and the arrival times that follow from a rate.
 *
 * With L(t) the number of arrivals expected up to t (the integral of the rate), the k-th evenly spaced arrival is where L = k, and
 * the arrivals of a Poisson process are where L = sums of exponential draws with mean 1. Both hold through ramps. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schedule.h"

#define MAX_RATE_PER_S 1000000.0
#define MAX_USERS 60000

/* Appends a piece. 0, or -E2BIG. */
static int add(struct lab_schedule *schedule, struct lab_piece piece)
{
	if (schedule->n_pieces == LAB_PIECES_MAX)
		return -E2BIG;
	piece.start_s = schedule->duration_s;
	schedule->pieces[schedule->n_pieces++] = piece;
	schedule->duration_s += piece.duration_s;
	return 0;
}

static int read_seconds(const char *begin, const char *end, double *ret_s)
{
	uint64_t ns;

	if (lab_time_scan(begin, end, &ns) < 0)
		return -EINVAL;
	*ret_s = (double)ns / 1e9;
	return 0;
}

int lab_steps_read(const char *text, struct lab_schedule *ret_schedule)
{
	struct lab_schedule schedule = { .closed = false };
	const char *field[6];
	double first, increment, count, hold_s, ramp_s = 0;
	const int n = lab_fields_split(text, ':', 5, field);
	int r = 0;

	if (n < 4 || lab_number_scan(field[0], field[1] - 1, &first) < 0 ||
		lab_number_scan(field[1], field[2] - 1, &increment) < 0 || lab_number_scan(field[2], field[3] - 1, &count) < 0 ||
		read_seconds(field[3], field[4] - 1, &hold_s) < 0 ||
		(n == 5 && read_seconds(field[4], field[5] - 1, &ramp_s) < 0))
		return -EINVAL;
	if (first <= 0 || count < 1 || count != floor(count) || hold_s <= 0)
		return -EINVAL;
	if (count > LAB_PIECES_MAX)
		return -E2BIG;
	if (first + increment * (count - 1) > MAX_RATE_PER_S)
		return -EINVAL;
	for (unsigned i = 0; r == 0 && i < (unsigned)count; i++) {
		const double rate = first + increment * i;

		if (i > 0 && ramp_s > 0)
			r = add(&schedule,
				(struct lab_piece){
					.duration_s = ramp_s, .rate_begin_per_s = rate - increment, .rate_end_per_s = rate });
		if (r == 0)
			r = add(&schedule,
				(struct lab_piece){
					.duration_s = hold_s, .rate_begin_per_s = rate, .rate_end_per_s = rate, .step = i + 1 });
	}
	if (r == 0)
		*ret_schedule = schedule;
	return r;
}

static int read_users(const char *begin, const char *end, unsigned *ret_users)
{
	double users;

	if (lab_number_scan(begin, end, &users) < 0 || users < 1 || users > MAX_USERS || users != floor(users))
		return -EINVAL;
	*ret_users = (unsigned)users;
	return 0;
}

static int add_users(struct lab_schedule *schedule, unsigned users, double hold_s)
{
	return add(schedule, (struct lab_piece){ .duration_s = hold_s, .users = users, .step = schedule->n_pieces + 1 });
}

int lab_sweep_read(const char *text, struct lab_schedule *ret_schedule)
{
	struct lab_schedule schedule = { .closed = true };
	const char *colon = strrchr(text, ':'), *dots = strstr(text, "..");
	unsigned users, last;
	double hold_s;
	int r = 0;

	if (!colon || read_seconds(colon + 1, colon + 1 + strlen(colon + 1), &hold_s) < 0 || hold_s <= 0)
		return -EINVAL;
	if (dots && dots < colon) {
		if (read_users(text, dots, &users) < 0 || read_users(dots + 2, colon, &last) < 0 || last < users)
			return -EINVAL;
		for (; r == 0 && users < last; users *= 2)
			r = add_users(&schedule, users, hold_s);
		if (r == 0)
			r = add_users(&schedule, last, hold_s);
	} else {
		for (const char *item = text; r == 0 && item <= colon;) {
			const char *end = memchr(item, ',', (size_t)(colon - item));

			end = end ? end : colon;
			r = read_users(item, end, &users);
			if (r == 0)
				r = add_users(&schedule, users, hold_s);
			item = end + 1;
		}
	}
	if (r == 0)
		*ret_schedule = schedule;
	return r;
}

void lab_schedule_constant(double rate_per_s, unsigned users, double hold_s, struct lab_schedule *ret_schedule)
{
	struct lab_schedule schedule = { .closed = rate_per_s <= 0 };

	(void)add(&schedule, (struct lab_piece){ .duration_s = hold_s,
				     .rate_begin_per_s = rate_per_s,
				     .rate_end_per_s = rate_per_s,
				     .users = users,
				     .step = 1 });
	*ret_schedule = schedule;
}

unsigned lab_schedule_piece(const struct lab_schedule *schedule, double s, unsigned hint)
{
	while (hint < schedule->n_pieces && s >= schedule->pieces[hint].start_s + schedule->pieces[hint].duration_s)
		hint++;
	return hint;
}

/* Arrivals expected in the whole piece. */
static double expected(const struct lab_piece *piece)
{
	return (piece->rate_begin_per_s + piece->rate_end_per_s) / 2 * piece->duration_s;
}

/* Arrivals expected up to the end of a piece; a sum that misses a whole number only by rounding is that number, or the last arrival
 * of a step would fall into the next one. */
static double up_to_end(double before, const struct lab_piece *piece)
{
	const double sum = before + expected(piece), whole = nearbyint(sum);

	return fabs(sum - whole) < 1e-6 ? whole : sum;
}

void lab_arrivals_init(struct lab_arrivals *arrivals, const struct lab_schedule *schedule, bool poisson, uint64_t seed)
{
	*arrivals = (struct lab_arrivals){ .schedule = schedule, .poisson = poisson };
	lab_random_init(&arrivals->random, seed, 0);
	arrivals->target = poisson ? lab_random_exp(&arrivals->random) : 0;
}

bool lab_arrivals_next(struct lab_arrivals *arrivals, double *ret_s, unsigned *ret_piece)
{
	const struct lab_piece *piece;

	for (;; arrivals->piece++) {
		if (arrivals->piece == arrivals->schedule->n_pieces)
			return false;
		piece = &arrivals->schedule->pieces[arrivals->piece];
		const double end = up_to_end(arrivals->before, piece);

		if (arrivals->target < end)
			break;
		arrivals->before = end;
	}
	/* y = b t + a t^2 / 2 solved for t in the form that also holds for a = 0 and near it. */
	const double y = arrivals->target - arrivals->before, b = piece->rate_begin_per_s;
	const double a = (piece->rate_end_per_s - b) / piece->duration_s, root = sqrt(fmax(0, b * b + 2 * a * y));
	const double t = b + root > 0 ? 2 * y / (b + root) : 0;

	*ret_s = piece->start_s + fmin(t, piece->duration_s);
	*ret_piece = arrivals->piece;
	arrivals->target += arrivals->poisson ? lab_random_exp(&arrivals->random) : 1;
	return true;
}
