#include <stdlib.h>

#include "check.h"
#include "load_helper.h"

static struct up_dist dist_of(const double *ms, size_t n, uint64_t *packed)
{
	for (size_t i = 0; i < n; i++)
		packed[i] = up_point_pack((uint64_t)llround(ms[i] * 1e6), 0, 0);
	up_sort_u64(packed, n);
	return (struct up_dist){ .n = n, .sorted = packed, .stride = 1 };
}

static void rank_is_nearest_rank(void **state)
{
	static const struct {
		double percent;
		uint64_t n, rank;
		const char *why;
	} cases[] = {
		{ 50, 2, 1, "half of two is the first" },
		{ 50.0000000000001, 2, 2, "a hair above half is the second" },
		{ 25, 5, 2, "1.25 goes up" },
		{ 20, 5, 1, "exactly one" },
		{ 99.9, 1000, 999, "99.9 is no binary fraction" },
		{ 99.9, 10000, 9990, "the same, larger" },
		{ 99.9, 1999000, 1997001, "1997001 exactly" },
		{ 95, 20, 19, "19 exactly" },
		{ 99, 1, 1, "one value is every percentile" },
		{ 0, 7, 1, "never below the first" },
		{ 100, 7, 7, "the last" },
		{ 50, 0, 0, "nothing" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (up_rank(cases[i].percent, cases[i].n) != cases[i].rank)
			fail_msg("%s: %llu", cases[i].why, (unsigned long long)up_rank(cases[i].percent, cases[i].n));
	}
}

static void summary_of_known_values(void **state)
{
	double ms[1000];
	uint64_t packed[1000];
	struct up_summary s;
	struct up_dist dist;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		ms[i] = (double)(i + 1);
	dist = dist_of(ms, 1000, packed);
	for (size_t i = 989; i < 1000; i++)
		packed[i] |= UP_POINT_FAILED; /* the eleven slowest failed */
	up_dist_summary(&dist, true, &s);
	assert_near(s.mean_ms, 500.5, 1e-9, "mean");
	assert_near(s.mean_share, 0.5, 1e-9, "half at or below the mean");
	assert_near(s.q[UP_P50].ms, 500, 0, "p50");
	assert_near(s.q[UP_P99].ms, 990, 0, "p99");
	assert_near(s.q[UP_P999].ms, 999, 0, "p99.9");
	assert_int_equal(s.q[UP_P99].tail_n, 10);
	assert_int_equal(s.q[UP_P999].tail_n, 1);
	assert_near(s.q[UP_P99].linear_ms, 990.01, 1e-9, "k6: 1 + 0.99 * 999");
	assert_near(s.q[UP_P99].jmeter_ms, 990.99, 1e-9, "JMeter: 0.99 * 1001");
	assert_near(s.max_ms, 1000, 0, "max");
	assert_int_equal(s.failed, 11);
	assert_int_equal(s.ok_only.n, 989);
	assert_near(s.ok_only.max_ms, 989, 0, "slowest good one");
	assert_near(s.ok_only.ms[UP_P99], 980, 0, "ceil(0.99 * 989) = 980");
	assert_near(s.ok_only.mean_ms, 495, 1e-9, "mean of 1..989");
}

static void nothing_is_not_zero(void **state)
{
	struct up_summary s;
	struct up_dist dist = { 0 };

	(void)state;
	up_dist_summary(&dist, true, &s);
	assert_int_equal(s.n, 0);
	assert_true(isnan(s.mean_ms) && isnan(s.q[UP_P99].ms) && isnan(s.max_ms) && isnan(s.mean_share));
}

/* Log-normal latencies: what servers have. */
static double random_latency_ms(uint64_t *seed)
{
	double u = random_unit(seed), v = random_unit(seed);

	return 5 * exp(1.2 * sqrt(-2 * log(u + 1e-12)) * cos(6.283185307 * v));
}

static void histogram_is_within_a_thousandth(void **state)
{
	enum { N = 20000 };
	double *ms = malloc(N * sizeof(*ms));
	uint64_t *packed = malloc(N * sizeof(*packed)), seed = 7;
	struct up_hist hist = { 0 };
	struct up_dist exact;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		ms[i] = random_latency_ms(&seed);
		assert_int_equal(up_hist_add(&hist, (uint64_t)llround(ms[i] * 1e6), 1), 0);
	}
	exact = dist_of(ms, N, packed);
	for (uint64_t rank = 1; rank <= N; rank += 13) {
		double a = (double)up_dist_at_rank(&exact, rank), b = (double)up_hist_at_rank(&hist, rank);

		if (fabs(a - b) > 0.001 * a)
			fail_msg("rank %llu: %.0f instead of %.0f", (unsigned long long)rank, b, a);
	}
	assert_int_equal(up_hist_at_rank(&hist, N), up_dist_at_rank(&exact, N));
	up_hist_done(&hist);
	free(packed);
	free(ms);
}

static void assert_same_hist(const struct up_hist *a, const struct up_hist *b)
{
	assert_int_equal(a->n, b->n);
	assert_true(a->sum_ns == b->sum_ns && a->min_ns == b->min_ns && a->max_ns == b->max_ns);
	for (unsigned page = 0; page < UP_HIST_PAGES; page++) {
		for (unsigned slot = 0; slot < UP_HIST_SUB; slot++)
			assert_int_equal(a->page[page] ? a->page[page][slot] : 0, b->page[page] ? b->page[page][slot] : 0);
	}
}

static void merging_is_associative_and_commutative(void **state)
{
	struct up_hist part[3] = { 0 }, left = { 0 }, right = { 0 }, turned = { 0 };
	uint64_t seed = 11;

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(up_hist_add(&part[i % 3], (uint64_t)(random_latency_ms(&seed) * 1e6), 1 + i % 5), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(up_hist_merge(&left, &part[i]), 0); /* (a + b) + c */
	assert_int_equal(up_hist_merge(&right, &part[1]), 0);
	assert_int_equal(up_hist_merge(&right, &part[2]), 0);
	assert_int_equal(up_hist_merge(&turned, &part[0]), 0);
	assert_int_equal(up_hist_merge(&turned, &right), 0); /* a + (b + c) */
	assert_same_hist(&left, &turned);
	assert_int_equal(up_hist_merge(&right, &part[0]), 0); /* (b + c) + a */
	assert_same_hist(&left, &right);
	for (unsigned i = 0; i < 3; i++)
		up_hist_done(&part[i]);
	up_hist_done(&left);
	up_hist_done(&right);
	up_hist_done(&turned);
}

static void percentiles_are_monotone(void **state)
{
	uint64_t packed[777], seed = 3;
	double ms[777], last = 0;
	struct up_hist hist = { 0 };
	struct up_dist dist;

	(void)state;
	for (size_t i = 0; i < 777; i++) {
		ms[i] = random_latency_ms(&seed);
		assert_int_equal(up_hist_add(&hist, (uint64_t)(ms[i] * 1e6), 1), 0);
	}
	dist = dist_of(ms, 777, packed);
	for (double percent = 0; percent <= 100; percent += 0.1) {
		double value = (double)up_dist_at_rank(&dist, up_rank(percent, 777));

		assert_true(value >= last);
		last = value;
	}
	last = 0;
	for (uint64_t rank = 1; rank <= 777; rank++) {
		assert_true((double)up_hist_at_rank(&hist, rank) >= last);
		last = (double)up_hist_at_rank(&hist, rank);
	}
	up_hist_done(&hist);
}

/* Two servers: 900 requests of 1 ms with 100 of 100 ms, and 100 of 1 ms. Their p95s are 100 and 1, the run's is 100, the mean of the two is nobody's. */
static void merged_by_counts_not_averaged(void **state)
{
	struct up_hist one = { 0 }, two = { 0 };

	(void)state;
	assert_int_equal(up_hist_add(&one, 1000000, 900), 0);
	assert_int_equal(up_hist_add(&one, 100000000, 100), 0);
	assert_int_equal(up_hist_add(&two, 1000000, 100), 0);
	assert_int_equal(up_hist_merge(&one, &two), 0);
	assert_int_equal(one.n, 1100);
	assert_near((double)up_hist_at_rank(&one, up_rank(90, 1100)) / 1e6, 1, 0.001, "p90");
	assert_near((double)up_hist_at_rank(&one, up_rank(95, 1100)) / 1e6, 100, 0.1, "p95");
	up_hist_done(&one);
	up_hist_done(&two);
}

static void shares_and_bars_count_everyone(void **state)
{
	static const double ms[] = { 0.5, 1, 1, 2, 5, 9.99, 10, 250, 1000, 4000 };
	uint64_t packed[10], n = 0;
	struct up_bar bars[UP_BARS_MAX];
	struct up_dist dist = dist_of(ms, 10, packed);
	size_t n_bars = up_dist_bars(&dist, bars);

	(void)state;
	for (size_t i = 0; i < n_bars; i++)
		n += bars[i].n;
	assert_int_equal(n, 10);
	assert_near(up_dist_share_le(&dist, 1), 0.3, 1e-12, "a threshold includes its own value");
	assert_near(up_dist_share_le(&dist, 9999), 1, 0, "all");
	assert_near(up_dist_share_le(&dist, 0.1), 0, 0, "none");
}

static void clusters_with_a_known_cause(void **state)
{
	enum { N = 2000 };
	uint64_t *packed = malloc(N * sizeof(*packed)), seed = 5;
	double *ms = malloc(N * sizeof(*ms));
	struct up_mode modes[UP_MODES_MAX];
	struct up_dist dist;

	(void)state;
	for (size_t i = 0; i < N; i++)
		ms[i] = 3 + random_unit(&seed) + (i % 20 == 0 ? 40 : 0);
	for (size_t i = 1; i < 21; i += 2)
		ms[i] = 30000 + 5 * random_unit(&seed);
	dist = dist_of(ms, N, packed);
	assert_int_equal(up_dist_modes(&dist, modes), 2);
	assert_int_equal(modes[0].kind, UP_MODE_DELAYED_ACK);
	assert_int_equal(modes[0].n, 100);
	assert_near(modes[0].at_ms, 43.5, 0.6, "40 ms above 3.5");
	assert_int_equal(modes[1].kind, UP_MODE_TIMEOUT);
	assert_near(modes[1].at_ms, 30000, 0, "30 s");
	assert_int_equal(modes[1].n, 10);
	for (size_t i = 0; i < N; i++) /* a smooth tail over the same range has no cluster */
		ms[i] = 3 * exp(4 * random_unit(&seed));
	dist = dist_of(ms, N, packed);
	assert_int_equal(up_dist_modes(&dist, modes), 0);
	free(packed);
	free(ms);
}

static void sorts_sort(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 24, 25, 26, 1000, 5003 };
	uint64_t values[5003], seed = 17;

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		for (unsigned shape = 0; shape < 5; shape++) {
			uint64_t sum = 0;

			for (size_t i = 0; i < sizes[k]; i++) {
				values[i] = shape == 0   ? i
					    : shape == 1 ? sizes[k] - i
					    : shape == 2 ? 5
					    : shape == 3 ? i % 3
							 : (uint64_t)(random_unit(&seed) * 1e6);
				sum += values[i];
			}
			up_sort_u64(values, sizes[k]);
			for (size_t i = 0; i < sizes[k]; i++) {
				sum -= values[i];
				assert_true(i == 0 || values[i - 1] <= values[i]);
			}
			assert_int_equal(sum, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank_is_nearest_rank),
		cmocka_unit_test(summary_of_known_values),
		cmocka_unit_test(nothing_is_not_zero),
		cmocka_unit_test(histogram_is_within_a_thousandth),
		cmocka_unit_test(merging_is_associative_and_commutative),
		cmocka_unit_test(percentiles_are_monotone),
		cmocka_unit_test(merged_by_counts_not_averaged),
		cmocka_unit_test(shares_and_bars_count_everyone),
		cmocka_unit_test(clusters_with_a_known_cause),
		cmocka_unit_test(sorts_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
