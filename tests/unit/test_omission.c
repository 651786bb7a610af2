#include <errno.h>
#include <stdlib.h>

#include "load_helper.h"
#include "useprobe/omission.h"

static struct up_dist dist_of(const uint64_t *ms, size_t n, uint64_t *packed)
{
	for (size_t i = 0; i < n; i++)
		packed[i] = up_point_pack(ms[i] * 1000000, 0, 0);
	up_sort_u64(packed, n);
	return (struct up_dist){ .n = n, .sorted = packed, .stride = 1 };
}

static void fills_in_what_was_not_sent(void **state)
{
	static const uint64_t ms[] = { 10, 100, 199, 200, 450 };
	static const uint64_t want[] = { 10, 100, 100, 150, 199, 200, 250, 350, 450 };
	uint64_t packed[5];
	struct up_dist raw = dist_of(ms, 5, packed), corrected;

	(void)state;
	/* interval 100: 200 stands for 100 too; 450 for 350, 250 and 150; 199 for nothing, since 99 is less than the interval. */
	assert_int_equal(up_omission_correct(&raw, 100000000, &corrected), 0);
	assert_int_equal(corrected.n, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < corrected.n; i++)
		assert_int_equal(up_dist_at_rank(&corrected, i + 1), want[i] * 1000000);
	up_dist_done(&corrected);
	assert_int_equal(up_omission_correct(&raw, 0, &corrected), -EINVAL);
}

static void keeps_what_was_measured(void **state)
{
	enum { N = 3000 };
	uint64_t *ms = malloc(N * sizeof(*ms)), *packed = malloc(N * sizeof(*packed)), seed = 23;
	struct up_dist raw, corrected;

	(void)state;
	for (size_t i = 0; i < N; i++)
		ms[i] = 1 + (uint64_t)(pow(random_unit(&seed), 8) * 5000);
	raw = dist_of(ms, N, packed);
	for (uint64_t interval_ms = 20; interval_ms < 3000; interval_ms *= 3) {
		assert_int_equal(up_omission_correct(&raw, interval_ms * 1000000, &corrected), 0);
		assert_true(corrected.n >= raw.n);
		assert_int_equal(up_dist_at_rank(&corrected, corrected.n), up_dist_at_rank(&raw, raw.n));
		for (uint64_t at_ms = 0; at_ms <= 5001; at_ms += 7) {
			uint64_t above_raw = raw.n - up_dist_count_le(&raw, at_ms * 1000000);

			assert_true(corrected.n - up_dist_count_le(&corrected, at_ms * 1000000) >= above_raw);
		}
		for (uint64_t rank = 1; rank <= raw.n; rank++) { /* every raw value is still there, as often */
			uint64_t value = up_dist_at_rank(&raw, rank);
			uint64_t in_raw = up_dist_count_le(&raw, value) - up_dist_count_le(&raw, value - 1);

			assert_true(up_dist_count_le(&corrected, value) - up_dist_count_le(&corrected, value - 1) >= in_raw);
		}
		up_dist_done(&corrected);
	}
	free(ms);
	free(packed);
}

static void histogram_form_agrees(void **state)
{
	enum { N = 3000 };
	uint64_t *ms = malloc(N * sizeof(*ms)), *packed = malloc(N * sizeof(*packed)), seed = 29;
	struct up_dist raw, exact, by_hist;
	struct up_hist hist = { 0 };

	(void)state;
	for (size_t i = 0; i < N; i++) {
		ms[i] = 1 + (uint64_t)(pow(random_unit(&seed), 6) * 3000);
		assert_int_equal(up_hist_add(&hist, ms[i] * 1000000, 1), 0);
	}
	raw = dist_of(ms, N, packed);
	assert_int_equal(up_omission_correct(&raw, 150000000, &exact), 0);
	raw = (struct up_dist){ .n = hist.n, .hist = &hist };
	assert_int_equal(up_omission_correct(&raw, 150000000, &by_hist), 0);
	assert_near((double)by_hist.n, (double)exact.n, 0.002 * (double)exact.n,
		"the same number of samples, but for those at an edge");
	for (double percent = 50; percent < 100; percent += 1) {
		double a = (double)up_dist_at_rank(&exact, up_rank(percent, exact.n)),
		       b = (double)up_dist_at_rank(&by_hist, up_rank(percent, by_hist.n));

		assert_near(b, a, 0.02 * a, "percentile");
	}
	raw.hist->max_ns = UP_HIST_MAX_NS; /* an hour against a nanosecond */
	assert_int_equal(up_hist_add(&hist, UINT64_C(3600000000000), 1), 0);
	{
		struct up_dist none;

		assert_int_equal(up_omission_correct(&raw, 1, &none), -ERANGE);
	}
	up_dist_done(&exact);
	up_dist_done(&by_hist);
	up_hist_done(&hist);
	free(ms);
	free(packed);
}

static struct up_omission_plan plan_for(struct up_load *load, double requested_ms, struct up_model_guess *guess)
{
	struct up_omission_plan plan;

	assert_int_equal(up_model_recognise(load, guess), 0);
	up_omission_plan(load, guess, load_summary(load).mean_ms, requested_ms, &plan);
	return plan;
}

/* The freeze of 5 s met by 20 users with 100 ms think time; figures computed apart (fixture of k6 1.8.1). */
static void closed_run_of_k6(void **state)
{
	struct up_load load;
	struct up_model_guess guess;
	struct up_omission_plan plan;
	struct up_summary raw, corrected;
	struct up_dist dist, fixed;

	(void)state;
	load_file(&load, FIXTURES "load/k6_pause_closed.csv.gz");
	plan = plan_for(&load, 0, &guess);
	assert_int_equal(guess.model, UP_MODEL_CLOSED);
	assert_near(guess.users, 20, 0, "users");
	assert_true(plan.apply);
	assert_near(plan.interval_ms, 111.11, 0.005, "20 users over 180 requests/s");
	raw = load_summary(&load);
	assert_int_equal(raw.n, 10800);
	assert_near(raw.q[UP_P99].ms, 4.736, 0.0005, "raw p99");
	assert_int_equal(up_load_dist(&load, &up_select_all, &dist), 0);
	assert_int_equal(up_omission_correct(&dist, (uint64_t)llround(plan.interval_ms * 1e6), &fixed), 0);
	up_dist_summary(&fixed, true, &corrected);
	assert_int_equal(corrected.n, 11660);
	assert_near(corrected.q[UP_P95].ms, 1739.6, 0.05, "corrected p95");
	assert_near(corrected.q[UP_P99].ms, 4404.0, 0.05, "corrected p99");
	up_dist_done(&fixed);
	up_dist_done(&dist);
	up_load_done(&load);
}

static void open_run_of_k6(void **state)
{
	struct up_load load;
	struct up_model_guess guess;
	struct up_omission_plan plan;
	struct up_summary raw;

	(void)state;
	load_file(&load, FIXTURES "load/k6_pause_open.csv.gz");
	plan = plan_for(&load, 0, &guess);
	assert_int_equal(guess.model, UP_MODEL_OPEN);
	assert_false(plan.apply);
	assert_non_null(strstr(plan.reason, "refused: open model"));
	raw = load_summary(&load);
	assert_int_equal(raw.n, 11525);
	assert_near(raw.q[UP_P99].ms, 4152.161, 0.0005, "p99");
	assert_int_equal(load.file[0].dropped, 476);
	up_load_done(&load);
}

static void intended_starts_are_never_corrected(void **state)
{
	static const char text[] = "planned_s,sent_s,end_s,status,vu,step\n1.0,1.0,1.5,200,1,1\n1.1,1.4,1.6,200,1,1\n";
	struct up_load load;
	struct up_model_guess guess;
	struct up_omission_plan plan;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	plan = plan_for(&load, 100, &guess);
	assert_false(plan.apply);
	assert_non_null(strstr(plan.reason, "intended"));
	up_load_done(&load);
}

/* One user who asks again at once, as JMeter without a timer: no schedule, nothing to correct, unless asked. */
static void back_to_back_users_have_no_schedule(void **state)
{
	char text[20000] = "planned_s,sent_s,end_s,status,vu,step\n";
	size_t n = strlen(text);
	struct up_load load;
	struct up_model_guess guess;
	struct up_omission_plan plan;
	uint64_t seed = 41;
	double at_s = 1000;

	(void)state;
	for (int i = 0; i < 300; i++) {
		double took_s = 0.05 + 0.1 * random_unit(&seed);

		n += (size_t)snprintf(text + n, sizeof(text) - n, ",%.6f,%.6f,200,0,1\n", at_s, at_s + took_s);
		at_s += took_s + 0.0001;
	}
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(up_load_count(&load), 0);
	plan = plan_for(&load, 0, &guess);
	assert_int_equal(guess.model, UP_MODEL_CLOSED);
	assert_near(guess.users, 1, 0, "one in flight");
	assert_false(plan.apply);
	assert_non_null(strstr(plan.reason, "without think time"));
	plan = plan_for(&load, 50, &guess);
	assert_true(plan.apply);
	up_load_done(&load);
}

/* Users of a server that stalls for 4 s: closed ones stop asking, arrivals go on. */
static void stall_tells_open_from_closed(void **state)
{
	for (int closed = 0; closed < 2; closed++) {
		char *text = malloc(1 << 20);
		size_t n = (size_t)snprintf(text, 1 << 20, "planned_s,sent_s,end_s,status,vu,step\n");
		struct up_load load;
		struct up_model_guess guess;

		(void)state;
		for (int i = 0; i < 3000; i++) {
			double start_s = 1000 + i * 0.02 + (i * 7919 % 13) * 0.001, end_s = start_s + 0.004 + (i % 5) * 0.001;

			if (start_s > 1030 && start_s < 1034) {
				if (closed && start_s > 1030.2)
					continue; /* ten users, all waiting by now */
				end_s = 1034 + 0.01 * (i % 10);
			}
			n += (size_t)snprintf(text + n, (1 << 20) - n, ",%.6f,%.6f,200,0,1\n", start_s, end_s);
		}
		assert_int_equal(load_text(&load, text, NULL), 0);
		assert_int_equal(up_load_count(&load), 0);
		assert_int_equal(up_model_recognise(&load, &guess), 0);
		if (guess.model != (closed ? UP_MODEL_CLOSED : UP_MODEL_OPEN))
			fail_msg("%s taken for %s: %s", closed ? "closed" : "open", up_model_name(guess.model), guess.reason);
		up_load_done(&load);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_in_what_was_not_sent),
		cmocka_unit_test(keeps_what_was_measured),
		cmocka_unit_test(histogram_form_agrees),
		cmocka_unit_test(closed_run_of_k6),
		cmocka_unit_test(open_run_of_k6),
		cmocka_unit_test(intended_starts_are_never_corrected),
		cmocka_unit_test(back_to_back_users_have_no_schedule),
		cmocka_unit_test(stall_tells_open_from_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
