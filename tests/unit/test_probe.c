/* The tick, on a recorded tree and a fake clock. */
#include <errno.h>

#include "check.h"
#include "rig.h"

static void deadlines_stay_on_the_grid(void **state)
{
	struct rig rig;
	const uint64_t interval_ns = 100 * UP_NS_PER_MS;
	uint64_t start_ns;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_no_quota/t0", "api", interval_ns, "cpu");
	start_ns = up_probe_deadline_ns(rig.probe);
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(up_probe_deadline_ns(rig.probe) == start_ns + i * interval_ns);
		rig_tick(&rig);
	}
	/* A tick that is 350 ms late skips the deadlines that have passed and comes back to the grid. */
	rig.fake.mono_ns += 450 * UP_NS_PER_MS;
	rig_tick(&rig);
	assert_true((up_probe_deadline_ns(rig.probe) - start_ns) % interval_ns == 0);
	assert_true(up_probe_deadline_ns(rig.probe) > rig.fake.mono_ns);
	assert_true(up_probe_deadline_ns(rig.probe) <= rig.fake.mono_ns + interval_ns);
	rig_close(&rig);
}

static void a_stepped_clock_changes_no_rate(void **state)
{
	struct rig rig;
	const struct up_row *row;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_own", "api", UP_NS_PER_S, "cpu");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "cpu", "/api")->utilization.state, UP_FIRST);
	assert_null(rig_row(&rig, "clock-step", NULL));
	assert_true(up_source_next_frame(&rig.source));
	rig.fake.wall_step_ns = -7200 * (int64_t)UP_NS_PER_S;
	rig_tick(&rig);
	row = rig_row(&rig, "cpu", "/api");
	assert_near(row->utilization.number, 1.0, 1e-9, "0.5 s used in 1 s of 0.5 CPU");
	assert_true(row->window_ns == UP_NS_PER_S);
	assert_non_null(rig_row(&rig, "clock-step", NULL));
	rig_close(&rig);
}

static void a_target_that_goes_leaves_an_event(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "probe_gone", "api", UP_NS_PER_S, "cpu");
	rig_tick(&rig);
	assert_non_null(rig_row(&rig, "cpu", "/api"));
	assert_true(up_source_next_frame(&rig.source));
	rig_tick(&rig);
	assert_non_null(rig_row(&rig, "target-gone", NULL));
	assert_null(rig_row(&rig, "cpu", "/api"));
	assert_true(up_source_next_frame(&rig.source));
	rig_tick(&rig);
	assert_non_null(rig_row(&rig, "target-back", NULL));
	/* The counters of a new group start anew: a first value, not a difference to the old group's. */
	assert_int_equal(rig_row(&rig, "cpu", "/api")->utilization.state, UP_FIRST);
	rig_close(&rig);
}

static int failing_sink(void *self, const struct up_table *table)
{
	(void)self;
	(void)table;
	return -ENOSPC;
}

static void a_failing_sink_is_named(void **state)
{
	struct rig rig;
	const char *name = NULL;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_no_quota/t0", "api", UP_NS_PER_S, "cpu");
	assert_int_equal(up_probe_add_sink(rig.probe, (struct up_sink){ .name = "full.csv", .tick = failing_sink }), 0);
	assert_int_equal(up_probe_tick(rig.probe, &name), -ENOSPC);
	assert_string_equal(name, "full.csv");
	rig_close(&rig);
}

/* The row "probe" is about this very process. */
static void own_cost_is_a_row(void **state)
{
	struct rig rig;
	double resident;

	(void)state;
	rig_open(&rig, NULL, NULL, UP_NS_PER_S, "probe");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "probe", "useprobe")->utilization.state, UP_FIRST);
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "probe", "useprobe")->utilization.state, UP_OK);
	assert_near(rig_row(&rig, "probe", "useprobe")->saturation.number, 0, 0, "no late tick");
	assert_true(up_detail_get_number(rig_row(&rig, "probe", "useprobe")->detail, "resident_bytes", &resident));
	assert_true(resident > 500e3 && resident < 4e9);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines_stay_on_the_grid),
		cmocka_unit_test(a_stepped_clock_changes_no_rate),
		cmocka_unit_test(a_target_that_goes_leaves_an_event),
		cmocka_unit_test(a_failing_sink_is_named),
		cmocka_unit_test(own_cost_is_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
