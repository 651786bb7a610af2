/* Histograms of Prometheus scrapes as load results: sums over series, buckets as bounds, restarts, and lines that are not what they should be. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "load_helper.h"

static struct up_told told_of(const char *text, const struct up_load_options *options)
{
	struct up_load load;
	struct up_told told;
	int r = load_text(&load, text, options);

	if (r != 0)
		fail_msg("%s", load.error);
	told = load.file[0].told;
	assert_true(told.known && told.bucketed);
	up_load_done(&load);
	return told;
}

static void assert_error(const char *text, const struct up_load_options *options, const char *part)
{
	struct up_load load;

	assert_true(load_text(&load, text, options) < 0);
	if (!strstr(load.error, part))
		fail_msg("%s: expected %s", load.error, part);
	up_load_done(&load);
}

/* TEXT is read, and line LINE was left out because of PART. */
static void assert_left_out(const char *text, uint64_t line, const char *part)
{
	struct up_load load;

	load_text(&load, text, NULL);
	assert_true(load.file[0].n_notes > 0);
	if (load.file[0].note[0].line != line || !strstr(load.file[0].note[0].text, part))
		fail_msg("line %llu: %s", (unsigned long long)load.file[0].note[0].line, load.file[0].note[0].text);
	up_load_done(&load);
}

/* 5,000 requests drawn by a program that kept every one: 1,500 before the first scrape's end do not count, and the process was started anew
 * between the second scrape and the third. Truth: the nearest ranks of the 3,500 in between. */
static void scrapes_with_a_restart(void **state)
{
	static const double truth_ms[UP_QUANTILES] = { 29.8983, 95.2127, 128.2058, 248.0780, 426.5016 };
	struct up_load load;

	(void)state;
	load_file(&load, FIXTURES "load/prometheus_reset.prom");
	assert_int_equal(load.file[0].told.n, 3500);
	assert_int_equal(load.file[0].told.failed, 66);
	assert_true(load.file[0].told.failed_known);
	assert_near(load.file[0].told.mean_ms, 44.42798170533871, 1e-6, "mean");
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		const struct up_told *told = &load.file[0].told;

		assert_true(truth_ms[i] > told->lo_ms[i] && truth_ms[i] <= told->hi_ms[i]);
		assert_true(told->ms[i] >= told->lo_ms[i] && told->ms[i] <= told->hi_ms[i]);
	}
	assert_non_null(strstr(load.file[0].remark[1], "started anew in 3 series"));
	assert_int_equal(load.file[0].skipped_lines, 0);
	up_load_done(&load);
}

#define LE(le, n) "d_seconds_bucket{le=\"" le "\"} " n "\n"

static void buckets_are_bounds(void **state)
{
	/* 10 at most 100 ms, 88 more up to 1 s, 2 above everything: p50 is rank 50, the 40th of 88 in (0.1, 1]. */
	struct up_told t =
		told_of(LE("+Inf", "100") LE("1", "98") LE("0.1", "10") "d_seconds_sum 30\nd_seconds_count 100\n", NULL);

	(void)state;
	assert_int_equal(t.n, 100);
	assert_near(t.mean_ms, 300, 1e-9, "mean");
	assert_near(t.lo_ms[UP_P50], 100, 0, "lo");
	assert_near(t.hi_ms[UP_P50], 1000, 0, "hi");
	assert_near(t.ms[UP_P50], 100 + 900.0 * 40 / 88, 1e-9, "a straight line in it");
	assert_true(isnan(t.ms[UP_P99]) && isinf(t.hi_ms[UP_P99]));
	assert_near(t.lo_ms[UP_P99], 1000, 0, "above the last bound");
	assert_true(isnan(t.max_ms) && !t.failed_known);
	/* Without +Inf the count stands for it; without a sum there is no mean. */
	t = told_of(LE("0.1", "10") "d_seconds_count 12\n", NULL);
	assert_int_equal(t.n, 12);
	assert_true(isnan(t.mean_ms) && isinf(t.hi_ms[UP_P99]));
}

static void series_are_summed(void **state)
{
	struct up_told t = told_of(
		"a_ms_bucket{code=\"200\",le=\"10\"} 5\na_ms_bucket{le=\"20\",code=\"200\"} 9\na_ms_bucket{code=\"200\",le=\"+Inf\"} 9\n"
		"a_ms_bucket{code=\"503\",le=\"20\"} 1\na_ms_bucket{code=\"503\",le=\"30\"} 3\na_ms_bucket{code=\"503\",le=\"+Inf\"} 3\n"
		"a_ms_count{code=\"503\"} 3\n",
		NULL);

	(void)state;
	/* Only 20 ms is a bound of both: 10 of 12 at most that. */
	assert_int_equal(t.n, 12);
	assert_int_equal(t.failed, 3);
	assert_near(t.lo_ms[UP_P50], 0, 0, "10 is no common bound");
	assert_near(t.hi_ms[UP_P50], 20, 0, "20 is");
	assert_true(isinf(t.hi_ms[UP_P90]));
}

static void scrapes_are_told_apart(void **state)
{
	static const char one[] = "# TYPE d_seconds histogram\n" LE("1", "4") LE("+Inf", "5"),
			  two[] = "# TYPE d_seconds histogram\n" LE("1", "14") LE("+Inf", "16");
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", one, two);
	assert_int_equal(told_of(text, NULL).n, 11);
	assert_int_equal(told_of(LE("1", "4") LE("+Inf", "5") "# EOF\n" LE("1", "14") LE("+Inf", "16") "# EOF\n", NULL).n, 11);
	assert_int_equal(told_of("d_seconds_bucket{le=\"1\"} 4 1700000000000\nd_seconds_bucket{le=\"+Inf\"} 5 1700000000000\n"
				 "d_seconds_bucket{le=\"1\"} 14 1700000009000\nd_seconds_bucket{le=\"+Inf\"} 16 1700000009000\n",
				 NULL)
				 .n,
		11);
	/* Started anew: 2 since then. A series that is new in a later scrape counts from zero. */
	assert_int_equal(told_of(LE("1", "4") LE("+Inf", "5") "# EOF\n" LE("1", "2") LE("+Inf", "2"), NULL).n, 2);
	assert_int_equal(told_of(LE("1", "4") LE("+Inf", "5") "# EOF\n" LE("1", "5") LE("+Inf",
					 "6") "d_seconds_bucket{m=\"x\",le=\"1\"} 3\nd_seconds_bucket{m=\"x\",le=\"+Inf\"} 3\n",
				 NULL)
				 .n,
		4);
	assert_error(
		"d_seconds_bucket{le=\"1\"} 4 1700000000000\nd_seconds_bucket{le=\"1\"} 5 1700000009000\nd_seconds_bucket{le=\"+Inf\"} 5 1700000000000\n",
		NULL, ":3: an older sample");
	snprintf(text, sizeof(text), "%s%s", two, two);
	assert_error(text, NULL, "between the scrapes");
}

static void bad_lines_are_named(void **state)
{
	(void)state;
	assert_left_out(LE("1", "4") LE("1.0", "3") LE("+Inf", "5"), 2, "the same bucket twice");
	assert_int_equal(told_of(LE("1", "4") LE("1.0", "3") LE("+Inf", "5"), NULL).n, 5);
	assert_left_out(LE("1", "x") LE("+Inf", "5"), 1, "expected a count, got x");
	assert_left_out(LE("1", "-4") LE("+Inf", "5"), 1, "expected a count");
	assert_left_out(LE("1", "4.5") LE("+Inf", "5"), 1, "expected a count");
	assert_left_out(LE("one", "4") LE("+Inf", "5"), 1, "le is no bound");
	assert_left_out("d_seconds_bucket{x=\"1\"} 4\n" LE("+Inf", "5"), 1, "without le");
	assert_left_out("d_seconds_bucket{le=\"1} 4\n" LE("+Inf", "5"), 1, "without quotes around it");
	assert_left_out("d_seconds_bucket{le=1} 4\n" LE("+Inf", "5"), 1, "without quotes around it");
	assert_left_out("d_seconds_bucket{le=\"1\"\n" LE("+Inf", "5"), 1, "do not end with }");
	assert_left_out("d_seconds_bucket{le=\"1\"}\n" LE("+Inf", "5"), 1, "no value");
	assert_left_out("d_seconds_bucket{le=\"1\"} 4 5 6\n" LE("+Inf", "5"), 1, "more than a value and a time");
	assert_left_out("d_seconds_bucket{le=\"1\"} 4 noon\n" LE("+Inf", "5"), 1, "no time");
	assert_left_out(LE("1", "4") LE("+Inf", "3"), 2, "counts fall from one bucket to the next");
	assert_left_out(LE("1", "4"), 1, "no bucket +Inf and no count");
	assert_left_out(LE("1", "4") LE("+Inf", "5") "d_seconds_sum NaN\n", 3, "expected a sum");
	assert_left_out(LE("1", "4") "d_seconds_bucket{le=\"+Inf\"} 5", 2, "the last line is cut");
}

static void one_histogram_is_chosen(void **state)
{
	static const char two[] =
		"a_seconds_bucket{le=\"1\"} 4\na_seconds_bucket{le=\"+Inf\"} 4\nb_seconds_bucket{le=\"1\"} 7\nb_seconds_bucket{le=\"+Inf\"} 7\n"
		"size_bytes_bucket{le=\"1\"} 4\nsize_bytes_bucket{le=\"+Inf\"} 4\n";
	struct up_load_options options = { .columns = "histogram=b_seconds" };
	char text[1024];

	(void)state;
	assert_error(two, NULL, "choose one with --columns histogram=NAME");
	assert_int_equal(told_of(two, &options).n, 7);
	options.columns = "histogram=size_bytes:milliseconds"; /* whoever asks for it gets it */
	assert_int_equal(told_of(two, &options).n, 4);
	assert_near(told_of(two, &options).hi_ms[UP_P50], 1, 0, "1 ms");
	options.columns = "histogram=c_seconds";
	assert_error(two, &options, "no histogram of times");
	snprintf(text, sizeof(text), "%shttp_request_duration_seconds_bucket{le=\"+Inf\"} 9\n", two);
	assert_int_equal(told_of(text, NULL).n, 9);
	assert_error("size_bytes_bucket{le=\"+Inf\"} 4\n", NULL, "no histogram of times");
}

/* BOM, CRLF, escapes, a trailing comma, exemplars, names in quotes, exponents. */
static void odd_but_right(void **state)
{
	struct up_told t = told_of(
		"\xef\xbb\xbf# HELP d_seconds x\r\n{\"d_seconds_bucket\",path=\"a\\\"},b\",le=\"0.5\",} 3e0 # {trace=\"x}\"} 0.3 1.5\r\n"
		"d_seconds_bucket { path = \"a\\\"},b\" , le = \"+Inf\" }  4.0\r\nd_seconds_sum{path=\"a\\\"},b\"} 1.5e+00\r\n",
		NULL);

	(void)state;
	assert_int_equal(t.n, 4);
	assert_near(t.hi_ms[UP_P50], 500, 0, "0.5 s");
	assert_near(t.mean_ms, 375, 1e-9, "sum / count");
}

/* A prefix is an error, or counts of whole lines: never more than the file, and never a number cut in two. */
static void truncation(void **state)
{
	char text[16384];
	FILE *file = fopen(FIXTURES "load/prometheus_reset.prom", "re");
	size_t n;

	(void)state;
	assert_non_null(file);
	n = fread(text, 1, sizeof(text), file);
	fclose(file);
	assert_in_range(n, 3000, sizeof(text) - 1);
	for (size_t cut = 0; cut < n; cut++) {
		struct up_load load;
		const int r = load_bytes(&load, text, cut, NULL);

		assert_true(r == 0 || load.error[0]);
		if (r == 0) {
			const struct up_told *told = &load.file[0].told;

			/* Of a single scrape at most its own 1,500 + 1,500, of two at most what came after the first. */
			assert_true(told->n > 0 && told->n <= 3500 && told->failed <= 66);
			for (unsigned i = 0; i < UP_QUANTILES; i++)
				assert_true(
					isnan(told->ms[i]) || (told->ms[i] >= told->lo_ms[i] && told->ms[i] <= told->hi_ms[i]));
			assert_true(isnan(told->mean_ms) || (told->mean_ms > 30 && told->mean_ms < 60));
		}
		up_load_done(&load);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(scrapes_with_a_restart),
		cmocka_unit_test(buckets_are_bounds),
		cmocka_unit_test(series_are_summed),
		cmocka_unit_test(scrapes_are_told_apart),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(one_histogram_is_chosen),
		cmocka_unit_test(odd_but_right),
		cmocka_unit_test(truncation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
