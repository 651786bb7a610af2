#include <stdlib.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/live.h"
#include "useprobe/sink.h"

/* Rows as a throttled container shows them, plus every way not to have a figure. */
static void fill(struct up_table *table, uint64_t number)
{
	static const struct up_row rows[] = {
		{ .scope = UP_SCOPE_HOST,
			.resource = "cpu",
			.name = "host",
			.utilization = { 0.25, UP_OK, 0 },
			.waiting = { 0.003, UP_OK, 0 },
			.errors = { 0, UP_OK, 0 },
			.state = UP_OK },
		{ .scope = UP_SCOPE_CGROUP,
			.resource = "cpu",
			.name = "/api",
			.target = "api",
			.utilization = { 0.97, UP_OK, 0 },
			.saturation = { 0.45, UP_OK, 0 },
			.saturation_unit = "ratio",
			.waiting = { 1.5, UP_OK, 0 },
			.waiting_max = { 3, UP_OK, 0 },
			.errors = { 0, UP_OK, 0 },
			.state = UP_OK,
			.detail = "limited_by=/pod%3B1;quota_cpus=0.5" },
		{ .scope = UP_SCOPE_CGROUP,
			.resource = "run-queue",
			.name = "/api",
			.target = "api",
			.saturation = { 12.25, UP_OK, 0 },
			.saturation_unit = "ms",
			.waiting = { 0, UP_OK, 0 },
			.state = UP_OK },
		{ .scope = UP_SCOPE_CGROUP,
			.resource = "memory",
			.name = "/api",
			.target = "api",
			.utilization = { 0, UP_FIRST, 0 },
			.saturation = { 0, UP_RESET, 0 },
			.errors = { 12345, UP_OK, 0 },
			.state = UP_OK },
		{ .scope = UP_SCOPE_LISTENER,
			.resource = "listen",
			.name = "tcp:[2001:db8:1234:5678:9abc:def0:1234:5678]:8080",
			.target = "api",
			.state = UP_DENIED,
			.reason = "needs CAP_NET_ADMIN" },
		{ .scope = UP_SCOPE_EVENT, .resource = "mark", .detail = "text=step 4%1B[31m" },
	};
	const struct up_tick tick = { .number = number,
		.mono_ns = (12 + number) * UP_NS_PER_S,
		.elapsed_ns = 12 * UP_NS_PER_S,
		.wall_ns = 1796068200123456789ull };

	up_rows_clear(&table->rows);
	table->rows.window_ns = 5 * UP_NS_PER_S;
	for (size_t i = 0; i < UP_COUNT(rows); i++)
		assert_int_equal(up_rows_add(&table->rows, &rows[i]), 0);
	assert_int_equal(up_table_commit(table, &tick), 0);
}

static char *draw(struct up_batch batch, struct up_table *table, unsigned ticks)
{
	char *text = NULL;
	size_t len;

	batch.out = open_memstream(&text, &len);
	assert_non_null(batch.out);
	for (unsigned i = 0; i < ticks; i++) {
		fill(table, i);
		assert_int_equal(up_batch_tick(&batch, table), 0);
	}
	fclose(batch.out);
	return text;
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct up_table));
	return *state ? up_table_init(*state) : -1;
}

static int teardown(void **state)
{
	up_table_done(*state);
	free(*state);
	return 0;
}

static void eighty_columns(void **state)
{
	static const char expected[] = "2026-11-30T19:50:00.123Z  +12.0 s  api\n"
				       "RESOURCE      NAME             UTIL SATURATION       WAIT    MAX   ERR CONDITION\n"
				       "memory        api              init reset               -      - 12.3k errors\n"
				       "cpu           api              0.97 0.45             1.50      3     0 saturated\n"
				       "  limited by /pod;1\n"
				       "run-queue     api                 - 12.3 ms          0.00      -     - ok\n"
				       "cpu           host             0.25 -               <0.01      -     0 ok\n"
				       "listen        ...:5678]:8080 denied: needs CAP_NET_ADMIN\n"
				       "! mark: step 4\\x1b[31m\n\n";
	char *text = draw((struct up_batch){ .columns = 80 }, *state, 1);

	assert_string_equal(text, expected);
	free(text);
}

static void widest_line(const char *text, size_t limit)
{
	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		if (up_terminal_width(line) > limit)
			fail_msg("%zu columns in %zu: %s", up_terminal_width(line), limit, line);
	}
}

static void every_width_fits(void **state)
{
	for (unsigned columns = 60; columns <= 200; columns += 7) {
		for (int utf8 = 0; utf8 < 2; utf8++) {
			char *text = draw((struct up_batch){ .columns = columns, .utf8 = utf8 }, *state, 1);

			widest_line(text, columns);
			free(text);
		}
	}
}

/* A target in the host's network namespace has the host's interfaces: whose row it is has to be told. */
static void interfaces_of_one_name(void **state)
{
	static const struct up_row rows[] = {
		{ .scope = UP_SCOPE_CGROUP, .resource = "cpu", .name = "/api", .target = "api", .state = UP_OK },
		{ .scope = UP_SCOPE_NETNS, .resource = "network", .name = "lo", .target = "api", .state = UP_OK },
		{ .scope = UP_SCOPE_NETNS, .resource = "network", .name = "eth7", .target = "api", .state = UP_OK },
		{ .scope = UP_SCOPE_NETNS, .resource = "ports", .name = "/api", .target = "api", .state = UP_OK },
		{ .scope = UP_SCOPE_NETNS, .resource = "network", .name = "lo", .state = UP_OK },
	};
	static const char *const expected[] = { "api", "lo of api", "eth7", "api", "lo of host" };
	struct up_table *table = *state;
	struct up_labels labels;

	up_rows_clear(&table->rows);
	for (size_t i = 0; i < UP_COUNT(rows); i++)
		assert_int_equal(up_rows_add(&table->rows, &rows[i]), 0);
	up_labels_find(table, &labels);
	for (size_t i = 0; i < UP_COUNT(rows); i++)
		assert_string_equal(up_labels_of(&labels, &table->rows.items[i]), expected[i]);
}

static void a_limit_is_told_once(void **state)
{
	char *text = draw((struct up_batch){ .columns = 80 }, *state, 3);
	const char *first = strstr(text, "limited by /pod;1");

	assert_non_null(first);
	assert_null(strstr(first + 1, "limited by"));
	free(text);
}

static void terminal_text(void **state)
{
	static const struct {
		const char *text, *utf8, *ascii, *why;
	} cases[] = {
		{ "plain /path-1_x", "plain /path-1_x", "plain /path-1_x", "plain" },
		{ "\x1b[2J\x1b]0;t\x07", "\\x1b[2J\\x1b]0;t\\x07", "\\x1b[2J\\x1b]0;t\\x07", "escape sequences" },
		{ "a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f", "a\\x0ab\\x09c\\x0dd\\x7f", "control bytes" },
		{ "gr\xc3\xb6\xc3\x9f", "gr\xc3\xb6\xc3\x9f", "gr\\xc3\\xb6\\xc3\\x9f", "UTF-8" },
		{ "\xc2\x9b"
		  "31m",
			"\\xc2\\x9b31m", "\\xc2\\x9b31m", "C1 control sequence introducer" },
		{ "\x9b"
		  "31m",
			"\\x9b31m", "\\x9b31m", "the same as a lone byte" },
		{ "\xe2\x80\xae"
		  "abc",
			"\\xe2\\x80\\xaeabc", "\\xe2\\x80\\xaeabc", "right-to-left override" },
		{ "\xe2\x80\x8b", "\\xe2\\x80\\x8b", "\\xe2\\x80\\x8b", "zero-width blank" },
		{ "\xc0\xaf\xed\xa0\x80\xf5", "\\xc0\\xaf\\xed\\xa0\\x80\\xf5", "\\xc0\\xaf\\xed\\xa0\\x80\\xf5",
			"overlong, surrogate" },
		{ "\xe4\xb8", "\\xe4\\xb8", "\\xe4\\xb8", "cut character" },
	};
	char out[128];

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		if (strcmp(up_terminal_text(cases[i].text, true, out, sizeof(out)), cases[i].utf8) != 0)
			fail_msg("%s: %s", cases[i].why, out);
		if (strcmp(up_terminal_text(cases[i].text, false, out, sizeof(out)), cases[i].ascii) != 0)
			fail_msg("%s without UTF-8: %s", cases[i].why, out);
	}
	/* Cut between characters, never in an escape or a character. */
	assert_string_equal(up_terminal_text("ab\x1b", true, out, 6), "ab");
	assert_string_equal(up_terminal_text("ab\xc3\xb6", true, out, 4), "ab");
}

static void fitting(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *beginning, *end;
	} cases[] = {
		{ "abcdef", 6, "abcdef", "abcdef" },
		{ "abcdef", 5, "…cdef", "abcd…" },
		{ "abcdef", 1, "…", "…" },
		{ "abcdef", 0, "", "" },
		{ "日本語", 5, "…本語", "日本…" },
		{ "日本語", 4, "…語", "日…" },
		{ "ae\xcc\x81xyz", 4, "…xyz", "ae\xcc\x81x…" },
	};
	char out[64];

	(void)state;
	assert_int_equal(up_terminal_width("日本語"), 6);
	assert_int_equal(up_terminal_width("e\xcc\x81"), 1);
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		up_terminal_fit(cases[i].text, cases[i].columns, UP_CUT_BEGINNING, true, out, sizeof(out));
		assert_string_equal(out, cases[i].beginning);
		up_terminal_fit(cases[i].text, cases[i].columns, UP_CUT_END, true, out, sizeof(out));
		assert_string_equal(out, cases[i].end);
	}
	assert_string_equal(up_terminal_fit("abcdefgh", 6, UP_CUT_END, false, out, sizeof(out)), "abc...");
	assert_string_equal(up_terminal_fit("abcdefgh", 3, UP_CUT_END, false, out, sizeof(out)), "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(eighty_columns, setup, teardown),
		cmocka_unit_test_setup_teardown(every_width_fits, setup, teardown),
		cmocka_unit_test_setup_teardown(interfaces_of_one_name, setup, teardown),
		cmocka_unit_test_setup_teardown(a_limit_is_told_once, setup, teardown),
		cmocka_unit_test(terminal_text),
		cmocka_unit_test(fitting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
