/* memory and host_memory on recorded trees. */
#include <errno.h>

#include "fake.h"
#include "rig.h"

extern const struct up_collector up_collector_memory, up_collector_host_memory;

static const struct {
	const char *fixture, *target, *name;
	double utilization, saturation, errors; /* NAN: not UP_OK */
	const char *why;
} shapes[] = {
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
	for (size_t i = 0; i < UP_COUNT(shapes); i++) {
		const struct up_row *row;
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "memory_%s", shapes[i].fixture);
		rig_open(&rig, root, shapes[i].target, UP_NS_PER_S, "memory");
		rig_tick(&rig);
		rig_next(&rig);
		row = rig_row(&rig, "memory", shapes[i].name);
		if (!row)
			fail_msg("%s: no row", shapes[i].why);
		check(row->utilization, shapes[i].utilization, "utilization", shapes[i].why);
		check(row->saturation, shapes[i].saturation, "saturation", shapes[i].why);
		check(row->errors, shapes[i].errors, "errors", shapes[i].why);
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

#define V2 "t0/sys/fs/cgroup/api/"
#define V1 "t0/sys/fs/cgroup/memory/api/"

/* A v2 group of one frame with these files; more can be put before the tick. */
static void put_group(struct fake *fake, const char *dir, const char *current, const char *max, const char *stat)
{
	char path[256];

	snprintf(path, sizeof(path), "%smemory.current", dir);
	fake_put(fake, path, current);
	snprintf(path, sizeof(path), "%smemory.max", dir);
	fake_put(fake, path, max);
	snprintf(path, sizeof(path), "%smemory.stat", dir);
	fake_put(fake, path, stat);
}

static void figures_have_their_names(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_memory, "", FAKE_V2, "/api");
	fake_put(&fake, "t0/proc/meminfo", "MemTotal:        8388608 kB\n");
	put_group(&fake, V2, "157286400\n", "max\n", "anon 20971520\nfile 130023424\ninactive_file 10485760\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "memory", "/api");
	fake_detail(row, "current_bytes", 157286400);
	fake_detail(row, "anon_bytes", 20971520);
	fake_detail(row, "working_set_bytes", 146800640);
	fake_detail_text(row, "limit_by", "ram");
	fake_no_detail(row, "limited_by");
	fake_absent(row->errors, "oom_kill", "no memory.events in this tree");
	fake_absent(row->saturation, "no pressure file", "no memory.pressure in this tree");
	fake_done(&fake);
}

static void an_oom_counts_once(void **state)
{
	static const struct {
		const char *before, *after;
		double errors;
		const char *why;
	} cases[] = {
		{ "max 0\noom 0\noom_kill 0\n", "max 90\noom 1\noom_kill 1\n", 1, "one process was killed for one allocation" },
		{ "max 0\noom 0\noom_kill 0\n", "max 90\noom 3\noom_kill 0\n", 3, "allocations failed, nobody was killed" },
		{ "max 0\noom 0\noom_kill 1\n", "max 0\noom 0\noom_kill 3\n", 2, "killed for the limit of an ancestor" },
		{ "max 0\noom 0\noom_kill 0\n", "max 90\noom 0\noom_kill 0\n", 0, "forced reclaim is no error" },
		{ "max 0\noom 5\n", "max 0\noom 6\n", 1, "before 4.13 there is no oom_kill" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;

		fake_init_copy(&fake, &up_collector_memory, "memory_v2_high", FAKE_V2, "/api");
		fake_put(&fake, "t0/sys/fs/cgroup/api/memory.events", cases[i].before);
		fake_put(&fake, "t1/sys/fs/cgroup/api/memory.events", cases[i].after);
		assert_int_equal(fake_tick(&fake, 1), 0);
		assert_int_equal(fake_tick(&fake, 1), 0);
		fake_value(fake_row(&fake, "memory", "/api")->errors, UP_OK, cases[i].errors, cases[i].why);
		fake_done(&fake);
	}
}

static void limits_of_v1(void **state)
{
	static const struct {
		const char *limit;
		double limit_bytes;
		const char *by, *why;
	} cases[] = {
		{ "1073741824\n", 1073741824, "max", "1 GiB" },
		{ "9223372036854771712\n", 8589934592, "ram", "unlimited with pages of 4 KiB" },
		{ "9223372036854710272\n", 8589934592, "ram", "unlimited with pages of 64 KiB" },
		{ "17179869184\n", 8589934592, "ram", "more than the machine has" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;

		fake_init_copy(&fake, &up_collector_memory, "memory_v1", FAKE_V1, "/api");
		fake_put(&fake, V1 "memory.limit_in_bytes", cases[i].limit);
		fake_put(&fake, V1 "memory.oom_control", "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n");
		assert_int_equal(fake_tick(&fake, 1), 0);
		fake_detail(fake_row(&fake, "memory", "/api"), "limit_bytes", cases[i].limit_bytes);
		fake_detail_text(fake_row(&fake, "memory", "/api"), "limit_by", cases[i].by);
		fake_detail_text(fake_row(&fake, "memory", "/api"), "under_oom", "tasks wait for memory, the OOM killer is off");
		/* From no limit to one: the number that means "none" is not shown as the old limit. */
		assert_int_equal(fake_tick(&fake, 1), 0);
		if (i == 1)
			fake_no_detail(fake_row(&fake, "limit-changed", "/api"), "from_bytes");
		fake_done(&fake);
	}
}

/* Working set with total_inactive_file there, missing, zero, and no number. */
static void inactive_file_of_v1(void **state)
{
	static const struct {
		const char *stat;
		double working_set; /* NAN: unknown */
	} cases[] = {
		{ "inactive_file 0\ntotal_inactive_file 30634304\n", 103583424 },
		{ "inactive_file 0\n", NAN },
		{ "inactive_file 0\ntotal_inactive_file 0\n", 134217728 },
		{ "inactive_file 0\ntotal_inactive_file invalid\n", NAN },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;

		fake_init_copy(&fake, &up_collector_memory, "memory_v1", FAKE_V1, "/api");
		fake_put(&fake, V1 "memory.usage_in_bytes", "134217728\n");
		fake_put(&fake, V1 "memory.stat", cases[i].stat);
		assert_int_equal(fake_tick(&fake, 1), 0);
		if (isnan(cases[i].working_set))
			fake_absent(fake_row(&fake, "memory", "/api")->utilization, "inactive_file", cases[i].stat);
		else
			fake_detail(fake_row(&fake, "memory", "/api"), "working_set_bytes", cases[i].working_set);
		fake_done(&fake);
	}
}

static void pressure_of_each_level(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_memory, "memory_v2_parent", FAKE_V2, "/pod/api");
	fake_put(&fake, "t0/sys/fs/cgroup/pod/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	fake_put(&fake, "t1/sys/fs/cgroup/pod/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=400000\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "memory", "/pod/api")->saturation, UP_OK, 0.25, "the child's own");
	fake_value(fake_row(&fake, "memory", "/pod")->saturation, UP_OK, 0.4, "the parent's own");
	fake_done(&fake);
	/* Hybrid: memory on v1, PSI of the same group in the v2 tree. */
	fake_init_copy(&fake, &up_collector_memory, "memory_v1", FAKE_HYBRID, "/api");
	fake_put(&fake, "t0/sys/fs/cgroup/unified/api/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	fake_put(&fake, "t1/sys/fs/cgroup/unified/api/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=700000\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "memory", "/api")->saturation, UP_OK, 0.7, "from the v2 tree");
	fake_value(fake_row(&fake, "memory", "/api")->errors, UP_OK, 1, "from the v1 tree");
	fake_done(&fake);
}

/* While a group is removed its files go one by one: that is no change of a limit. */
static void a_vanishing_group_changes_no_limit(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_memory, "memory_v2_parent", FAKE_V2, "/pod/api");
	fake_remove(&fake, "t1/sys/fs/cgroup/pod/memory.max");
	fake_remove(&fake, "t1/sys/fs/cgroup/pod/memory.high");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_null(fake_find(&fake, "limit-changed", "/pod"));
	fake_remove(&fake, "t1/sys/fs/cgroup/pod/api");
	assert_int_equal(fake_tick(&fake, 1), -ENOENT);
	fake_done(&fake);
}

static void every_prefix_is_an_error_or_right(void **state)
{
	(void)state;
	fake_sweep(&up_collector_memory, "memory_v2_parent", FAKE_V2, "/pod/api", 2, NULL);
	fake_sweep(&up_collector_memory, "memory_v1", FAKE_HYBRID, "/api", 2, NULL);
	fake_sweep(&up_collector_host_memory, "host_memory", FAKE_V2, NULL, 2, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_every_kernel_shape),
		cmocka_unit_test(the_limit_is_named_and_its_change_told),
		cmocka_unit_test(the_host),
		cmocka_unit_test(figures_have_their_names),
		cmocka_unit_test(an_oom_counts_once),
		cmocka_unit_test(limits_of_v1),
		cmocka_unit_test(inactive_file_of_v1),
		cmocka_unit_test(pressure_of_each_level),
		cmocka_unit_test(a_vanishing_group_changes_no_limit),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
