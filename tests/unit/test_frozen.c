#include "check.h"
#include "rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shares) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
