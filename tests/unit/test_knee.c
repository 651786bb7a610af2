/* The knee: from curves put together by hand, and from load files of the reference story's shape. */
#include <errno.h>
#include <stdlib.h>

#include "load_helper.h"
#include "useprobe/knee.h"
#include "useprobe/queueing.h"

enum { STEPS = 8, HELD_S = 14 };

/* An open step: OFFERED and DONE a second, N in flight rising by RISE over the held part, latencies in ms. */
static struct up_step open_step(double offered, double done, double in_flight, double rise, double p50_ms, double p95_ms)
{
	struct up_step step = { .end_us = HELD_S * 1000000,
		.offered_per_s = offered,
		.achieved_per_s = done,
		.achieved_ok_per_s = done,
		.users = NAN,
		.users_max = NAN };

	step.arrivals = (uint64_t)(offered * HELD_S);
	step.starts = step.arrivals;
	step.ends = (uint64_t)(done * HELD_S);
	step.in_flight = in_flight;
	for (int i = 0; i < 3; i++)
		step.in_flight_third[i] = in_flight + rise * (i - 1) / 2;
	step.latency.n = step.ends;
	step.latency.mean_ms = p50_ms;
	step.latency.q[UP_P50].ms = p50_ms;
	step.latency.q[UP_P95].ms = p95_ms;
	step.balanced = fabs(offered - done) <= 0.05 * done;
	return step;
}

static struct up_knee find(struct up_step *steps, size_t n, enum up_model model)
{
	struct up_curve curve = { .step = steps, .n = n, .model = { .model = model } };
	struct up_knee knee;

	up_knee_find(&curve, NULL, &knee);
	return knee;
}

static void follows_and_stops(void **state)
{
	struct up_step s[] = { open_step(100, 100, 0.5, 0, 5, 7), open_step(200, 200, 1, 0, 5, 7),
		open_step(300, 299, 1.6, 0, 5, 7), open_step(400, 252, 900, 1200, 900, 1600),
		open_step(500, 4, 2000, 0, 30000, 60000), open_step(600, 2, 2000, 0, 30000, 60000) };
	struct up_knee knee;

	(void)state;
	s[3].dropped_settled = 700;
	knee = find(s, 6, UP_MODEL_OPEN);
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	assert_near(knee.good_per_s, 300, 0, "last good");
	assert_near(knee.bad_per_s, 400, 0, "first bad");
	assert_near(knee.collapse_per_s, 500, 0, "collapse");
	assert_false(knee.generator_bound);
	assert_near(knee.capacity_per_s, 299, 0, "the most that was achieved");
	assert_near(knee.alert_in_flight, sqrt(1.6 * 900), 1e-9, "between the two");
	assert_true(knee.kneedle.applicable && knee.kneedle.agrees);
	assert_false(knee.usl.applicable);
	assert_int_equal(s[3].verdict, UP_STEP_BAD);
	assert_int_equal(s[2].verdict, UP_STEP_GOOD);
	assert_non_null(strstr(knee.reason, "only 252/s were completed"));
}

static void not_reached(void **state)
{
	struct up_step s[] = { open_step(100, 100, 0.5, 0, 5, 7), open_step(200, 201, 1, 0, 5, 7),
		open_step(300, 299, 1.6, 0.1, 5, 7) };
	struct up_knee knee = find(s, 3, UP_MODEL_OPEN);

	(void)state;
	assert_int_equal(knee.verdict, UP_KNEE_NOT_REACHED);
	assert_true(isnan(knee.bad_per_s) && isnan(knee.collapse_per_s) && isnan(knee.alert_in_flight));
	assert_non_null(strstr(knee.reason, "up to 300/s"));
}

static void one_bad_step_needs_a_second(void **state)
{
	struct up_step glitch[] = { open_step(100, 100, 1, 0, 5, 7), open_step(200, 150, 50, 0, 90, 300),
		open_step(300, 300, 2, 0, 5, 7), open_step(400, 400, 2, 0, 5, 7) };
	struct up_step twice[] = { open_step(100, 100, 1, 0, 5, 7), open_step(200, 150, 50, 0, 90, 300),
		open_step(300, 200, 50, 0, 90, 300), open_step(400, 400, 2, 0, 5, 7), open_step(500, 500, 2, 0, 5, 7) };
	struct up_step last[] = { open_step(100, 100, 1, 0, 5, 7), open_step(200, 150, 50, 0, 90, 300) };
	struct up_step only[] = { open_step(200, 150, 50, 0, 90, 300) };
	struct up_step lowest[] = { open_step(200, 150, 50, 0, 90, 300), open_step(300, 150, 50, 0, 90, 300) };

	(void)state;
	assert_int_equal(find(glitch, 4, UP_MODEL_OPEN).verdict, UP_KNEE_NOT_REACHED);
	assert_int_equal(find(twice, 5, UP_MODEL_OPEN).verdict, UP_KNEE_NOT_SINGLE);
	assert_int_equal(find(last, 2, UP_MODEL_OPEN).verdict, UP_KNEE_FOUND);
	assert_int_equal(find(only, 1, UP_MODEL_OPEN).verdict, UP_KNEE_INVALID);
	assert_int_equal(find(lowest, 2, UP_MODEL_OPEN).verdict, UP_KNEE_FOUND);
	assert_true(isnan(find(lowest, 2, UP_MODEL_OPEN).good_per_s));
}

static void a_rising_queue_is_bad_before_anything_is_lost(void **state)
{
	struct up_step s[] = { open_step(100, 100, 1, 0, 5, 7), open_step(200, 192, 300, 400, 900, 1600),
		open_step(300, 192, 1500, 1500, 5000, 9000) };
	struct up_knee knee = find(s, 3, UP_MODEL_OPEN);

	(void)state;
	assert_near(knee.bad_per_s, 200, 0, "4 % short, but 400 more inside at its end");
	assert_int_equal(s[1].why, UP_BAD_RISING);
}

/* Steps of 6 s at 50, 100 and 200/s; answers of the last one wait up to 2 s. Behind the last start the run only drains. */
static void draining_is_no_step(void **state)
{
	char *text = malloc(1 << 17);
	size_t used = (size_t)sprintf(text, "planned_s,sent_s,end_s,status,vu,step\n");
	struct up_curve curve;
	struct up_load load;

	(void)state;
	for (int step = 0; step < 3; step++) {
		const int rate = 50 << step;

		for (int i = 0; i < rate * 6; i++) {
			const double at = 1800000000.75 + 6 * step + (double)i / rate;

			used += (size_t)sprintf(text + used, "%.6f,%.6f,%.6f,200,1,%d\n", at, at,
				at + (step == 2 ? 0.01 + i * 0.0016 : 0.005), step + 1);
		}
	}
	assert_int_equal(load_bytes(&load, text, used, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	assert_int_equal(up_curve_build(&load, &up_curve_defaults, &curve), 0);
	assert_int_equal(curve.n, 3);
	assert_near(curve.step[2].offered_per_s, 200, 1, "the last step ends with the last start");
	up_curve_done(&curve);
	up_load_done(&load);
	free(text);
}

static void what_drains_is_no_yardstick(void **state)
{
	struct up_step s[] = { open_step(100, 100, 0.5, 0, 5, 7), open_step(200, 200, 1, 0, 5, 7),
		open_step(400, 252, 900, 1200, 900, 1600), open_step(500, 250, 900, 1200, 900, 1600),
		open_step(50, 52, 600, 0, 900, 1600) };
	struct up_knee knee;

	(void)state;
	s[2].dropped_settled = 700;
	knee = find(s, 5, UP_MODEL_OPEN);
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	assert_false(knee.generator_bound);
}

static void quick_errors_are_no_answers(void **state)
{
	struct up_step s[] = { open_step(100, 100, 1, 0, 5, 7), open_step(200, 200, 1, 0, 5, 7), open_step(300, 300, 1, 0, 5, 7),
		open_step(400, 400, 1, 0, 4, 7) };
	struct up_knee knee;

	(void)state;
	for (int i = 0; i < 4; i++) { /* 2 % always fail; from 300/s on what exceeds 200/s is refused at once */
		s[i].ends_failed = (uint64_t)(0.02 * (double)s[i].ends);
		if (i >= 2)
			s[i].ends_failed = s[i].ends - 200 * HELD_S;
		s[i].achieved_ok_per_s = (double)(s[i].ends - s[i].ends_failed) / HELD_S;
	}
	knee = find(s, 4, UP_MODEL_OPEN);
	assert_near(knee.bad_per_s, 300, 0, "a third of the answers is an error");
	assert_int_equal(s[2].why, UP_BAD_FAILING);
	assert_int_equal(s[1].verdict, UP_STEP_GOOD);
}

static void generator_is_accused_only_with_an_alibi(void **state)
{
	struct up_step s[] = { open_step(100, 100, 0.5, 0, 5, 7), open_step(200, 200, 1, 0, 5, 7),
		open_step(300, 240, 1.3, 0, 5.5, 8), open_step(400, 240, 1.3, 0, 5.5, 8) };
	struct up_curve curve = { .step = s, .n = 4, .model = { .model = UP_MODEL_OPEN } };
	struct up_knee_options seen = { .kernel_in_flight_ratio = 0.3 };
	struct up_knee knee;

	(void)state;
	s[2].dropped_settled = s[3].dropped_settled = 800;
	knee = find(s, 4, UP_MODEL_OPEN);
	assert_true(knee.generator_bound);
	assert_int_equal(knee.verdict, UP_KNEE_INVALID);
	assert_non_null(strstr(knee.reason, "generator-bound"));
	/* The same drops with answers that became slow: the server made the users wait. */
	for (int i = 2; i < 4; i++) {
		s[i].latency.q[UP_P50].ms = 300;
		s[i].latency.q[UP_P95].ms = 1600;
		s[i].latency.mean_ms = 400;
	}
	knee = find(s, 4, UP_MODEL_OPEN);
	assert_false(knee.generator_bound);
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	/* Slow for the generator, but most of its requests had not reached the server, and it had users enough. */
	s[2].users_max = 2000;
	up_knee_find(&curve, &seen, &knee);
	assert_true(knee.generator_bound);
	s[2].users_max = 20; /* too few users for that rate at that latency: they were all waiting for the server */
	up_knee_find(&curve, &seen, &knee);
	assert_false(knee.generator_bound);
}

static void too_few_samples(void **state)
{
	struct up_step s[] = { open_step(0.5, 0.5, 0.1, 0, 5, 7), open_step(1, 0.2, 9, 0, 900, 1600) };

	(void)state;
	assert_int_equal(find(s, 2, UP_MODEL_OPEN).verdict, UP_KNEE_INVALID);
}

static struct up_step closed_step(double users, double per_s, double response_s)
{
	struct up_step step = open_step(per_s, per_s, per_s * response_s, 0, 1e3 * response_s, 1e3 * response_s);

	step.users = users;
	return step;
}

/* M/M/4 with S = 10 ms and users who think 50 ms: N* = 4 * 60 / 10 = 24. */
static void closed_ladder_by_its_bounds(void **state)
{
	static const unsigned users[] = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64, 96, 128 };
	enum { N = sizeof(users) / sizeof(*users) };
	struct up_step s[N];
	struct up_knee knee;

	(void)state;
	for (int i = 0; i < N; i++) {
		struct up_closed_queue q;

		assert_int_equal(up_queue_closed(users[i], 0.05, 0.01, 4, &q), 0);
		s[i] = closed_step(users[i], q.throughput, q.response);
	}
	knee = find(s, N, UP_MODEL_CLOSED);
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	assert_near(knee.bounds.x_max_per_s, 400, 0.001, "c / S");
	assert_near(knee.bounds.z_s, 0.05, 1e-6, "think time");
	assert_near(knee.bounds.n_star, 24, 0.001, "N*");
	assert_true(s[knee.good].users <= 24 && s[knee.bad].users <= 28);
	assert_true(isnan(knee.collapse_per_s));
	assert_true(knee.usl.applicable && knee.kneedle.applicable && knee.kneedle.agrees);
	knee = find(s, 6, UP_MODEL_CLOSED); /* up to 16 users throughput still grows */
	assert_int_equal(knee.verdict, UP_KNEE_NOT_REACHED);
	assert_int_equal(s[5].verdict, UP_STEP_GOOD);
}

/* The reference sweep: 231/s at 4.33 ms with one in flight, 4,031/s at 8.21 ms, 4,268/s at 15.15 ms with 64. */
static void sweep_of_the_reference(void **state)
{
	static const double in_flight[] = { 1, 2, 4, 8, 16, 33.1, 64.7 },
			    response_ms[] = { 4.33, 4.33, 4.34, 4.5, 5.1, 8.21, 15.15 };
	struct up_step s[7];
	struct up_knee knee;

	(void)state;
	for (int i = 0; i < 7; i++) {
		s[i] = closed_step(in_flight[i], in_flight[i] / response_ms[i] * 1e3, response_ms[i] / 1e3);
		assert_near(s[i].in_flight, in_flight[i], 1e-9, "N = X R with the mean");
	}
	assert_near(s[0].achieved_per_s, 231, 0.5, "first region");
	assert_near(s[6].achieved_per_s, 4268, 5, "second region");
	knee = find(s, 7, UP_MODEL_CLOSED);
	assert_int_equal(knee.verdict, UP_KNEE_FOUND);
	assert_near(s[knee.good].users, 16, 0, "N* = 4270 * 4.33 ms = 18.5");
	assert_near(s[knee.bad].users, 33.1, 0, "the next");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_and_stops),
		cmocka_unit_test(not_reached),
		cmocka_unit_test(one_bad_step_needs_a_second),
		cmocka_unit_test(a_rising_queue_is_bad_before_anything_is_lost),
		cmocka_unit_test(draining_is_no_step),
		cmocka_unit_test(what_drains_is_no_yardstick),
		cmocka_unit_test(quick_errors_are_no_answers),
		cmocka_unit_test(generator_is_accused_only_with_an_alibi),
		cmocka_unit_test(too_few_samples),
		cmocka_unit_test(closed_ladder_by_its_bounds),
		cmocka_unit_test(sweep_of_the_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
