/* Rows written by hand, one second a tick, into a recording. */
#ifndef UP_TESTS_TAPE_H
#define UP_TESTS_TAPE_H

#include "useprobe/recording.h"

#define TAPE_START_US INT64_C(1800000000000000)

struct tape {
	struct up_recording recording;
	struct up_rows rows;
	const char *target; /* of the rows that follow */
	int64_t wall_us; /* end of the last tick */
};

void tape_init(struct tape *tape);
void tape_done(struct tape *tape);
/* Everything NAN is not known. */
void tape_requests(struct tape *tape, const char *name, double in_flight, double arrivals, double departures, double unread);
void tape_dependency(struct tape *tape, const char *name, double open, double busy, double queries);
void tape_row(struct tape *tape, enum up_scope scope, const char *resource, const char *name, double utilization, double servers,
	double waiting);
/* The same with the columns that matter to some. */
void tape_full_row(struct tape *tape, const struct up_row *row);
struct up_value tape_value(double number);
/* Ends the second: its rows become a tick. */
void tape_tick(struct tape *tape);
/* Wall time SECONDS after the start. */
int64_t tape_us(double seconds);

#endif
