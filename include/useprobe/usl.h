/* The Universal Scalability Law (Gunther 1993, 2007): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). */
#ifndef UP_USL_H
#define UP_USL_H

#include <stddef.h>

enum { UP_USL_POINTS_MIN = 6 };

struct up_usl {
	double lambda; /* throughput of one */
	double sigma; /* contention, >= 0 */
	double kappa; /* coherency, >= 0 */
	double n_max; /* where the curve peaks: sqrt((1 - sigma) / kappa); INFINITY without a peak */
	double x_max; /* throughput there; the asymptote lambda / sigma without a peak, INFINITY without contention */
	double rms_ratio; /* root mean square of the relative residuals */
};

/* Least squares over throughput X_PER_S at N in service or in flight, N_POINTS of them, by Levenberg-Marquardt; coefficients are kept from going below 0
 * (a negative one is set to 0 and the others fitted again). 0, -ENODATA below UP_USL_POINTS_MIN points (or less than three different N), -EDOM when no
 * fit was found. */
int up_usl_fit(const double *n, const double *x_per_s, size_t n_points, struct up_usl *ret_usl);
/* X(N) of the fit. */
double up_usl_throughput(const struct up_usl *usl, double n);

#endif
