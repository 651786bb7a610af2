/* disk and host_disk on recorded trees. */
#include "check.h"
#include "rig.h"

static double detail_of(const struct up_row *row, const char *key)
{
	double number = NAN;

	up_detail_get_number(row->detail, key, &number);
	return number;
}

static void devices_of_the_host(void **state)
{
	const struct up_row *row;
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "host_disk", NULL, UP_NS_PER_S, "host_disk");
	rig_tick(&rig);
	rig_next(&rig);
	row = rig_row(&rig, "disk", "sda");
	assert_near(row->utilization.number, 0.25, 1e-9, "250 ms of 1 s");
	assert_near(row->saturation.number, 0.5, 1e-9, "500 weighted ms in 1 s");
	assert_near(detail_of(row, "reads_per_s"), 10, 1e-9, "10 reads");
	assert_near(detail_of(row, "read_bytes_per_s"), 80 * 512, 1e-9, "80 sectors");
	row = rig_row(&rig, "disk", "cciss/c0d0");
	assert_near(row->utilization.number, 1.0, 1e-9, "1000 ms over the wrap at 2^32, not 4.29e9");
	assert_near(row->saturation.number, 1.5, 1e-9, "1500 weighted ms over the wrap");
	assert_null(rig_row(&rig, "disk", "loop0"));
	assert_null(rig_row(&rig, "disk", "sda1"));
	rig_close(&rig);
	rig_open(&rig, FIXTURES "host_disk_cut", NULL, UP_NS_PER_S, "host_disk");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "disk", "host")->state, UP_FAILED);
	rig_close(&rig);
}

static void a_target(void **state)
{
	static const struct {
		const char *fixture;
		double read_bytes, write_bytes, stalled;
		const char *why;
	} cases[] = {
		{ "v2", 43008, 4096, 0.3, "glued device names" },
		{ "v2_none", 0, 0, 0, "an empty io.stat is a measured zero" },
		{ "v1", 4096, 8192, NAN, "blkio.throttle, no PSI of a group" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row *row;
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "disk_%s", cases[i].fixture);
		rig_open(&rig, root, "api", UP_NS_PER_S, "disk");
		rig_tick(&rig);
		rig_next(&rig);
		row = rig_row(&rig, "disk", "/api");
		assert_near(detail_of(row, "read_bytes_per_s"), cases[i].read_bytes, 1e-9, cases[i].why);
		assert_near(detail_of(row, "write_bytes_per_s"), cases[i].write_bytes, 1e-9, cases[i].why);
		if (isnan(cases[i].stalled))
			assert_int_equal(row->saturation.state, UP_ABSENT);
		else
			assert_near(row->saturation.number, cases[i].stalled, 1e-9, cases[i].why);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_of_the_host),
		cmocka_unit_test(a_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
