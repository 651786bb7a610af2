#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/row.h"

#define HAS(x) ((struct up_u64){ .n = (x), .has = true })

static void rates_have_states(void **state)
{
	const struct up_u64 none = { 0 }, ten = HAS(10), top = HAS(4294967290u);

	(void)state;
	assert_int_equal(up_delta(NULL, HAS(10), "x").state, UP_FIRST);
	assert_int_equal(up_delta(&none, HAS(10), "x").state, UP_FIRST);
	assert_int_equal(up_delta(&ten, HAS(9), "x").state, UP_RESET);
	assert_int_equal(up_delta(&ten, none, "no such file").state, UP_ABSENT);
	assert_string_equal(up_delta(&ten, none, "no such file").reason, "no such file");
	assert_true(up_delta(&ten, HAS(10), "x").state == UP_OK && up_delta(&ten, HAS(10), "x").number == 0.0);
	assert_near(up_delta(&ten, HAS(17), "x").number, 7, 0, "growth");
	assert_near(up_delta_wrap(&top, HAS(994), 32, "x").number, 1000, 0, "32-bit wrap");
	assert_int_equal(up_delta_wrap(&ten, HAS(3), 32, "x").state, UP_RESET);
	assert_int_equal(up_scaled(up_value(3), 2, 0, "no quota").state, UP_ABSENT);
	assert_near(up_scaled(up_value(3), 2, 4, "").number, 1.5, 0, "scale");
	assert_int_equal(up_ratio(up_value(1), up_delta(NULL, HAS(1), ""), "").state, UP_FIRST);
	assert_int_equal(up_value(NAN).state, UP_FAILED);
	assert_near(up_minus(up_value(1), up_value(3)).number, 0, 0, "clamped");
}

static void detail_round_trip(void **state)
{
	static const char hostile[] = "a=b;c%d\n\x1b[31m\xc3\xbc";
	struct up_detail d = { 0 };
	char back[64];
	double number;

	(void)state;
	up_detail_text(&d, "name", hostile);
	up_detail_number(&d, "quota_cpus", 0.5);
	up_detail_count(&d, "bytes", UINT64_MAX);
	up_detail_value(&d, "saturation", up_none("no quota"));
	assert_null(strpbrk(d.text, "\n\x1b"));
	assert_true(up_detail_get(d.text, "name", back, sizeof(back)));
	assert_string_equal(back, hostile);
	assert_true(up_detail_get_number(d.text, "quota_cpus", &number));
	assert_near(number, 0.5, 0, "number");
	assert_true(up_detail_get(d.text, "saturation_state", back, sizeof(back)));
	assert_string_equal(back, "absent:no quota");
	assert_false(up_detail_get(d.text, "quota", back, sizeof(back)));
	for (int i = 0; i < 1000; i++)
		up_detail_count(&d, "filler", 123456789);
	assert_true(d.cut);
	assert_true(strlen(d.text) < sizeof(d.text));
	assert_true(up_detail_get(d.text, "name", back, sizeof(back)));
}

static void rows_copy_and_overflow(void **state)
{
	struct up_rows rows;
	char name[] = "/api";

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	rows.target = "api";
	rows.window_ns = 7;
	assert_int_equal(up_rows_add(&rows, &(struct up_row){ .resource = "cpu", .name = name }), 0);
	name[1] = 'X';
	assert_string_equal(rows.items[0].name, "/api");
	assert_string_equal(rows.items[0].target, "api");
	assert_true(rows.items[0].window_ns == 7);
	assert_int_equal(rows.items[0].utilization.state, UP_ABSENT);
	for (int i = 1; i < UP_ROWS_MAX; i++)
		assert_int_equal(up_rows_add(&rows, &(struct up_row){ .resource = "cpu" }), 0);
	assert_int_equal(up_rows_add(&rows, &(struct up_row){ .resource = "cpu" }), -ENOSPC);
	assert_int_equal(rows.dropped, 1);
	up_rows_done(&rows);
}

static void saturation_rule(void **state)
{
	static const struct {
		double waiting, servers, saturation, saturated_at;
		bool saturated;
		const char *why;
	} cases[] = {
		{ 0.49, 0, 0, 0, false, "less than half a task" },
		{ 0.5, 0, 0, 0, true, "half a task" },
		{ 0.9, 10, 0, 0, false, "below a tenth of the servers" },
		{ 1.0, 10, 0, 0, true, "a tenth of the servers" },
		{ 0, 0, 0.24, 0.25, false, "throttled less than the limit" },
		{ 0, 0, 0.25, 0.25, true, "throttled at the limit" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row row = {
			.waiting = up_value(cases[i].waiting),
			.servers = cases[i].servers,
			.saturation = up_value(cases[i].saturation),
			.saturated_at = cases[i].saturated_at,
		};

		if (up_row_saturated_now(&row) != cases[i].saturated)
			fail_msg("%s", cases[i].why);
	}
	assert_false(up_row_saturated_now(&(struct up_row){ .saturated_at = 0.25 }));
}

static void names_go_both_ways(void **state)
{
	(void)state;
	for (int i = 0; i < UP_SCOPE_COUNT; i++) {
		enum up_scope back;

		assert_true(up_scope_from_name(up_scope_name((enum up_scope)i), &back) && (int)back == i);
	}
	for (int i = UP_ABSENT; i <= UP_FAILED; i++) {
		enum up_state back;

		assert_true(up_state_from_name(up_state_name((enum up_state)i), &back) && (int)back == i);
	}
	assert_false(up_scope_from_name("nowhere", &(enum up_scope){ 0 }));
}

static void times(void **state)
{
	char text[UP_TIME_TEXT];
	uint64_t ns;

	(void)state;
	up_time_format(1764532200123456789ull, text);
	assert_string_equal(text, "2025-11-30T19:50:00.123Z");
	assert_int_equal(up_time_parse("200ms", &ns), 0);
	assert_true(ns == 200 * UP_NS_PER_MS);
	assert_int_equal(up_time_parse("0.1", &ns), 0);
	assert_true(ns == 100 * UP_NS_PER_MS);
	assert_int_equal(up_time_parse("2m", &ns), 0);
	assert_true(ns == 120 * UP_NS_PER_S);
	assert_int_equal(up_time_parse("5 s", &ns), -EINVAL);
	assert_int_equal(up_time_parse("-1s", &ns), -EINVAL);
	assert_int_equal(up_time_parse("99999999h", &ns), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_have_states),
		cmocka_unit_test(detail_round_trip),
		cmocka_unit_test(rows_copy_and_overflow),
		cmocka_unit_test(saturation_rule),
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
