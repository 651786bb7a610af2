/* Private to src/sink: the charts that share one time axis. */
#ifndef UP_CHART_TIME_H
#define UP_CHART_TIME_H

#include "page_parts.h"

enum { UP_LANE_BINS_MAX = 240 };

struct up_timeline {
	struct up_buffer *out;
	const struct up_page *page;
	int64_t from_us, to_us; /* of the axis, in the samples' time (the load's without samples) */
	int64_t shift_us; /* add it to the load's times */
	unsigned bins; /* of the lanes */
	bool undated;
};

/* Place of a moment in percent of the axis, within 0 and 100. */
double up_timeline_percent(const struct up_timeline *timeline, int64_t us);
/* Opens the drawing of a lane, HEIGHT pixels high, with the knee's window, the steps' borders and the events behind what follows. */
void up_lane_begin(const struct up_timeline *timeline, unsigned height, const char *label);
void up_lane_end(const struct up_timeline *timeline);
/* A filled curve over VALUE [bins], from the bottom (0) to HIGHEST at the top. NAN are gaps. TOP and HEIGHT are pixels. */
void up_lane_area(const struct up_timeline *timeline, const char *class, const double *value, double highest, unsigned top,
	unsigned height);

/* Label column of the load and of each resource with its lane. */
void up_lanes_load(const struct up_timeline *timeline);
/* WITH_LOAD: the generator's count too. */
void up_lanes_in_flight(const struct up_timeline *timeline, bool with_load);
void up_lanes_heat(const struct up_timeline *timeline);
void up_lanes_use(const struct up_timeline *timeline, bool quiet);

#endif
