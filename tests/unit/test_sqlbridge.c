/* The bridge without a database: rows to a sample, which samples belong together, what it says, who may ask, where secrets may stand. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/sqlbridge/bridge.h"
#include "check.h"

#define MS 1000000ull

/* ROW("part", "column", "value", ...) into SAMPLE. */
#define ROW(sample, part, ...) put_row(sample, part, (const char *const[]){ __VA_ARGS__, NULL })
static int put_row(struct bridge_sample *sample, const char *part, const char *const *list)
{
	const char *names[8], *values[8];
	size_t n = 0;

	for (; list[0]; list += 2, n++) {
		names[n] = list[0];
		values[n] = strcmp(list[1], "NULL") == 0 ? NULL : list[1];
	}
	return bridge_sample_row(sample, part, &(struct bridge_row){ .n = n, .names = names, .values = values });
}

static struct bridge_sample *sample_new(void)
{
	struct bridge_sample *sample = calloc(1, sizeof(*sample));

	assert_non_null(sample);
	assert_int_equal(ROW(sample, "system", "clock_ms", "1000", "cpus", "2", "server_start", "2026-01-02 03:04:05.000"), 0);
	assert_int_equal(
		ROW(sample, "waits", "type", "LCK_M_X", "waits", "3", "wait_ms", "500", "signal_ms", "1", "max_ms", "300"), 0);
	assert_int_equal(
		ROW(sample, "waits", "type", "XE_TIMER_EVENT  ", "waits", "9", "wait_ms", "9000", "signal_ms", "NULL"), 0);
	assert_int_equal(ROW(sample, "unfinished", "type", "LCK_M_X", "tasks", "2", "wait_ms", "800", "longest_ms", "NULL"), 0);
	assert_int_equal(ROW(sample, "counters", "deadlocks", "0", "errors", "NULL"), 0);
	sample->waits_complete = true;
	return sample;
}

static void rows(void **state)
{
	struct bridge_sample *sample = sample_new();

	(void)state;
	assert_int_equal(sample->n_waits, 2);
	assert_string_equal(sample->waits[1].type, "XE_TIMER_EVENT");
	assert_true(sample->waits[0].max_ms.has && sample->waits[0].max_ms.n == 300);
	assert_false(sample->waits[1].signal_ms.has);
	assert_true(sample->fields[BRIDGE_DEADLOCKS].has && sample->fields[BRIDGE_DEADLOCKS].n == 0);
	assert_false(sample->fields[BRIDGE_ERRORS].has);
	/* What is no number, or has no type, is no row. */
	assert_int_equal(ROW(sample, "waits", "type", "A", "wait_ms", "1e3"), -EBADMSG);
	assert_int_equal(ROW(sample, "waits", "type", "A", "wait_ms", "-1"), -EBADMSG);
	assert_int_equal(ROW(sample, "waits", "type", "A", "wait_ms", "NULL"), -EBADMSG);
	assert_int_equal(ROW(sample, "waits", "wait_ms", "1"), -EBADMSG);
	assert_int_equal(ROW(sample, "unfinished", "type", "A", "tasks", ""), -EBADMSG);
	assert_int_equal(ROW(sample, "system", "cpus", "two"), -EBADMSG);
	assert_int_equal(sample->n_waits, 2);
	while (sample->n_waits < BRIDGE_WAITS)
		assert_int_equal(ROW(sample, "waits", "type", "A", "wait_ms", "1"), 0);
	assert_int_equal(ROW(sample, "waits", "type", "A", "wait_ms", "1"), -ENOSPC);
	free(sample);
}

static void generations(void **state)
{
	struct bridge_sample *before = sample_new(), *now = sample_new();

	(void)state;
	assert_true(bridge_sample_continues(before, now));
	now->waits[0].wait_ms.n += 10;
	assert_int_equal(ROW(now, "waits", "type", "NEW", "waits", "1", "wait_ms", "1"), 0);
	assert_true(bridge_sample_continues(before, now));
	/* Another order is no restart. */
	before->waits[BRIDGE_WAITS - 1] = now->waits[0];
	now->waits[0] = now->waits[1];
	now->waits[1] = before->waits[BRIDGE_WAITS - 1];
	assert_true(bridge_sample_continues(before, now));
	/* A counter that fell, a type that vanished, another start, a clock that went back. */
	now->waits[1].waits.n = 2;
	assert_false(bridge_sample_continues(before, now));
	now->waits[1].waits.n = 3;
	now->waits[1].wait_ms.n = 499;
	assert_false(bridge_sample_continues(before, now));
	now->waits[1].wait_ms.n = 500;
	now->fields[BRIDGE_CLOCK_MS].n = 999;
	assert_false(bridge_sample_continues(before, now));
	now->fields[BRIDGE_CLOCK_MS].n = 1000;
	before->fields[BRIDGE_DEADLOCKS].n = 1;
	assert_false(bridge_sample_continues(before, now));
	before->fields[BRIDGE_DEADLOCKS].n = 0;
	assert_true(bridge_sample_continues(before, now));
	now->server_start[0] = '3';
	assert_false(bridge_sample_continues(before, now));
	now->server_start[0] = '2';
	now->n_waits = 1;
	assert_false(bridge_sample_continues(before, now));
	free(before);
	free(now);
}

static json_t *said(const struct bridge_view *view, uint64_t now_ns)
{
	char *text = bridge_sample_json(view, now_ns);
	json_t *json;

	assert_non_null(text);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

static const char *text_at(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static void replies(void **state)
{
	struct bridge_view view = { .state = BRIDGE_OK,
		.database = BRIDGE_SQLSERVER,
		.sample = sample_new(),
		.sample_ns = 100 * MS,
		.stale_after_ns = 4000 * MS,
		.id = 0xabc,
		.generation = 2,
		.sequence = 7,
		.instance = "shop" };
	json_t *json = said(&view, 1100 * MS), *wait = json_array_get(json_object_get(json, "waits"), 0);
	char *metrics;

	(void)state;
	assert_string_equal(text_at(json, "state"), "ok");
	assert_true(json_is_null(json_object_get(json, "reason")));
	assert_string_equal(text_at(json, "generation"), "00000abc-2");
	assert_int_equal(json_integer_value(json_object_get(json, "age_ms")), 1000);
	assert_string_equal(text_at(wait, "class"), "lock");
	assert_true(json_is_null(json_object_get(json, "workers")));
	assert_true(json_is_integer(json_object_get(json_object_get(json, "errors"), "deadlocks")));
	assert_true(json_is_null(json_object_get(json_object_get(json, "errors"), "errors")));
	json_decref(json);
	/* Old: still the numbers, and since when the driver has been silent. */
	view.call_ns = 200 * MS;
	json = said(&view, 6200 * MS);
	assert_string_equal(text_at(json, "state"), "stale");
	assert_string_equal(text_at(json, "reason"), "the database has not answered for 6.0 s");
	assert_int_equal(json_array_size(json_object_get(json, "waits")), 2);
	json_decref(json);
	metrics = bridge_metrics_text(&view, 6200 * MS);
	assert_string_equal(metrics, "# TYPE useprobe_sql_up gauge\nuseprobe_sql_up 0\n# EOF\n");
	free(metrics);
	/* Refused: no number. Text in no encoding stays readable JSON. */
	view.state = BRIDGE_DENIED;
	snprintf(view.reason, sizeof(view.reason), "Anmeldung f\xfcr \"x\" \x01");
	json = said(&view, 200 * MS);
	assert_string_equal(text_at(json, "state"), "denied");
	assert_string_equal(text_at(json, "reason"), "Anmeldung f?r \"x\" \x01");
	assert_true(json_is_null(json_object_get(json, "clock_ms")) && json_is_null(json_object_get(json, "generation")));
	assert_true(json_is_false(json_object_get(json, "waits_complete")));
	assert_int_equal(json_array_size(json_object_get(json, "waits")), 0);
	json_decref(json);
	free(view.sample);
}

static void metrics_text(void **state)
{
	struct bridge_view view = { .state = BRIDGE_OK, .sample = sample_new(), .stale_after_ns = 1 };
	char *text;

	(void)state;
	snprintf(view.sample->waits[1].type, BRIDGE_TYPE, "a\"b\\c\nd");
	text = bridge_metrics_text(&view, 1);
	assert_non_null(strstr(text, "useprobe_sql_wait_seconds_total{type=\"LCK_M_X\",class=\"lock\",ignorable=\"0\"} 0.5\n"));
	assert_non_null(strstr(text, "{type=\"a\\\"b\\\\c?d\",class=\"other\""));
	assert_non_null(strstr(text, "\nuseprobe_sql_deadlocks_total 0\n"));
	assert_null(strstr(text, "useprobe_sql_errors"));
	assert_non_null(strstr(text, "useprobe_sql_waiting_tasks{type=\"LCK_M_X\",class=\"lock\",ignorable=\"0\"} 2\n"));
	free(text);
	free(view.sample);
}

static void who_may_ask(void **state)
{
	struct up_http_guard local = { .address = "127.0.0.1", .loopback = true },
			     open = { .address = "0.0.0.0", .token = "t0ken" };
	static const char *const ours[] = { "localhost", "LOCALHOST:9187", "127.0.0.1:1", "127.3.2.1", "[::1]:80", "[::1]" };
	static const char *const foreign[] = { "evil.example", "localhost.evil.example", "localhost:", "localhost:x",
		"localhost:70000", "", ":80", "[::1", "[::1]x", "128.0.0.1", "127.0.0.1.evil.example", "localhost@evil" };

	(void)state;
	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_true(up_http_host_allowed(&local, ours[i]));
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		assert_false(up_http_host_allowed(&local, foreign[i]));
	assert_false(up_http_host_allowed(&local, NULL));
	snprintf(local.hosts[local.n_hosts++], sizeof(local.hosts[0]), "db.lan");
	assert_true(up_http_host_allowed(&local, "db.lan:9187"));
	assert_true(up_http_host_allowed(&open, "anything"));
	assert_true(up_http_origin_allowed(&local, NULL, "localhost:1"));
	assert_true(up_http_origin_allowed(&local, "http://localhost:1", "localhost:1"));
	assert_false(up_http_origin_allowed(&local, "http://localhost:2", "localhost:1"));
	assert_false(up_http_origin_allowed(&local, "https://evil.example", "localhost:1"));
	assert_false(up_http_origin_allowed(&local, "null", "localhost:1"));
	assert_false(up_http_origin_allowed(&local, "http://evil", "evil"));
	assert_true(up_http_token_matches(&local, NULL));
	assert_true(up_http_token_matches(&open, "bearer t0ken"));
	assert_false(up_http_token_matches(&open, "Bearer t0keN"));
	assert_false(up_http_token_matches(&open, "Bearer t0ken2"));
	assert_false(up_http_token_matches(&open, "Bearer t0ke"));
	assert_false(up_http_token_matches(&open, "Bearer "));
	assert_false(up_http_token_matches(&open, "t0ken"));
	assert_false(up_http_token_matches(&open, NULL));
}

static void secrets(void **state)
{
	char text[] = "login for 'a' with abc failed: abcabc", value[32], connection[64] = "DSN=x", small[12] = "DSN=x";

	(void)state;
	bridge_redact(text, "abc");
	assert_string_equal(text, "login for 'a' with *** failed: ******");
	assert_true(bridge_connection_value("Driver={a;b};uid=u; Pwd = {p;}}w} ;X", "PWD", value, sizeof(value)));
	assert_string_equal(value, "p;}w");
	assert_true(bridge_connection_value("PWD=1;PWD=2", "pwd", value, sizeof(value)));
	assert_string_equal(value, "2");
	assert_false(bridge_connection_value("Driver={PWD=no};UID=x", "PWD", value, sizeof(value)));
	assert_int_equal(bridge_connection_add(connection, sizeof(connection), "UID", "u=1"), 0);
	assert_int_equal(bridge_connection_add(connection, sizeof(connection), "PWD", "a}b;"), 0);
	assert_string_equal(connection, "DSN=x;UID=u=1;PWD={a}}b;}");
	assert_int_equal(bridge_connection_add(small, sizeof(small), "PWD", "12345"), -ENOSPC);
}

static int parse(struct bridge_options *options, char *message, ...)
{
	char *argv[16] = { (char *)"useprobe-sqlbridge" };
	int argc = 1;
	va_list list;

	va_start(list, message);
	while ((argv[argc] = va_arg(list, char *)))
		argc++;
	va_end(list);
	message[0] = '\0';
	return bridge_options_parse(argc, argv, options, message, 512);
}

static void arguments(void **state)
{
	struct bridge_options options;
	char message[512], path[] = "/tmp/useprobe-test-XXXXXX", at[64];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "hidden word\n", 12), 12);
	snprintf(at, sizeof(at), "@%s", path);
	assert_int_equal(parse(&options, message, "shop", "--user", "u", "--password-file", path, NULL), 0);
	assert_string_equal(options.connection, "DSN=shop;UID=u;PWD=hidden word");
	assert_string_equal(options.secret, "hidden word");
	assert_true(options.guard.loopback && options.guard.port == 9187);
	assert_int_equal(parse(&options, message, "--listen", "[::1]:0", "shop", NULL), 0);
	assert_int_equal(parse(&options, message, "--listen", "0.0.0.0:1", "--token-file", path, at, NULL), 0);
	assert_string_equal(options.guard.token, "hidden word");
	assert_int_equal(parse(&options, message, "--listen", "0.0.0.0:1", "shop", NULL), -EINVAL);
	assert_non_null(strstr(message, "--token-file"));
	assert_int_equal(parse(&options, message, "UID=u;PWD=hidden", NULL), -EINVAL);
	assert_null(strstr(message, "hidden"));
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(parse(&options, message, at, NULL), -EINVAL);
	assert_non_null(strstr(message, "chmod 600"));
	assert_int_equal(parse(&options, message, NULL), -EINVAL);
	assert_int_equal(parse(&options, message, "a", "b", NULL), -EINVAL);
	assert_int_equal(parse(&options, message, "--interval", "1", "--query-timeout", "0.5", "a", NULL), -EINVAL);
	assert_int_equal(parse(&options, message, "--listen", "localhost:1", "a", NULL), -EINVAL);
	/* The environment's secrets are used and wiped. */
	assert_int_equal(setenv("USEPROBE_SQL_CONNECTION", "DSN=e;PWD=fromenv\n", 1), 0);
	assert_int_equal(parse(&options, message, NULL), 0);
	assert_string_equal(options.secret, "fromenv");
	assert_string_equal(getenv("USEPROBE_SQL_CONNECTION"), "");
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rows), cmocka_unit_test(generations), cmocka_unit_test(replies),
		cmocka_unit_test(metrics_text), cmocka_unit_test(who_may_ask), cmocka_unit_test(secrets),
		cmocka_unit_test(arguments) };

	return cmocka_run_group_tests_name("sqlbridge", tests, NULL, NULL);
}
