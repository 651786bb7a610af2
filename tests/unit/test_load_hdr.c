/* HdrHistogram logs and tables. The three encodings below hold 10 (5 times), 100 (3 times), 2000 and 5000; made by a separate program. */
#include <errno.h>

#include "../../src/load/hdr_decode.h"
#include "load_helper.h"

#define V2 "HISTFAAAACt4nJNpmSzMwMDAzQABzFCaEURcm7yEwf4DRECYayMj21VZpoUiTACTzwcS"
#define V1 "HISTQgAAAE942u3QsRFAQABE0b250YUuFGD0JpRdC2pShxKMITcSkveC3fz3c5uSYcml3l/O2dqacc9bXfhClQAAAAAAAADgF0UCAAAAAOBBOQBDcQV+"
#define V0 "HISTSQAAAEp42u3QMQ2AQBREwf250KABQQg7B2cBTeghBHqooJkpNtn2LX2sSVoudc4+tvtmzntT+EKTAAAAAAAAAOAXJQEAAAAA8KAOBcgDoQ=="

struct seen {
	uint64_t n, sum, last;
	int fail;
};

static int see(void *ctx, uint64_t value, uint64_t count)
{
	struct seen *seen = ctx;

	seen->n += count;
	seen->sum += value * count;
	seen->last = value;
	return seen->fail;
}

static void three_encodings(void **state)
{
	static const char *const text[] = { V0, V1, V2 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct seen seen = { 0 };

		assert_int_equal(up_hdr_decode((struct up_text){ text[i], strlen(text[i]) }, see, &seen), 0);
		assert_int_equal(seen.n, 10);
		assert_int_equal(seen.last, 5003); /* the highest value of the bucket that holds 5000 with three digits */
		assert_int_equal(seen.sum, 5 * 10 + 3 * 100 + 2000 + 5003);
		seen.fail = -EFBIG;
		assert_int_equal(up_hdr_decode((struct up_text){ text[i], strlen(text[i]) }, see, &seen), -EFBIG);
	}
}

/* A histogram that is cut or damaged gives nothing, never a part. */
static void damaged_histograms_give_nothing(void **state)
{
	static const char *const text[] = { V0, V1, V2 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char copy[256];
		size_t n = strlen(text[i]);

		for (size_t k = 0; k + 3 < n; k++) { /* the last group may lack its padding */
			struct seen seen = { 0 };

			if (up_hdr_decode((struct up_text){ text[i], k }, see, &seen) == 0 || seen.n)
				fail_msg("V%zu cut after %zu characters was taken", i, k);
		}
		for (size_t k = 0; k < n - 4; k++) {
			struct seen seen = { 0 };
			int r;

			memcpy(copy, text[i], n + 1);
			copy[k] = copy[k] == 'A' ? 'B' : 'A';
			r = up_hdr_decode((struct up_text){ copy, n }, see, &seen);
			assert_true(r == 0 || seen.n == 0);
			copy[k] = '!';
			assert_int_equal(up_hdr_decode((struct up_text){ copy, n }, see, &seen), -EBADMSG);
		}
	}
}

static void log_lines(void **state)
{
	static const char text[] = "#[StartTime: 1700000000.000 (seconds since epoch), somewhen]\n"
				   "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
				   "0.000,1.000,5.003," V2 "\nTag=read,1.000,1.000,5.003," V1
				   "\r\n1700000002.000,1.000,5.003,HISTFAAAACt4nJNp\nrubbish\n";
	struct up_load load;
	struct up_summary s;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 20);
	assert_int_equal(load.file[0].skipped_lines, 2);
	assert_int_equal(load.file[0].note[0].line, 5);
	assert_true(load.file[0].first_start_us >= 1700000000000000 && load.file[0].first_start_us < 1700000001000000);
	s = load_summary(&load);
	assert_near(s.max_ms, 5.003, 1e-9, "us: 5003 against an Interval_Max of 5.003 ms");
	assert_near(s.q[UP_P50].ms, 0.01, 1e-9, "p50");
	assert_near(s.q[UP_P90].ms, 2, 1e-9, "rank 18 of 20");
	assert_int_equal(load.names.n, 2);
	assert_string_equal(load.names.name[1], "read");
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

static void nonsense_start_is_flagged(void **state)
{
	static const char text[] =
		"#[StartTime: 4199232.004 (seconds since epoch), Thu Jan]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
		"292663.168,1.0,5.003," V2 "\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 10);
	assert_true(load.undated);
	assert_non_null(strstr(load.file[0].remark[1], "start time inconsistent"));
	up_load_done(&load);
}

static void real_log_and_table(void **state)
{
	struct up_load load;
	struct up_summary s;

	(void)state;
	load_file(&load, FIXTURES "load/sample.hlog");
	s = load_summary(&load);
	assert_int_equal(s.n, 800);
	assert_near(s.q[UP_P50].ms, 6.715, 1e-9, "p50");
	assert_near(s.q[UP_P90].ms, 7.159, 1e-9, "p90");
	assert_near(s.q[UP_P99].ms, 9.407, 1e-9, "p99");
	up_load_done(&load);
	load_file(&load, FIXTURES "load/sample.hgrm");
	s = load_summary(&load);
	assert_int_equal(s.n, 800);
	assert_near(s.max_ms, 10.543, 1e-9, "max");
	up_load_done(&load);
}

static void tables(void **state)
{
	static const char text[] =
		"Running 10s test @ http://h/\n  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    2.00ms\n\n"
		"  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n"
		"       1.000     0.000000            1         1.00\n       2.000     0.500000            5         2.00\n"
		"       9.000     0.900000            4        10.00\n      10.000     1.000000           10          inf\n"
		"#[Mean    =        2.000, StdDeviation   =        1.000]\n  Value Percentile TotalCount 1/(1-Percentile)\n 99.0 1.0 50 inf\n";
	struct up_load load;
	struct up_summary s;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	s = load_summary(&load);
	assert_int_equal(s.n, 10);
	assert_near(s.q[UP_P50].ms, 2, 0, "p50");
	assert_near(s.max_ms, 10, 0, "max");
	assert_true(load.file[0].traits.corrected); /* wrk2 */
	assert_int_equal(load.file[0].skipped_lines, 1); /* a count that falls */
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_encodings),
		cmocka_unit_test(damaged_histograms_give_nothing),
		cmocka_unit_test(log_lines),
		cmocka_unit_test(nonsense_start_is_flagged),
		cmocka_unit_test(real_log_and_table),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
