/* Load steps: stretches of a run with one offered rate (or one number of users). Works on plain arrays, one cell a second. */
#ifndef UP_STEPS_H
#define UP_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UP_STEPS_MAX = 256,
	UP_STEP_SECONDS_MIN = 5, /* a shorter stretch is no step */
	UP_STEP_CELLS_MAX = 4800, /* longer runs are looked at in cells of several seconds: the search is quadratic */
};

struct up_span {
	size_t first, last; /* cells [first, last) */
};

/* Finds the stretches of constant rate in COUNTS (events in each second, N cells): change points by optimal partitioning with pruning (Killick,
 * Fearnhead and Eckley 2012, PELT) under the Poisson cost 2 (S - S ln(S / length)) with penalty 3 ln n and a minimum of 5 s; neighbours within 5 %
 * are merged, up to 3 s of ramp are taken off each end, stretches that are themselves a ramp or empty are left out. Returns how many of SPANS were
 * filled (at most UP_STEPS_MAX, ascending), or -ENOMEM. */
int up_steps_find(const double *counts, size_t n, struct up_span spans[UP_STEPS_MAX]);
/* The same for levels that are known exactly (users): stretches of at least 5 s within 5 % or 0.5 of their first value. NAN cells belong to none. */
int up_steps_find_levels(const double *levels, size_t n, struct up_span spans[UP_STEPS_MAX]);

/* "START:STEP:COUNT:HOLD[:RAMP]": COUNT steps, each RAMP (default 0) and then HOLD long, with the rates START, START + STEP, ... */
struct up_ladder {
	double start_per_s, step_per_s;
	unsigned count;
	double hold_s, ramp_s;
};
/* Where step INDEX of LADDER is held, in seconds after the beginning of the run. */
void up_ladder_span(const struct up_ladder *ladder, unsigned index, double *ret_from_s, double *ret_to_s);

#endif
