/* Summaries as k6, vegeta and Gatling print them: every figure by its name, none of a part of the text. */
#include "check.h"
#include "load_helper.h"

/* Lines as the tools wrote them (k6 1.8.1 and 0.48, vegeta 12.13.0, Gatling 3.15.1 and 3.9.5). */
static const char k6[] =
	"     execution: local\n"
	"    checks_succeeded...: 100.00% 11525 out of 11525\n"
	"    http_req_duration..............: avg=125.24ms min=365.03\xc2\xb5s med=437.89\xc2\xb5s max=1m5s p(90)=577.4\xc2\xb5s  p(95)=1.95ms p(99)=4.14s count=11525\n"
	"      { expected_response:true }...: avg=1ms min=1ms med=1ms max=1ms p(90)=1ms p(95)=1ms\n"
	"    http_req_failed................: 4.54%  523 out of 11525\n"
	"    http_reqs......................: 11525  192.076496/s\n";
static const char k6_old[] = "     http_req_duration..............: avg=9ms min=1ms med=2ms max=90ms p(90)=3ms p(95)=4ms\n"
			     "     http_req_failed................: 0.50%  \xe2\x9c\x93 5        \xe2\x9c\x97 995 \n"
			     "     http_reqs......................: 1000   100/s\n";
static const char vegeta[] =
	"Requests      [total, rate, throughput]         600, 100.16, 89.95\n"
	"Duration      [total, attack, wait]             5.993s, 5.99s, 2.339ms\n"
	"Latencies     [min, mean, 50, 90, 95, 99, max]  2.195ms, 170.241ms, 2.383ms, 907.856ms, 1s, 1.001s, 1.007s\n"
	"Success       [ratio]                           89.83%\n"
	"Status Codes  [code:count]                      0:51  200:539  500:10  \n"
	"Error Set:\n";
static const char gatling[] = "Simulation Shop started...\n"
			      "---- Requests ---------|---Total---|-----OK----|----KO----\n"
			      "---- Global Information ---------------|---Total---|-----OK----|----KO----\n"
			      "> request count                        |     2,160 |     2,117 |        43\n"
			      "> min response time (ms)               |         2 |         2 |         2\n"
			      "> max response time (ms)               |     1,502 |     1,502 |     1,334\n"
			      "> mean response time (ms)              |        42 |        42 |        35\n"
			      "> response time 50th percentile (ms)   |         3 |         3 |         3\n"
			      "> response time 75th percentile (ms)   |         4 |         3 |         3\n"
			      "> response time 95th percentile (ms)   |        78 |        82 |         7\n"
			      "> response time 99th percentile (ms)   |     1,252 |     1,249 |     1,334\n";
static const char gatling_old[] = "---- Global Information ------------------------------------------------\n"
				  "> request count                                       2160 (OK=2117   KO=43    )\n"
				  "> min response time                                      2 (OK=2      KO=2     )\n"
				  "> max response time                                   1506 (OK=1506   KO=1090  )\n"
				  "> mean response time                                    41 (OK=42     KO=34    )\n"
				  "> response time 95th percentile                         33 (OK=34     KO=9     )\n";

static struct up_told told_of(const char *text, const char *name)
{
	struct up_load load;
	struct up_told told;

	if (load_text(&load, text, NULL) != 0)
		fail_msg("%s", load.error);
	assert_string_equal(load.file[0].traits.name, name);
	told = load.file[0].told;
	assert_true(told.known && told.failed_known && !told.bucketed);
	up_load_done(&load);
	return told;
}

static void figures_by_name(void **state)
{
	struct up_told t = told_of(k6, "k6 text");

	(void)state;
	assert_int_equal(t.n, 11525);
	assert_int_equal(t.failed, 523);
	assert_near(t.mean_ms, 125.24, 1e-9, "avg");
	assert_near(t.min_ms, 0.36503, 1e-9, "min");
	assert_near(t.max_ms, 65000, 1e-9, "1m5s");
	assert_near(t.ms[UP_P50], 0.43789, 1e-9, "med");
	assert_near(t.ms[UP_P90], 0.5774, 1e-9, "p(90)");
	assert_near(t.ms[UP_P95], 1.95, 1e-9, "p(95)");
	assert_near(t.ms[UP_P99], 4140, 1e-9, "p(99)");
	assert_true(isnan(t.ms[UP_P999]));
	t = told_of(k6_old, "k6 text");
	assert_int_equal(t.n, 1000);
	assert_int_equal(t.failed, 5);
	assert_true(isnan(t.ms[UP_P99]));
	t = told_of(vegeta, "vegeta text");
	assert_int_equal(t.n, 600);
	assert_int_equal(t.failed, 61); /* 51 without an answer */
	assert_near(t.mean_ms, 170.241, 1e-9, "mean");
	assert_near(t.ms[UP_P99], 1001, 1e-9, "99");
	assert_near(t.max_ms, 1007, 1e-9, "max");
	t = told_of(gatling, "Gatling text");
	assert_int_equal(t.n, 2160);
	assert_int_equal(t.failed, 43);
	assert_near(t.max_ms, 1502, 0, "max");
	assert_near(t.ms[UP_P50], 3, 0, "p50");
	assert_near(t.ms[UP_P99], 1252, 0, "p99");
	assert_true(isnan(t.ms[UP_P90]));
	t = told_of(gatling_old, "Gatling text");
	assert_int_equal(t.n, 2160);
	assert_int_equal(t.failed, 43);
	assert_near(t.ms[UP_P95], 33, 0, "p95");
}

static bool same(double cut, double whole)
{
	return isnan(cut) || cut == whole;
}

/* Each prefix is an error, or tells what the whole tells, or less. */
static void truncation(void **state)
{
	static const char *const texts[] = { k6, k6_old, vegeta, gatling, gatling_old };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct up_load whole;
		const struct up_told *w;

		assert_int_equal(load_text(&whole, texts[i], NULL), 0);
		w = &whole.file[0].told;
		for (size_t n = 0; n < strlen(texts[i]); n++) {
			struct up_load load;

			if (load_bytes(&load, texts[i], n, NULL) == 0) {
				const struct up_told *t = &load.file[0].told;

				assert_int_equal(t->n, w->n);
				assert_true(!t->failed_known || t->failed == w->failed);
				assert_true(
					same(t->mean_ms, w->mean_ms) && same(t->min_ms, w->min_ms) && same(t->max_ms, w->max_ms));
				for (unsigned q = 0; q < UP_QUANTILES; q++)
					assert_true(same(t->ms[q], w->ms[q]));
			} else {
				assert_true(load.error[0]);
			}
			up_load_done(&load);
		}
		up_load_done(&whole);
	}
}

/* A run that was stopped, or a script with a summary of its own, has no such lines. */
static void without_a_summary(void **state)
{
	struct up_load load;

	(void)state;
	assert_true(load_text(&load, "     execution: local\n        script: a.js\nrunning (0m01.0s), 1/1 VUs\n", NULL) < 0);
	assert_non_null(strstr(load.error, "summary was not found"));
	up_load_done(&load);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_by_name),
		cmocka_unit_test(truncation),
		cmocka_unit_test(without_a_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
