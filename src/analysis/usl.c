/* Fit of the Universal Scalability Law: three coefficients, Levenberg-Marquardt on the throughput, none allowed below zero. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "useprobe/usl.h"

enum { LAMBDA, SIGMA, KAPPA, COEFFICIENTS, ROUNDS_MAX = 400 };

struct fit {
	const double *n, *x;
	size_t points;
	double c[COEFFICIENTS];
	bool free[COEFFICIENTS]; /* false: held at zero */
};

static double model(const double c[COEFFICIENTS], double n)
{
	return c[LAMBDA] * n / (1 + c[SIGMA] * (n - 1) + c[KAPPA] * n * (n - 1));
}

static double sum_of_squares(const struct fit *fit, const double c[COEFFICIENTS])
{
	double sum = 0;

	for (size_t i = 0; i < fit->points; i++) {
		double r = fit->x[i] - model(c, fit->n[i]);

		sum += r * r;
	}
	return sum;
}

/* Normal equations J'J d = J'r at the present coefficients; rows of held ones are those of the identity. */
static void equations(const struct fit *fit, double a[COEFFICIENTS][COEFFICIENTS], double b[COEFFICIENTS])
{
	memset(a, 0, sizeof(double) * COEFFICIENTS * COEFFICIENTS);
	memset(b, 0, sizeof(double) * COEFFICIENTS);
	for (size_t i = 0; i < fit->points; i++) {
		double n = fit->n[i], down = 1 + fit->c[SIGMA] * (n - 1) + fit->c[KAPPA] * n * (n - 1);
		double x = model(fit->c, n), r = fit->x[i] - x;
		double slope[COEFFICIENTS] = { n / down, -x * (n - 1) / down, -x * n * (n - 1) / down };

		for (unsigned p = 0; p < COEFFICIENTS; p++) {
			b[p] += fit->free[p] ? slope[p] * r : 0;
			for (unsigned q = 0; q < COEFFICIENTS; q++)
				a[p][q] += fit->free[p] && fit->free[q] ? slope[p] * slope[q] : 0;
		}
	}
	for (unsigned p = 0; p < COEFFICIENTS; p++) {
		if (!fit->free[p])
			a[p][p] = 1;
	}
}

/* Gauss with pivoting, in place. */
static bool solve(double a[COEFFICIENTS][COEFFICIENTS], double b[COEFFICIENTS])
{
	for (unsigned p = 0; p < COEFFICIENTS; p++) {
		unsigned best = p;

		for (unsigned q = p + 1; q < COEFFICIENTS; q++)
			best = fabs(a[q][p]) > fabs(a[best][p]) ? q : best;
		if (!(fabs(a[best][p]) > 0))
			return false;
		for (unsigned k = 0; k < COEFFICIENTS; k++) {
			double t = a[p][k];

			a[p][k] = a[best][k];
			a[best][k] = t;
		}
		double t = b[p];
		b[p] = b[best];
		b[best] = t;
		for (unsigned q = p + 1; q < COEFFICIENTS; q++) {
			double f = a[q][p] / a[p][p];

			for (unsigned k = p; k < COEFFICIENTS; k++)
				a[q][k] -= f * a[p][k];
			b[q] -= f * b[p];
		}
	}
	for (unsigned p = COEFFICIENTS; p-- > 0;) {
		for (unsigned k = p + 1; k < COEFFICIENTS; k++)
			b[p] -= a[p][k] * b[k];
		b[p] /= a[p][p];
	}
	return true;
}

static bool descend(struct fit *fit)
{
	double damp = 1e-3, sum = sum_of_squares(fit, fit->c);

	for (unsigned round = 0; round < ROUNDS_MAX; round++) {
		double a[COEFFICIENTS][COEFFICIENTS], b[COEFFICIENTS], c[COEFFICIENTS], next;
		bool small = true;

		equations(fit, a, b);
		for (unsigned p = 0; p < COEFFICIENTS; p++)
			a[p][p] *= 1 + damp;
		if (!solve(a, b))
			return false;
		for (unsigned p = 0; p < COEFFICIENTS; p++) {
			c[p] = fit->c[p] + (fit->free[p] ? b[p] : 0);
			small = small && fabs(c[p] - fit->c[p]) <= 1e-12 * (fabs(c[p]) + 1e-12);
		}
		next = sum_of_squares(fit, c);
		if (isfinite(next) && next <= sum) {
			memcpy(fit->c, c, sizeof(c));
			sum = next;
			damp = fmax(damp / 10, 1e-15);
			if (small)
				return true;
		} else if (damp > 1e12) {
			return true; /* no direction is downhill any more */
		} else {
			damp *= 10;
		}
	}
	return isfinite(sum);
}

/* The linearised form N / X = a + b (N - 1) + c N (N - 1), by which Gunther began: a good place to start from. */
static void start(struct fit *fit)
{
	double best = 0;

	for (size_t i = 0; i < fit->points; i++)
		best = fmax(best, fit->x[i] / fit->n[i]);
	fit->c[LAMBDA] = best;
	fit->c[SIGMA] = 0.01;
	fit->c[KAPPA] = 1e-4;
}

static size_t different(const double *n, size_t points)
{
	size_t count = 0;

	for (size_t i = 0; i < points; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen = seen || n[k] == n[i];
		count += !seen;
	}
	return count;
}

static bool fit_non_negative(struct fit *fit)
{
	start(fit);
	if (!descend(fit))
		return false;
	for (unsigned round = 0; round < 2; round++) {
		unsigned worst = fit->c[KAPPA] < 0 ? KAPPA : SIGMA;

		if (fit->c[KAPPA] >= 0 && fit->c[SIGMA] >= 0)
			break;
		start(fit);
		fit->free[worst] = false;
		for (unsigned p = SIGMA; p <= KAPPA; p++)
			fit->c[p] = fit->free[p] ? fit->c[p] : 0;
		if (!descend(fit))
			return false;
	}
	return fit->c[LAMBDA] > 0 && fit->c[SIGMA] >= 0 && fit->c[KAPPA] >= 0;
}

double up_usl_throughput(const struct up_usl *usl, double n)
{
	const double c[COEFFICIENTS] = { usl->lambda, usl->sigma, usl->kappa };

	return model(c, n);
}

int up_usl_fit(const double *n, const double *x_per_s, size_t n_points, struct up_usl *ret_usl)
{
	struct fit fit = { .n = n, .x = x_per_s, .points = n_points, .free = { true, true, true } };
	struct up_usl usl;
	double sum = 0;

	if (n_points < UP_USL_POINTS_MIN || different(n, n_points) < 3)
		return -ENODATA;
	for (size_t i = 0; i < n_points; i++) {
		if (!(n[i] > 0) || !(x_per_s[i] > 0) || !isfinite(n[i]) || !isfinite(x_per_s[i]))
			return -EDOM;
	}
	if (!fit_non_negative(&fit))
		return -EDOM;
	usl = (struct up_usl){ .lambda = fit.c[LAMBDA], .sigma = fit.c[SIGMA], .kappa = fit.c[KAPPA] };
	usl.n_max = usl.kappa > 0 && usl.sigma < 1 ? sqrt((1 - usl.sigma) / usl.kappa) : INFINITY;
	if (isfinite(usl.n_max))
		usl.x_max = up_usl_throughput(&usl, usl.n_max);
	else
		usl.x_max = usl.sigma > 0 ? usl.lambda / usl.sigma : INFINITY;
	for (size_t i = 0; i < n_points; i++) {
		double r = up_usl_throughput(&usl, n[i]) / x_per_s[i] - 1;

		sum += r * r;
	}
	usl.rms_ratio = sqrt(sum / (double)n_points);
	*ret_usl = usl;
	return 0;
}
