/* The shift between two clocks from two series of event counts: the load file's starts and the kernel's arrivals. */
#ifndef UP_SHIFT_H
#define UP_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

struct up_shift {
	bool known;
	double shift_s; /* add it to A's times to get B's; 0 when not known */
	double uncertainty_s;
	double correlation; /* at the peak */
	char reason[160];
};
/* A: the events of the whole run (none outside); B: those that the other clock's owner saw, over its own time. Both a cell of CELL_S seconds, the first
 * cell at A_START_S and B_START_S on the own clock. Correlates the changes from cell to cell (a rising load correlates with itself at any shift, its changes
 * do not) at shifts within 10 min around every multiple of 15 min up to 14 h: clocks that disagree by a time zone. Answers only when the best correlation is
 * at least 0.5 and beats every other place by 0.1; no shift (within 2 cells) is the prior and wins within that margin. 0, -EINVAL or -ENOMEM. */
int up_shift_find(const double *a, size_t n_a, double a_start_s, const double *b, size_t n_b, double b_start_s, double cell_s,
	struct up_shift *ret_shift);

#endif
