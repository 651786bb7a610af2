/* Summaries that tools make themselves: passed on as told, whole or not at all. */
#include <errno.h>

#include "load_helper.h"

static const char hey[] =
	"\nSummary:\n  Total:\t5.0033 secs\n  Slowest:\t1.5009 secs\n  Fastest:\t0.0044 secs\n  Average:\t0.0084 secs\n  Requests/sec:\t594.4111\n\n"
	"Latency distribution:\n  50%% in 0.0059 secs\n  90% in 0.0064 secs\n  95% in 0.0067 secs\n  99% in 0.0086 secs\n\n"
	"Status code distribution:\n  [200]\t2944 responses\n  [500]\t30 responses\n";
static const char wrk[] =
	"Running 10s test @ http://h/\n  2 threads and 10 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
	"    Latency    99.60ms  296.04ms   1.50s    90.45%\n    Req/Sec     1.92k   214.49     2.10k    98.84%\n"
	"  Latency Distribution\n     50%    2.46ms\n     90%  341.62us\n     99%    1.39s \n  32890 requests in 10.02s, 3.76MB read\n"
	"  Non-2xx or 3xx responses: 657\nRequests/sec:   3283.87\nTransfer/sec:    384.76KB\n";
static const char bombardier[] =
	"Bombarding http://h/ with 5000 request(s) using 10 connection(s)\n\r 0 / 5000    0.00%\r 5000 / 5000  100.00%\rDone!\n"
	"Statistics        Avg      Stdev        Max\n  Reqs/sec      1810.77    1467.17    5015.55\n  Latency        5.61ms    66.99ms      1.50s\n"
	"  HTTP codes:\n    1xx - 0, 2xx - 4890, 3xx - 0, 4xx - 0, 5xx - 100\n    others - 10\n  Throughput:   560.52KB/s\n";

static struct up_told told_of(const char *text, size_t n, int expected)
{
	struct up_load load;
	struct up_told told;

	assert_int_equal(load_bytes(&load, text, n, NULL), expected);
	told = load.file[0].told;
	assert_int_equal(up_points_total(&load.points), 0);
	up_load_done(&load);
	return told;
}

static void texts(void **state)
{
	struct up_told told = told_of(hey, sizeof(hey) - 1, 0);

	(void)state;
	assert_int_equal(told.n, 2974);
	assert_int_equal(told.failed, 30);
	assert_near(told.mean_ms, 8.4, 1e-9, "mean");
	assert_near(told.max_ms, 1500.9, 1e-9, "max");
	assert_near(told.ms[UP_P50], 5.9, 1e-9, "p50 with two percent signs");
	assert_near(told.ms[UP_P99], 8.6, 1e-9, "p99");
	assert_true(isnan(told.ms[UP_P999]));
	told = told_of(wrk, sizeof(wrk) - 1, 0);
	assert_int_equal(told.n, 32890);
	assert_int_equal(told.failed, 657);
	assert_near(told.mean_ms, 99.6, 1e-9, "mean");
	assert_near(told.ms[UP_P90], 0.34162, 1e-9, "us");
	assert_near(told.ms[UP_P99], 1390, 1e-9, "s");
	told = told_of(bombardier, sizeof(bombardier) - 1, 0);
	assert_int_equal(told.n, 5000);
	assert_int_equal(told.failed, 110);
	assert_true(isnan(told.ms[UP_P50]));
	assert_near(told.max_ms, 1500, 1e-9, "max");
}

/* A cut summary is refused, or says that failures are not known; counts and times it gives are right. */
static void cut_texts(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = { { hey, sizeof(hey) - 1 }, { wrk, sizeof(wrk) - 1 }, { bombardier, sizeof(bombardier) - 1 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct up_told whole = told_of(cases[i].text, cases[i].n, 0);

		for (size_t k = 0; k < cases[i].n; k++) {
			struct up_load load;
			int r = load_bytes(&load, cases[i].text, k, NULL);
			const struct up_told *told = load.n_files ? &load.file[0].told : NULL;

			if (r == 0 && told->known && told->failed_known && (told->n != whole.n || told->failed != whole.failed))
				fail_msg("case %zu cut at %zu: %llu requests, %llu failed", i, k, (unsigned long long)told->n,
					(unsigned long long)told->failed);
			for (unsigned q = 0; r == 0 && q < UP_QUANTILES; q++)
				assert_true(isnan(told->ms[q]) || fabs(told->ms[q] - whole.ms[q]) < 1e-9);
			up_load_done(&load);
		}
	}
}

static void documents(void **state)
{
	static const struct {
		const char *text;
		uint64_t n, failed;
		double mean_ms, p99_ms, max_ms;
	} cases[] = {
		{ "{\"spec\":{},\"result\":{\"req1xx\":0,\"req2xx\":4890,\"req3xx\":0,\"req4xx\":0,\"req5xx\":100,\"others\":10,\"latency\":{\"mean\":5789.5,\"stddev\":1,"
		  "\"max\":1.001039e+06,\"percentiles\":{\"50\":2666,\"99\":6613}},\"rps\":{\"percentiles\":{\"99\":4186}}}}",
			5000, 110, 5.7895, 6.613, 1001.039 },
		{ "{\"non2xx\":211,\"4xx\":0,\"5xx\":211,\"errors\":0,\"timeouts\":0,\"latency\":{\"average\":7.07,\"max\":1502,\"p50\":6,\"p97_5\":8,\"p99\":9},\"requests\":{\"total\":21131}}",
			21131, 211, 7.07, 9, 1502 },
		{ "{\"summary\":{\"average\":0.0098,\"slowest\":1.5,\"fastest\":0.002},\"latencyPercentiles\":{\"p50\":0.002,\"p99\":0.0055,\"p99.9\":1.4},"
		  "\"statusCodeDistribution\":{\"200\":1961,\"500\":40}}",
			2001, 40, 9.8, 5.5, 1500 },
		{ "{\"metrics\":{\"http_req_duration\":{\"type\":\"trend\",\"values\":{\"avg\":13.5,\"med\":5.5,\"max\":1503.25,\"p(99)\":700}},\"http_reqs\":{\"values\":{\"count\":6641}},"
		  "\"http_req_failed\":{\"values\":{\"passes\":67}}}}",
			6641, 67, 13.5, 700, 1503.25 },
		{ "{\"metrics\":{\"http_req_duration\":{\"avg\":13.5,\"med\":5.5,\"max\":1503.25,\"p(99)\":700},\"http_reqs\":{\"count\":6641},\"http_req_failed\":{\"passes\":67}}}",
			6641, 67, 13.5, 700, 1503.25 },
		{ "{\"aggregate\":{\"counters\":{\"http.codes.200\":980,\"http.codes.500\":20,\"plugins.x./a.codes.200\":5},\"summaries\":{\"http.response_time\":{\"min\":1,\"max\":1505,"
		  "\"count\":1000,\"mean\":63.6,\"median\":2,\"p99\":1326.4,\"p999\":1495.5}}}}",
			1000, 20, 63.6, 1326.4, 1505 },
		{ "{\"latencies\":{\"mean\":59684198,\"50th\":2433459,\"99th\":1313628670,\"max\":1508773304,\"min\":1},\"requests\":2000,\"success\":0.98}",
			2000, 40, 59.684198, 1313.62867, 1508.773304 },
		{ "{\"Total\":{\"sampleCount\":2100,\"errorCount\":42,\"meanResTime\":10.7,\"minResTime\":2,\"maxResTime\":1499,\"medianResTime\":3,\"pct3ResTime\":11}}",
			2100, 42, 10.7, 11, 1499 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = strlen(cases[i].text);
		struct up_told told = told_of(cases[i].text, n, 0);

		if (told.n != cases[i].n || told.failed != cases[i].failed || !told.failed_known)
			fail_msg("document %zu: %llu requests, %llu failed", i, (unsigned long long)told.n,
				(unsigned long long)told.failed);
		assert_near(told.mean_ms, cases[i].mean_ms, 1e-9, "mean");
		assert_near(told.ms[UP_P99], cases[i].p99_ms, 1e-9, "p99");
		assert_near(told.max_ms, cases[i].max_ms, 1e-9, "max");
		for (size_t k = 1; k < n; k++) { /* half a document is an error */
			struct up_load load;

			assert_true(load_bytes(&load, cases[i].text, k, NULL) < 0);
			up_load_done(&load);
		}
	}
}

static void locust(void **state)
{
	static const char stats[] =
		"Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,50%,90%,95%,99%,99.9%\r\n"
		"GET,\"/a, b\",10,1,7,8,1,20,7,8,9,20,20\r\n,Aggregated,3540,70,7,16.25,3.5,1455.5,7,11,15,28,1500\r\n";
	static const char history[] =
		"Timestamp,User Count,Type,Name,50%,Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time\n"
		"1796078772,0,,Aggregated,N/A,0,0,0,0.0,0,0\n1796078773,20,,Aggregated,5,100,3,6,7.5,1,90\n";
	static const char json[] =
		"[{\"name\":\"/a\",\"num_failures\":2,\"response_times\":{\"7\":3,\"1500\":1}},{\"name\":\"/b\",\"num_failures\":0,\"response_times\":{\"6\":2}}]";
	struct up_told told = told_of(stats, sizeof(stats) - 1, 0);
	struct up_load load;

	(void)state;
	assert_true(told.n == 3540 && told.failed == 70);
	assert_near(told.ms[UP_P99], 28, 0, "p99");
	told = told_of(history, sizeof(history) - 1, 0);
	assert_true(told.n == 100 && told.failed == 3);
	assert_near(told.ms[UP_P50], 6, 0, "the cumulative median, not that of the last seconds");
	assert_true(isnan(told.ms[UP_P99]));
	assert_int_equal(load_text(&load, json, NULL), 0);
	assert_int_equal(load.points.n, 6);
	assert_int_equal(load.file[0].failed_elsewhere, 2);
	assert_false(load.failed_known);
	up_load_done(&load);
}

static void other_json_is_refused(void **state)
{
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, "{\"hello\":1}", NULL), -ENOTSUP);
	assert_non_null(strstr(load.error, "no load generator"));
	up_load_done(&load);
	assert_int_equal(load_text(&load, "{\"hello\":\n1", NULL), -EBADMSG);
	assert_non_null(strstr(load.error, ":2: not whole JSON"));
	up_load_done(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(cut_texts),
		cmocka_unit_test(documents),
		cmocka_unit_test(locust),
		cmocka_unit_test(other_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
