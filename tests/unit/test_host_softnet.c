/* host_softnet on recorded files of three generations of kernels. */
#include <errno.h>

#include "fake.h"

extern const struct up_collector up_collector_host_softnet;

static void two_ticks(struct fake *fake, const char *fixture)
{
	fake_init_copy(fake, &up_collector_host_softnet, fixture, FAKE_V2, NULL);
	assert_int_equal(fake_tick(fake, 1), 0);
	fake_value(fake_row(fake, "softnet", "host")->errors, UP_FIRST, 0, "one sample");
}

static void nine_columns(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	two_ticks(&fake, "host_softnet_columns_9");
	assert_int_equal(fake_tick(&fake, 2), 0);
	row = fake_row(&fake, "softnet", "host");
	fake_absent(row->utilization, "5.10", "no backlog in this file");
	fake_value(row->saturation, UP_OK, 1, "2 squeezes in 2 s");
	fake_value(row->errors, UP_OK, 3, "dropped by the first CPU");
	fake_detail(row, "packets_per_s", 500);
	fake_detail(row, "squeezed_cpu", 0);
	fake_no_detail(row, "backlog_packets");
	fake_no_detail(row, "steered");
	fake_done(&fake);
}

static void thirteen_columns(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	two_ticks(&fake, "host_softnet_columns_13");
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "softnet", "host");
	fake_value(row->utilization, UP_OK, 0.25, "250 of 1000 packets");
	fake_value(row->saturation, UP_OK, 10, "4 over the wrap and 6");
	fake_value(row->errors, UP_OK, 4, "dropped");
	fake_detail(row, "squeezed_cpu", 2);
	fake_detail(row, "backlog_cpu", 0);
	fake_detail(row, "packets_per_s", 256 + 100 + 100);
	fake_detail(row, "steered", 10);
	fake_detail(row, "flow_limited", 2);
	fake_done(&fake);
}

static void a_full_backlog(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	two_ticks(&fake, "host_softnet_columns_15");
	fake_remove(&fake, "t1/proc/sys/net/core/netdev_max_backlog");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_absent(fake_row(&fake, "softnet", "host")->utilization, "netdev_max_backlog", "no limit");
	fake_done(&fake);
	two_ticks(&fake, "host_softnet_columns_15");
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "softnet", "host");
	fake_value(row->utilization, UP_OK, 1, "1000 of 1000");
	fake_value(row->errors, UP_OK, 2, "dropped by CPU 1");
	fake_value(row->saturation, UP_OK, 0, "a measured zero");
	fake_no_detail(row, "squeezed_cpu");
	fake_done(&fake);
}

static void a_cpu_goes_away(void **state)
{
	struct fake fake;

	(void)state;
	two_ticks(&fake, "host_softnet_columns_13");
	fake_put(&fake, "t1/proc/net/softnet_stat",
		"00000064 0000000e 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 000000fa 00000000\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "softnet", "host")->errors, UP_RESET, 0, "another set of CPUs");
	fake_value(fake_row(&fake, "softnet", "host")->utilization, UP_RESET, 0, "another set of CPUs");
	fake_done(&fake);
}

static void what_is_not_understood(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "", "cut off" },
		{ "00000001 00000002 f0000003 00000000\n", "line 1: expected at least 9" },
		{ "00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000000", "cut off" },
		{ "00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000000g\n", "line 1" },
		{ "100000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n", "line 1" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;

		fake_init_copy(&fake, &up_collector_host_softnet, "host_softnet_columns_9", FAKE_V2, NULL);
		fake_put(&fake, "t0/proc/net/softnet_stat", cases[i].text);
		assert_int_equal(fake_tick(&fake, 1), -EBADMSG);
		assert_non_null(strstr(fake.env.error, cases[i].reason));
		fake_done(&fake);
	}
}

static void every_prefix(void **state)
{
	(void)state;
	fake_sweep(&up_collector_host_softnet, "host_softnet_columns_9", FAKE_V2, NULL, 2, "netdev_max_backlog");
	fake_sweep(&up_collector_host_softnet, "host_softnet_columns_13", FAKE_V2, NULL, 2, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nine_columns),
		cmocka_unit_test(thirteen_columns),
		cmocka_unit_test(a_full_backlog),
		cmocka_unit_test(a_cpu_goes_away),
		cmocka_unit_test(what_is_not_understood),
		cmocka_unit_test(every_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
