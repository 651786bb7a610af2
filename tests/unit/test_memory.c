/* memory and host_memory on recorded trees. */
#include "check.h"
#include "rig.h"

static const struct {
	const char *fixture, *target, *name;
	double utilization, saturation, errors; /* NAN: not UP_OK */
	const char *why;
} cases[] = {
	{ "v2_parent", "pod/api", "/pod/api", 0.5, 0.25, 2, "512 MiB of the parent's 1 GiB, 0.25 s stalled, 2 OOM kills" },
	{ "v2_parent", "pod/api", "/pod", 600.0 / 1024, NAN, 0, "the parent's own row" },
	{ "v2_high", "api", "/api", 0.25, NAN, 0, "memory.high of 1 GiB below memory.max" },
	{ "v2_clamped", "api", "/api", 0.0, NAN, 0, "inactive_file above current" },
	{ "v2_bad_stat", "api", "/api", NAN, NAN, 0, "no number for inactive_file" },
	{ "v1", "api", "/api", 0.25, NAN, 1, "256 MiB of 1 GiB, 1 OOM kill" },
	{ "v1_unlimited", "api", "/api", 0.25, NAN, 0, "2 GiB of 8 GiB RAM" },
};

static void check(struct up_value got, double want, const char *what, const char *why)
{
	if (isnan(want) != (got.state != UP_OK))
		fail_msg("%s: %s is %s", why, what, up_state_name(got.state));
	if (!isnan(want))
		assert_near(got.number, want, 1e-9, why);
}

static void rows_of_every_kernel_shape(void **state)
{
	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row *row;
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "memory_%s", cases[i].fixture);
		rig_open(&rig, root, cases[i].target, UP_NS_PER_S, "memory");
		rig_tick(&rig);
		rig_next(&rig);
		row = rig_row(&rig, "memory", cases[i].name);
		if (!row)
			fail_msg("%s: no row", cases[i].why);
		check(row->utilization, cases[i].utilization, "utilization", cases[i].why);
		check(row->saturation, cases[i].saturation, "saturation", cases[i].why);
		check(row->errors, cases[i].errors, "errors", cases[i].why);
		rig_close(&rig);
	}
}

static void the_limit_is_named_and_its_change_told(void **state)
{
	struct rig rig;
	char text[64];

	(void)state;
	rig_open(&rig, FIXTURES "memory_v2_parent", "pod/api", UP_NS_PER_S, "memory");
	rig_tick(&rig);
	assert_true(up_detail_get(rig_row(&rig, "memory", "/pod/api")->detail, "limited_by", text, sizeof(text)));
	assert_string_equal(text, "/pod");
	rig_close(&rig);
	rig_open(&rig, FIXTURES "memory_v2_changed", "api", UP_NS_PER_S, "memory");
	rig_tick(&rig);
	rig_next(&rig);
	assert_true(up_detail_get(rig_row(&rig, "limit-changed", "/api")->detail, "to_bytes", text, sizeof(text)));
	assert_string_equal(text, "2147483648");
	rig_close(&rig);
	rig_open(&rig, FIXTURES "memory_v2_clamped", "api", UP_NS_PER_S, "memory");
	rig_tick(&rig);
	assert_true(up_detail_get(rig_row(&rig, "memory", "/api")->detail, "clamped", text, sizeof(text)));
	rig_close(&rig);
}

static void the_host(void **state)
{
	const struct up_row *row;
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "host_memory", NULL, UP_NS_PER_S, "host_memory");
	rig_tick(&rig);
	rig_next(&rig);
	row = rig_row(&rig, "memory", "host");
	check(row->utilization, 0.5, "utilization", "half is available");
	check(row->saturation, 0.1, "saturation", "0.1 s stalled in 1 s");
	check(row->errors, 1, "errors", "one OOM kill");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_every_kernel_shape),
		cmocka_unit_test(the_limit_is_named_and_its_change_told),
		cmocka_unit_test(the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
