/* Kneedle, after the paper: normalise, take the distance from the diagonal, and accept the first maximum that the curve falls away from. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "useprobe/kneedle.h"

enum { SMOOTH_ABOVE = 64 };

struct curve {
	double *x, *d; /* [n] normalised place, distance from the diagonal */
	size_t *original; /* [n] index in the caller's arrays */
	size_t n;
};

/* Averages neighbours so that at most SMOOTH_ABOVE points remain: a shared knee survives it, noise does not. */
static void smooth(struct curve *c, const double *x, const double *y, size_t n)
{
	c->n = n <= SMOOTH_ABOVE ? n : SMOOTH_ABOVE;
	for (size_t i = 0; i < c->n; i++) {
		size_t first = i * n / c->n, last = (i + 1) * n / c->n;

		c->x[i] = c->d[i] = 0;
		for (size_t k = first; k < last; k++) {
			c->x[i] += x[k] / (double)(last - first);
			c->d[i] += y[k] / (double)(last - first);
		}
		c->original[i] = (first + last - 1) / 2;
	}
}

static bool normalise(double *values, size_t n)
{
	double lo = values[0], hi = values[0];

	for (size_t i = 1; i < n; i++) {
		lo = fmin(lo, values[i]);
		hi = fmax(hi, values[i]);
	}
	for (size_t i = 0; i < n && hi > lo; i++)
		values[i] = (values[i] - lo) / (hi - lo);
	return hi > lo;
}

/* Turns the curve so that it is concave and increasing, x from 0 to 1. A convex curve is turned upside down, and that or a decreasing one left to right. */
static void turn(struct curve *c, enum up_kneedle_shape shape)
{
	bool convex = shape == UP_KNEEDLE_CONVEX_INCREASING || shape == UP_KNEEDLE_CONVEX_DECREASING;
	bool mirror = shape == UP_KNEEDLE_CONVEX_INCREASING || shape == UP_KNEEDLE_CONCAVE_DECREASING;

	for (size_t i = 0; i < c->n && convex; i++)
		c->d[i] = 1 - c->d[i];
	for (size_t i = 0; i < c->n / 2 && mirror; i++) {
		size_t k = c->n - 1 - i, o = c->original[i];
		double x = c->x[i], d = c->d[i];

		c->x[i] = c->x[k];
		c->d[i] = c->d[k];
		c->original[i] = c->original[k];
		c->x[k] = x;
		c->d[k] = d;
		c->original[k] = o;
	}
	for (size_t i = 0; i < c->n && mirror; i++)
		c->x[i] = 1 - c->x[i];
}

/* A local maximum of the distance; of a plateau its last point. The ends are none. */
static bool is_peak(const struct curve *c, size_t i)
{
	return i > 0 && i + 1 < c->n && c->d[i] >= c->d[i - 1] && c->d[i] > c->d[i + 1];
}

static int first_knee(const struct curve *c, double sensitivity)
{
	double step = (c->x[c->n - 1] - c->x[0]) / (double)(c->n - 1), threshold = 0;
	int candidate = -ENOENT;

	for (size_t i = 1; i < c->n; i++) {
		if (is_peak(c, i) && c->d[i] > 1e-9) {
			candidate = (int)i;
			threshold = c->d[i] - sensitivity * step;
		} else if (candidate >= 0 && c->d[i] < threshold) {
			return (int)c->original[candidate];
		}
	}
	return -ENOENT;
}

int up_kneedle(const double *x, const double *y, size_t n, enum up_kneedle_shape shape, double sensitivity)
{
	struct curve c;
	int r = -ENOMEM;

	if (n < UP_KNEEDLE_POINTS_MIN)
		return -ENODATA;
	for (size_t i = 1; i < n; i++) {
		if (!(x[i] > x[i - 1]))
			return -EINVAL;
	}
	c.x = malloc(n * sizeof(*c.x));
	c.d = malloc(n * sizeof(*c.d));
	c.original = malloc(n * sizeof(*c.original));
	if (c.x && c.d && c.original) {
		r = -ENOENT;
		smooth(&c, x, y, n);
		if (normalise(c.x, c.n) && normalise(c.d, c.n)) {
			turn(&c, shape);
			for (size_t i = 0; i < c.n; i++)
				c.d[i] -= c.x[i];
			r = first_knee(&c, sensitivity);
		}
	}
	free(c.x);
	free(c.d);
	free(c.original);
	return r;
}
