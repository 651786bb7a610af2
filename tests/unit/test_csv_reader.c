#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/csv_reader.h"
#include "useprobe/sink.h"

#define FIXTURE FIXTURES "view_throttled.csv"

static int fd_of(const char *text, size_t len)
{
	const int fd = memfd_create("csv", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

struct result {
	struct up_csv_notes notes;
	char *again; /* what the rows give when they are written once more */
	size_t again_len;
	uint64_t last_elapsed_ns, last_interval_ns;
};

/* Reads TEXT and writes every row again. 0 or the error of open. */
static int read_text(const char *text, size_t len, struct result *result)
{
	static char line[1 << 21];
	struct up_csv_reader *reader;
	struct up_rows rows;
	struct up_tick tick;
	char message[256];
	FILE *again;
	int r = up_csv_reader_open_fd(fd_of(text, len), &reader, message, sizeof(message));

	if (r < 0)
		return r;
	*result = (struct result){ 0 };
	assert_int_equal(up_rows_init(&rows), 0);
	again = open_memstream(&result->again, &result->again_len);
	assert_non_null(again);
	fputs(up_csv_header, again);
	while ((r = up_csv_reader_tick(reader, &rows, &tick)) > 0) {
		assert_int_equal(tick.number, result->notes.ticks++);
		for (size_t i = 0; i < rows.count; i++) {
			const long n = up_csv_format(&tick, &rows.items[i], line, sizeof(line));

			assert_true(n > 0);
			fwrite(line, 1, (size_t)n, again);
		}
		result->last_elapsed_ns = tick.elapsed_ns;
		result->last_interval_ns = tick.interval_ns;
	}
	assert_int_equal(r, 0);
	fclose(again);
	result->notes = *up_csv_reader_notes(reader);
	up_rows_done(&rows);
	up_csv_reader_close(reader);
	return 0;
}

static char *load(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1 << 20);

	assert_non_null(file);
	assert_non_null(text);
	*ret_len = fread(text, 1, 1 << 20, file);
	fclose(file);
	return text;
}

static void a_real_run_comes_back(void **state)
{
	struct result result;
	size_t len;
	char *text = load(FIXTURE, &len);

	(void)state;
	assert_int_equal(read_text(text, len, &result), 0);
	assert_int_equal(result.again_len, len);
	assert_memory_equal(result.again, text, len);
	assert_int_equal(result.notes.cut_line, 0);
	assert_int_equal(result.notes.skipped_rows, 0);
	free(result.again);
	free(text);
}

/* Every prefix: whole lines come back byte for byte, what is behind the last line end is named, nothing is made up. */
static void every_prefix(void **state)
{
	size_t len, header;
	char *text = load(FIXTURE, &len);

	(void)state;
	header = (size_t)(strchr(text, '\n') - text) + 1;
	if (len > header + 4000)
		len = header + 4000;
	for (size_t n = 0; n < len; n++) {
		struct result result;
		const char *last = memrchr(text, '\n', n);
		const size_t whole = last ? (size_t)(last - text) + 1 : 0;

		if (n < header) {
			assert_int_equal(read_text(text, n, &result), -EBADMSG);
			continue;
		}
		assert_int_equal(read_text(text, n, &result), 0);
		assert_int_equal(result.again_len, whole);
		assert_memory_equal(result.again, text, whole);
		assert_int_equal(result.notes.cut_line != 0, n > whole);
		assert_int_equal(result.notes.skipped_rows, 0);
		free(result.again);
	}
	free(text);
}

/* Names of every kind, written and read back. */
static void hostile_names(void **state)
{
	static const char *const names[] = { "two\nlines", "q\"uote", "\"", "\"\"", ",", "a,\"b\"\r\nc", "\r",
		"gr\xc3\xb6\xff\xfe", "\x1b[2J", "=1+1", " blanks ", "-dash", "\n\n\n", "x=1;y=2%", "2026-11-30T",
		"\n2026-11-30T" };
	const struct up_tick tick = { .wall_ns = 1796068200123000000ull, .elapsed_ns = 1000000 };
	char text[32768], longest[256], message[128];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", up_csv_header), count = UP_COUNT(names) + 1;
	struct up_csv_reader *reader;
	struct up_tick back;
	struct up_rows rows;

	(void)state;
	memset(longest, '"', 255);
	longest[255] = '\0';
	for (size_t i = 0; i < count; i++) {
		const char *name = i < UP_COUNT(names) ? names[i] : longest;
		struct up_detail detail = { 0 };
		long n;

		up_detail_text(&detail, "text", name);
		n = up_csv_format(&tick,
			&(struct up_row){ .scope = UP_SCOPE_CGROUP,
				.resource = "cpu",
				.name = name,
				.target = name,
				.state = UP_OK,
				.detail = detail.text },
			text + len, sizeof(text) - len);
		assert_true(n > 0);
		len += (size_t)n;
	}
	assert_int_equal(up_rows_init(&rows), 0);
	assert_int_equal(up_csv_reader_open_fd(fd_of(text, len), &reader, message, sizeof(message)), 0);
	assert_int_equal(up_csv_reader_tick(reader, &rows, &back), 1);
	assert_int_equal(rows.count, count);
	for (size_t i = 0; i < count; i++) {
		const char *name = i < UP_COUNT(names) ? names[i] : longest;
		char decoded[512];

		assert_string_equal(rows.items[i].name, name);
		assert_string_equal(rows.items[i].target, name);
		assert_true(up_detail_get(rows.items[i].detail, "text", decoded, sizeof(decoded)));
		assert_string_equal(decoded, name);
	}
	assert_int_equal(up_csv_reader_tick(reader, &rows, &back), 0);
	assert_int_equal(up_csv_reader_notes(reader)->skipped_rows, 0);
	up_csv_reader_close(reader);
	up_rows_done(&rows);
}

static void states_come_back(void **state)
{
	static const char text[] =
		"time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,"
		"detail,target\n"
		"2026-11-30T19:50:00.123Z,12.000346,1.5,cgroup,cpu,/api,0,,ratio,,,ok,ok,m,"
		"quota_cpus=0.5;waiting_max=3;servers=0.5;saturation_state=absent:no quota;errors_state=denied:needs a%3Bb,api\n"
		"2026-11-30T19:50:00.123Z,12.000346,,cgroup,x,/api,,,,,,,stale,,reason=age 5 s,\n";
	struct up_csv_reader *reader;
	const struct up_row *row;
	struct up_rows rows;
	struct up_tick tick;
	char message[64];

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	assert_int_equal(up_csv_reader_open_fd(fd_of(text, sizeof(text) - 1), &reader, message, sizeof(message)), 0);
	assert_int_equal(up_csv_reader_tick(reader, &rows, &tick), 1);
	assert_int_equal(rows.count, 2);
	assert_true(tick.wall_ns == 1796068200123000000ull && tick.elapsed_ns == 12000346000ull);
	row = &rows.items[0];
	assert_true(up_value_ok(row->utilization) && row->utilization.number == 0.0);
	assert_int_equal(row->saturation.state, UP_ABSENT);
	assert_string_equal(row->saturation.reason, "no quota");
	assert_int_equal(row->waiting.state, UP_ABSENT);
	assert_int_equal(row->errors.state, UP_DENIED);
	assert_string_equal(row->errors.reason, "needs a;b");
	assert_true(row->waiting_max.number == 3 && row->servers == 0.5 && row->window_ns == 1500000000);
	assert_int_equal(row->condition, UP_COND_OK);
	row = &rows.items[1];
	assert_int_equal(row->utilization.state, UP_STALE);
	assert_string_equal(row->reason, "age 5 s");
	assert_null(row->target);
	up_csv_reader_close(reader);
	up_rows_done(&rows);
}

#define GOOD "2026-11-30T19:50:00.123Z,1,,host,cpu,host,0.5,,,,,ok,ok,,,\n"
#define LATER "2026-11-30T19:50:01.123Z,2,,host,cpu,host,0.5,,,,,ok,ok,,,\n"

static void broken_files(void **state)
{
	static const struct {
		const char *rows;
		uint64_t taken, skipped, first_line, cut_line;
		const char *why, *what;
	} cases[] = {
		{ GOOD LATER, 2, 0, 0, 0, "good", "" },
		{ GOOD "\n" LATER, 2, 0, 0, 0, "a blank line", "" },
		{ GOOD "2026-11-30T19:50:01.123Z,2,,host,cp", 1, 0, 0, 3, "cut in a word", "" },
		{ GOOD "2026-11-30T19:50:01.123Z,2,,host,cpu,\"two\nli", 1, 0, 0, 3, "cut in a quoted name", "" },
		{ GOOD "2026-11-30T19:50:01.123Z,2,,host,cpu,\"host,0.5\n" LATER, 2, 1, 3, 0, "an open quote costs one line",
			"a quote that does not close" },
		{ GOOD "2026-11-30T19:50:01.123Z,2,,host,cpu,\"a\"b,0.5,,,,,ok,ok,,,\n" LATER, 2, 1, 3, 0, "text behind a quote",
			"" },
		{ GOOD "a,b\n" LATER, 2, 1, 3, 0, "too few fields", "expected 16 fields, got 2" },
		{ "2026-11-30T19:50:00.123Z,1,,host,cpu,host,abc,,,,,ok,ok,,,\n" GOOD "x\n", 1, 2, 2, 0, "no number",
			"utilization: expected a number, got 'abc'" },
		{ "2026-11-30T19:50:00.123Z,1,,host,cpu,host,0.5,,,\"1,5\",,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "decimal comma",
			"waiting: expected a number, got '1,5'" },
		{ "2026-11-30T19:50:00.123Z,1,,host,cpu,host,1.,,,,,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "cut number", "utilization:" },
		{ "2026-11-30T19:50:00.123Z,1,,host,cpu,host,nan,,,,,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "not a number",
			"utilization:" },
		{ "2026-11-30T19:50:00.123Z,1,,moon,cpu,host,1,,,,,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "scope", "scope: 'moon'" },
		{ "2026-11-30T19:50:00.123Z,1,,host,cpu,host,1,,,,,odd,ok,,,\n" GOOD, 1, 1, 2, 0, "condition",
			"condition: 'odd'" },
		{ "2026-11-30T19:50:00.123Z,1,,host,cpu,host,1,,,,,ok,fine,,,\n" GOOD, 1, 1, 2, 0, "state", "state: 'fine'" },
		{ "30.11.2026 19:50,1,,host,cpu,host,1,,,,,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "spreadsheet date", "time: expected" },
		{ "2026-13-30T19:50:00.123Z,1,,host,cpu,host,1,,,,,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "month 13", "time: expected" },
		{ "2026-11-30T19:50:00.123Z,-1,,host,cpu,host,1,,,,,ok,ok,,,\n" GOOD, 1, 1, 2, 0, "elapsed",
			"elapsed_s: expected" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		char text[2048], notes[512];
		const int len = snprintf(text, sizeof(text), "%s%s", up_csv_header, cases[i].rows);
		struct result result;

		assert_int_equal(read_text(text, (size_t)len, &result), 0);
		if (result.notes.rows != cases[i].taken || result.notes.skipped_rows != cases[i].skipped ||
			result.notes.first_skipped_line != cases[i].first_line || result.notes.cut_line != cases[i].cut_line ||
			!strstr(result.notes.first_skipped, cases[i].what))
			fail_msg("%s: %llu taken, %llu skipped, first %llu '%s', cut %llu", cases[i].why,
				(unsigned long long)result.notes.rows, (unsigned long long)result.notes.skipped_rows,
				(unsigned long long)result.notes.first_skipped_line, result.notes.first_skipped,
				(unsigned long long)result.notes.cut_line);
		up_csv_notes_text(&result.notes, notes, sizeof(notes));
		assert_int_equal(*notes != '\0', cases[i].skipped || cases[i].cut_line);
		free(result.again);
	}
}

static void other_writers(void **state)
{
	static const char crlf[] =
		"\xef\xbb\xbftime,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,"
		"method,detail,target,extra\r\n"
		"2026-11-30T19:50:00.123Z,1,,host,cpu,host,0.5,,,,,ok,ok,,,api,new\r\n";
	static const char *const no_csv[] = { "", "time", "a,b,c\n1,2,3\n", "{\"json\":1}\n",
		"\x7f"
		"ELF\x02\n",
		"time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,"
		"detail\n" };
	struct result result;
	struct up_csv_reader *reader = NULL;
	char message[256];

	(void)state;
	assert_int_equal(read_text(crlf, sizeof(crlf) - 1, &result), 0);
	assert_int_equal(result.notes.rows, 1);
	assert_non_null(strstr(result.again, ",api\n"));
	free(result.again);
	for (size_t i = 0; i < UP_COUNT(no_csv); i++) {
		assert_int_equal(
			up_csv_reader_open_fd(fd_of(no_csv[i], strlen(no_csv[i])), &reader, message, sizeof(message)), -EBADMSG);
		assert_non_null(strstr(message, "line 1: "));
	}
	assert_non_null(strstr(message, "'target'"));
	assert_int_equal(up_csv_reader_open("/nowhere/x.csv", &reader, message, sizeof(message)), -ENOENT);
	assert_int_equal(up_csv_reader_open("/tmp", &reader, message, sizeof(message)), -EISDIR);
}

/* A field of 900 KB is a field; one that never ends costs its line, not the file. */
static void huge_records(void **state)
{
	const size_t sizes[] = { 900000, 3000000 };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(sizes); i++) {
		char *text = NULL;
		struct result result;
		size_t len;
		FILE *file = open_memstream(&text, &len);

		fprintf(file, "%s" GOOD "2026-11-30T19:50:00.123Z,1,,host,cpu,\"", up_csv_header);
		for (size_t n = 0; n < sizes[i]; n++)
			fputc(n == 100 ? '\n' : 'x', file);
		fprintf(file, "\",0.5,,,,,ok,ok,,,\n" LATER);
		fclose(file);
		assert_int_equal(read_text(text, len, &result), 0);
		assert_int_equal(result.notes.rows, sizes[i] < UP_CSV_RECORD_MAX_BYTES ? 3 : 2);
		assert_int_equal(result.notes.cut_line, 0);
		assert_int_equal(result.last_elapsed_ns, 2 * UP_NS_PER_S);
		free(result.again);
		free(text);
	}
}

static void several_runs_in_one_file(void **state)
{
	char text[1024], notes[256];
	const int len = snprintf(text, sizeof(text), "%s" GOOD LATER GOOD, up_csv_header);
	struct result result;

	(void)state;
	assert_int_equal(read_text(text, (size_t)len, &result), 0);
	assert_int_equal(result.notes.ticks, 3);
	assert_true(result.notes.step_back);
	assert_non_null(strstr(up_csv_notes_text(&result.notes, notes, sizeof(notes)), "backwards"));
	free(result.again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_run_comes_back),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(states_come_back),
		cmocka_unit_test(broken_files),
		cmocka_unit_test(other_writers),
		cmocka_unit_test(huge_records),
		cmocka_unit_test(several_runs_in_one_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
