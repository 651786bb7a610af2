#ifndef LAB_SCHEDULE_H
#define LAB_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#include "random.h"

#define LAB_PIECES_MAX 400

/* A stretch of a load test: the rate goes evenly from rate_begin to rate_end (open loop), or a number of users asks (closed loop). */
struct lab_piece {
	double start_s, duration_s; /* since the start of the run */
	double rate_begin_per_s, rate_end_per_s; /* open loop */
	unsigned users; /* closed loop */
	unsigned step; /* 1, 2, ...; 0 = a ramp between steps */
};

struct lab_schedule {
	bool closed;
	unsigned n_pieces;
	double duration_s;
	struct lab_piece pieces[LAB_PIECES_MAX];
};

/* "START:STEP:COUNT:HOLD[:RAMP]": COUNT steps of HOLD at START, START + STEP, ... requests/s, with a ramp of RAMP between neighbours
 * (none before the first). Open loop. 0, -EINVAL for another form or a rate of 0, -E2BIG for too many steps. */
int lab_steps_read(const char *text, struct lab_schedule *ret_schedule);

/* "1,2,4,8:HOLD" or "1..64:HOLD" (doubling, the last one always in): so many users at a time. Closed loop. Errors as above. */
int lab_sweep_read(const char *text, struct lab_schedule *ret_schedule);

/* One step of HOLD_S seconds with RATE_PER_S (open loop) or USERS (closed loop, RATE_PER_S 0). */
void lab_schedule_constant(double rate_per_s, unsigned users, double hold_s, struct lab_schedule *ret_schedule);

/* The piece in which the time S lies; starts looking at piece HINT and only goes up. n_pieces after the end. */
unsigned lab_schedule_piece(const struct lab_schedule *schedule, double s, unsigned hint);

/* Makes the arrival times of an open schedule, one after the other. */
struct lab_arrivals {
	const struct lab_schedule *schedule; /* borrowed */
	struct lab_random random;
	bool poisson;
	double target; /* arrivals expected up to the next one */
	double before; /* arrivals expected up to the start of the piece */
	unsigned piece;
};

/* Evenly spaced by the momentary rate (the first at 0 s), or a Poisson process of that rate. */
void lab_arrivals_init(struct lab_arrivals *arrivals, const struct lab_schedule *schedule, bool poisson, uint64_t seed);

/* The next arrival: its time since the start and its piece. False when the schedule is over. */
bool lab_arrivals_next(struct lab_arrivals *arrivals, double *ret_s, unsigned *ret_piece);

#endif
