#include "load_helper.h"

static void columns_and_times_of_every_version(void **state)
{
	static const struct {
		const char *text;
		int64_t start_us;
		bool failed, failed_known;
		const char *why;
	} cases[] = {
		{ "metric_name,timestamp,metric_value,extra_tags\nhttp_req_duration,1671829514,50.0,\n", 1671829514450000, false,
			false, "few system tags: no status, so nothing is known about failures" },
		{ "metric_name,timestamp,metric_value,extra_tags\nhttp_req_duration,1671829514000000,50.0,\n", 1671829513950000,
			false, false, "microseconds" },
		{ "metric_name,timestamp,metric_value,scenario,status,extra_tags,metadata\n"
		  "http_req_duration,2022-12-23T21:05:14Z,50.0,default,200,,vu=1&iter=0\n",
			1671829514450000, false, true, "RFC 3339 and metadata" },
		{ "metric_name,timestamp,metric_value,check,error,error_code,group,method,name,proto,scenario,status,subproto,tls_version,url,extra_tags\n"
		  "http_req_duration,1671829514,50.0,,,,,GET,http://a/,HTTP/1.1,default,0,,,http://a/,\n",
			1671829514450000, true, true, "2020: status 0 is a failure" },
		{ "metric_name,timestamp,metric_value,expected_response,status,extra_tags\nhttp_req_duration,1671829514,50.0,false,200,\n",
			1671829514450000, true, true, "the test said that 200 was not what it expected" },
		{ "metric_name,timestamp,metric_value,expected_response,status,extra_tags\nhttp_req_duration,1671829514,50.0,true,404,\n",
			1671829514450000, false, true, "and here that 404 was" },
		{ "metric_name,timestamp,metric_value,extra_tags\nhttp_req_failed,1671829514,0.0,\nhttp_req_duration,1671829514,50.0,\n",
			1671829514450000, false, true, "none failed, says the other metric" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct up_load load;

		assert_int_equal(load_text(&load, cases[i].text, NULL), 0);
		assert_int_equal(load.points.n, 1);
		assert_point(&load, 0, cases[i].start_us, 50, cases[i].failed, cases[i].why);
		if (load.failed_known != cases[i].failed_known)
			fail_msg("%s: failures %sknown", cases[i].why, load.failed_known ? "" : "un");
		up_load_done(&load);
	}
}

static void other_metrics(void **state)
{
	static const char text[] = "metric_name,timestamp,metric_value,status,extra_tags\n"
				   "dropped_iterations,1700000003,3.000000,,\n"
				   "response_time,1700000003,123.000000,,\n"
				   "http_req_duration_custom,1700000003,9.0,,\n"
				   "vus,1700000003,17.000000,,\nvus_max,1700000003,50.000000,,\n"
				   "http_req_duration,1700000003,1.5,200,\n"
				   "metric_name,timestamp,metric_value,extra_tags\n"
				   "http_req_duration,1700000004,2.5,\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2); /* the second one with the columns of its own header */
	assert_int_equal(load.file[0].dropped, 3);
	assert_near((double)load.seconds.at[0].users, 17, 0, "users");
	assert_near((double)load.seconds.at[0].users_max, 50, 0, "ceiling");
	assert_int_equal(load.file[0].skipped_lines, 0);
	up_load_done(&load);
}

static void truncation_sweep(void **state)
{
	static const char text[] = "metric_name,timestamp,metric_value,status,extra_tags\n"
				   "http_reqs,1700000003,1.000000,200,\nhttp_req_duration,1700000003,12.345678,200,\n"
				   "dropped_iterations,1700000003,3.000000,,\nhttp_req_duration,1700000003,1.5,200,\"a,\nb\"\n"
				   "vus,1700000003,17.000000,,\nhttp_req_duration,1700000004,2.5,500,x\n";

	(void)state;
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

static void line_order_does_not_matter(void **state)
{
	static const char *const rows[] = { "http_req_duration,10,12.3,200,\n", "http_req_duration,11,1.5,500,\n",
		"http_req_duration,9,900,200,\n", "http_req_duration,12,7,200,\n" };
	struct up_summary first = { 0 };

	(void)state;
	for (unsigned turn = 0; turn < 4; turn++) {
		char text[512] = "metric_name,timestamp,metric_value,status,extra_tags\n";
		struct up_load load;
		struct up_summary s;

		for (unsigned i = 0; i < 4; i++)
			strncat(text, rows[(i * 3 + turn) % 4], sizeof(text) - strlen(text) - 1);
		assert_int_equal(load_text(&load, text, NULL), 0);
		assert_int_equal(up_load_count(&load), 0);
		s = load_summary(&load);
		if (turn == 0)
			first = s;
		assert_memory_equal(&s, &first, sizeof(s));
		assert_int_equal(load.seconds.first_s, 8);
		assert_int_equal(load.seconds.n, 5);
		up_load_done(&load);
	}
}

/* k6 1.8.1, ladder 100..1000/s on a server good for 354/s (tests/fixtures/load/README.md). */
static void a_real_ladder(void **state)
{
	struct up_load load;
	struct up_summary s;

	(void)state;
	load_file(&load, FIXTURES "load/k6_steps.csv.gz");
	s = load_summary(&load);
	assert_int_equal(s.n, 68907);
	assert_int_equal(s.failed, 3134);
	assert_int_equal(load.file[0].dropped, 46143);
	assert_int_equal(load.file[0].skipped_lines, 0);
	assert_true(load.file[0].whole_seconds);
	up_load_done(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_and_times_of_every_version),
		cmocka_unit_test(other_metrics),
		cmocka_unit_test(truncation_sweep),
		cmocka_unit_test(line_order_does_not_matter),
		cmocka_unit_test(a_real_ladder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
