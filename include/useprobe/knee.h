/* The knee of a load curve: between which two steps the service stopped following. docs/KNEE.md has the reasons. */
#ifndef UP_KNEE_H
#define UP_KNEE_H

#include "useprobe/curve.h"

enum up_knee_verdict { UP_KNEE_FOUND, UP_KNEE_NOT_REACHED, UP_KNEE_NOT_SINGLE, UP_KNEE_INVALID };
/* "knee", "no knee reached", "no single knee", "invalid" */
const char *up_knee_verdict_name(enum up_knee_verdict verdict);

/* A second opinion. */
struct up_witness {
	bool applicable, found;
	double at_per_s; /* where it sees the knee, in offered (closed: achieved) rate; NAN */
	double at_users; /* the same in users or requests in flight; NAN */
	bool agrees; /* within the interval or one step beside it */
	char reason[160]; /* why not applicable, or what it saw */
};

struct up_knee {
	enum up_knee_verdict verdict;
	int good, bad; /* indices into curve->step of the interval; -1 none */
	double good_per_s, bad_per_s; /* offered rates of these; NAN */
	double collapse_per_s; /* offered rate of the step at which it collapsed; NAN */
	int collapse; /* its index, -1 */
	bool generator_bound;
	struct { /* the primary criterion of a closed run */
		bool used;
		double x_max_per_s, r0_s, z_s, n_star;
	} bounds;
	struct up_witness kneedle, usl;
	struct { /* what USL fitted; valid when usl.applicable */
		double lambda_per_s, sigma, kappa, n_max, x_max_per_s, rms_ratio;
	} usl_fit;
	double capacity_per_s; /* the most that was achieved without errors in a step; NAN */
	double alert_in_flight; /* line to alert at: between what good and bad steps hold in flight; NAN */
	char reason[320];
};

struct up_knee_options {
	double kernel_in_flight_ratio; /* what the kernel saw in flight over what the generator saw at the first bad step; NAN unknown */
};

/* Judges every step (step->verdict, step->why) and finds the knee. Pure. */
void up_knee_find(struct up_curve *curve, const struct up_knee_options *options, struct up_knee *ret_knee);
/* More than 5 % of ARRIVALS and more than 2 sqrt(ARRIVALS): what counts as a difference between two counts. */
double up_knee_slack(double arrivals);

#endif
