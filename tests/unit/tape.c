#include "tape.h"

#include "check.h"
#include "useprobe/table.h"

#include <math.h>

void tape_init(struct tape *tape)
{
	*tape = (struct tape){ .wall_us = TAPE_START_US, .target = "api" };
	assert_int_equal(up_recording_init(&tape->recording), 0);
	assert_int_equal(up_rows_init(&tape->rows), 0);
	tape->rows.window_ns = 1000000000;
}

void tape_done(struct tape *tape)
{
	up_rows_done(&tape->rows);
	up_recording_done(&tape->recording);
}

int64_t tape_us(double seconds)
{
	return TAPE_START_US + (int64_t)(seconds * 1e6);
}

struct up_value tape_value(double number)
{
	return isnan(number) ? up_none("not counted") : up_value(number);
}

void tape_full_row(struct tape *tape, const struct up_row *row)
{
	struct up_row copy = *row;

	copy.state = UP_OK;
	if (!copy.target)
		copy.target = tape->target;
	assert_int_equal(up_rows_add(&tape->rows, &copy), 0);
}

void tape_row(struct tape *tape, enum up_scope scope, const char *resource, const char *name, double utilization, double servers,
	double waiting)
{
	tape_full_row(tape, &(struct up_row){ .scope = scope,
				    .resource = resource,
				    .name = name,
				    .utilization = tape_value(utilization),
				    .servers = isnan(servers) ? 0 : servers,
				    .waiting = tape_value(waiting) });
}

void tape_requests(struct tape *tape, const char *name, double in_flight, double arrivals, double departures, double unread)
{
	struct up_detail detail = { 0 };

	up_detail_number(&detail, "in_flight", in_flight);
	up_detail_number(&detail, "area_s", in_flight);
	up_detail_number(&detail, "unread_area_s", unread);
	up_detail_number(&detail, "arrivals", arrivals);
	up_detail_number(&detail, "departures", departures);
	tape_full_row(tape, &(struct up_row){ .scope = UP_SCOPE_LISTENER,
				    .resource = "requests",
				    .name = name,
				    .waiting = tape_value(unread),
				    .detail = detail.text });
}

void tape_dependency(struct tape *tape, const char *name, double open, double busy, double queries)
{
	struct up_detail detail = { 0 };

	up_detail_number(&detail, "connections", open);
	up_detail_number(&detail, "busy", busy);
	up_detail_number(&detail, "busy_area_s", busy);
	up_detail_number(&detail, "queries", queries);
	up_detail_number(&detail, "response_unread_ms", 0);
	tape_full_row(tape,
		&(struct up_row){ .scope = UP_SCOPE_DEPENDENCY, .resource = "dependency", .name = name, .detail = detail.text });
}

void tape_tick(struct tape *tape)
{
	const struct up_tick tick = { .wall_ns = (uint64_t)(tape->wall_us + 1000000) * 1000,
		.elapsed_ns = (uint64_t)(tape->wall_us + 1000000 - TAPE_START_US) * 1000,
		.interval_ns = 1000000000 };

	tape->wall_us += 1000000;
	assert_int_equal(up_recording_add(&tape->recording, &tick, &tape->rows), 0);
	up_rows_clear(&tape->rows);
	tape->rows.window_ns = 1000000000;
}
