/* What the laboratory reads: numbers and times of the command line, requests from the wire. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/lab/number.h"
#include "../../src/lab/protocol.h"
#include "../../src/lab/server_args.h"

static void times(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t ns;
	} cases[] = {
		{ "200ms", 0, 200000000 },
		{ "1s", 0, 1000000000 },
		{ "2m", 0, 120000000000 },
		{ "1.5", 0, 1500000000 },
		{ "500us", 0, 500000 },
		{ "0", 0, 0 },
		{ ".5s", 0, 500000000 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1,5s", -EINVAL, 0 },
		{ "1.2.3", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "9999999999h", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 0;

		if (lab_time_read(cases[i].text, &ns) != cases[i].result || ns != cases[i].ns)
			fail_msg("`%s` read as %llu ns", cases[i].text, (unsigned long long)ns);
	}
}

static void counts(void **state)
{
	uint64_t count = 7;

	(void)state;
	assert_int_equal(lab_count_read("12", 1, 100, &count), 0);
	assert_int_equal(count, 12);
	assert_int_equal(lab_count_read("0", 1, 100, &count), -ERANGE);
	assert_int_equal(lab_count_read("101", 1, 100, &count), -ERANGE);
	assert_int_equal(lab_count_read("", 0, 100, &count), -EINVAL);
	assert_int_equal(lab_count_read("1x", 0, 100, &count), -EINVAL);
	assert_int_equal(lab_count_read("18446744073709551615", 0, UINT64_MAX, &count), -ERANGE); /* refused, not wrapped */
	assert_int_equal(lab_count_read("99999999999999999999999", 0, UINT64_MAX, &count), -ERANGE);
	assert_int_equal(count, 12);
}

static void http_requests(void **state)
{
	static const struct {
		const char *text, *why;
		int result; /* 1 = whole text */
		struct lab_frame frame;
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "plain", 1, { LAB_REQUEST_WORK, 0, true, false } },
		{ "GET / HTTP/1.0\r\n\r\n", "1.0 closes", 1, { LAB_REQUEST_WORK, 0, false, false } },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "ab", 1, { LAB_REQUEST_WORK, 0, true, false } },
		{ "GET /a HTTP/1.1\r\nconnection: close\r\n\r\n", "close", 1, { LAB_REQUEST_WORK, 0, false, false } },
		{ "POST / HTTP/1.1\r\nContent-Length:  12 \r\n\r\n", "body", 1, { LAB_REQUEST_WORK, 12, true, false } },
		{ "HEAD / HTTP/1.1\n\n", "bare newlines", 1, { LAB_REQUEST_WORK, 0, true, true } },
		{ "GET /_stats HTTP/1.1\r\n\r\n", "counters", 1, { LAB_REQUEST_STATS, 0, true, false } },
		{ "GET /_stats?x HTTP/1.1\r\n\r\n", "counters with a query", 1, { LAB_REQUEST_STATS, 0, true, false } },
		{ "GET /_statsx HTTP/1.1\r\n\r\n", "another path", 1, { LAB_REQUEST_WORK, 0, true, false } },
		{ "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "negative", -EBADMSG, { 0 } },
		{ "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "too long", -EBADMSG, { 0 } },
		{ "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "chunked", -ENOTSUP, { 0 } },
		{ "GET /\r\n\r\n", "no version", -EBADMSG, { 0 } },
		{ "GET  HTTP/1.1\r\n\r\n", "no path", -EBADMSG, { 0 } },
		{ "GET / HTTP/2.0\r\n\r\n", "other version", -EBADMSG, { 0 } },
		{ "GET / HTTP/1.1\r\nnonsense\r\n\r\n", "header without colon", -EBADMSG, { 0 } },
		{ "\r\n", "nothing", -EBADMSG, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lab_frame frame = { 0 };
		const size_t length = strlen(cases[i].text);
		const int r = lab_http_frame(cases[i].text, length, &frame);

		if (r != (cases[i].result == 1 ? (int)length : cases[i].result) || frame.request != cases[i].frame.request ||
			frame.skip != cases[i].frame.skip || frame.keep_alive != cases[i].frame.keep_alive ||
			frame.head != cases[i].frame.head)
			fail_msg("%s: %d", cases[i].why, r);
	}
}

/* Every beginning of a request is either incomplete or the whole one, never something else. */
static void cut_requests(void **state)
{
	static const char text[] = "GET /books?page=2 HTTP/1.1\r\nHost: api\r\nContent-Length: 3\r\n\r\n";
	const size_t length = sizeof(text) - 1;
	struct lab_frame frame;

	(void)state;
	for (size_t n = 0; n < length; n++)
		assert_int_equal(lab_http_frame(text, n, &frame), 0);
	assert_int_equal(lab_http_frame(text, length, &frame), length);
	for (size_t n = 0; n < 4; n++)
		assert_int_equal(lab_line_frame("Q 1\n", n, &frame), 0);
	assert_int_equal(lab_line_frame("Q 1\nQ 2\n", 8, &frame), 4);
	assert_int_equal(frame.request, LAB_REQUEST_WORK);
	assert_int_equal(lab_line_frame("STATS\r\n", 7, &frame), 7);
	assert_int_equal(frame.request, LAB_REQUEST_STATS);
	assert_int_equal(lab_line_frame("GET / HTTP/1.1\r\n", 16, &frame), -EBADMSG);
}

static int read_options(const char *line, struct lab_server_options *options, struct lab_error *error)
{
	static char copy[400];
	char *argv[40] = { "uselab serve" };
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = copy; *word && argc < 39;) {
		char *blank = strchr(word, ' ');

		argv[argc++] = word;
		if (!blank)
			break;
		*blank = '\0';
		word = blank + 1;
	}
	return lab_server_args(argc, argv, false, options, error);
}

static void server_options(void **state)
{
	struct lab_server_options o;
	struct lab_error error;

	(void)state;
	assert_int_equal(
		read_options("--workers 3 --cpu-ms exp:2.5 --miss --lock-report=2s:100ms --db 127.0.0.1:1,queries=3,every=10 "
			     "--db [::1]:2 --pool 5 --freeze 20s:5s --decoy-threads 2:25 --single-thread",
			&o, &error),
		0);
	assert_int_equal(o.workers, 3);
	assert_true(o.cpu.exponential && o.cpu.mean_ns == 2.5e6);
	assert_int_equal(o.miss_every, 10);
	assert_int_equal(o.miss_ns, 40000000);
	assert_int_equal(o.report_every_ns, 2000000000);
	assert_int_equal(o.report_hold_ns, 100000000);
	assert_int_equal(o.n_dependencies, 2);
	assert_int_equal(o.dependencies[0].pool, 5);
	assert_int_equal(o.dependencies[0].queries, 3);
	assert_int_equal(o.dependencies[0].every, 10);
	assert_int_equal(o.dependencies[1].queries, 1);
	assert_int_equal(o.freeze_at_ns, 20000000000);
	assert_int_equal(o.freeze_for_ns, 5000000000);
	assert_int_equal(o.decoys, 2);
	assert_true(o.decoy_ratio == 0.25);
	assert_int_equal(o.mode, LAB_MODE_SINGLE);
	assert_int_equal(read_options("--miss 20:15 --pages /tmp/x:64:8", &o, &error), 0);
	assert_int_equal(o.miss_every, 20);
	assert_string_equal(o.pages_path, "/tmp/x");
	assert_int_equal(o.pages_mb, 64);
}

static void bad_server_options(void **state)
{
	static const char *const lines[] = { "--workers 0", "--workers", "--workers -1", "--cpu-ms fast",
		"--cpu-ms exp:", "--miss 10", "--miss 0:40", "--freeze 5s", "--db 127.0.0.1", "--db 127.0.0.1:99999",
		"--db 127.0.0.1:1,pool=0", "--db 127.0.0.1:1,poll=3", "--listen ::1:80", "--decoy-threads 2:101",
		"--pages /tmp/x:64", "--mode threads", "--nonsense", "stray", "--duration 1y" };
	struct lab_server_options o = { .workers = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct lab_error error = { "" };

		if (read_options(lines[i], &o, &error) != -EINVAL || !error.text[0] || o.workers != 77)
			fail_msg("`%s` was taken", lines[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(counts),
		cmocka_unit_test(http_requests),
		cmocka_unit_test(cut_requests),
		cmocka_unit_test(server_options),
		cmocka_unit_test(bad_server_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
