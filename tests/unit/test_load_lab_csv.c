#include "load_helper.h"

static const char text[] = "planned_s,sent_s,end_s,status,vu,step\n"
			   "1000.000000,1000.000100,1000.004100,200,1,1\n"
			   "1000.010000,1000.060000,1000.064000,200,2,1\n"
			   "1000.020000,,,dropped,,1\n"
			   "1000.030000,1000.030000,1002.030000,timeout,3,1\n"
			   "1000.040000,1000.040000,1000.041000,503,3,1\n"
			   "1000.050000,1000.050000,1000.051000,weird,3,1\n"
			   "1000.050000,1000.050000,,200,3,1\n"
			   "1000.060000,1000.060000,1000.050000,200,3,1\n"
			   ",1000.070000,1000.080000,200,3,1\n";

static void latency_runs_from_the_intended_start(void **state)
{
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 5);
	assert_point(&load, 0, 1000000000, 4.1, false, "sent in time");
	assert_point(&load, 1, 1000010000, 54, false, "sent 50 ms late: the wait belongs to the latency");
	assert_point(&load, 2, 1000030000, 2000, true, "time-out");
	assert_point(&load, 3, 1000040000, 1, true, "503");
	assert_point(&load, 4, 1000070000, 10, false, "closed: from sending");
	assert_int_equal(load.file[0].dropped, 1);
	assert_int_equal(load.file[0].n_late, 1);
	assert_int_equal(load.file[0].skipped_lines, 3);
	assert_true(load.file[0].intended);
	assert_true(load.points.at[1].packed & UP_POINT_LATE);
	up_load_done(&load);
}

static void truncation_sweep(void **state)
{
	(void)state;
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_runs_from_the_intended_start),
		cmocka_unit_test(truncation_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
