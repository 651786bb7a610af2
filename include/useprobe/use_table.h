/* The USE table: every resource of a recording in one stretch of time beside another, by need of attention. */
#ifndef UP_USE_TABLE_H
#define UP_USE_TABLE_H

#include "useprobe/recording.h"

struct up_use_row {
	size_t track; /* index into the recording */
	struct up_reading then,
		now; /* in the earlier stretch and in the one of interest; then.samples is 0 without an earlier one */
	bool quiet; /* nothing waits in it, it has no errors and is less than 1 % busy, over the whole recording */
	double utilization_peak, saturation_peak, waiting_peak, errors; /* over the whole recording; NAN = never known */
};

struct up_use_window {
	int64_t from_us, to_us; /* empty when from >= to */
};

/* Fills RET [max] with every track that has a figure, by need of attention: errors, then what waits against its servers, then utilization. Returns
 * how many there are; *ret_without: how many rows never had a figure. */
size_t up_use_table(const struct up_recording *recording, struct up_use_window then, struct up_use_window now,
	struct up_use_row *ret, size_t max, size_t *ret_without);

#endif
