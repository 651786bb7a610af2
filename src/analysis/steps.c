/* Change points of per-second counts, and what of the stretches between them is a step. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/steps.h"

enum { RAMP_CELLS = 3 };
static const double same_ratio = 0.05;

struct search {
	const double *sum; /* [n + 1] prefix sums of the counts */
	size_t n, shortest;
	double penalty;
	double *best; /* [n + 1] cost of the best partition of the first i cells */
	size_t *from; /* [n + 1] where its last stretch begins */
	size_t *candidate; /* [n + 1] beginnings that can still win */
	size_t *expires; /* [n + 1] by beginning: from this end on it no longer can; 0 not known yet */
};

/* Twice the negative log-likelihood of a Poisson rate over the cells [from, to), without what does not depend on the partition. */
static double cost(const double *sum, size_t from, size_t to)
{
	double events = sum[to] - sum[from];

	return events > 0 ? 2 * (events - events * log(events / (double)(to - from))) : 0;
}

/* The best last stretch of the cells before TO, among the candidates. */
static void last_stretch(struct search *s, size_t to, size_t n_candidates)
{
	s->best[to] = INFINITY;
	for (size_t i = 0; i < n_candidates; i++) {
		size_t from = s->candidate[i];
		double total = s->best[from] + cost(s->sum, from, to) + s->penalty;

		if (total < s->best[to]) {
			s->best[to] = total;
			s->from[to] = from;
		}
	}
}

/* A beginning that loses to a cut at TO by more than a penalty loses at every later end too, as soon as a stretch fits behind TO. */
static size_t prune(struct search *s, size_t to, size_t n_candidates)
{
	size_t kept = 0;

	for (size_t i = 0; i < n_candidates; i++) {
		size_t from = s->candidate[i];

		if (s->expires[from] == 0 && s->best[from] + cost(s->sum, from, to) > s->best[to])
			s->expires[from] = to + s->shortest;
		if (s->expires[from] == 0 || s->expires[from] > to + 1)
			s->candidate[kept++] = from;
	}
	return kept;
}

static void partition(struct search *s)
{
	size_t n_candidates = 1;

	s->best[0] = -s->penalty;
	s->candidate[0] = 0;
	for (size_t to = s->shortest; to <= s->n; to++) {
		last_stretch(s, to, n_candidates);
		n_candidates = prune(s, to, n_candidates);
		if (to + 1 >= 2 * s->shortest)
			s->candidate[n_candidates++] = to + 1 - s->shortest;
	}
}

static size_t boundaries(const struct search *s, size_t *edge)
{
	size_t n = 0;

	for (size_t at = s->n; at > 0; at = s->from[at])
		edge[n++] = at;
	edge[n] = 0;
	for (size_t i = 0; i < (n + 1) / 2; i++) {
		size_t x = edge[i];

		edge[i] = edge[n - i];
		edge[n - i] = x;
	}
	return n; /* stretches; edge[0..n] */
}

static double rate(const double *sum, size_t from, size_t to)
{
	return (sum[to] - sum[from]) / (double)(to - from);
}

/* Merges neighbours within 5 % until none is left. Returns the stretches that remain. */
static size_t merge(const double *sum, size_t *edge, size_t n)
{
	size_t i = 1;

	while (i < n) {
		double a = rate(sum, edge[i - 1], edge[i]), b = rate(sum, edge[i], edge[i + 1]);

		if (fabs(a - b) > same_ratio * fmax(a, b)) {
			i++;
			continue;
		}
		memmove(&edge[i], &edge[i + 1], (n - i) * sizeof(*edge));
		n--;
		i = i > 1 ? i - 1 : 1;
	}
	return n;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_of(const double *counts, size_t n, double *scratch)
{
	memcpy(scratch, counts, n * sizeof(*scratch));
	qsort(scratch, n, sizeof(*scratch), compare_double);
	return scratch[n / 2];
}

/* How far a cell may lie from the MEDIAN of its stretch: 5 %, or three standard deviations as the stretch itself has them (by the median deviation,
 * which a few ramp cells do not move). A generator that keeps its rate exactly shows its ramps at once; random arrivals get their room. */
static double tolerance(const double *counts, size_t n, double median, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(counts[i] - median);
	qsort(scratch, n, sizeof(*scratch), compare_double);
	return fmax(same_ratio * median, 3 * 1.4826 * scratch[n / 2]);
}

/* A stretch whose thirds climb or fall is itself a ramp. */
static bool is_ramp(const double *sum, struct up_span span)
{
	size_t third = (span.last - span.first) / 3;
	double a, b, c, slack;

	if (third < 2)
		return false;
	a = rate(sum, span.first, span.first + third);
	b = rate(sum, span.first + third, span.last - third);
	c = rate(sum, span.last - third, span.last);
	slack = fmax(0.05 * b, 3 * sqrt(b / (double)third));
	return ((b - a > slack && c - b > slack) || (a - b > slack && b - c > slack));
}

/* Takes the ramps off both ends. False: nothing worth a step is left. */
static bool trim(const double *counts, const double *sum, struct up_span *span, double *scratch)
{
	size_t n = span->last - span->first, cut;
	double median = median_of(counts + span->first, n, scratch), room = tolerance(counts + span->first, n, median, scratch);

	if (sum[span->last] - sum[span->first] <= 0)
		return false;
	for (cut = 0; cut < RAMP_CELLS && span->last - span->first > 1 && fabs(counts[span->first] - median) > room; cut++)
		span->first++;
	for (cut = 0; cut < RAMP_CELLS && span->last - span->first > 1 && fabs(counts[span->last - 1] - median) > room; cut++)
		span->last--;
	return median > 0 && !is_ramp(sum, *span);
}

/* Without their ramps neighbours may turn out to be one step. Keeps those that are long enough. */
static int join(const double *sum, struct up_span *spans, int n, size_t shortest)
{
	int kept = 0, long_enough = 0;

	for (int i = 0; i < n; i++) {
		double a = kept ? rate(sum, spans[kept - 1].first, spans[kept - 1].last) : 0,
		       b = rate(sum, spans[i].first, spans[i].last);

		if (kept && spans[i].first - spans[kept - 1].last <= RAMP_CELLS && fabs(a - b) <= same_ratio * fmax(a, b))
			spans[kept - 1].last = spans[i].last;
		else
			spans[kept++] = spans[i];
	}
	for (int i = 0; i < kept; i++) {
		if (spans[i].last - spans[i].first >= shortest)
			spans[long_enough++] = spans[i];
	}
	return long_enough;
}

/* Difference of the last and the first third of a stretch. */
static double own_trend(const double *sum, size_t from, size_t to)
{
	size_t third = (to - from) / 3;

	return third ? rate(sum, to - third, to) - rate(sum, from, from + third) : 0;
}

/* Whether the rate passes smoothly from the stretch before EDGE[I] to the one behind it: a step jumps at its edge, a long ramp that was cut into pieces does
 * not. The sign says whether it goes up or down; 0 is a jump. */
static int smooth(const double *sum, const size_t *edge, size_t i)
{
	double change = rate(sum, edge[i], edge[i + 1]) - rate(sum, edge[i - 1], edge[i]);
	double jump = rate(sum, edge[i], edge[i] + 2) - rate(sum, edge[i] - 2, edge[i]);

	if (change > 0)
		return jump < 0.5 * change ? 1 : 0;
	return jump > 0.5 * change ? -1 : 0;
}

/* A piece of a long ramp: at least three stretches pass smoothly into each other in one direction, and this one leans that way itself. */
static bool is_ramp_piece(const double *sum, const size_t *edge, size_t n, size_t i)
{
	int before = i > 0 ? smooth(sum, edge, i) : 0, behind = i + 1 < n ? smooth(sum, edge, i + 1) : 0,
	    way = before ? before : behind;
	double change = 0;
	unsigned passes = (before != 0) + (behind == way && behind != 0 && before != 0);

	if (way == 0 || (before && behind && before != behind))
		return false;
	if (!before)
		passes = 1 + (i + 2 < n && smooth(sum, edge, i + 2) == way);
	else if (!behind)
		passes = 1 + (i >= 2 && smooth(sum, edge, i - 1) == way);
	if (before)
		change = fabs(rate(sum, edge[i], edge[i + 1]) - rate(sum, edge[i - 1], edge[i]));
	if (behind)
		change = fmax(change, fabs(rate(sum, edge[i + 1], edge[i + 2]) - rate(sum, edge[i], edge[i + 1])));
	return passes >= 2 && own_trend(sum, edge[i], edge[i + 1]) * way >= 0.3 * change;
}

static int find(const double *counts, size_t n, size_t shortest, struct up_span spans[UP_STEPS_MAX])
{
	struct search s = { .n = n, .shortest = shortest, .penalty = 3 * log((double)n) };
	double *sum = malloc((n + 1) * sizeof(*sum)), *scratch = malloc((n + 1) * sizeof(*scratch));
	size_t *edge = malloc((n + 2) * sizeof(*edge)), stretches;
	int found = -ENOMEM;

	s.best = malloc((n + 1) * sizeof(*s.best));
	s.from = calloc(n + 1, sizeof(*s.from));
	s.candidate = malloc((n + 2) * sizeof(*s.candidate));
	s.expires = calloc(n + 1, sizeof(*s.expires));
	if (!sum || !scratch || !edge || !s.best || !s.from || !s.candidate || !s.expires)
		goto out;
	sum[0] = 0;
	for (size_t i = 0; i < n; i++)
		sum[i + 1] = sum[i] + counts[i];
	s.sum = sum;
	partition(&s);
	stretches = merge(sum, edge, boundaries(&s, edge));
	found = 0;
	for (size_t i = 0; i < stretches && found < UP_STEPS_MAX; i++) {
		if (is_ramp_piece(sum, edge, stretches, i))
			continue;
		spans[found] = (struct up_span){ edge[i], edge[i + 1] };
		found += trim(counts, sum, &spans[found], scratch);
	}
	found = join(sum, spans, found, shortest);
out:
	free(sum);
	free(scratch);
	free(edge);
	free(s.best);
	free(s.from);
	free(s.candidate);
	free(s.expires);
	return found;
}

int up_steps_find(const double *counts, size_t n, struct up_span spans[UP_STEPS_MAX])
{
	size_t width = (n + UP_STEP_CELLS_MAX - 1) / UP_STEP_CELLS_MAX, cells;
	size_t shortest = width > 1 ? 3 : UP_STEP_SECONDS_MIN;
	double *wide;
	int found;

	if (n < UP_STEP_SECONDS_MIN)
		return 0;
	if (width <= 1)
		return find(counts, n, shortest, spans);
	cells = n / width;
	wide = calloc(cells, sizeof(*wide));
	if (!wide)
		return -ENOMEM;
	for (size_t i = 0; i < cells * width; i++)
		wide[i / width] += counts[i];
	found = find(wide, cells, shortest, spans);
	free(wide);
	for (int i = 0; i < found; i++)
		spans[i] = (struct up_span){ spans[i].first * width, spans[i].last * width };
	return found;
}

int up_steps_find_levels(const double *levels, size_t n, struct up_span spans[UP_STEPS_MAX])
{
	size_t first = 0;
	int found = 0;

	for (size_t i = 1; i <= n; i++) {
		bool goes_on =
			i < n && !isnan(levels[i]) && fabs(levels[i] - levels[first]) <= fmax(0.5, same_ratio * levels[first]);

		if (goes_on)
			continue;
		if (i - first >= UP_STEP_SECONDS_MIN && levels[first] > 0 && found < UP_STEPS_MAX)
			spans[found++] = (struct up_span){ first, i };
		first = i;
	}
	return found;
}

void up_ladder_span(const struct up_ladder *ladder, unsigned index, double *ret_from_s, double *ret_to_s)
{
	double from_s = index * (ladder->ramp_s + ladder->hold_s) + ladder->ramp_s;

	*ret_from_s = from_s;
	*ret_to_s = from_s + ladder->hold_s;
}
