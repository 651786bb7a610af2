/* pressure and host_pressure: shares from total=, every file shape there has been. */
#include <errno.h>

#include "../../src/collect/psi.h"
#include "check.h"
#include "rig.h"

static void shares_of_a_cgroup(void **state)
{
	static const struct {
		const char *resource;
		double share;
	} cases[] = { { "pressure-cpu", 0.4 }, { "pressure-memory", 0 }, { "pressure-io", 0 }, { "pressure-irq", 0.05 } };
	struct rig rig;
	double full;

	(void)state;
	rig_open(&rig, FIXTURES "pressure_v2", "api", UP_NS_PER_S, "pressure");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "pressure-cpu", "/api")->saturation.state, UP_FIRST);
	rig_next(&rig);
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row *row = rig_row(&rig, cases[i].resource, "/api");

		assert_non_null(row);
		assert_near(row->saturation.number, cases[i].share, 1e-9, cases[i].resource);
		assert_int_equal(row->waiting.state, UP_ABSENT);
	}
	assert_true(up_detail_get_number(rig_row(&rig, "pressure-cpu", "/api")->detail, "full_ratio", &full));
	assert_near(full, 0.1, 1e-9, "full in detail");
	rig_close(&rig);
}

static void an_old_kernel_has_less(void **state)
{
	struct rig rig;
	char text[128];

	(void)state;
	rig_open(&rig, FIXTURES "pressure_old", NULL, UP_NS_PER_S, "host_pressure");
	rig_tick(&rig);
	rig_next(&rig);
	assert_near(rig_row(&rig, "pressure-cpu", "host")->saturation.number, 0.25, 1e-9, "some");
	assert_true(up_detail_get(rig_row(&rig, "pressure-cpu", "host")->detail, "full_ratio_state", text, sizeof(text)));
	assert_string_equal(text, "absent:no full line before 5.13");
	assert_null(rig_row(&rig, "pressure-irq", "host"));
	rig_close(&rig);
}

static void a_cut_file_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "pressure_cut", NULL, UP_NS_PER_S, "host_pressure");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "pressure", "host")->state, UP_FAILED);
	rig_close(&rig);
}

static void every_prefix_is_an_error_or_right(void **state)
{
	static const char text[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=157656722\n"
				   "full avg10=0.00 avg60=0.00 avg300=0.00 total=9876\n";
	char cut[sizeof(text)];

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct psi psi;

		memcpy(cut, text, len);
		cut[len] = '\0';
		if (psi_scan(cut, &psi) == 0 && (!psi.some_us.has || psi.some_us.n != 157656722))
			fail_msg("prefix of %zu bytes", len);
	}
	assert_int_equal(psi_scan("some avg10=0.00 total=x\n", &(struct psi){ 0 }), -EBADMSG);
	assert_int_equal(psi_scan("other\n", &(struct psi){ 0 }), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_a_cgroup),
		cmocka_unit_test(an_old_kernel_has_less),
		cmocka_unit_test(a_cut_file_is_refused),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
