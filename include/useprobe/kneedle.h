/* Kneedle: the point of a curve where it turns most (Satopaa, Albrecht, Irwin and Raghavan 2011, "Finding a Kneedle in a Haystack"). */
#ifndef UP_KNEEDLE_H
#define UP_KNEEDLE_H

#include <stddef.h>

enum up_kneedle_shape {
	UP_KNEEDLE_CONCAVE_INCREASING, /* throughput over load */
	UP_KNEEDLE_CONVEX_INCREASING, /* latency over load */
	UP_KNEEDLE_CONCAVE_DECREASING,
	UP_KNEEDLE_CONVEX_DECREASING,
};
enum { UP_KNEEDLE_POINTS_MIN = 5 };

/* X ascending, N points, SENSITIVITY the paper's S (1 is usual). More than 64 points are averaged in groups first, against noise. Returns the index of
 * the point (in the given arrays), -ENOENT when the curve has no knee, -ENODATA below five points, -EINVAL when X does not ascend, -ENOMEM. */
int up_kneedle(const double *x, const double *y, size_t n, enum up_kneedle_shape shape, double sensitivity);

#endif
