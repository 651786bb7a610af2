/* What all readers share: lines, cut ends, compression, the store of requests, names, seconds. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "load_helper.h"

#define HEADER "metric_name,timestamp,metric_value,status,extra_tags\n"

static void unknown_content_says_how_it_begins(void **state)
{
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, "Dear reader,\n", NULL), -ENOTSUP);
	assert_non_null(strstr(load.error, "it begins with: Dear reader,"));
	up_load_done(&load);
	assert_int_equal(load_text(&load, "", NULL), -ENOTSUP);
	assert_non_null(strstr(load.error, "(empty file)"));
	up_load_done(&load);
	assert_int_equal(up_load_init(&load), 0);
	assert_int_equal(up_load_read(&load, "/nonexistent/file", NULL), -ENOENT);
	assert_non_null(strstr(load.error, "/nonexistent/file: No such file"));
	assert_int_equal(up_load_read(&load, "/", NULL), -EISDIR);
	up_load_done(&load);
	assert_int_equal(load_text(&load, HEADER, NULL), -EBADMSG);
	assert_non_null(strstr(load.error, "no requests"));
	up_load_done(&load);
}

static void a_bad_line_costs_that_line(void **state)
{
	static const char text[] = "\xef\xbb\xbf" HEADER "http_req_duration,1700000000,10.0,200,\r\n"
				   "http_req_duration,1700000000,ten,200,\n"
				   "http_req_duration,yesterday,10.0,200,\n"
				   "\n"
				   "http_req_duration,1700000001,12.0\n"
				   "http_req_duration,1700000001,-3,200,\n"
				   "http_req_waiting,gar,bage\n"
				   "http_req_duration,1700000001,14.0,500,\n"
				   "http_req_duration,1700000001,2";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1700000000490000, 10, false, "the end is in the middle of its second");
	assert_point(&load, 1, 1700000001486000, 14, true, "status 500");
	assert_int_equal(load.file[0].skipped_lines, 5);
	assert_int_equal(load.file[0].n_notes, 5);
	assert_int_equal(load.file[0].note[0].line, 3);
	assert_non_null(strstr(load.file[0].note[0].text, "'ten'"));
	assert_int_equal(load.file[0].note[1].line, 4);
	assert_int_equal(load.file[0].note[2].line, 6);
	assert_non_null(strstr(load.file[0].note[2].text, "3 columns instead of 5"));
	assert_int_equal(load.file[0].note[4].line, 10);
	assert_non_null(strstr(load.file[0].note[4].text, "cut"));
	assert_true(load.file[0].cut);
	up_load_done(&load);
}

static void quotes_over_lines_and_stray_ones(void **state)
{
	static const char text[] = HEADER "http_req_duration,1,10,200,\"tag with\nline end, comma and \"\"quote\"\"\"\n"
					  "http_req_duration,2,11,200,a \" inside is no quote\n"
					  "http_req_duration,3,12,200,\"stray\n"
					  "http_req_duration,4,13,200,\n"
					  "http_req_duration,5,14,200,\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 4);
	assert_point(&load, 2, 4000000 + 500000 - 13000, 13, false, "the line behind the stray quote is not lost");
	assert_int_equal(load.file[0].skipped_lines, 1);
	assert_int_equal(load.file[0].note[0].line, 5);
	up_load_done(&load);
}

static void a_line_of_a_mebibyte(void **state)
{
	size_t huge = 1 << 20, n;
	char *text = malloc(huge * 6);
	struct up_load load;

	(void)state;
	n = (size_t)snprintf(text, huge, HEADER "http_req_duration,1,1,200,\nhttp_req_duration,1,2,200,");
	memset(text + n, 'u', huge);
	n += huge;
	n += (size_t)snprintf(text + n, huge, "\nhttp_req_duration,1,3,200,\n");
	assert_int_equal(load_bytes(&load, text, n, NULL), 0);
	assert_int_equal(load.points.n, 3);
	assert_near(load_summary(&load).q[UP_P50].ms, 2, 0, "p50");
	up_load_done(&load);
	/* Above the limit the line goes, and only that line. */
	n = (size_t)snprintf(text, huge, HEADER "http_req_duration,1,1,200,\nhttp_req_duration,1,2,200,");
	memset(text + n, 'u', UP_LOAD_RECORD_MAX + 5);
	n += UP_LOAD_RECORD_MAX + 5;
	n += (size_t)snprintf(text + n, huge, "\nhttp_req_duration,1,3,200,\n");
	assert_int_equal(load_bytes(&load, text, n, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_int_equal(load.file[0].skipped_lines, 1);
	up_load_done(&load);
	free(text);
}

static void compressed_streams(void **state)
{
	static const char text[] = HEADER "http_req_duration,1,10,200,\nhttp_req_duration,2,11,200,\n";
	unsigned char packed[1024];
	z_stream z = { 0 };
	struct up_load load;
	size_t n;

	(void)state;
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = sizeof(text) - 1;
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = z.total_out;
	deflateEnd(&z);
	assert_int_equal(load_bytes(&load, (char *)packed, n, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_false(load.file[0].cut);
	up_load_done(&load);
	memcpy(packed + n, packed, n); /* two members, one behind the other */
	assert_int_equal(load_bytes(&load, (char *)packed, 2 * n, NULL), 0);
	assert_int_equal(load.points.n, 4);
	up_load_done(&load);
	for (size_t k = 0; k < n; k++) { /* a cut stream gives what is whole in it, and says so */
		int r = load_bytes(&load, (char *)packed, k, NULL);

		assert_true(load.points.n <= 2);
		if (r == 0)
			assert_true(load.file[0].cut);
		up_load_done(&load);
	}
	packed[n - 1] ^= 1; /* a wrong length at the end */
	assert_int_equal(load_bytes(&load, (char *)packed, n, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_true(load.file[0].cut);
	up_load_done(&load);
}

static int sum_block(void *ctx, struct up_point *block, size_t n)
{
	uint64_t *sum = ctx;

	for (size_t i = 0; i < n; i++)
		*sum += (uint64_t)block[i].start_us;
	return 0;
}

static void two_million_and_more(void **state)
{
	const uint64_t total = 3 * (uint64_t)UP_POINTS_MAX / 2 + 17;
	struct up_load load;
	struct up_select half[2] = { { INT64_MIN, UP_POINTS_MAX, -1 }, { UP_POINTS_MAX, INT64_MAX, -1 } };
	struct up_summary summary, parts[2];
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(up_load_init(&load), 0);
	for (uint64_t i = 0; i < total; i++)
		assert_int_equal(up_points_add(&load.points, (int64_t)i,
					 up_point_pack((i % 1000 + 1) * 1000000, 0, i % 100 == 0 ? UP_POINT_FAILED : 0)),
			0);
	assert_int_equal(up_points_total(&load.points), total);
	assert_true(load.points.n <= UP_POINTS_MAX);
	assert_int_equal(up_points_each(&load.points, 0, sum_block, &sum), 0);
	assert_int_equal(sum, total * (total - 1) / 2);
	sum = 0;
	assert_int_equal(up_points_each(&load.points, UP_POINTS_MAX - 1, sum_block, &sum), 0);
	assert_int_equal(sum, total * (total - 1) / 2 - (uint64_t)(UP_POINTS_MAX - 1) * (UP_POINTS_MAX - 2) / 2);
	summary = load_summary(&load);
	assert_false(summary.exact);
	assert_int_equal(summary.n, total);
	assert_int_equal(summary.failed, total / 100 + 1);
	assert_near(summary.q[UP_P99].ms, 990, 0.99, "p99 within a thousandth");
	assert_int_equal(up_load_summaries(&load, half, 2, parts), 0);
	assert_int_equal(parts[0].n, UP_POINTS_MAX);
	assert_int_equal(parts[0].n + parts[1].n, total);
	up_load_done(&load);
}

static void names_are_kept_once(void **state)
{
	struct up_names names;
	char name[16];

	(void)state;
	assert_int_equal(up_names_init(&names), 0);
	assert_int_equal(up_names_get(&names, "GET /a", 6), 1);
	assert_int_equal(up_names_get(&names, "GET /b", 6), 2);
	assert_int_equal(up_names_get(&names, "GET /ab", 6), 1);
	assert_int_equal(up_names_get(&names, "", 0), 0);
	for (int i = 0; i < 2 * UP_POINT_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_true(up_names_get(&names, name, strlen(name)) < UP_POINT_NAMES_MAX);
	}
	assert_string_equal(names.name[UP_POINT_NAMES_MAX - 1], "(other names)");
	assert_int_equal(up_names_get(&names, "never seen", 10), UP_POINT_NAMES_MAX - 1);
	up_names_done(&names);
}

static void seconds_add_up(void **state)
{
	static const char text[] = "planned_s,sent_s,end_s,status,vu,step\n"
				   ",100.250000,100.750000,200,1,1\n" /* half a second in flight in second 100 */
				   ",100.500000,103.250000,200,1,1\n" /* 0.5 + 1 + 1 + 0.25 */
				   "102.000000,,,dropped,,1\n"
				   ",101.900000,102.100000,timeout,1,1\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	assert_int_equal(load.seconds.first_s, 100);
	assert_int_equal(load.seconds.n, 4);
	assert_near(load.seconds.at[0].busy_s, 1.0, 1e-6, "second 100");
	assert_near(load.seconds.at[1].busy_s, 1.1, 1e-6, "second 101");
	assert_near(load.seconds.at[2].busy_s, 1.1, 1e-6, "second 102");
	assert_near(load.seconds.at[3].busy_s, 0.25, 1e-6, "second 103");
	assert_int_equal(load.seconds.at[0].starts, 2);
	assert_int_equal(load.seconds.at[2].dropped, 1);
	assert_int_equal(load.seconds.at[2].ends, 1);
	assert_int_equal(load.seconds.at[2].ends_failed, 1);
	up_load_done(&load);
}

static void a_year_is_no_run(void **state)
{
	static const char text[] = HEADER "http_req_duration,1600000000,10,200,\nhttp_req_duration,1700000000,11,200,\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(up_load_count(&load), -ERANGE);
	assert_non_null(strstr(load.error, "1157 days"));
	up_load_done(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_content_says_how_it_begins),
		cmocka_unit_test(a_bad_line_costs_that_line),
		cmocka_unit_test(quotes_over_lines_and_stray_ones),
		cmocka_unit_test(a_line_of_a_mebibyte),
		cmocka_unit_test(compressed_streams),
		cmocka_unit_test(two_million_and_more),
		cmocka_unit_test(names_are_kept_once),
		cmocka_unit_test(seconds_add_up),
		cmocka_unit_test(a_year_is_no_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
