/* Private to the analysis: requests in flight at once. */
#ifndef UP_IN_FLIGHT_H
#define UP_IN_FLIGHT_H

#include "useprobe/points.h"

struct up_levels {
	double top; /* the most in flight at once, apart from a few ms of rounding */
	double median; /* half of the time at most this many */
	double at_top_share; /* of the time, with `top` in flight or one less */
	double plateau_s; /* time with at least nine tenths of `top` in flight */
	double longest_s; /* the longest latency */
};
/* POINTS must be in memory, in the order of their starts, at least one. Stamps are known to RESOLUTION_US: requests that overlap by no more than that may not
 * overlap at all. 0 or -ENOMEM. */
int up_in_flight_levels(const struct up_points *points, int64_t resolution_us, struct up_levels *ret_levels);

#endif
