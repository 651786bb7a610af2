/* The table as metrics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/export.h"

static void add(
	struct up_table *table, const char *name, struct up_value utilization, struct up_value errors, enum up_state state)
{
	assert_int_equal(up_rows_add(&table->rows, &(struct up_row){ .scope = UP_SCOPE_CGROUP,
							   .resource = "cpu",
							   .name = name,
							   .target = "api",
							   .utilization = utilization,
							   .saturation = up_value(0),
							   .saturation_unit = "ratio",
							   .waiting = up_none("not known"),
							   .errors = errors,
							   .state = state }),
		0);
}

static void tick(struct up_table *table, uint64_t number)
{
	const struct up_tick at = { .number = number,
		.wall_ns = (1800000000 + number) * UP_NS_PER_S,
		.mono_ns = (1 + number) * UP_NS_PER_S,
		.interval_ns = UP_NS_PER_S };

	assert_int_equal(up_table_commit(table, &at), 0);
}

static void metrics(void **state)
{
	static const char hostile[] = "/a\"b\\c\nd;\xff\xc3\xa9";
	struct up_table table;
	size_t len = 0;
	char *text;

	(void)state;
	assert_int_equal(up_table_init(&table), 0);
	for (uint64_t i = 0; i < 3; i++) {
		up_rows_clear(&table.rows);
		add(&table, "/api", up_value(0.5), up_value(2), UP_OK);
		add(&table, "/api", up_value(0.6), up_value(2), UP_OK);
		add(&table, hostile, up_none("no quota"), up_none(NULL), UP_DENIED);
		up_rows_add(&table.rows,
			&(struct up_row){ .scope = UP_SCOPE_EVENT, .resource = "mark", .name = "m", .state = UP_OK });
		tick(&table, i);
	}
	text = up_export_text(&table, true, &len);
	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	assert_non_null(
		strstr(text, "useprobe_utilization_ratio{resource=\"cpu\",name=\"/api\",scope=\"cgroup\",target=\"api\"} 0.5\n"));
	assert_null(strstr(text, " 0.6\n"));
	assert_non_null(strstr(text, "# TYPE useprobe_errors counter\n"));
	/* Rows of one identity share a series: their errors add up. */
	assert_non_null(strstr(text, "useprobe_errors_total{resource=\"cpu\",name=\"/api\",scope=\"cgroup\",target=\"api\"} "));
	assert_null(strstr(text, "useprobe_waiting{"));
	assert_null(strstr(text, "mark"));
	assert_non_null(strstr(text, "name=\"/a\\\"b\\\\c\\\\x0ad;\\\\xff\xc3\xa9\""));
	assert_non_null(strstr(
		text, "useprobe_saturation{resource=\"cpu\",name=\"/api\",scope=\"cgroup\",target=\"api\",unit=\"ratio\"} 0\n"));
	assert_string_equal(text + len - 6, "# EOF\n");
	free(text);
	text = up_export_text(&table, false, &len);
	assert_non_null(strstr(text, "# TYPE useprobe_errors_total counter\n"));
	assert_null(strstr(text, "# EOF"));
	free(text);
	up_table_done(&table);
}

static void who_may_ask(void **state)
{
	struct up_http_guard guard = { 0 };

	(void)state;
	assert_int_equal(up_http_listen_parse("[::1]:0", &guard), 0);
	assert_true(guard.loopback);
	assert_int_equal(up_http_listen_parse("0.0.0.0:9188", &guard), 0);
	assert_false(guard.loopback);
	assert_true(up_http_listen_parse("9188", &guard) < 0);
	assert_true(up_http_listen_parse("host:9188", &guard) < 0);
	assert_true(up_http_listen_parse("127.0.0.1:99999", &guard) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics),
		cmocka_unit_test(who_may_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
