#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/sink.h"

static const struct up_tick tick = {
	.wall_ns = 1796068200123456789ull, .elapsed_ns = 12 * UP_NS_PER_S + 345678, .number = 3, .mono_ns = 99 * UP_NS_PER_S
};

static const char *format(const struct up_row *row)
{
	static char text[8192];
	const long len = up_csv_format(&tick, row, text, sizeof(text) - 1);

	assert_true(len > 0);
	text[len] = '\0';
	/* Shorter buffers are refused, never overrun. */
	for (size_t size = 0; size < (size_t)len; size++) {
		char *small = malloc(size + 1);

		assert_non_null(small);
		assert_int_equal(up_csv_format(&tick, row, small, size), -ENOSPC);
		free(small);
	}
	return text;
}

static void a_whole_row(void **state)
{
	const struct up_row row = { .scope = UP_SCOPE_CGROUP,
		.resource = "cpu",
		.name = "/api",
		.target = "api",
		.utilization = up_value(0.97),
		.saturation = up_value(0.45),
		.saturation_unit = "ratio",
		.waiting = up_value(1.5),
		.waiting_max = up_value(3),
		.errors = up_value(0),
		.servers = 0.5,
		.method = "cpu.stat measured",
		.detail = "quota_cpus=0.5",
		.state = UP_OK,
		.window_ns = 1000123000,
		.condition = UP_COND_SATURATED };

	(void)state;
	assert_string_equal(up_csv_header,
		"time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,"
		"method,detail,target\n");
	assert_string_equal(format(&row),
		"2026-11-30T19:50:00.123Z,12.000346,1.000123,cgroup,cpu,/api,0.97,0.45,ratio,1.5,0,saturated,ok,cpu.stat measured,"
		"quota_cpus=0.5;waiting_max=3;servers=0.5,api\n");
}

static void empty_is_not_zero(void **state)
{
	const struct up_row row = { .scope = UP_SCOPE_HOST,
		.resource = "memory",
		.name = "host",
		.utilization = up_value_state(UP_FIRST, NULL),
		.saturation = up_none("no quota"),
		.waiting = up_value_state(UP_DENIED, "needs CAP_NET_ADMIN; a=b"),
		.errors = up_value(0),
		.state = UP_OK,
		.method = "PSI, measured" };
	const struct up_row stale = { .scope = UP_SCOPE_DATABASE,
		.resource = "sql",
		.name = "db/LCK",
		.utilization = { .number = 0.5, .state = UP_STALE, .reason = "age 5 s" },
		.state = UP_STALE,
		.reason = "age 5 s" };

	(void)state;
	assert_string_equal(format(&row),
		"2026-11-30T19:50:00.123Z,12.000346,,host,memory,host,,,,,0,,ok,\"PSI, measured\","
		"utilization_state=first;saturation_state=absent:no quota;waiting_state=denied:needs CAP_NET_ADMIN%3B a%3Db,\n");
	assert_string_equal(format(&stale),
		"2026-11-30T19:50:00.123Z,12.000346,,database,sql,db/LCK,,,,,,,stale,,utilization_state=stale:age 5 s;reason=age 5 s,\n");
}

static void bytes_are_kept(void **state)
{
	static const struct {
		const char *name, *field;
	} cases[] = {
		{ "system-ceph\\x2dosd.slice", "system-ceph\\x2dosd.slice" },
		{ "my app", "my app" },
		{ "two\nlines", "\"two\nlines\"" },
		{ "cr\rhere", "\"cr\rhere\"" },
		{ "q\"uote", "\"q\"\"uote\"" },
		{ "\"", "\"\"\"\"" },
		{ "comma,name", "\"comma,name\"" },
		{ "-dash;semi=x%", "-dash;semi=x%" },
		{ "gr\xc3\xb6\xc3\x9f"
		  "e \xff\xfe",
			"gr\xc3\xb6\xc3\x9f"
			"e \xff\xfe" },
		{ "\x1b[31mred\x1b]0;t\x07", "\x1b[31mred\x1b]0;t\x07" },
		{ "=1+1", "=1+1" },
		{ " blanks ", " blanks " },
	};
	char expected[512], longest[256];

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row row = { .scope = UP_SCOPE_CGROUP,
			.resource = "cpu",
			.name = cases[i].name,
			.state = UP_OK,
			.target = cases[i].name };

		snprintf(expected, sizeof(expected), "2026-11-30T19:50:00.123Z,12.000346,,cgroup,cpu,%s,,,,,,,ok,,,%s\n",
			cases[i].field, cases[i].field);
		assert_string_equal(format(&row), expected);
	}
	memset(longest, 'n', 255);
	longest[255] = '\0';
	assert_non_null(
		strstr(format(&(struct up_row){ .scope = UP_SCOPE_CGROUP, .resource = "cpu", .name = longest }), longest));
}

static void numbers(void **state)
{
	static const struct {
		double number;
		const char *text, *brief;
	} cases[] = {
		{ 0, "0", "0.00" },
		{ -0.0, "0", "0.00" },
		{ 1, "1", "1.00" },
		{ 0.97, "0.97", "0.97" },
		{ 0.1 + 0.2, "0.3", "0.30" },
		{ 0.00499, "0.00499", "<0.01" },
		{ 0.005, "0.005", "0.01" },
		{ 1.0 / 3, "0.333333", "0.33" },
		{ 2.0 / 3e6, "0.000000666667", "<0.01" },
		{ 1e-300, "0.000000000000001", "<0.01" },
		{ 9.994, "9.994", "9.99" },
		{ 9.996, "9.996", "10.0" },
		{ 99.96, "99.96", "100" },
		{ 123.456789, "123.457", "123" },
		{ 9999.4, "9999.4", "9999" },
		{ 9999.6, "9999.6", "10.0k" },
		{ 12345.6789, "12345.7", "12.3k" },
		{ 999949, "999949", "999.9k" },
		{ 999960, "999960", "1.0M" },
		{ 1420267, "1420267", "1.4M" },
		{ 9007199254740991, "9007199254740991", "9.0P" },
		{ 18446744073709551615.0, "18446744073709551616", "18.4E" },
		{ 1e39, "999999999999999939709166371603178586112", ">999E" },
		{ -12.5, "-12.5", "-12.5" },
	};
	char text[UP_NUMBER_TEXT];

	(void)state;
	/* Whatever the locale: the one with a decimal comma is only there when the machine has it. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		assert_string_equal(up_number_text(cases[i].number, text), cases[i].text);
		assert_string_equal(up_number_short(cases[i].number, text), cases[i].brief);
		assert_true(strlen(text) <= 6);
	}
	setlocale(LC_ALL, "C");
	assert_string_equal(up_number_text((double)NAN, text), "");
	assert_string_equal(up_number_text((double)INFINITY, text), "");
	assert_string_equal(up_value_short(up_value(0), true, text), "0");
	assert_string_equal(up_value_short(up_value(0), false, text), "0.00");
	assert_string_equal(up_value_short(up_none("x"), false, text), "-");
	assert_string_equal(up_value_short(up_value_state(UP_FIRST, NULL), true, text), "init");
	assert_string_equal(up_value_short(up_value_state(UP_RESET, NULL), true, text), "reset");
	assert_string_equal(up_value_short((struct up_value){ .number = 3, .state = UP_STALE }, true, text), "stale");
}

struct run {
	char directory[64], path[128];
	struct up_table table;
};

static int setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	snprintf(run->directory, sizeof(run->directory), "/tmp/up_csv_XXXXXX");
	assert_non_null(mkdtemp(run->directory));
	snprintf(run->path, sizeof(run->path), "%s/x.csv", run->directory);
	assert_int_equal(up_table_init(&run->table), 0);
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	unlink(run->path);
	rmdir(run->directory);
	up_table_done(&run->table);
	free(run);
	return 0;
}

static size_t read_all(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, size - 1, file);
	text[len] = '\0';
	fclose(file);
	return len;
}

static void fill(struct up_table *table, size_t rows, uint64_t number)
{
	const struct up_tick now = { .number = number, .mono_ns = (1 + number) * UP_NS_PER_S };

	up_rows_clear(&table->rows);
	for (size_t i = 0; i < rows; i++)
		assert_int_equal(up_rows_add(&table->rows,
					 &(struct up_row){ .scope = UP_SCOPE_CGROUP, .resource = "cpu", .name = "a\nb" }),
			0);
	assert_int_equal(up_table_commit(table, &now), 0);
}

static void files(void **state)
{
	struct run *run = *state;
	struct up_csv *csv = NULL;
	char text[4096];

	assert_int_equal(up_csv_open(run->path, false, &csv), 0);
	fill(&run->table, 2, 0);
	assert_int_equal(up_csv_tick(csv, &run->table), 0);
	assert_int_equal(up_csv_close(csv), 0);
	assert_true(read_all(run->path, text, sizeof(text)) > strlen(up_csv_header));
	assert_memory_equal(text, up_csv_header, strlen(up_csv_header));
	assert_int_equal(up_csv_open(run->path, false, &csv), -EEXIST);
	assert_int_equal(up_csv_open(run->directory, false, &csv), -EEXIST);
	assert_int_equal(up_csv_open("/tmp/up_csv_not_there/x.csv", false, &csv), -ENOENT);
	assert_int_equal(up_csv_open(run->path, true, &csv), 0);
	assert_int_equal(up_csv_close(csv), 0);
	assert_int_equal(read_all(run->path, text, sizeof(text)), strlen(up_csv_header));
	assert_int_equal(up_csv_open("/dev/full", false, &csv), -ENOSPC);
	assert_int_equal(up_csv_open("/dev/null", false, &csv), 0);
	assert_int_equal(up_csv_close(csv), 0);
}

/* A file size limit stands for a full disk: the tick that does not fit is taken back whole. */
static void a_full_disk_ends_on_a_whole_tick(void **state)
{
	struct run *run = *state;
	struct rlimit limit, old;
	struct up_csv *csv = NULL;
	char text[65536];
	size_t len = 0, ticks = 0, one;
	int r;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){ .rlim_cur = 5000, .rlim_max = old.rlim_max };
	assert_int_equal(up_csv_open(run->path, false, &csv), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	do {
		fill(&run->table, 7, ticks + 1);
		r = up_csv_tick(csv, &run->table);
		ticks += r == 0;
	} while (r == 0 && ticks < 1000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	len = read_all(run->path, text, sizeof(text));
	one = (len - strlen(up_csv_header)) / ticks;
	assert_int_equal(text[len - 1], '\n');
	assert_int_equal(len, strlen(up_csv_header) + ticks * one);
	assert_true(ticks > 3 && len + one > 5000);
	/* Room again: the next tick goes where the last one ended. */
	assert_int_equal(up_csv_tick(csv, &run->table), 0);
	assert_true(read_all(run->path, text, sizeof(text)) > len);
	assert_memory_equal(text + len, "1970-01-01T", 11);
	assert_int_equal(up_csv_close(csv), 0);
}

/* Counter of write(2) calls of this process (proc(5), syscw); -1 when the kernel does not tell. */
static long long write_calls(void)
{
	char text[512];
	const char *at;
	uint64_t calls;

	if (access("/proc/self/io", R_OK) < 0)
		return -1;
	read_all("/proc/self/io", text, sizeof(text));
	at = strstr(text, "syscw: ");
	if (!at)
		return -1;
	at += 7;
	return up_scan_u64(&at, &calls) == 0 ? (long long)calls : -1;
}

static void one_write_a_tick(void **state)
{
	struct run *run = *state;
	struct up_csv *csv = NULL;
	long long before, after;

	assert_int_equal(up_csv_open(run->path, false, &csv), 0);
	fill(&run->table, UP_ROWS_MAX, 0);
	before = write_calls();
	assert_int_equal(up_csv_tick(csv, &run->table), 0);
	after = write_calls();
	assert_int_equal(up_csv_close(csv), 0);
	if (before < 0)
		skip();
	assert_int_equal(after - before, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_row),
		cmocka_unit_test(empty_is_not_zero),
		cmocka_unit_test(bytes_are_kept),
		cmocka_unit_test(numbers),
		cmocka_unit_test_setup_teardown(files, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_ends_on_a_whole_tick, setup, teardown),
		cmocka_unit_test_setup_teardown(one_write_a_tick, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
