/* What a recording keeps of the rows beside their figures: units, methods, events. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "tape.h"
#include "useprobe/clock.h"
#include "useprobe/table.h"

static void keeps_unit_and_method(void **state)
{
	const struct up_recording *r;
	struct tape tape;

	(void)state;
	tape_init(&tape);
	tape_full_row(&tape, &(struct up_row){ .scope = UP_SCOPE_HOST,
				     .resource = "pressure-io",
				     .name = "host",
				     .saturation = up_value(0.25),
				     .saturation_unit = "ratio",
				     .method = "PSI some total measured" });
	tape_tick(&tape);
	r = &tape.recording;
	assert_int_equal(r->n_tracks, 1);
	assert_int_equal(r->track[0].resource, UP_RES_PRESSURE_IO);
	assert_string_equal(r->text[r->track[0].unit], "ratio");
	assert_string_equal(r->text[r->track[0].method], "PSI some total measured");
	assert_true(isnan(r->track[0].at[0].utilization));
	tape_done(&tape);
}

static void keeps_events(void **state)
{
	const struct up_recorded_event *event;
	struct tape tape;

	(void)state;
	tape_init(&tape);
	for (int i = 0; i < 3; i++)
		tape_tick(&tape);
	tape_full_row(&tape, &(struct up_row){ .scope = UP_SCOPE_EVENT,
				     .resource = "mark",
				     .name = "",
				     .detail = "text=a%3Bb%3D<c>;at=2027-01-15T08:00:01.500Z" });
	tape_full_row(&tape, &(struct up_row){ .scope = UP_SCOPE_EVENT,
				     .resource = "limit-changed",
				     .name = "/api",
				     .detail = "text=cpu quota;from_cpus=0.5;to_cpus=1" });
	tape_tick(&tape);
	assert_int_equal(tape.recording.n_events, 2);
	assert_int_equal(tape.recording.n_tracks, 0);
	event = tape.recording.event;
	assert_string_equal(event[0].kind, "mark");
	assert_string_equal(event[0].text, "a;b=<c>");
	assert_int_equal(event[0].wall_us, tape_us(1.5));
	assert_string_equal(event[1].name, "/api");
	assert_string_equal(event[1].text, "cpu quota; from_cpus 0.5; to_cpus 1");
	assert_int_equal(event[1].wall_us, tape.wall_us);
	tape_done(&tape);
}

static void counts_events_beyond_the_maximum(void **state)
{
	struct tape tape;

	(void)state;
	tape_init(&tape);
	for (size_t i = 0; i < UP_RECORDING_EVENTS_MAX + 5; i++) {
		tape_full_row(&tape, &(struct up_row){ .scope = UP_SCOPE_EVENT, .resource = "mark", .name = "" });
		if (i % 500 == 0)
			tape_tick(&tape);
	}
	tape_tick(&tape);
	assert_int_equal(tape.recording.n_events, UP_RECORDING_EVENTS_MAX);
	assert_int_equal(tape.recording.events_left_out, 5);
	tape_done(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_unit_and_method),
		cmocka_unit_test(keeps_events),
		cmocka_unit_test(counts_events_beyond_the_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
