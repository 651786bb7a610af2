/* network and host_network on recorded trees. */
#include "check.h"
#include "rig.h"

static void a_target(void **state)
{
	const struct up_row *row;
	struct rig rig;
	double number;

	(void)state;
	rig_open(&rig, FIXTURES "network", "api", UP_NS_PER_S, "network");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "network", "eth0")->errors.state, UP_FIRST);
	assert_null(rig_row(&rig, "network", "eth1"));
	rig_next(&rig);
	row = rig_row(&rig, "network", "eth0");
	assert_int_equal(row->utilization.state, UP_ABSENT);
	assert_near(row->errors.number, 2, 0, "two receive errors");
	assert_true(up_detail_get_number(row->detail, "tx_bytes_per_s", &number));
	assert_near(number, 25e6, 1, "sent");
	assert_null(rig_row(&rig, "network", "lo"));
	row = rig_row(&rig, "network", "eth1");
	assert_int_equal(row->state, UP_OK);
	assert_near(row->errors.number, 3, 0, "the first packets of an interface are counted from its zeros");
	row = rig_row(&rig, "network", "tcp");
	assert_near(row->saturation.number, 0.05, 1e-12, "5 of 100 segments");
	assert_near(row->errors.number, 9, 0, "5 retransmits and 4 listen drops");
	rig_close(&rig);
}

static void the_host_has_a_speed(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "network_host", NULL, UP_NS_PER_S, "host_network");
	rig_tick(&rig);
	rig_next(&rig);
	assert_near(rig_row(&rig, "network", "eth0")->utilization.number, 0.2, 1e-9, "200 of 1000 Mbit/s");
	rig_close(&rig);
	rig_open(&rig, FIXTURES "network_veth", NULL, UP_NS_PER_S, "host_network");
	rig_tick(&rig);
	rig_next(&rig);
	assert_int_equal(rig_row(&rig, "network", "eth0")->utilization.state, UP_ABSENT);
	rig_close(&rig);
	rig_open(&rig, FIXTURES "network_mismatch", NULL, UP_NS_PER_S, "host_network");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "network", NULL)->state, UP_FAILED);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target),
		cmocka_unit_test(the_host_has_a_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
