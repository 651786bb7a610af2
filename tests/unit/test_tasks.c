#include "check.h"
#include "rig.h"

static void a_limit_on_the_parent(void **state)
{
	struct rig rig;
	char text[64];

	(void)state;
	rig_open(&rig, FIXTURES "tasks_v2", "pod/api", UP_NS_PER_S, "tasks");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "tasks", "/pod")->errors.state, UP_FIRST);
	rig_next(&rig);
	assert_near(rig_row(&rig, "tasks", "/pod/api")->utilization.number, 0.75, 1e-9, "30 of the parent's 40");
	assert_true(up_detail_get(rig_row(&rig, "tasks", "/pod/api")->detail, "limited_by", text, sizeof(text)));
	assert_string_equal(text, "/pod");
	assert_near(rig_row(&rig, "tasks", "/pod")->errors.number, 5, 0, "forks refused at the parent");
	assert_near(rig_row(&rig, "tasks", "/pod/api")->errors.number, 0, 0, "none at the child's own limit");
	rig_close(&rig);
}

static void on_v1(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "tasks_v1", "api", UP_NS_PER_S, "tasks");
	rig_tick(&rig);
	assert_near(rig_row(&rig, "tasks", "/api")->utilization.number, 0.5, 1e-9, "10 of 20");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_on_the_parent),
		cmocka_unit_test(on_v1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
