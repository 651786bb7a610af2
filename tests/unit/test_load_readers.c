/* The other request-by-request formats: rules on made-up lines, and real files against figures computed apart. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "load_helper.h"

#define K6_POINT(metric, time, value, tags)                                                                                      \
	"{\"metric\":\"" metric "\",\"type\":\"Point\",\"data\":{\"time\":\"" time "\",\"value\":" value ",\"tags\":{" tags      \
	"}}}\n"
#define K6_DURATION "{\"type\":\"Metric\",\"data\":{\"name\":\"http_req_duration\"},\"metric\":\"http_req_duration\"}\n"

static const char k6_json[] = K6_DURATION K6_POINT("http_reqs", "2025-06-02T18:44:55.8795741+02:00", "1",
	"\"status\":\"200\"") K6_POINT("http_req_duration", "2025-06-02T18:44:55.8795741+02:00", "57.0746",
	"\"expected_response\":\"true\",\"name\":\"GET /\\u00e4\",\"status\":\"200\"") "{\"type\":\"Point\",\"metric\":\"http_req_duration\",\"data\":{\"time\":\"2025-06-02T16:44:56Z\",\"value\":3,\"tags\":{\"status\":\"503\"}}}\n" K6_POINT("dropped_iterations",
	"2025-06-02T16:44:56Z", "2", "") K6_POINT("vus", "2025-06-02T16:44:56Z", "7",
	"") "{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"soon\",\"value\":3}}\n"
	    "{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"2025-06-02T16:44:56Z\",\"value\":\"3\"}}\n"
	    "{\"metric\":\"http_req_duration\",\n";

static void k6_json_points(void **state)
{
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, k6_json, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1748882695879574 - 57074, 57.0746, false, "zone, seven digits; the end minus the duration");
	assert_point(&load, 1, 1748882696000000 - 3000, 3, true, "keys in the other order, status 503");
	assert_string_equal(load.names.name[up_packed_name(load.points.at[0].packed)], "GET /\xc3\xa4");
	assert_int_equal(load.file[0].dropped, 2);
	assert_int_equal(load.file[0].skipped_lines, 3);
	up_load_done(&load);
	sweep_truncation(k6_json, sizeof(k6_json) - 1, NULL);
}

static void k6_json_real(void **state)
{
	struct up_load load;
	struct up_summary s;

	(void)state;
	load_file(&load, FIXTURES "load/k6.ndjson.gz");
	s = load_summary(&load);
	assert_int_equal(s.n, 600);
	assert_int_equal(s.failed, 6);
	assert_int_equal(load.file[0].dropped, 77);
	assert_near(s.q[UP_P50].ms, 5.875736, 1e-9, "p50");
	assert_near(s.q[UP_P99].ms, 1141.738785, 1e-9, "p99");
	assert_near(s.mean_ms, 73.09761779499995, 1e-6, "mean");
	up_load_done(&load);
}

static void h2load_log(void **state)
{
	static const char text[] =
		"1796069460426545\t200\t5348\n1796069460426540\t-1\t5411\n1796069460426535\t404\t5421\nrubbish\n1796069460426535\t200\t-5\n";
	struct up_load load;
	struct up_summary s;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 3);
	assert_point(&load, 0, 1796069460426545, 5.348, false, "start and us");
	assert_point(&load, 1, 1796069460426540, 5.411, true, "a stream that failed");
	assert_point(&load, 2, 1796069460426535, 5.421, true, "404");
	assert_int_equal(load.file[0].skipped_lines, 2);
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
	load_file(&load, FIXTURES "load/h2load.tsv.gz");
	s = load_summary(&load);
	assert_int_equal(s.n, 800);
	assert_int_equal(s.failed, 8);
	assert_near(s.q[UP_P50].ms, 6.712, 1e-9, "p50");
	assert_near(s.q[UP_P99].ms, 9.4, 1e-9, "p99");
	up_load_done(&load);
}

static void hey_csv(void **state)
{
	static const char text[] =
		"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
		"0.0100,0.0010,0.0000,0.0000,0.0090,0.0000,200,0.0000\n0.0200,0.0000,0.0000,0.0000,0.0200,0.0000,503,0.0100\n"
		"0.0300,0.0000,0.0000\n0.0300,0.0000,0.0000,0.0000,0.0300,0.0000,200,0.03";
	struct up_load load;
	struct up_summary s;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 0, 10, false, "first");
	assert_point(&load, 1, 10000, 20, true, "503");
	assert_true(load.undated);
	assert_int_equal(load.file[0].skipped_lines, 2);
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
	assert_int_equal(
		load_text(&load, "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n",
			NULL),
		-EBADMSG);
	assert_non_null(
		strstr(load.error, "no row")); /* twenty refused requests leave nothing but the header: not "0 % failed" */
	up_load_done(&load);
	load_file(&load, FIXTURES "load/hey_rate.csv.gz");
	s = load_summary(&load);
	assert_int_equal(s.n, 1720);
	assert_int_equal(s.failed, 34);
	assert_near(s.mean_ms, 11.378547, 1e-6, "mean");
	assert_near(s.q[UP_P99].ms, 3.7, 1e-9, "p99");
	assert_near(s.max_ms, 1487.2, 1e-9, "max");
	up_load_done(&load);
}

#define JTL "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,allThreads,Latency\n"

static void jmeter_rules(void **state)
{
	static const char text[] = JTL "1700000000000,5,check,200,\"{\"\"valid\"\": false}\",t 1-1,true,3,4\n"
				       "1700000000010,6,false,200,OK,t 1-1,true,3,4\n"
				       "1700000000020,7,\"a, \"\"b\"\"\",500,\"two\nlines\",\"t, 1-1\",true,3,4\n"
				       "1700000000030,8,x,Non HTTP response code: java.net.SocketTimeoutException,,t,false,3,4\n"
				       "1700000000040,9,x,200,OK,t,maybe,3,4\n"
				       "1700000000050,1.5,x,200,OK,t,true,3,4\n"
				       "1700000000060,9,x,200,OK,t,true\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 5);
	assert_point(&load, 0, 1700000000000000, 5, false, "'false' in a message is no failure");
	assert_point(&load, 1, 1700000000010000, 6, false, "nor in a label");
	assert_point(&load, 2, 1700000000020000, 7, false, "success decides, not the code");
	assert_string_equal(load.names.name[up_packed_name(load.points.at[2].packed)], "a, \"b\"");
	assert_point(&load, 3, 1700000000030000, 8, true, "a code that is text");
	assert_int_equal(load.file[0].skipped_lines, 2);
	assert_int_equal(load.file[0].note[0].line, 7);
	assert_near((double)load.seconds.at[0].users, 3, 0, "threads");
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

static void jmeter_layouts(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		int64_t start_us;
		const char *why;
	} cases[] = {
		{ "1700000000000,5,a,200,OK,t 1-1,text,true,,119,121,2,2,http://h/,5,0,1\n", 1, 1700000000000000, "no header" },
		{ "1700000000000,5,a,200,OK,t 1-1,text,true,,119,121,2,2,http://h/,5,0,1", 1, 1700000000000000,
			"no line end, and nothing read from the last field" },
		{ "timeStamp\telapsed\tlabel\tsuccess\n1700000000000\t5\ta,b\ttrue\n", 1, 1700000000000000, "tabs" },
		{ "timeStamp;elapsed;label;success;x\n2023/11/14 22:13:20.000;5;a;true;\n", 1, 1700000000000000,
			"semicolons and a calendar" },
		{ "\xef\xbb\xbftimeStamp,elapsed,label,success,x\r\n1700000000000,5,a,true,\r\n", 1, 1700000000000000,
			"BOM and CR" },
		{ "timeStamp,elapsed,success\n1700000000000,5,true", 0, 0, "the last field may be cut" },
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct up_load load;
		int r = load_text(&load, cases[i].text, NULL);

		if ((r == 0) != (cases[i].n > 0) || load.points.n != cases[i].n)
			fail_msg("%s: %d, %zu requests, %s", cases[i].why, r, load.points.n, load.error);
		if (cases[i].n)
			assert_point(&load, 0, cases[i].start_us, 5, false, cases[i].why);
		up_load_done(&load);
	}
}

static void jmeter_transactions(void **state)
{
	static const char inside[] =
		"timeStamp,elapsed,label,responseCode,responseMessage,success,x\n"
		"1700000000000,5,a,200,OK,true,\n1700000000005,6,b,200,OK,true,\n"
		"1700000000000,11,pay,200,\"Number of samples in transaction : 2, number of failing samples : 0\",true,\n";
	static const char alone[] =
		"timeStamp,elapsed,label,responseCode,responseMessage,success,x\n"
		"1700000000000,11,pay,200,\"Number of samples in transaction : 2, number of failing samples : 0\",true,\n";
	struct up_load_options keep = { .keep_transactions = true };
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, inside, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_int_equal(load.file[0].transactions_left_out, 1);
	up_load_done(&load);
	assert_int_equal(load_text(&load, inside, &keep), 0);
	assert_int_equal(load.points.n, 3);
	assert_int_equal(load.points.at[2].packed & UP_POINT_TRANSACTION, 0);
	up_load_done(&load);
	assert_int_equal(load_text(&load, alone, NULL), 0); /* all there is */
	assert_int_equal(load.points.n, 1);
	up_load_done(&load);
}

static void jmeter_real(void **state)
{
	struct up_load load;
	struct up_summary s;

	(void)state;
	load_file(&load, FIXTURES "load/jmeter_header.csv.gz");
	s = load_summary(&load);
	assert_int_equal(s.n, 2100);
	assert_int_equal(s.failed, 42);
	assert_near(s.mean_ms, 10.708571, 1e-6, "mean");
	assert_near(s.q[UP_P99].ms, 11, 0, "p99");
	assert_near(s.max_ms, 1499, 0, "max");
	assert_int_equal(load.file[0].transactions_left_out, 700);
	assert_int_equal(load.file[0].skipped_lines, 0);
	up_load_done(&load);
	load_file(&load, FIXTURES "load/jmeter_open.csv.gz");
	s = load_summary(&load);
	assert_int_equal(s.n, 1000);
	assert_near(s.q[UP_P90].ms, 551, 0, "p90");
	up_load_done(&load);
}

static void generic_columns(void **state)
{
	static const struct {
		const char *columns, *text;
		int64_t start_us;
		double latency_ms;
		bool failed, intended;
		const char *why;
	} cases[] = {
		{ "start=ts:ms,latency=took:us,ok=status", "took,ts,status\n1500,1700000000000,200\n", 1700000000000000, 1.5,
			false, false, "units" },
		{ "start=1,latency=2,ok=3", "1700000000.5;12.5;503\n", 1700000000500000, 12.5, true, false,
			"by number, no header" },
		{ "start=1,latency=2", "when,took\n1700000000.5,12.5\n", 1700000000500000, 12.5, false, false,
			"by number, with header" },
		{ "sent=a,end=b:s", "a,b\n1700000000.0,1700000000.25\n", 1700000000000000, 250, false, false, "two moments" },
		{ "intended=i,sent=s,latency=l", "i,s,l\n1700000000.000,1700000000.100,5\n", 1700000000000000, 105, false, true,
			"from the intended start" },
		{ "end=e,latency=l,ok=o,name=n", "e,l,o,n\n1700000001.0,500,yes,\"a\"\n", 1700000000500000, 500, false, false,
			"from the end" },
		{ "latency=l:s", "l,x\n0.5,1\n", 0, 500, false, false, "no time at all" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct up_load_options options = { .columns = cases[i].columns };
		struct up_load load;

		if (load_text(&load, cases[i].text, &options) != 0)
			fail_msg("%s: %s", cases[i].why, load.error);
		assert_int_equal(load.points.n, 1);
		assert_point(&load, 0, cases[i].start_us, cases[i].latency_ms, cases[i].failed, cases[i].why);
		assert_int_equal(load.file[0].intended, cases[i].intended);
		up_load_done(&load);
		sweep_truncation(cases[i].text, strlen(cases[i].text), &options);
	}
}

static void generic_columns_refused(void **state)
{
	static const char *const bad[] = { "latency", "latency=", "speed=1", "start=1", "latency=9", "latency=nope" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct up_load_options options = { .columns = bad[i] };
		struct up_load load;

		if (load_text(&load, "a,b\n1,2\n", &options) != -EINVAL || !strstr(load.error, "--columns"))
			fail_msg("'%s': %s", bad[i], load.error);
		up_load_done(&load);
	}
}

static void plain_numbers(void **state)
{
	static const char text[] = "12.5\n# comment\n7\n\nx\n-1\n3";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_near(load_summary(&load).max_ms, 12.5, 0, "ms");
	assert_int_equal(load.file[0].skipped_lines, 3); /* x, -1, and 3 that may be cut */
	assert_false(load.failed_known);
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

/* Files without dates follow each other; of dated ones each keeps its time. */
static void several_files(void **state)
{
	static const char text[] =
		"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.5,0,0,0,0,0,200,1.0\n";
	char path[] = "/tmp/useprobe-test.XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fdopen(fd, "w");
	struct up_load load;

	(void)state;
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(up_load_read(&load, path, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_true(load.points.at[1].start_us >= load.file[0].last_end_us + 1000000);
	assert_true(load.undated);
	remove(path);
	up_load_done(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(k6_json_points),
		cmocka_unit_test(k6_json_real),
		cmocka_unit_test(h2load_log),
		cmocka_unit_test(hey_csv),
		cmocka_unit_test(jmeter_rules),
		cmocka_unit_test(jmeter_layouts),
		cmocka_unit_test(jmeter_transactions),
		cmocka_unit_test(jmeter_real),
		cmocka_unit_test(generic_columns),
		cmocka_unit_test(generic_columns_refused),
		cmocka_unit_test(plain_numbers),
		cmocka_unit_test(several_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
