#include <stdlib.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/table.h"

#define SECOND UP_NS_PER_S

static int setup(void **state)
{
	struct up_table *table = malloc(sizeof(*table));

	if (!table || up_table_init(table) < 0)
		return -1;
	*state = table;
	return 0;
}

static int teardown(void **state)
{
	up_table_done(*state);
	free(*state);
	return 0;
}

static void add(struct up_table *table, const char *resource, const char *name, double utilization, double waiting)
{
	const struct up_row row = { .scope = UP_SCOPE_CGROUP,
		.resource = resource,
		.name = name,
		.state = UP_OK,
		.utilization = utilization >= 0 ? up_value(utilization) : up_none("no m"),
		.waiting = waiting >= 0 ? up_value(waiting) : up_none("not known") };

	assert_int_equal(up_rows_add(&table->rows, &row), 0);
}

static void commit(struct up_table *table, uint64_t number, uint64_t mono_ns)
{
	const struct up_tick tick = { .number = number, .mono_ns = mono_ns, .elapsed_ns = mono_ns, .interval_ns = SECOND };

	assert_int_equal(up_table_commit(table, &tick), 0);
}

/* Conditions of one row on its own, at the first tick with a window. */
static void conditions(void **state)
{
	static const struct {
		struct up_row row;
		enum up_condition condition;
		const char *why;
	} cases[] = {
		{ { .utilization = { 0.97, UP_OK, 0 }, .errors = { 1, UP_OK, 0 } }, UP_COND_ERRORS, "errors come first" },
		{ { .utilization = { 0.97, UP_OK, 0 }, .errors = { 0, UP_OK, 0 } }, UP_COND_BUSY, "no errors are no errors" },
		{ { .utilization = { 0.8, UP_OK, 0 } }, UP_COND_BUSY, "busy from 0.8" },
		{ { .utilization = { 0.79, UP_OK, 0 } }, UP_COND_OK, "below 0.8" },
		{ { .utilization = { 0.0, UP_OK, 0 } }, UP_COND_IDLE, "nothing runs" },
		{ { .utilization = { 0.005, UP_OK, 0 }, .waiting = { 0.2, UP_OK, 0 } }, UP_COND_OK, "something waits" },
		{ { .utilization = { 0.005, UP_OK, 0 }, .waiting = { 0.002, UP_OK, 0 } }, UP_COND_IDLE, "noise does not wait" },
		{ { .utilization = { 0, UP_FIRST, 0 }, .saturation = { 0, UP_FIRST, 0 } }, UP_COND_NONE, "nothing known yet" },
		{ { .saturation = { 0, UP_OK, 0 } }, UP_COND_OK, "a share of zero without utilization" },
		{ { .utilization = { 9, UP_STALE, 0 } }, UP_COND_NONE, "a stale figure is not of this window" },
		{ { .waiting = { 0.5, UP_OK, 0 }, .window_ns = 3 * SECOND }, UP_COND_SATURATED, "one window of 3 s is enough" },
		{ { .waiting = { 0.5, UP_OK, 0 }, .window_ns = SECOND }, UP_COND_OK, "one window of 1 s is not" },
		{ { .waiting = { 0.9, UP_OK, 0 }, .servers = 10, .window_ns = 5 * SECOND }, UP_COND_OK,
			"a tenth of the servers" },
		{ { .waiting = { 1.0, UP_OK, 0 }, .servers = 10, .window_ns = 5 * SECOND }, UP_COND_SATURATED,
			"a tenth of them" },
		{ { .saturation = { 0.25, UP_OK, 0 }, .saturated_at = 0.25, .window_ns = 5 * SECOND }, UP_COND_SATURATED,
			"throttled share" },
		{ { .saturation = { 0.24, UP_OK, 0 }, .saturated_at = 0.25, .window_ns = 5 * SECOND }, UP_COND_OK, "below it" },
		{ { .saturation = { 900, UP_OK, 0 }, .window_ns = 5 * SECOND }, UP_COND_OK, "no rule for this unit" },
		{ { .utilization = { 0, UP_OK, 0 },
			  .waiting = { 0, UP_OK, 0 },
			  .saturation = { 0.85, UP_OK, 0 },
			  .saturated_at = 0.25,
			  .window_ns = 5 * SECOND },
			UP_COND_IDLE, "throttled before, quiet now" },
		{ { .utilization = { 0, UP_OK, 0 },
			  .waiting = { 0.4, UP_OK, 0 },
			  .saturation = { 0.85, UP_OK, 0 },
			  .saturated_at = 0.25,
			  .window_ns = 5 * SECOND },
			UP_COND_SATURATED, "throttled and still waiting" },
	};
	struct up_table *table = *state;

	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		char name[8];
		struct up_row row = cases[i].row;

		snprintf(name, sizeof(name), "%zu", i);
		row.resource = "x";
		row.name = name;
		row.state = UP_OK;
		assert_int_equal(up_rows_add(&table->rows, &row), 0);
	}
	commit(table, 0, SECOND);
	for (size_t i = 0; i < UP_COUNT(cases); i++)
		if (table->rows.items[i].condition != cases[i].condition)
			fail_msg("%s: %s", cases[i].why, up_condition_name(table->rows.items[i].condition));
}

/* 0.97..1.02 s windows: the third one in a row makes it saturated, and one without a queue starts over. */
static void saturated_needs_three_seconds(void **state)
{
	static const struct {
		double waiting;
		uint64_t window_ms;
		enum up_condition condition;
	} ticks[] = {
		{ 2, 0, UP_COND_OK },
		{ 2, 1001, UP_COND_OK },
		{ 2, 999, UP_COND_OK },
		{ 2, 998, UP_COND_SATURATED },
		{ 2, 1000, UP_COND_SATURATED },
		{ 0, 1000, UP_COND_OK },
		{ 2, 1000, UP_COND_OK },
		{ 2, 1000, UP_COND_OK },
		{ 2, 1000, UP_COND_SATURATED },
		{ -1, 1000, UP_COND_OK },
		{ 2, 1000, UP_COND_OK },
	};
	struct up_table *table = *state;
	uint64_t mono_ns = 50 * SECOND;

	for (size_t i = 0; i < UP_COUNT(ticks); i++) {
		mono_ns += ticks[i].window_ms * UP_NS_PER_MS;
		up_rows_clear(&table->rows);
		add(table, "cpu", "/api", 0.5, ticks[i].waiting);
		commit(table, i, mono_ns);
		if (table->rows.items[0].condition != ticks[i].condition)
			fail_msg("tick %zu: %s", i, up_condition_name(table->rows.items[0].condition));
	}
}

static void a_gap_ends_a_streak(void **state)
{
	struct up_table *table = *state;

	for (uint64_t i = 0; i < 3; i++) {
		up_rows_clear(&table->rows);
		add(table, "cpu", "/api", 0.5, 5);
		commit(table, i, (1 + i) * SECOND);
	}
	up_rows_clear(&table->rows);
	commit(table, 3, 4 * SECOND);
	add(table, "cpu", "/api", 0.5, 5);
	commit(table, 4, 5 * SECOND);
	assert_int_equal(table->rows.items[0].condition, UP_COND_OK);
	assert_int_equal(table->rows.items[0].window_ns, SECOND);
}

static void history_is_a_ring(void **state)
{
	struct up_table *table = *state;
	const struct up_series *series;
	struct up_moment point;

	for (uint64_t i = 0; i < UP_HISTORY + 10; i++) {
		up_rows_clear(&table->rows);
		add(table, "cpu", "/api", (double)i, i == 40 ? 17 : -1);
		commit(table, i, i * SECOND);
	}
	series = up_table_series(table, 0);
	assert_true(up_series_point(series, 0, &point));
	assert_near((double)point.utilization, UP_HISTORY + 9, 0, "newest");
	assert_true(isnan(point.waiting));
	assert_true(up_series_point(series, UP_HISTORY - 1, &point));
	assert_near((double)point.utilization, 10, 0, "oldest");
	assert_false(up_series_point(series, UP_HISTORY, &point));
	assert_near(series->waiting_max, 17, 0, "highest of the run");
	assert_int_equal(table->series_count, 1);
}

/* The same words in other places are other series; names that come and go never take more than the stated maximum. */
static void series_are_told_apart(void **state)
{
	struct up_table *table = *state;
	struct up_row row = { .scope = UP_SCOPE_CGROUP, .resource = "cpu", .name = "a", .target = "b", .state = UP_OK };
	char name[16];

	assert_int_equal(up_rows_add(&table->rows, &row), 0);
	row.target = "ba";
	row.name = "";
	assert_int_equal(up_rows_add(&table->rows, &row), 0);
	row.scope = UP_SCOPE_HOST;
	assert_int_equal(up_rows_add(&table->rows, &row), 0);
	assert_int_equal(up_rows_add(&table->rows, &row), 0);
	row.scope = UP_SCOPE_EVENT;
	assert_int_equal(up_rows_add(&table->rows, &row), 0);
	commit(table, 0, SECOND);
	assert_int_equal(table->series_count, 3);
	assert_ptr_equal(up_table_series(table, 2), up_table_series(table, 3));
	assert_int_equal(up_table_series(table, 3)->history_count, 1);
	assert_null(up_table_series(table, 4));
	for (uint64_t tick = 1; tick < 20; tick++) {
		up_rows_clear(&table->rows);
		add(table, "cpu", "/stays", 0.5, 0);
		for (size_t i = 1; i < UP_ROWS_MAX; i++) {
			snprintf(name, sizeof(name), "%llu/%zu", (unsigned long long)tick, i);
			add(table, "cpu", name, 0.1, 0);
		}
		commit(table, tick, (1 + tick) * SECOND);
	}
	assert_int_equal(table->series_count, UP_TABLE_SERIES_MAX);
	assert_int_equal(up_table_series(table, 0)->history_count, 19);
}

/* Thirty processes a tick that never come back: who was away for a minute of ticks makes room, who stays keeps its history. */
static void who_has_gone_makes_room(void **state)
{
	struct up_table *table = *state;
	char name[16];

	for (uint64_t tick = 0; tick < 1000; tick++) {
		up_rows_clear(&table->rows);
		add(table, "cpu", "/stays", 0.5, 0);
		for (unsigned i = 0; i < 30; i++) {
			snprintf(name, sizeof(name), "%llu/%u", (unsigned long long)tick, i);
			add(table, "cpu", name, 0.1, 0);
		}
		commit(table, tick, (1 + tick) * SECOND);
	}
	assert_in_range(table->series_count, 1024, 30 * 62);
	assert_int_equal(up_table_series(table, 0)->history_count, 1000);
}

static void order_by_attention(void **state)
{
	static const char *const expected[] = { "oom", "run-pair-cpu", "run-pair", "full", "busy", "half", "quiet", "idle",
		"unknown", "mark" };
	struct up_table *table = *state;
	size_t order[UP_ROWS_MAX];

	/* One window of 5 s, so that saturation counts at once. */
	table->rows.window_ns = 5 * SECOND;
	assert_int_equal(
		up_rows_add(&table->rows, &(struct up_row){ .scope = UP_SCOPE_EVENT, .resource = "mark", .name = "mark" }), 0);
	add(table, "x", "unknown", -1, -1);
	add(table, "x", "idle", 0, 0);
	add(table, "x", "quiet", 0.2, -1);
	add(table, "run-queue", "pair", -1, 3);
	add(table, "x", "busy", 0.9, -1);
	add(table, "x", "half", 0.5, -1);
	add(table, "cpu", "pair", 0.6, -1);
	add(table, "x", "full", 0.1, 8);
	assert_int_equal(up_rows_add(&table->rows, &(struct up_row){ .scope = UP_SCOPE_CGROUP,
							   .resource = "x",
							   .name = "oom",
							   .state = UP_OK,
							   .errors = up_value(1) }),
		0);
	commit(table, 0, SECOND);
	up_table_order(table, order);
	for (size_t i = 0; i < UP_COUNT(expected); i++) {
		const struct up_row *row = &table->rows.items[order[i]];
		const char *name = strcmp(row->name, "pair")      ? row->name
				   : strcmp(row->resource, "cpu") ? "run-pair"
								  : "run-pair-cpu";

		if (strcmp(name, expected[i]) != 0)
			fail_msg("place %zu: %s, expected %s", i, name, expected[i]);
	}
}

/* 0.50 and 0.51 that change places every tick would make rows jump. */
static void order_is_calm(void **state)
{
	struct up_table *table = *state;
	size_t order[UP_ROWS_MAX];

	for (uint64_t i = 0; i < 30; i++) {
		up_rows_clear(&table->rows);
		add(table, "cpu", "a", i % 2 ? 0.50 : 0.51, -1);
		add(table, "cpu", "b", i % 2 ? 0.51 : 0.50, -1);
		commit(table, i, i * SECOND);
		up_table_order(table, order);
		assert_int_equal(order[0], 0);
	}
}

/* At 100 ms five ticks share a point, whose figure is the highest; at 500 ms each has its own. */
static void fast_ticks_share_points(void **state)
{
	struct up_table *table = *state;
	struct up_moment point;

	for (uint64_t i = 0; i < 700; i++) {
		up_rows_clear(&table->rows);
		add(table, "cpu", "fast", i == 601 ? 0.9 : 0.1, -1);
		if (i % 5 == 0)
			add(table, "cpu", "half", 0.1, -1);
		commit(table, i, SECOND + i * 100 * UP_NS_PER_MS);
	}
	assert_in_range(up_table_series(table, 0)->history_count, 139, 141);
	up_series_point(up_table_series(table, 0), (699 - 601) / 5, &point);
	assert_near((double)point.utilization, 0.9, 1e-6, "the highest of five");
	up_series_point(up_table_series(table, 0), UP_HISTORY - 1, &point);
	assert_true(table->tick.mono_ns - point.mono_ns > 60 * SECOND);
	up_rows_clear(&table->rows);
	add(table, "cpu", "half", 0.1, -1);
	commit(table, 700, SECOND + 700 * 100 * UP_NS_PER_MS);
	assert_int_equal(up_table_series(table, 0)->history_count, 141);
}

static void a_copy_stands_still(void **state)
{
	struct up_table *table = *state, copy;
	struct up_moment point;
	char name[] = "/api";
	struct up_row row = { .scope = UP_SCOPE_CGROUP,
		.resource = "cpu",
		.name = name,
		.target = "api",
		.state = UP_OK,
		.utilization = up_value(0.5),
		.waiting = up_none("because"),
		.detail = "a=b" };

	assert_int_equal(up_table_init(&copy), 0);
	for (uint64_t i = 0; i < 3; i++) {
		up_rows_clear(&table->rows);
		assert_int_equal(up_rows_add(&table->rows, &row), 0);
		assert_int_equal(up_rows_add(&table->rows, &(struct up_row){ .scope = UP_SCOPE_EVENT, .resource = "mark" }), 0);
		commit(table, i, i * SECOND);
	}
	assert_int_equal(up_table_copy(table, &copy), 0);
	assert_int_equal(up_table_copy(table, &copy), 0);
	up_rows_clear(&table->rows);
	add(table, "gone", "gone", 1, 1);
	commit(table, 3, 3 * SECOND);
	assert_int_equal(copy.rows.count, 2);
	assert_string_equal(copy.rows.items[0].name, "/api");
	assert_string_equal(copy.rows.items[0].waiting.reason, "because");
	assert_true(copy.rows.items[0].name >= copy.rows.text &&
		    copy.rows.items[0].name < copy.rows.text + copy.rows.text_used_bytes);
	assert_int_equal(up_table_series(&copy, 0)->history_count, 3);
	assert_true(up_series_point(up_table_series(&copy, 0), 0, &point) && point.mono_ns == 2 * SECOND);
	assert_null(up_table_series(&copy, 1));
	assert_int_equal(copy.tick.number, 2);
	up_table_done(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(conditions, setup, teardown),
		cmocka_unit_test_setup_teardown(saturated_needs_three_seconds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_gap_ends_a_streak, setup, teardown),
		cmocka_unit_test_setup_teardown(history_is_a_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(series_are_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_gone_makes_room, setup, teardown),
		cmocka_unit_test_setup_teardown(order_by_attention, setup, teardown),
		cmocka_unit_test_setup_teardown(order_is_calm, setup, teardown),
		cmocka_unit_test_setup_teardown(fast_ticks_share_points, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_stands_still, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
