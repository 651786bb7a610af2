#include "fake.h"
#include "rig.h"

extern const struct up_collector up_collector_frozen;

static void shares(void **state)
{
	static const struct {
		const char *fixture;
		double share[2]; /* of the windows t0-t1 and t1-t2, NAN: no such frame */
		const char *why;
	} cases[] = {
		{ "v2", { 0.5, 1 }, "frozen at one end, then at both" },
		{ "v1", { 0.5, NAN }, "FREEZING counts" },
		{ "stopped", { 1, 0.5 }, "SIGSTOP, then one process runs again" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "frozen_%s", cases[i].fixture);
		rig_open(&rig, root, "api", UP_NS_PER_S, "frozen");
		rig_tick(&rig);
		assert_int_equal(rig_row(&rig, "frozen", "/api")->saturation.state, UP_FIRST);
		for (int k = 0; k < 2 && !isnan(cases[i].share[k]); k++) {
			rig_next(&rig);
			assert_near(rig_row(&rig, "frozen", "/api")->saturation.number, cases[i].share[k], 1e-9, cases[i].why);
		}
		rig_close(&rig);
	}
}

/* The kernel's own clock tells a freeze that began and ended inside a window. */
static void the_clock_of_the_kernel(void **state)
{
	static const struct {
		const char *before, *after;
		double share;
		enum up_state state;
		const char *why;
	} cases[] = {
		{ "frozen_usec 0\n", "frozen_usec 300000\n", 0.3, UP_OK, "300 ms of 1 s, not frozen at either end" },
		{ "frozen_usec 7\n", "frozen_usec 7\n", 0, UP_OK, "not at all" },
		{ "frozen_usec 0\n", "frozen_usec 1000009\n", 1, UP_OK, "all the time; the clocks differ by microseconds" },
		{ "frozen_usec 500000\n", "frozen_usec 0\n", 0, UP_RESET, "another group of the same name" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;

		fake_init_copy(&fake, &up_collector_frozen, "", FAKE_V2, "/api");
		for (int t = 0; t < 2; t++) {
			char path[64];

			snprintf(path, sizeof(path), "t%d/sys/fs/cgroup/api/cgroup.stat.local", t);
			fake_put(&fake, path, t ? cases[i].after : cases[i].before);
			snprintf(path, sizeof(path), "t%d/sys/fs/cgroup/api/cgroup.events", t);
			fake_put(&fake, path, "populated 1\nfrozen 0\n");
		}
		assert_int_equal(fake_tick(&fake, 1), 0);
		fake_value(fake_row(&fake, "frozen", "/api")->saturation, UP_FIRST, 0, "one sample");
		assert_int_equal(fake_tick(&fake, 1), 0);
		fake_value(fake_row(&fake, "frozen", "/api")->saturation, cases[i].state, cases[i].share, cases[i].why);
		assert_string_equal(fake_row(&fake, "frozen", "/api")->method, "cgroup.stat.local measured");
		fake_done(&fake);
	}
}

/* A stop by signal is not on that clock. */
static void stopped_beside_the_clock(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_frozen, "frozen_stopped", FAKE_V2, "/api");
	fake_put(&fake, "t0/sys/fs/cgroup/api/cgroup.stat.local", "frozen_usec 0\n");
	fake_put(&fake, "t1/sys/fs/cgroup/api/cgroup.stat.local", "frozen_usec 0\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "frozen", "/api")->saturation, UP_OK, 1, "SIGSTOP at both ends");
	fake_detail_text(fake_row(&fake, "frozen", "/api"), "now", "stopped");
	fake_done(&fake);
}

static void every_prefix_is_an_error_or_right(void **state)
{
	(void)state;
	fake_sweep(&up_collector_frozen, "frozen_v2", FAKE_V2, "/api", 2, "/stat");
	fake_sweep(&up_collector_frozen, "frozen_v1", FAKE_V1, "/api", 2, "/stat");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares),
		cmocka_unit_test(the_clock_of_the_kernel),
		cmocka_unit_test(stopped_beside_the_clock),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
