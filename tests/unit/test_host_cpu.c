#include "check.h"
#include "fake.h"
#include "rig.h"

static const struct up_row *second_row(struct rig *rig, const char *fixture)
{
	char root[256];

	snprintf(root, sizeof(root), FIXTURES "host_cpu_%s", fixture);
	rig_open(rig, root, NULL, UP_NS_PER_S, "host_cpu");
	rig_tick(rig);
	assert_int_equal(rig_row(rig, "cpu", "host")->utilization.state, UP_FIRST);
	rig_next(rig);
	return rig_row(rig, "cpu", "host");
}

static void shares_of_every_kernel_shape(void **state)
{
	static const struct {
		const char *fixture;
		double utilization, cpus;
		const char *why;
	} cases[] = {
		{ "half", 0.5, 2, "one of two CPUs busy" },
		{ "idle_back", 1.0, 1, "idle fell by 3 ticks: counted as none, not as 2^64" },
		{ "hotplug", 0.25, 2, "cpu2 is gone: 50 of 100 and 0 of 100 ticks" },
		{ "old_kernel", 0.25, 1, "7 columns" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct rig rig;
		const struct up_row *row = second_row(&rig, cases[i].fixture);

		assert_near(row->utilization.number, cases[i].utilization, 1e-9, cases[i].why);
		assert_near(row->servers, cases[i].cpus, 0, cases[i].why);
		rig_close(&rig);
	}
}

static void a_cpu_that_returns_starts_anew(void **state)
{
	struct rig rig;

	(void)state;
	second_row(&rig, "hotplug");
	rig_next(&rig);
	assert_near(rig_row(&rig, "cpu", "host")->utilization.number, 0.25, 1e-9, "cpu2's 4 ticks are its new baseline");
	assert_near(rig_row(&rig, "cpu", "host")->servers, 3, 0, "three CPUs again");
	rig_close(&rig);
}

static void a_cut_file_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "host_cpu_cut", NULL, UP_NS_PER_S, "host_cpu");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "cpu", "host")->state, UP_FAILED);
	rig_close(&rig);
}

static const struct up_row *outside_of_one_second(struct fake *fake)
{
	assert_int_equal(fake_tick(fake, 1), 0);
	assert_int_equal(fake_tick(fake, 1), 0);
	return fake_row(fake, "cpu-outside", "host");
}

/* One of two CPUs is busy, 0.3 CPUs of it are the target's. */
static void what_targets_use_is_not_outside(void **state)
{
	extern const struct up_collector up_collector_host_cpu;
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_host_cpu, "host_cpu_half", FAKE_V2, "/api");
	fake_put(&fake, "t0/sys/fs/cgroup/api/cpu.stat", "usage_usec 1000000\n");
	fake_put(&fake, "t1/sys/fs/cgroup/api/cpu.stat", "usage_usec 1300000\n");
	fake_put(&fake, "t0/sys/fs/cgroup/api/web/cpu.stat", "usage_usec 500000\n");
	fake_put(&fake, "t1/sys/fs/cgroup/api/web/cpu.stat", "usage_usec 700000\n");
	fake_add_target(&fake, "/api/web"); /* inside the other: counted once */
	fake_add_target(&fake, "/api/web")->kind = UP_TARGET_PID; /* a process there too */
	fake_detail(outside_of_one_second(&fake), "targets_cpus", 0.3);
	fake_value(fake_row(&fake, "cpu-outside", "host")->utilization, UP_OK, 0.35, "0.7 of 2 CPUs");
	fake_done(&fake);
}

/* Its CPU time comes from the scheduler, which a recorded tree does not hold. */
static void a_target_of_unknown_usage_leaves_it_empty(void **state)
{
	extern const struct up_collector up_collector_host_cpu;
	struct fake fake;
	const struct up_row *row;

	(void)state;
	fake_init_copy(&fake, &up_collector_host_cpu, "host_cpu_half", FAKE_V2, "/api");
	fake_make_pid(&fake, 7, "java[7]");
	row = outside_of_one_second(&fake);
	assert_int_equal(row->utilization.state, UP_ABSENT);
	assert_non_null(strstr(row->utilization.reason, "java[7]"));
	fake_done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_every_kernel_shape),
		cmocka_unit_test(a_cpu_that_returns_starts_anew),
		cmocka_unit_test(a_cut_file_is_refused),
		cmocka_unit_test(what_targets_use_is_not_outside),
		cmocka_unit_test(a_target_of_unknown_usage_leaves_it_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
