/* "cpu" on recorded trees: v2, v1, hybrid; numbers to be checked by hand stand in `why`. */
#include "check.h"
#include "rig.h"

#define NONE NAN

static const struct {
	const char *fixture, *target, *name;
	double utilization, saturation, waiting; /* NONE: not UP_OK */
	enum up_state utilization_state, saturation_state, waiting_state;
	const char *why;
} cases[] = {
	{ "v2_own", "api", "/api", 1.0, 0.7, 0.9, UP_OK, UP_OK, UP_OK,
		"0.5 s of 0.5 CPU; 7 of 10 periods; 0.9 s throttled over 2 CPUs in 1 s" },
	{ "v2_parent", "pod/api", "/pod/api", 0.95, NONE, 1.5, UP_OK, UP_ABSENT, UP_OK,
		"0.19 s of the parent's 0.2 CPU; own periods 0; cpu.stat.local 1.5 s" },
	{ "v2_parent", "pod/api", "/pod", 1.0, 1.0, 1.5, UP_OK, UP_OK, UP_OK,
		"the ancestor's own row: 0.2 s of 0.2 CPU, 10 of 10 periods" },
	{ "v2_parent_old", "pod/api", "/pod/api", 0.95, NONE, NONE, UP_OK, UP_ABSENT, UP_ABSENT,
		"without cpu.stat.local nobody can tell" },
	{ "v2_no_quota", "api", "/api", 0.0, NONE, NONE, UP_OK, UP_ABSENT, UP_ABSENT, "idle is a measured 0, no quota is empty" },
	{ "v2_no_controller", "api", "/api", 0.125, NONE, NONE, UP_OK, UP_ABSENT, UP_ABSENT,
		"0.25 s of 2 CPUs; no cpu.max there" },
	{ "v2_restart", "api", "/api", NONE, NONE, NONE, UP_RESET, UP_RESET, UP_RESET, "counters fell" },
	{ "v2_cpuset", "api", "/api", 0.5, NONE, NONE, UP_OK, UP_ABSENT, UP_ABSENT, "1 s of a cpuset of 2 of 8 CPUs" },
	{ "v1_own", "api", "/api", 1.0, 0.7, 0.9, UP_OK, UP_OK, UP_OK, "the same in nanoseconds" },
	{ "v1_no_quota", "api", "/api", 0.125, NONE, NONE, UP_OK, UP_ABSENT, UP_ABSENT, "quota -1" },
	{ "v1_no_sys", "api", "/api", NONE, 0.7, 0.9, UP_ABSENT, UP_OK, UP_OK,
		"neither /sys nor /proc/stat: how many CPUs a quota of 2 is of is not known, its periods are" },
	{ "v1_stat_only", "api", "/api", 0.125, NONE, NONE, UP_OK, UP_ABSENT, UP_ABSENT, "the CPUs are counted in /proc/stat" },
	{ "hybrid", "api", "/api", 1.0, 0.7, 0.9, UP_OK, UP_OK, UP_OK, "the v1 hierarchy owns the controller" },
};

static void check_value(struct up_value got, enum up_state state, double number, const char *what, const char *why)
{
	if (got.state != state)
		fail_msg("%s: %s is %s (%s)", why, what, up_state_name(got.state), got.reason ? got.reason : "");
	if (state == UP_OK)
		assert_near(got.number, number, 1e-9, why);
}

static void rows_of_every_kernel_shape(void **state)
{
	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row *row;
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "cpu_%s", cases[i].fixture);
		rig_open(&rig, root, cases[i].target, UP_NS_PER_S, "cpu");
		rig_tick(&rig);
		row = rig_row(&rig, "cpu", cases[i].name);
		if (!row || row->utilization.state != UP_FIRST)
			fail_msg("%s: the first sample gives no rate", cases[i].why);
		rig_next(&rig);
		row = rig_row(&rig, "cpu", cases[i].name);
		assert_non_null(row);
		check_value(row->utilization, cases[i].utilization_state, cases[i].utilization, "utilization", cases[i].why);
		check_value(row->saturation, cases[i].saturation_state, cases[i].saturation, "saturation", cases[i].why);
		check_value(row->waiting, cases[i].waiting_state, cases[i].waiting, "waiting", cases[i].why);
		rig_close(&rig);
	}
}

static void the_ancestor_is_named(void **state)
{
	char text[128];
	struct rig rig;
	double capacity;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_parent", "pod/api", UP_NS_PER_S, "cpu");
	rig_tick(&rig);
	rig_next(&rig);
	assert_true(up_detail_get(rig_row(&rig, "cpu", "/pod/api")->detail, "limited_by", text, sizeof(text)));
	assert_string_equal(text, "/pod");
	assert_true(up_detail_get_number(rig_row(&rig, "cpu", "/pod/api")->detail, "capacity_cpus", &capacity));
	assert_near(capacity, 0.2, 1e-9, "the parent's quota");
	assert_string_equal(rig_row(&rig, "cpu", "/pod")->target, "pod/api");
	rig_close(&rig);
}

/* The look-back over ten periods must not keep a group throttled that has nothing to do any more. */
static void an_idle_group_is_not_throttled(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_then_idle", "api", UP_NS_PER_S, "cpu");
	rig_tick(&rig);
	rig_next(&rig);
	assert_near(rig_row(&rig, "cpu", "/api")->saturation.number, 0.7, 1e-9, "7 of 10 periods");
	rig_next(&rig);
	assert_int_equal(rig_row(&rig, "cpu", "/api")->saturation.state, UP_OK);
	assert_near(rig_row(&rig, "cpu", "/api")->saturation.number, 0, 0, "no period ran");
	assert_near(rig_row(&rig, "cpu", "/api")->utilization.number, 0, 0, "idle");
	rig_close(&rig);
}

static void a_changed_limit_is_an_event(void **state)
{
	struct rig rig;
	double from, to;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_limit_changed", "api", UP_NS_PER_S, "cpu");
	rig_tick(&rig);
	assert_null(rig_row(&rig, "limit-changed", NULL));
	rig_next(&rig);
	assert_non_null(rig_row(&rig, "limit-changed", "/api"));
	assert_true(up_detail_get_number(rig_row(&rig, "limit-changed", "/api")->detail, "from_cpus", &from));
	assert_true(up_detail_get_number(rig_row(&rig, "limit-changed", "/api")->detail, "to_cpus", &to));
	assert_near(from, 0.5, 1e-9, "before");
	assert_near(to, 1.0, 1e-9, "after");
	rig_close(&rig);
}

static void broken_files_cost_the_row_only(void **state)
{
	static const char *const broken[] = { "cpu_v2_cut", "cpu_v2_bad_max" };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(broken); i++) {
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "%s", broken[i]);
		rig_open(&rig, root, "api", UP_NS_PER_S, "cpu");
		rig_tick(&rig);
		assert_int_equal(rig_row(&rig, "cpu", "/api")->state, UP_FAILED);
		assert_non_null(strstr(rig_row(&rig, "cpu", "/api")->reason, "not understood"));
		assert_int_not_equal(rig_row(&rig, "cpu", "/api")->utilization.state, UP_OK);
		rig_close(&rig);
	}
}

static void a_root_without_cpu_stat_says_so(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_root", "/", UP_NS_PER_S, "cpu");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "cpu", NULL)->state, UP_ABSENT);
	assert_non_null(strstr(rig_row(&rig, "cpu", NULL)->reason, "--host"));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_every_kernel_shape),
		cmocka_unit_test(the_ancestor_is_named),
		cmocka_unit_test(an_idle_group_is_not_throttled),
		cmocka_unit_test(a_changed_limit_is_an_event),
		cmocka_unit_test(broken_files_cost_the_row_only),
		cmocka_unit_test(a_root_without_cpu_stat_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
