#include <stdlib.h>

#include "check.h"
#include "load_helper.h"
#include "useprobe/steps.h"

enum { N = 300 };

/* Knuth's Poisson numbers, good for small means; sums of them for larger ones. */
static double poisson(double mean, uint64_t *seed)
{
	double total = 0;

	for (; mean > 20; mean -= 20)
		total += poisson(20, seed);
	for (double p = exp(-mean), u = random_unit(seed); u > p; u *= random_unit(seed))
		total++;
	return total;
}

static void exact_ladder(void **state)
{
	double counts[N] = { 0 };
	struct up_span spans[UP_STEPS_MAX];
	int n;

	(void)state;
	for (int i = 0; i < 210; i++) /* 1 s of ramp, 20 s held, ten times */
		counts[5 + i] = i % 21 == 0 ? 50 + 100 * (i / 21) : 100 + 100 * (i / 21);
	n = up_steps_find(counts, N, spans);
	assert_int_equal(n, 10);
	for (int i = 0; i < n; i++) {
		assert_int_equal(spans[i].first, i < 9 ? 6 + 21 * i : 5 + 21 * i); /* 950 is within 5 % of 1,000 */
		assert_int_equal(spans[i].last, 26 + 21 * i);
	}
}

static void random_arrivals_make_no_steps(void **state)
{
	struct up_span spans[UP_STEPS_MAX];
	unsigned many = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t s = seed * 7919;
		double counts[N];
		int n;

		for (int i = 0; i < N; i++)
			counts[i] = poisson(40, &s);
		n = up_steps_find(counts, N, spans);
		assert_true(n >= 1);
		many += n > 1;
	}
	assert_true(many <= 2);
}

static void random_ladder_is_found(void **state)
{
	struct up_span spans[UP_STEPS_MAX];
	unsigned right = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t s = seed * 104729;
		double counts[100];
		int n;

		for (int i = 0; i < 100; i++)
			counts[i] = poisson(50 * (1 + i / 20), &s);
		n = up_steps_find(counts, 100, spans);
		right += n == 5;
		for (int i = 0; n == 5 && i < 5; i++)
			assert_true(labs((long)spans[i].first - 20 * i) <= 3 && labs((long)spans[i].last - 20 * (i + 1)) <= 3);
	}
	assert_true(right >= 18);
}

static void ramps_gaps_and_short_runs(void **state)
{
	double counts[N] = { 0 };
	struct up_span spans[UP_STEPS_MAX];
	int n;

	(void)state;
	assert_int_equal(up_steps_find(counts, N, spans), 0);
	for (int i = 0; i < N; i++)
		counts[i] = 10 + 5 * i; /* one long ramp has no step */
	assert_int_equal(up_steps_find(counts, N, spans), 0);
	for (int i = 0; i < N; i++) /* held, ramped for a minute, held */
		counts[i] = i < 100 ? 100 : i < 160 ? 100 + 10 * (i - 100) : 700;
	n = up_steps_find(counts, N, spans);
	assert_int_equal(n, 2);
	assert_true(spans[0].first == 0 && labs((long)spans[0].last - 100) <= 3 && labs((long)spans[1].first - 160) <= 3 &&
		    spans[1].last == N);
	for (int i = 0; i < N; i++)
		counts[i] = i < 100 || i > 200 ? 200 : 0; /* a pause between two steps of one rate */
	n = up_steps_find(counts, N, spans);
	assert_int_equal(n, 2);
	assert_int_equal(spans[0].last, 100);
	assert_int_equal(spans[1].first, 201);
	assert_int_equal(up_steps_find(counts, 4, spans), 0);
	for (int i = 0; i < N; i++)
		counts[i] = i < 150 ? 100 : 103; /* within 5 %: one step */
	assert_int_equal(up_steps_find(counts, N, spans), 1);
}

static void a_day_is_searched_coarsely(void **state)
{
	size_t n_cells = 86400;
	double *counts = malloc(n_cells * sizeof(*counts));
	struct up_span spans[UP_STEPS_MAX];
	int n;

	(void)state;
	for (size_t i = 0; i < n_cells; i++)
		counts[i] = i < 30000 ? 50 : i < 60000 ? 80 : 120;
	n = up_steps_find(counts, n_cells, spans);
	assert_int_equal(n, 3);
	assert_true(labs((long)spans[1].first - 30000) <= 36 && labs((long)spans[2].first - 60000) <= 36);
	free(counts);
}

static void levels_of_users(void **state)
{
	double users[60];
	struct up_span spans[UP_STEPS_MAX];

	(void)state;
	for (int i = 0; i < 60; i++)
		users[i] = i < 3 || i >= 40 ? (double)NAN : i < 20 ? 10.0 : i < 24 ? 10.0 + 5 * (i - 19) : 50.0;
	assert_int_equal(up_steps_find_levels(users, 60, spans), 2);
	assert_true(spans[0].first == 3 && spans[0].last == 20 && spans[1].first == 24 && spans[1].last == 40);
}

static void ladders_by_hand(void **state)
{
	struct up_ladder ladder = { .start_per_s = 100, .step_per_s = 100, .count = 3, .hold_s = 20, .ramp_s = 1 };
	double from_s, to_s;

	(void)state;
	up_ladder_span(&ladder, 2, &from_s, &to_s);
	assert_near(from_s, 43, 1e-9, "two steps of 21 s and a ramp");
	assert_near(to_s, 63, 1e-9, "20 s later");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_ladder),
		cmocka_unit_test(random_arrivals_make_no_steps),
		cmocka_unit_test(random_ladder_is_found),
		cmocka_unit_test(ramps_gaps_and_short_runs),
		cmocka_unit_test(a_day_is_searched_coarsely),
		cmocka_unit_test(levels_of_users),
		cmocka_unit_test(ladders_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
