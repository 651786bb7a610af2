/* The SQL bridge's samples, and the rows of their differences. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/collect/sql_row.h"
#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/http_source.h"
#include "useprobe/sql_address.h"

/* WAITS and UNFINISHED are the insides of the two lists. */
static struct up_sql_sample sample(
	const char *generation, int sequence, double clock_ms, const char *waits, const char *unfinished)
{
	struct up_sql_sample ret;
	char body[4096], error[256];

	snprintf(body, sizeof(body),
		"{\"format\":\"useprobe-sql/1\",\"state\":\"ok\",\"reason\":null,\"instance\":\"shop\",\"generation\":\"%s\",\"sequence\":%d,"
		"\"clock_ms\":%.0f,\"waits_complete\":true,\"waits\":[%s],\"unfinished\":[%s],\"workers\":500,\"workers_max\":512,"
		"\"work_queue\":41,\"cpus\":2,\"errors\":{\"deadlocks\":%d,\"errors\":7,\"worker_failures\":0},\"missing\":{}}",
		generation, sequence, clock_ms, waits, unfinished, sequence);
	assert_int_equal(up_sql_sample_parse(body, strlen(body), &ret, error, sizeof(error)), 0);
	return ret;
}

static const struct up_row *find(const struct up_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->items[i].name, name) == 0)
			return &rows->items[i];
	return NULL;
}

/* The deltas of a published case: 1,420,267, 1,960,000 and 456,000 ms in 40 s. */
static void waiting_tasks(void **state)
{
	struct up_sql_sample p = sample("a", 1, 1000,
		"{\"type\":\"THREADPOOL\",\"waits\":100,\"wait_ms\":500,\"signal_ms\":0},"
		"{\"type\":\"LATCH_EX\",\"waits\":5,\"wait_ms\":10,\"signal_ms\":2},"
		"{\"type\":\"LAZYWRITER_SLEEP\",\"waits\":5,\"wait_ms\":10,\"signal_ms\":0}",
		"");
	struct up_sql_sample c = sample("a", 3, 41000,
		"{\"type\":\"THREADPOOL\",\"waits\":7704,\"wait_ms\":1420767,\"signal_ms\":0},"
		"{\"type\":\"RESOURCE_SEMAPHORE_QUERY_COMPILE\",\"waits\":900,\"wait_ms\":1960000,\"signal_ms\":0},"
		"{\"type\":\"LATCH_EX\",\"waits\":605,\"wait_ms\":476010,\"signal_ms\":20002},"
		"{\"type\":\"LAZYWRITER_SLEEP\",\"waits\":45,\"wait_ms\":40010,\"signal_ms\":0}",
		"");
	struct up_rows rows;
	double number;
	char text[64];

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	sql_add_rows("shop", &p, &c, &rows);
	assert_near(find(&rows, "shop/workers")->saturation.number, 35.5067, 0.001, "THREADPOOL");
	assert_near(find(&rows, "shop/compile")->saturation.number, 49.0, 0.001, "a type that was not there had waited 0");
	assert_near(find(&rows, "shop/latch")->saturation.number, 11.4, 0.001, "without its signal waits");
	assert_near(find(&rows, "shop/cpu")->saturation.number, 0.5, 0.001, "20 s of signal waits");
	assert_near(find(&rows, "shop")->saturation.number, 35.5067 + 49 + 11.4 + 0.5, 0.001, "all");
	assert_near(find(&rows, "shop")->utilization.number, 500.0 / 512, 1e-9, "workers");
	assert_near(find(&rows, "shop")->errors.number, 2, 0, "deadlocks, not user errors");
	assert_true(up_detail_get_number(find(&rows, "shop")->detail, "ignored_tasks", &number));
	assert_near(number, 1, 1e-9, "an idle queue");
	assert_true(up_detail_get(find(&rows, "shop/workers")->detail, "top1", text, sizeof(text)));
	assert_string_equal(text, "THREADPOOL");
	assert_int_equal(find(&rows, "shop/workers")->window_ns, 40 * UP_NS_PER_S);
	assert_int_equal(find(&rows, "shop/workers")->waiting.state, UP_ABSENT);
	up_rows_done(&rows);
	up_sql_sample_free(&p);
	up_sql_sample_free(&c);
}

/* Two tasks wait for a lock through three windows: no completed wait tells of them until the end, and then it tells of all at once. */
static void unfinished_waits(void **state)
{
	static const char none[] = "{\"type\":\"LCK_M_X\",\"waits\":2,\"wait_ms\":0,\"signal_ms\":0}";
	static const char over[] = "{\"type\":\"LCK_M_X\",\"waits\":2,\"wait_ms\":5000,\"signal_ms\":0}";
	struct up_sql_sample s[4] = {
		sample("a", 1, 1000, none, "{\"type\":\"LCK_M_X\",\"tasks\":2,\"wait_ms\":1000}"),
		sample("a", 2, 2000, none, "{\"type\":\"LCK_M_X\",\"tasks\":2,\"wait_ms\":3000}"),
		sample("a", 3, 3000, over, ""),
		sample("a", 4, 4000, over, ""),
	};
	const double want[4] = { 0, 2, 2, 0 };

	(void)state;
	for (int i = 1; i < 4; i++) {
		struct up_rows rows;

		assert_int_equal(up_rows_init(&rows), 0);
		sql_add_rows("shop", &s[i - 1], &s[i], &rows);
		assert_near(find(&rows, "shop/lock")->saturation.number, want[i], 1e-9, "tasks that wait for a lock");
		up_rows_done(&rows);
	}
	for (int i = 0; i < 4; i++)
		up_sql_sample_free(&s[i]);
}

static void expect(const struct up_sql_sample *p, const struct up_sql_sample *c, enum up_state state)
{
	struct up_rows rows;

	assert_int_equal(up_rows_init(&rows), 0);
	sql_add_rows("shop", p, c, &rows);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.items[0].saturation.state, state);
	up_rows_done(&rows);
}

static void what_may_not_be_subtracted(void **state)
{
	static const char waits[] = "{\"type\":\"LCK_M_X\",\"waits\":2,\"wait_ms\":50,\"signal_ms\":0}";
	static const char fewer[] = "{\"type\":\"LCK_M_X\",\"waits\":2,\"wait_ms\":49,\"signal_ms\":0}";
	struct up_sql_sample a = sample("a", 1, 1000, waits, ""), same = sample("a", 1, 1000, waits, "");
	struct up_sql_sample other = sample("b", 2, 2000, waits, ""), less = sample("a", 2, 2000, fewer, "");
	struct up_sql_sample denied = sample("a", 2, 2000, "", "");

	(void)state;
	denied.state = UP_DENIED;
	expect(NULL, &a, UP_FIRST);
	expect(&a, &same, UP_ABSENT);
	expect(&a, &other, UP_RESET);
	expect(&a, &less, UP_RESET);
	expect(&a, &denied, UP_DENIED);
	up_sql_sample_free(&a);
	up_sql_sample_free(&same);
	up_sql_sample_free(&other);
	up_sql_sample_free(&less);
	up_sql_sample_free(&denied);
}

/* An incomplete list (an exporter that shows big waits only): what was not there before is unknown. */
static void not_seen_before(void **state)
{
	struct up_sql_sample p = sample("a", 1, 1000, "", "");
	struct up_sql_sample c =
		sample("a", 2, 2000, "{\"type\":\"WRITELOG\",\"waits\":2,\"wait_ms\":50000,\"signal_ms\":0}", "");
	struct up_rows rows;
	double number;

	(void)state;
	p.waits_complete = c.waits_complete = false;
	assert_int_equal(up_rows_init(&rows), 0);
	sql_add_rows("shop", &p, &c, &rows);
	assert_null(find(&rows, "shop/log-io"));
	assert_true(up_detail_get_number(find(&rows, "shop")->detail, "types_not_seen_before", &number));
	up_rows_done(&rows);
	up_sql_sample_free(&p);
	up_sql_sample_free(&c);
}

static void a_cut_sample(void **state)
{
	static const char body[] =
		"{\"format\":\"useprobe-sql/1\",\"state\":\"ok\",\"instance\":\"x\",\"generation\":\"1\",\"sequence\":1,\"clock_ms\":5,"
		"\"waits\":[{\"type\":\"LCK_M_X\",\"waits\":1,\"wait_ms\":2}],\"unfinished\":[{\"type\":\"WRITELOG\",\"tasks\":1,\"wait_ms\":null}]}";
	static const char *const wrong[] = {
		"", "[]", "null", "{\"format\":\"other\"}", "{\"format\":\"useprobe-sql/1\",\"state\":\"fine\"}",
		"{\"format\":\"useprobe-sql/1\",\"state\":\"ok\",\"waits\":[{\"type\":\"A\",\"wait_ms\":-1}]}",
		"{\"format\":\"useprobe-sql/1\",\"state\":\"ok\",\"waits\":[{\"type\":\"A\",\"wait_ms\":1},{\"type\":\"A\",\"wait_ms\":1}]}"
	};
	struct up_sql_sample ret;
	char error[256];

	(void)state;
	for (size_t n = 0; n < sizeof(body) - 1; n++)
		assert_int_equal(up_sql_sample_parse(body, n, &ret, error, sizeof(error)), -EBADMSG);
	for (size_t i = 0; i < UP_COUNT(wrong); i++)
		assert_int_equal(up_sql_sample_parse(wrong[i], strlen(wrong[i]), &ret, error, sizeof(error)), -EBADMSG);
	assert_int_equal(up_sql_sample_parse(body, sizeof(body) - 1, &ret, error, sizeof(error)), 0);
	assert_int_equal(ret.wait_count, 2);
	assert_true(isnan(up_sql_wait_find(&ret, "WRITELOG")->unfinished_ms));
	up_sql_sample_free(&ret);
}

static void addresses(void **state)
{
	static const char *const wrong[] = { "", "127.0.0.1:9187", "ftp://x/", "http://", "http://u:p@x/", "https://u@x",
		"http://a b/", "odbc:shop" };
	struct up_sql_address address;
	char error[256];

	(void)state;
	assert_int_equal(up_sql_address_parse("http://127.0.0.1:9187", &address, error, sizeof(error)), 0);
	assert_string_equal(address.url, "http://127.0.0.1:9187/sample");
	assert_string_equal(address.name, "");
	assert_int_equal(up_sql_address_parse("orders=https://db.example/", &address, error, sizeof(error)), 0);
	assert_string_equal(address.url, "https://db.example/sample");
	assert_string_equal(address.name, "orders");
	assert_int_equal(up_sql_address_parse("http://db/x?y=1", &address, error, sizeof(error)), 0);
	assert_string_equal(address.url, "http://db/x?y=1");
	for (size_t i = 0; i < UP_COUNT(wrong); i++) {
		assert_true(up_sql_address_parse(wrong[i], &address, error, sizeof(error)) < 0);
		assert_null(strstr(error, "u:p"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_tasks),
		cmocka_unit_test(unfinished_waits),
		cmocka_unit_test(what_may_not_be_subtracted),
		cmocka_unit_test(not_seen_before),
		cmocka_unit_test(a_cut_sample),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
