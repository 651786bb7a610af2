/* pressure and host_pressure: shares from total=, every file shape there has been. */
#include <errno.h>

#include "../../src/collect/psi.h"
#include "fake.h"
#include "rig.h"

extern const struct up_collector up_collector_pressure, up_collector_host_pressure;

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

#define API "sys/fs/cgroup/api/"

static void one_kind_that_fails_leaves_the_others(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_pressure, "pressure_v2", FAKE_V2, "/api");
	fake_put(&fake, "t1/" API "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1");
	fake_remove(&fake, "t1/" API "io.pressure");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "pressure-cpu", "/api")->saturation, UP_OK, 0.4, "not touched");
	fake_value(fake_row(&fake, "pressure-memory", "/api")->saturation, UP_FAILED, 0, "cut");
	assert_int_equal(fake_row(&fake, "pressure-memory", "/api")->state, UP_FAILED);
	assert_null(fake_find(&fake, "pressure-io", "/api"));
	fake_value(fake_row(&fake, "pressure-irq", "/api")->saturation, UP_OK, 0.05, "full line only");
	fake_done(&fake);
}

/* cgroup.pressure = 0 (since 6.1) takes the files away. */
static void switched_off_for_one_cgroup(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_pressure, "", FAKE_V2, "/api");
	fake_put(&fake, "t0/" API "cgroup.pressure", "0\n");
	assert_int_equal(fake_tick(&fake, 1), -ENODATA);
	assert_non_null(strstr(fake.env.error, "cgroup.pressure is 0"));
	fake_put(&fake, "t0/" API "cgroup.pressure", "1\n");
	assert_int_equal(fake_tick(&fake, 1), -ENOENT);
	fake_done(&fake);
}

static void the_reason_is_told(void **state)
{
	static const struct {
		int error;
		enum up_state state;
		const char *part;
	} cases[] = {
		{ -EOPNOTSUPP, UP_ABSENT, "psi=0" },
		{ -ENOENT, UP_ABSENT, "CONFIG_PSI" },
		{ -EACCES, UP_DENIED, "Permission denied" },
		{ -EBADMSG, UP_FAILED, "not understood" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct psi psi = { .error = cases[i].error };

		fake_value(psi_some_share(NULL, &psi, UP_NS_PER_S, NULL), cases[i].state, 0, cases[i].part);
		fake_absent(psi_full_share(NULL, &psi, UP_NS_PER_S, NULL), cases[i].part, "reason");
	}
	/* After an error the next sample is a first one: nobody knows what passed meanwhile. */
	fake_value(psi_some_share(&(struct psi){ .error = -EBADMSG }, &(struct psi){ .some_us = { 5, true } }, UP_NS_PER_S, NULL),
		UP_FIRST, 0, "after an error");
}

/* v1 has no PSI of groups; where the v2 tree is mounted too, it stands there. */
static void hybrid_and_v1(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_pressure, "", FAKE_V1, "/api");
	assert_int_equal(fake_tick(&fake, 1), -ENOENT);
	assert_non_null(strstr(fake.env.error, "v2 hierarchy"));
	fake_done(&fake);
	fake_init_copy(&fake, &up_collector_pressure, "", FAKE_HYBRID, "/api");
	fake_put(&fake, "t0/sys/fs/cgroup/unified/api/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	fake_put(&fake, "t1/sys/fs/cgroup/unified/api/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100000\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 0.5), 0);
	fake_value(fake_row(&fake, "pressure-cpu", "/api")->saturation, UP_OK, 0.2, "100 ms of 500 ms");
	fake_done(&fake);
}

static void every_prefix_of_every_file(void **state)
{
	(void)state;
	fake_sweep(&up_collector_pressure, "pressure_v2", FAKE_V2, "/api", 2, NULL);
	fake_sweep(&up_collector_host_pressure, "pressure_old", FAKE_V2, NULL, 2, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_a_cgroup),
		cmocka_unit_test(an_old_kernel_has_less),
		cmocka_unit_test(a_cut_file_is_refused),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
		cmocka_unit_test(one_kind_that_fails_leaves_the_others),
		cmocka_unit_test(switched_off_for_one_cgroup),
		cmocka_unit_test(the_reason_is_told),
		cmocka_unit_test(hybrid_and_v1),
		cmocka_unit_test(every_prefix_of_every_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
