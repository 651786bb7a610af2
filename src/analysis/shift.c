/* The shift between two clocks: cross-correlation of event counts, with no shift as the prior. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "useprobe/shift.h"

enum { OVERLAP_MIN = 20, CELLS_MAX = 7200 };
static const double reach_s = 600, zone_s = 900, zones_s = 14 * 3600;
static const double correlation_min = 0.5, margin_min = 0.1;

/* Changes from cell to cell. A is zero outside its cells, B is not known outside. */
struct pair {
	double *a, *b; /* owned, [n_a + 1], [n_b - 1] */
	size_t n_a, n_b; /* lengths of these */
};

static bool pair_new(struct pair *p, const double *a, size_t n_a, const double *b, size_t n_b)
{
	*p = (struct pair){ .n_a = n_a + 1, .n_b = n_b - 1 };
	p->a = malloc(p->n_a * sizeof(*p->a));
	p->b = malloc(n_b * sizeof(*p->b));
	if (!p->a || !p->b)
		return false;
	for (size_t i = 0; i <= n_a; i++) /* a[i] is the change into cell i */
		p->a[i] = (i < n_a ? a[i] : 0) - (i > 0 ? a[i - 1] : 0);
	for (size_t i = 0; i + 1 < n_b; i++) /* b[i] is the change into cell i + 1 */
		p->b[i] = b[i + 1] - b[i];
	return true;
}

static void pair_done(struct pair *p)
{
	free(p->a);
	free(p->b);
}

/* Pearson's correlation of A's cell i with B's cell i + LAG, over all that B knows. -2 with too little of A in it or without variance. */
static double correlate(const struct pair *p, long lag)
{
	/* change into B's cell k + 1 is b[k]; A's change into the same moment is a[k + 1 - lag] */
	long first = lag - 1 > 0 ? lag - 1 : 0, last = (long)p->n_b;
	double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0, n = (double)p->n_b, va, vb;

	if ((long)p->n_a + lag - 1 < last)
		last = (long)p->n_a + lag - 1;
	if (last - first < OVERLAP_MIN)
		return -2;
	for (long k = first; k < last; k++) {
		double a = p->a[k + 1 - lag];

		sa += a;
		saa += a * a;
		sab += a * p->b[k];
	}
	for (size_t k = 0; k < p->n_b; k++) {
		sb += p->b[k];
		sbb += p->b[k] * p->b[k];
	}
	va = saa - sa * sa / n;
	vb = sbb - sb * sb / n;
	return va > 1e-9 && vb > 1e-9 ? (sab - sa * sb / n) / sqrt(va * vb) : -2;
}

struct peak {
	long lag;
	double correlation;
};

/* Best lag within REACH cells of MIDDLE. */
static struct peak best_around(const struct pair *p, long middle, long reach)
{
	struct peak best = { .lag = middle, .correlation = -2 };

	for (long lag = middle - reach; lag <= middle + reach; lag++) {
		double c = correlate(p, lag);

		if (c > best.correlation)
			best = (struct peak){ lag, c };
	}
	return best;
}

/* Best correlation at lags that are not the peak's own slope: where it has fallen by less than the margin next to the peak it is the same peak. */
static double runner_up(const struct pair *p, struct peak peak, long middle, long reach)
{
	double best = -2, last = peak.correlation;
	long lo = peak.lag, hi = peak.lag;

	for (double c; lo - 1 >= middle - reach && (c = correlate(p, lo - 1)) < last && c > -2; lo--)
		last = c;
	last = peak.correlation;
	for (double c; hi + 1 <= middle + reach && (c = correlate(p, hi + 1)) < last && c > -2; hi++)
		last = c;
	for (long lag = middle - reach; lag <= middle + reach; lag++) {
		if (lag < lo || lag > hi)
			best = fmax(best, correlate(p, lag));
	}
	return best;
}

/* Half of the width over which the peak stays within a tenth of its height, in cells, at least half a cell. */
static double half_width(const struct pair *p, struct peak peak)
{
	long width = 1;

	while (width < 60 && (correlate(p, peak.lag - width) > 0.9 * peak.correlation ||
				     correlate(p, peak.lag + width) > 0.9 * peak.correlation))
		width++;
	return (double)width - 0.5;
}

static void decide(const struct pair *p, long base, double cell_s, struct up_shift *shift)
{
	long reach = lround(reach_s / cell_s), zone_cells = lround(zone_s / cell_s), zones = lround(zones_s / zone_s),
	     best_zone = 0;
	struct peak best = { 0, -2 }, prior = best_around(p, base, 2);
	double second = -2;

	for (long zone = -zones; zone <= zones; zone++) {
		struct peak here = best_around(p, base + zone * zone_cells, reach);
		double loser = here.correlation;

		if (here.correlation > best.correlation + 1e-12) {
			loser = best.correlation;
			best_zone = zone;
		}
		if (labs(here.lag - best.lag) > 2) /* windows overlap: the same peak may show in two */
			second = fmax(second, loser);
		if (best_zone == zone)
			best = here;
	}
	second = fmax(second, runner_up(p, best, base + best_zone * zone_cells, reach));
	shift->correlation = best.correlation;
	if (best.correlation <= -2) {
		snprintf(shift->reason, sizeof(shift->reason), "less than %d cells in common, or a rate that never changes",
			OVERLAP_MIN);
	} else if (prior.correlation >= correlation_min && prior.correlation >= best.correlation - margin_min) {
		*shift = (struct up_shift){
			.known = true, .uncertainty_s = half_width(p, prior) * cell_s, .correlation = prior.correlation
		};
		snprintf(shift->reason, sizeof(shift->reason), "the clocks agree (correlation %.2f without a shift)",
			prior.correlation);
	} else if (best.correlation < correlation_min) {
		snprintf(shift->reason, sizeof(shift->reason), "no shift fits: the best correlation is %.2f", best.correlation);
	} else if (best.correlation - second < margin_min) {
		snprintf(shift->reason, sizeof(shift->reason), "several shifts fit about as well (correlations %.2f and %.2f)",
			best.correlation, second);
	} else {
		shift->known = true;
		shift->shift_s = (double)(best.lag - base) * cell_s;
		shift->uncertainty_s = half_width(p, best) * cell_s;
		snprintf(shift->reason, sizeof(shift->reason), "the starts fit best there (correlation %.2f, next %.2f)",
			best.correlation, second);
	}
}

int up_shift_find(const double *a, size_t n_a, double a_start_s, const double *b, size_t n_b, double b_start_s, double cell_s,
	struct up_shift *ret_shift)
{
	struct up_shift shift = { 0 };
	struct pair p;

	if (!(cell_s > 0))
		return -EINVAL;
	if (n_a < OVERLAP_MIN || n_b < OVERLAP_MIN || n_a > CELLS_MAX || n_b > CELLS_MAX) {
		snprintf(shift.reason, sizeof(shift.reason), "%s",
			n_a < OVERLAP_MIN || n_b < OVERLAP_MIN ? "too short to compare" : "too long to compare cell by cell");
		*ret_shift = shift;
		return 0;
	}
	if (!pair_new(&p, a, n_a, b, n_b)) {
		pair_done(&p);
		return -ENOMEM;
	}
	/* Without a shift A's cell i is B's cell i + base. */
	decide(&p, lround((a_start_s - b_start_s) / cell_s), cell_s, &shift);
	pair_done(&p);
	*ret_shift = shift;
	return 0;
}
