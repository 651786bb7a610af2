/* Latency over time: how many requests of which latency started when. One grid serves the heat map and the histogram. */
#ifndef UP_HEAT_H
#define UP_HEAT_H

#include "useprobe/load.h"

enum {
	UP_HEAT_COLUMNS = 120, /* at most */
	UP_HEAT_PER_DECADE = 12, /* rows: each a factor of 1.21 above the one below */
	UP_HEAT_ROWS = 120, /* ten decades */
};

struct up_heat {
	int64_t from_us; /* beginning of column 0, in the load's time */
	int64_t column_us; /* width of a column: whole seconds, or a fraction of one in a short run */
	unsigned columns, rows;
	int first_row; /* row R holds latencies in [10^((first_row + R) / 12), 10^((first_row + R + 1) / 12)) ms */
	uint32_t *count; /* owned, [rows * columns], row by row from the lowest latency */
	uint64_t total; /* requests in it */
};

/* Counts the requests of LOAD, failed ones too, by start. 0, -ENODATA without requests, -ENOMEM, or the error of the temporary file.
 * Free with up_heat_done. */
int up_heat_build(struct up_load *load, struct up_heat *ret);
void up_heat_done(struct up_heat *heat);
/* Lower edge of ROW in ms; of row `rows` the upper edge of all. */
double up_heat_edge_ms(const struct up_heat *heat, unsigned row);

#endif
