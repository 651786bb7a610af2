/* Ranges of runs against each other. */
#include "useprobe/compare.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct up_range range_of(const double *values, size_t n)
{
	struct up_range range = { .min = NAN, .median = NAN, .max = NAN };
	double known[UP_COMPARE_RUNS_MAX];

	for (size_t i = 0; i < n && range.n < UP_COMPARE_RUNS_MAX; i++)
		if (!isnan(values[i]))
			known[range.n++] = values[i];
	if (range.n == 0)
		return range;
	qsort(known, range.n, sizeof(*known), by_value);
	range.min = known[0];
	range.max = known[range.n - 1];
	range.median = range.n % 2 ? known[range.n / 2] : (known[range.n / 2 - 1] + known[range.n / 2]) / 2;
	return range;
}

void up_compare(
	const double *base, size_t n_base, const double *next, size_t n_next, double resolution, struct up_difference *ret)
{
	struct up_difference d = {
		.base = range_of(base, n_base), .next = range_of(next, n_next), .change_lo = NAN, .change_hi = NAN
	};
	const double gap = fmax(d.base.min - d.next.max, d.next.min - d.base.max);
	const double width = fmax(d.base.max - d.base.min, d.next.max - d.next.min);

	if (d.base.n > 0 && d.next.n > 0 && d.base.min > 0) {
		d.change_lo = d.next.min / d.base.max - 1;
		d.change_hi = d.next.max / d.base.min - 1;
	}
	if (d.base.n < UP_COMPARE_RUNS_MIN || d.next.n < UP_COMPARE_RUNS_MIN)
		d.why = UP_NO_RUNS;
	else if (!(gap > 0))
		d.why = UP_NO_OVERLAP;
	else if (!(gap > resolution))
		d.why = UP_NO_RESOLUTION;
	else if (!(gap > (d.base.n > UP_COMPARE_RUNS_MIN && d.next.n > UP_COMPARE_RUNS_MIN ? width / 2 : width)))
		d.why = UP_NO_GAP;
	else
		d.kind = d.next.min > d.base.max ? UP_DIFFERENCE_HIGHER : UP_DIFFERENCE_LOWER;
	*ret = d;
}

bool up_compare_counts_alike(uint64_t base_failed, uint64_t base_n, uint64_t next_failed, uint64_t next_n)
{
	const double n = (double)base_n, m = (double)next_n;
	double share;

	if (base_n == 0 || next_n == 0)
		return true;
	share = ((double)base_failed + (double)next_failed) / (n + m);
	return fabs((double)base_failed / n - (double)next_failed / m) <= 3 * sqrt(share * (1 - share) * (1 / n + 1 / m));
}
