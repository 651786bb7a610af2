/* Compare: whether runs made before and after a change differ, figure by figure. Works on one value a run and figure, never on
 * values pooled over runs: what differs from run to run is the yardstick, and requests of one run are not independent of each other. */
#ifndef UP_COMPARE_H
#define UP_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UP_COMPARE_RUNS_MIN = 3, /* a side; fewer show no range */
	UP_COMPARE_RUNS_MAX = 32, /* a side */
};

/* One figure on one side: of the runs in which it is known. */
struct up_range {
	size_t n;
	double min, median, max; /* NAN when n is 0 */
};

enum up_difference_kind { UP_DIFFERENCE_NONE, UP_DIFFERENCE_LOWER, UP_DIFFERENCE_HIGHER };
/* Why no difference can be claimed. */
enum up_no_claim {
	UP_CLAIMED,
	UP_NO_RUNS, /* fewer than UP_COMPARE_RUNS_MIN runs of a side have the figure */
	UP_NO_OVERLAP, /* the ranges overlap or touch */
	UP_NO_GAP, /* apart, but by less than the runs of one side differ among themselves */
	UP_NO_RESOLUTION, /* apart by no more than the figure is known to */
	/* Set by the caller: */
	UP_NO_REFUSED, /* the two sides do not measure the same */
	UP_NO_TAIL, /* a run has fewer than UP_TAIL_MIN requests beyond the percentile */
	UP_NO_COUNTS, /* counts so small that they differ by chance */
};

struct up_difference {
	struct up_range base, next;
	enum up_difference_kind kind; /* of NEXT against BASE */
	enum up_no_claim why;
	double change_lo,
		change_hi; /* bounds of the change relative to BASE, between the nearest and the farthest runs; NAN when BASE is not above 0 */
};

/* Values that are NAN are runs that do not have the figure. RESOLUTION: a difference must be larger than this, in the figure's unit; 0 for none.
 * The rule: at least three runs a side, ranges that do not overlap, and a gap between them wider than the wider range, or than half of it from four
 * runs a side on. Ranges alone fall apart by chance: of three and three runs of one normal distribution in 1 of 10 cases (2 / C(6, 3)), with the gap
 * in 0.7 %; of a series in which each run resembles the one before (autocorrelation 0.7) in 28 % and 4 % (simulated, 200,000 times). Half of the gap
 * does the same for four and four: 0.3 % and 4 %. A steady drift over six runs never passes: its gap is one step, its ranges two. */
void up_compare(
	const double *base, size_t n_base, const double *next, size_t n_next, double resolution, struct up_difference *ret);

/* Whether two shares can differ by counting alone: true when FAILED of N on both sides together lie within three standard deviations of one share. */
bool up_compare_counts_alike(uint64_t base_failed, uint64_t base_n, uint64_t next_failed, uint64_t next_n);

#endif
