/* Second opinions on the knee: Kneedle on the throughput curve, and the Universal Scalability Law. They never decide, except where the primary
 * criterion has nothing to go by. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "knee_internal.h"
#include "useprobe/kneedle.h"
#include "useprobe/usl.h"

struct series {
	size_t n;
	double level[UP_STEPS_MAX], achieved[UP_STEPS_MAX];
	size_t step[UP_STEPS_MAX];
};

/* Steps with strictly growing level; of steps at one level the later ones are left out. */
static void series_of(const struct up_curve *curve, const struct up_ladder_order *order, struct series *series)
{
	series->n = 0;
	for (size_t i = 0; i < order->n; i++) {
		const struct up_step *step = &curve->step[order->at[i]];
		double level = up_knee_level(curve, step);

		if (!(level > 0) || (series->n > 0 && !(level > series->level[series->n - 1])))
			continue;
		series->level[series->n] = level;
		series->achieved[series->n] = up_knee_achieved(step);
		series->step[series->n++] = order->at[i];
	}
}

/* Levels of the steps around the interval, one step beside it on each side. */
static void neighbourhood(const struct up_curve *curve, const struct up_ladder_order *order, const struct up_knee *knee,
	double *ret_lo, double *ret_hi)
{
	size_t good = 0, bad = order->n ? order->n - 1 : 0;

	for (size_t i = 0; i < order->n; i++) {
		if ((int)order->at[i] == knee->good)
			good = i;
		if ((int)order->at[i] == knee->bad)
			bad = i;
	}
	if (knee->good < 0)
		good = bad;
	*ret_lo = good > 0 ? up_knee_level(curve, &curve->step[order->at[good - 1]]) : 0;
	*ret_hi = bad + 1 < order->n ? up_knee_level(curve, &curve->step[order->at[bad + 1]]) : INFINITY;
}

static bool agrees(const struct up_curve *curve, const struct up_ladder_order *order, const struct up_knee *knee,
	const struct up_witness *witness, double level)
{
	double lo, hi;

	if (knee->verdict == UP_KNEE_NOT_REACHED || knee->bad < 0)
		return !witness->found;
	if (!witness->found)
		return false;
	neighbourhood(curve, order, knee, &lo, &hi);
	return level >= lo * (1 - 1e-9) && level <= hi * (1 + 1e-9);
}

static void place(const struct up_curve *curve, const struct up_step *step, struct up_witness *witness)
{
	witness->at_per_s = step->offered_per_s;
	witness->at_users = curve->model.model == UP_MODEL_CLOSED ? up_knee_level(curve, step) : step->in_flight;
}

static void ask_kneedle(const struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	struct up_witness *witness = &knee->kneedle;
	struct series series;
	int at;

	series_of(curve, order, &series);
	at = up_kneedle(series.level, series.achieved, series.n, UP_KNEEDLE_CONCAVE_INCREASING, 1);
	witness->applicable = at >= 0 || at == -ENOENT;
	if (!witness->applicable) {
		snprintf(witness->reason, sizeof(witness->reason), "not applicable: %zu steps, Kneedle wants %d", series.n,
			UP_KNEEDLE_POINTS_MIN);
		return;
	}
	witness->found = at >= 0;
	if (witness->found)
		place(curve, &curve->step[series.step[at]], witness);
	witness->agrees = agrees(curve, order, knee, witness, witness->found ? series.level[at] : NAN);
	if (witness->found)
		snprintf(witness->reason, sizeof(witness->reason), "the throughput curve turns most at %.4g%s", series.level[at],
			curve->model.model == UP_MODEL_CLOSED ? " users" : "/s");
	else
		snprintf(witness->reason, sizeof(witness->reason), "the throughput curve has no knee");
}

/* USL is a law of N in service; only steps in balance, or closed ones, have such an N. */
static size_t usl_points(const struct up_curve *curve, const struct up_ladder_order *order, double *n, double *x)
{
	bool closed = curve->model.model == UP_MODEL_CLOSED;
	size_t points = 0;

	for (size_t i = 0; i < order->n; i++) {
		const struct up_step *step = &curve->step[order->at[i]];

		if (!closed && (!step->balanced || step->dropped_settled > 0))
			continue;
		n[points] = closed ? up_knee_level(curve, step) : step->in_flight;
		x[points++] = up_knee_achieved(step);
	}
	return points;
}

static void ask_usl(const struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	struct up_witness *witness = &knee->usl;
	double n[UP_STEPS_MAX], x[UP_STEPS_MAX], crossing, largest = 0;
	size_t points = usl_points(curve, order, n, x);
	struct up_usl usl;
	int r = up_usl_fit(n, x, points, &usl);

	if (r < 0) {
		snprintf(witness->reason, sizeof(witness->reason), "not applicable: %s (%zu settled steps, it wants %d)",
			r == -ENODATA ? "too few points" : "no fit with coefficients >= 0", points, UP_USL_POINTS_MIN);
		return;
	}
	witness->applicable = true;
	knee->usl_fit.lambda_per_s = usl.lambda;
	knee->usl_fit.sigma = usl.sigma;
	knee->usl_fit.kappa = usl.kappa;
	knee->usl_fit.n_max = usl.n_max;
	knee->usl_fit.x_max_per_s = usl.x_max;
	knee->usl_fit.rms_ratio = usl.rms_ratio;
	crossing = usl.x_max / usl.lambda;
	for (size_t i = 0; i < points; i++)
		largest = fmax(largest, n[i]);
	witness->found = isfinite(crossing) && crossing * 1.2 <= largest;
	if (witness->found) {
		witness->at_users = crossing;
		witness->at_per_s = usl.x_max;
	}
	witness->agrees = agrees(
		curve, order, knee, witness, curve->model.model == UP_MODEL_CLOSED ? witness->at_users : witness->at_per_s);
	if (witness->found)
		snprintf(witness->reason, sizeof(witness->reason),
			"its linear part meets its peak (%.4g/s) at N = %.4g; residual %.2g %%", usl.x_max, crossing,
			100 * usl.rms_ratio);
	else
		snprintf(witness->reason, sizeof(witness->reason),
			"no knee within what was measured (N up to %.4g); residual %.2g %%", largest, 100 * usl.rms_ratio);
}

/* An unknown model that served everything may be a closed run in disguise: only there do the witnesses speak, and only together. */
static void without_primary(const struct up_curve *curve, struct up_knee *knee)
{
	if (curve->model.model != UP_MODEL_UNKNOWN || knee->verdict != UP_KNEE_NOT_REACHED)
		return;
	if (!knee->kneedle.applicable || !knee->usl.applicable || knee->kneedle.found == knee->usl.found)
		return; /* a rate that was served is no limit: while the witnesses do not contradict each other the verdict stays */
	knee->verdict = UP_KNEE_NOT_SINGLE;
	snprintf(knee->reason, sizeof(knee->reason),
		"open or closed is not known, and the witnesses differ: Kneedle: %.90s; USL: %.120s", knee->kneedle.reason,
		knee->usl.reason);
}

void up_knee_ask_witnesses(const struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	knee->kneedle = knee->usl = (struct up_witness){ .at_per_s = NAN, .at_users = NAN };
	knee->usl_fit.lambda_per_s = knee->usl_fit.sigma = knee->usl_fit.kappa = NAN;
	knee->usl_fit.n_max = knee->usl_fit.x_max_per_s = knee->usl_fit.rms_ratio = NAN;
	ask_kneedle(curve, order, knee);
	ask_usl(curve, order, knee);
	without_primary(curve, knee);
}
