/* The harness itself, on a collector small enough to be right at sight. */
#include <errno.h>
#include <stdlib.h>

#include "fake.h"

struct counter {
	struct up_u64 usage_us;
};

static int strict_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct counter raw;
	char *text;
	int r = up_source_read(env->source, arena, "/sys/fs/cgroup/api/cpu.stat", &text, NULL);

	(void)state;
	if (r < 0)
		return up_fail(env, r, "cpu.stat: %s", strerror(-r));
	r = up_scan_key(text, "usage_usec", &raw.usage_us);
	if (r == 0)
		*(struct counter *)ret_raw = raw;
	return r;
}

/* Takes a number that may have been cut. */
static int careless_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct counter raw = { 0 };
	const char *cursor;
	char *text;
	int r = up_source_read(env->source, arena, "/sys/fs/cgroup/api/cpu.stat", &text, NULL);

	(void)state;
	cursor = text;
	if (r < 0 || !up_scan_literal(&cursor, "usage_usec "))
		return -EBADMSG;
	raw.usage_us.has = up_scan_u64(&cursor, &raw.usage_us.n) == 0;
	*(struct counter *)ret_raw = raw;
	return 0;
}

static int derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct counter *p = prev, *c = cur;
	struct up_detail detail = { 0 };

	if (c->usage_us.has)
		up_detail_count(&detail, "usage_us", c->usage_us.n);
	return up_rows_add(out, &(struct up_row){
					.scope = UP_SCOPE_CGROUP,
					.resource = "counter",
					.name = "/api",
					.utilization = up_scaled(up_delta(p ? &p->usage_us : NULL, c->usage_us, "no usage_usec"),
						1e3, (double)dt_ns, NULL),
					.detail = detail.text,
				});
}

static const struct up_collector strict = {
	.name = "strict",
	.per = UP_PER_TARGET,
	.raw_bytes = sizeof(struct counter),
	.read = strict_read,
	.derive = derive,
};
static const struct up_collector careless = {
	.name = "careless",
	.per = UP_PER_TARGET,
	.raw_bytes = sizeof(struct counter),
	.read = careless_read,
	.derive = derive,
};

static void two_frames_give_a_rate(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, &strict, "fake_counter", FAKE_V2, "/api");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "counter", "/api")->utilization, UP_FIRST, 0, "one sample");
	assert_int_equal(fake_tick(&fake, 0.5), 0);
	fake_value(fake_row(&fake, "counter", "/api")->utilization, UP_OK, 0.5, "250 ms in half a second");
	fake_detail(fake_row(&fake, "counter", "/api"), "usage_us", 1250000);
	assert_string_equal(fake_row(&fake, "counter", "/api")->target, "api");
	assert_null(fake_find(&fake, "counter", "/other"));
	/* Past the last frame the same one is read again. */
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "counter", "/api")->utilization, UP_OK, 0, "nothing more");
	fake_reopen(&fake);
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "counter", "/api")->utilization, UP_FIRST, 0, "opened anew");
	fake_done(&fake);
}

static void copies_may_be_changed(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &strict, "fake_counter", FAKE_V2, "/api");
	fake_put(&fake, "t1/sys/fs/cgroup/api/cpu.stat", "nr_periods 1\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_absent(fake_row(&fake, "counter", "/api")->utilization, "no usage_usec", "key gone");
	fake_no_detail(fake_row(&fake, "counter", "/api"), "usage_us");
	fake_done(&fake);
	fake_init_copy(&fake, &strict, "", FAKE_V1, "/api");
	assert_int_equal(fake_tick(&fake, 1), -ENOENT);
	fake_put(&fake, "t0/sys/fs/cgroup/api/cpu.stat", "usage_usec 1\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_remove(&fake, "t0/sys");
	assert_int_equal(fake_tick(&fake, 1), -ENOENT);
	fake_done(&fake);
}

static void sweep_tells_careless_from_strict(void **state)
{
	(void)state;
	fake_sweep(&strict, "fake_counter", FAKE_V2, "/api", 2, NULL);
	/* "usage_usec 1000000" has six prefixes with a digit too few in each frame; in the second the last 0 makes no difference. */
	assert_true(fake_count_wrong(&careless, "fake_counter", FAKE_V2, "/api", 2, NULL) >= 11);
	assert_int_equal(fake_count_wrong(&careless, "fake_counter", FAKE_V2, "/api", 2, "cpu.stat"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_frames_give_a_rate),
		cmocka_unit_test(copies_may_be_changed),
		cmocka_unit_test(sweep_tells_careless_from_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
