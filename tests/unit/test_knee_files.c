/* The curve and the knee from load files of the reference story's shape, and from a real one. */
#include <errno.h>
#include <stdlib.h>

#include "load_helper.h"
#include "useprobe/knee.h"

/* k6 CSV with whole-second stamps of the end. */
struct file {
	char *text;
	size_t n, room;
};

__attribute__((format(printf, 2, 3))) static void put(struct file *file, const char *format, ...)
{
	va_list args;

	if (file->room - file->n < 200) {
		file->room = 2 * file->room + 4096;
		file->text = realloc(file->text, file->room);
		assert_non_null(file->text);
	}
	va_start(args, format);
	file->n += (size_t)vsnprintf(file->text + file->n, file->room - file->n, format, args);
	va_end(args);
}

/* A request that starts at START_S and takes MS. */
static void put_request(struct file *file, double start_s, double ms, int status)
{
	put(file, "http_req_duration,%.0f,%.6f,%s,%d,\n", floor(start_s + ms / 1e3), ms,
		status < 400 && status > 0 ? "true" : "false", status);
}

/* The bookstore: steps of 100/s, 20 s each. Up to 300/s p95 is 4 to 7 ms; at 400/s 252/s are completed, 1,094 iterations dropped, p95 1.6 s; at 500 and 600
 * nearly nothing comes back. */
static void bookstore(struct file *file)
{
	uint64_t seed = 1009;
	double t0 = 1700000000;

	put(file, "metric_name,timestamp,metric_value,expected_response,status,extra_tags\n");
	for (int step = 0; step < 6; step++) {
		int rate = 100 * (step + 1), per_s = step < 3 ? rate : step == 3 ? 345 : 45;

		for (int s = 0; s < 20; s++) {
			double second = t0 + 20 * step + s;
			int dropped = step < 3 ? 0 : step == 3 ? 54 + (s < 14) : rate - per_s;

			for (int i = 0; i < per_s; i++) {
				double at = second + (i + 0.5) / per_s, ms = 3 + 4 * random_unit(&seed);

				if (step == 3 && i >= 252 - 100 && i % 2)
					ms = 60000; /* what will never be answered */
				else if (step == 3)
					ms = 200 + 1400 * random_unit(&seed);
				else if (step > 3)
					ms = i < 3 ? 20000 : 60000;
				put_request(file, at, ms, ms == 60000 ? 0 : 200);
			}
			if (dropped)
				put(file, "dropped_iterations,%.0f,%d.000000,,,\n", second, dropped);
			put(file, "vus,%.0f,%d.000000,,,\nvus_max,%.0f,2000.000000,,,\n", second, step < 3 ? 2 : 2000, second);
		}
	}
}

static void reference_story_from_the_file_alone(void **state)
{
	struct file file = { 0 };
	struct up_load load;
	struct up_curve curve;
	struct up_knee knee;

	(void)state;
	bookstore(&file);
	assert_int_equal(load_bytes(&load, file.text, file.n, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	assert_int_equal(up_curve_build(&load, &up_curve_defaults, &curve), 0);
	up_knee_find(&curve, NULL, &knee);
	assert_int_equal(curve.n, 6);
	assert_int_equal(curve.model.model, UP_MODEL_OPEN);
	assert_int_equal(curve.step[3].dropped, 1094);
	assert_near(curve.step[3].achieved_per_s, 252, 13, "completed at 400/s");
	assert_true(curve.step[2].latency.q[UP_P95].ms > 4 && curve.step[2].latency.q[UP_P95].ms < 7);
	assert_near(curve.step[3].latency.ok_only.ms[UP_P95], 1530, 30, "p95 of the answers at 400/s");
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	assert_near(knee.good_per_s, 300, 1, "good");
	assert_near(knee.bad_per_s, 400, 4, "bad");
	assert_near(knee.collapse_per_s, 500, 5, "collapse");
	assert_false(knee.generator_bound);
	up_curve_done(&curve);
	up_load_done(&load);
	free(file.text);
}

/* k6 1.8.1 on a server good for 354/s; figures computed apart. */
static void a_real_ladder(void **state)
{
	static const double ok_per_s[] = { 100.0, 200.0, 300.0, 353.8, 354.9, 355.3, 350.1, 352.8, 354.2, 354.1 };
	static const double p50_ms[] = { 1.7, 1.5, 1.5, 281.5, 462.3, 580.4, 666.3, 667.8, 624.2, 627.6 };
	struct up_load load;
	struct up_curve curve;
	struct up_knee knee;

	(void)state;
	load_file(&load, FIXTURES "load/k6_steps.csv.gz");
	assert_int_equal(up_curve_build(&load, &up_curve_defaults, &curve), 0);
	up_knee_find(&curve, NULL, &knee);
	assert_int_equal(curve.n, 10);
	for (int i = 0; i < 10; i++) {
		assert_near(curve.step[i].achieved_ok_per_s, ok_per_s[i], 0.5, "achieved");
		assert_near(curve.step[i].latency.q[UP_P50].ms, p50_ms[i], fmax(0.1, 0.04 * p50_ms[i]), "p50 by start");
	}
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	assert_near(knee.good_per_s, 300, 1, "good");
	assert_near(knee.bad_per_s, 400, 4, "bad");
	assert_true(isnan(knee.collapse_per_s));
	assert_false(knee.generator_bound);
	/* The client's time-outs carry the stamp of their end at 700/s and later; they belong to where they started. */
	assert_true(
		curve.step[3].latency.failed > 200 && curve.step[4].latency.failed > 800 && curve.step[5].latency.failed == 0);
	assert_true(curve.step[2].little_ok && curve.step[2].balanced);
	up_curve_done(&curve);
	up_load_done(&load);
}

/* Steps, settling time and offered rate told instead of found. */
static void settle_and_ladder_by_hand(void **state)
{
	static const struct up_ladder ladder = { .start_per_s = 100, .step_per_s = 100, .count = 6, .hold_s = 20 };
	struct up_curve_options options = up_curve_defaults;
	double offered[] = { 111 };
	struct file file = { 0 };
	struct up_load load;
	struct up_curve curve;

	(void)state;
	bookstore(&file);
	assert_int_equal(load_bytes(&load, file.text, file.n, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	options.ladder = &ladder;
	options.settle_s = 10;
	options.offered_per_s = offered;
	options.n_offered = 1;
	assert_int_equal(up_curve_build(&load, &options, &curve), 0);
	assert_int_equal(curve.n, 6);
	assert_int_equal(curve.step[1].settled_us - curve.step[1].start_us, 10000000);
	assert_int_equal(curve.step[1].starts, 2000);
	assert_int_equal(curve.step[1].hidden.n, 2000);
	assert_near(curve.step[5].offered_per_s, 111, 0, "told, not counted");
	up_curve_done(&curve);
	up_load_done(&load);
	free(file.text);
}

static void no_step_is_said(void **state)
{
	static const char text[] =
		"metric_name,timestamp,metric_value,extra_tags\nhttp_req_duration,1700000000,5,\nhttp_req_duration,1700000001,5,\n";
	struct up_load load;
	struct up_curve curve;
	struct up_knee knee;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	assert_int_equal(up_curve_build(&load, &up_curve_defaults, &curve), -ENODATA);
	up_knee_find(&curve, NULL, &knee);
	assert_int_equal(knee.verdict, UP_KNEE_INVALID);
	up_curve_done(&curve);
	up_load_done(&load);
}

/* Two servers, 6,000 and 18,000 requests: p99 222.9 and 67.6, their average 145.2 is wrong, the merged p99 is 124.7; sixty per-second p99s of the first average
 * 105.8 where its p99 is 222.9. */
static void averages_of_percentiles(void **state)
{
	struct file file[2] = { 0 };
	struct up_load load;
	struct up_select window[60];
	struct up_summary summary[60], all;
	double sum = 0;

	(void)state;
	for (int k = 0; k < 2; k++)
		put(&file[k], "metric_name,timestamp,metric_value,extra_tags\n");
	for (int s = 0; s < 60; s++) {
		for (int i = 0; i < 100; i++) {
			bool slow = s % 5 == 0;
			double ms = 10 + i * 0.01;

			if (slow && i < 20)
				ms = i < 5 ? 400 : i > 5 ? 150 : s == 0 ? 222.9 : s == 5 ? 124.7 : 150; /* 60, one, one, 178 */
			else if (!slow && i < 2)
				ms = 32.25;
			put(&file[0], "http_req_duration,%d,%.6f,\n", 1700000000 + s, ms);
		}
		for (int i = 0; i < 300; i++) {
			double ms = i < 3 ? 100 : 8;

			if (s == 0 && (i == 0 || i == 3))
				ms = i == 0 ? 150 : 67.6;
			put(&file[1], "http_req_duration,%d,%.6f,\n", 1700000000 + s, ms);
		}
		window[s] = (struct up_select){ (1700000000 + s) * INT64_C(1000000), (1700000001 + s) * INT64_C(1000000), -1 };
	}
	assert_int_equal(load_bytes(&load, file[0].text, file[0].n, NULL), 0);
	assert_int_equal(up_load_summaries(&load, window, 60, summary), 0);
	for (int s = 0; s < 60; s++)
		sum += summary[s].q[UP_P99].ms;
	all = load_summary(&load);
	assert_int_equal(all.n, 6000);
	assert_near(all.q[UP_P99].ms, 222.9, 1e-9, "p99 of the run");
	assert_near(sum / 60, 105.8, 1e-9, "mean of sixty p99s");
	{
		char path[] = "/tmp/useprobe-test.XXXXXX";
		int fd = mkstemp(path);
		FILE *out = fdopen(fd, "w");

		assert_non_null(out);
		assert_int_equal(fwrite(file[1].text, 1, file[1].n, out), file[1].n);
		fclose(out);
		assert_int_equal(up_load_read(&load, path, NULL), 0);
		remove(path);
	}
	assert_int_equal(up_load_file_summary(&load, 1), 0);
	assert_near(load.file[1].summary.q[UP_P99].ms, 67.6, 1e-9, "the other server");
	assert_near(load_summary(&load).q[UP_P99].ms, 124.7, 1e-9, "merged by counts");
	up_load_done(&load);
	free(file[0].text);
	free(file[1].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_story_from_the_file_alone),
		cmocka_unit_test(a_real_ladder),
		cmocka_unit_test(settle_and_ladder_by_hand),
		cmocka_unit_test(no_step_is_said),
		cmocka_unit_test(averages_of_percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
