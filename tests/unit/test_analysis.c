/* The plain mathematics: Kneedle, USL, queues, objectives, clock shift. Expected values are closed forms or published parameters. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "load_helper.h"
#include "useprobe/kneedle.h"
#include "useprobe/queueing.h"
#include "useprobe/shift.h"
#include "useprobe/slo.h"
#include "useprobe/usl.h"

static void kneedle_finds_the_turn(void **state)
{
	double x[40], up[40], flat[40], line[40], mirror[40], down[40], late[40];

	(void)state;
	for (int i = 0; i < 40; i++) {
		x[i] = i;
		up[i] = i < 10 ? 10 * i : 100 + 0.1 * (i - 10); /* rises to 10, then hardly */
		late[i] = i < 30 ? 0.1 * i : 3 + 10 * (i - 30); /* a latency curve: rises from 30 on */
		down[i] = 200 - up[i];
		mirror[i] = 200 - late[i];
		flat[i] = 7;
		line[i] = 3 * i;
	}
	assert_int_equal(up_kneedle(x, up, 40, UP_KNEEDLE_CONCAVE_INCREASING, 1), 10);
	assert_int_equal(up_kneedle(x, late, 40, UP_KNEEDLE_CONVEX_INCREASING, 1), 30);
	assert_int_equal(up_kneedle(x, down, 40, UP_KNEEDLE_CONVEX_DECREASING, 1), 10);
	assert_int_equal(up_kneedle(x, mirror, 40, UP_KNEEDLE_CONCAVE_DECREASING, 1), 30);
	assert_int_equal(up_kneedle(x, flat, 40, UP_KNEEDLE_CONCAVE_INCREASING, 1), -ENOENT);
	assert_int_equal(up_kneedle(x, line, 40, UP_KNEEDLE_CONCAVE_INCREASING, 1), -ENOENT);
	assert_int_equal(up_kneedle(x, up, 4, UP_KNEEDLE_CONCAVE_INCREASING, 1), -ENODATA);
	x[5] = x[4];
	assert_int_equal(up_kneedle(x, up, 40, UP_KNEEDLE_CONCAVE_INCREASING, 1), -EINVAL);
}

/* The paper's figure 2: y = -1 / (x + 0.1) + 5 has its knee at 0.22. */
static void kneedle_of_the_paper(void **state)
{
	double x[10], y[10];
	int at;

	(void)state;
	for (int i = 0; i < 10; i++) {
		x[i] = i / 9.0;
		y[i] = -1 / (x[i] + 0.1) + 5;
	}
	at = up_kneedle(x, y, 10, UP_KNEEDLE_CONCAVE_INCREASING, 1);
	assert_int_equal(at, 2);
	assert_near(x[at], 0.22, 0.05 * 0.22, "as published");
}

static void kneedle_sees_through_noise(void **state)
{
	enum { N = 1000 };
	double *x = malloc(N * sizeof(*x)), *y = malloc(N * sizeof(*y));
	uint64_t seed = 97;
	int at;

	(void)state;
	for (int i = 0; i < N; i++) {
		x[i] = i;
		y[i] = 1 - exp(-i / 150.0) + 0.02 * (random_unit(&seed) - 0.5);
	}
	at = up_kneedle(x, y, N, UP_KNEEDLE_CONCAVE_INCREASING, 1);
	assert_near((double)at, 284, 60, "where the slope 1/150 exp(-x/150) is that of the diagonal");
	free(x);
	free(y);
}

static void usl_gives_back_its_own_curve(void **state)
{
	static const struct {
		double lambda, sigma, kappa, n_max;
		const char *why;
	} cases[] = {
		{ 995.6486, 0.02671591, 0.0007690945, 35.57, "coefficients published for a database server (Schwartz)" },
		{ 1, 0.02, 0.02, 7, "peak at 7" },
		{ 20, 0.05, 0, INFINITY, "contention only: no peak" },
		{ 20, 0, 0, INFINITY, "linear" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct up_usl truth = { .lambda = cases[i].lambda, .sigma = cases[i].sigma, .kappa = cases[i].kappa }, fit;
		double n[32], x[32];

		for (int k = 0; k < 32; k++) {
			n[k] = k + 1;
			x[k] = up_usl_throughput(&truth, n[k]);
		}
		assert_int_equal(up_usl_fit(n, x, 32, &fit), 0);
		assert_near(fit.lambda, truth.lambda, 1e-5 * truth.lambda, cases[i].why);
		assert_near(fit.sigma, truth.sigma, 1e-6, cases[i].why);
		assert_near(fit.kappa, truth.kappa, 1e-7, cases[i].why);
		if (isfinite(cases[i].n_max))
			assert_near(fit.n_max, cases[i].n_max, 0.01, cases[i].why);
		else
			assert_true(isinf(fit.n_max) || fit.n_max > 1e4);
		assert_near(fit.rms_ratio, 0, 1e-6, "no residual");
	}
}

/* A curve that bends upwards a little would need kappa < 0: it must get 0 and no invented peak. */
static void usl_stays_non_negative(void **state)
{
	double n[8] = { 1, 2, 4, 8, 16, 32, 64, 96 }, x[8];
	struct up_usl fit;

	(void)state;
	for (int i = 0; i < 8; i++)
		x[i] = 20 * n[i] / (1 + 0.05 * (n[i] - 1)) * (1 + 0.0005 * n[i]);
	assert_int_equal(up_usl_fit(n, x, 8, &fit), 0);
	assert_true(fit.sigma >= 0 && fit.kappa == 0 && isinf(fit.n_max));
	assert_true(fit.rms_ratio > 0 && fit.rms_ratio < 0.05);
	assert_int_equal(up_usl_fit(n, x, 5, &fit), -ENODATA);
	n[3] = 0;
	assert_int_equal(up_usl_fit(n, x, 8, &fit), -EDOM);
}

static void queues_in_closed_form(void **state)
{
	struct up_closed_queue closed;
	struct up_queue q;

	(void)state;
	for (double rho = 0.1; rho < 0.99; rho += 0.1) {
		assert_int_equal(up_queue_mmc(rho, 1, 1, &q), 0);
		assert_near(q.response, 1 / (1 - rho), 1e-9, "M/M/1: R = S / (1 - rho)");
		assert_near(q.in_system, rho / (1 - rho), 1e-9, "N");
		assert_near(q.waiting, rho * rho / (1 - rho), 1e-9, "waiting");
		assert_near(q.in_system, rho * q.response, 1e-9, "Little");
		assert_near(q.response_p99, -log(0.01) / (1 - rho), 1e-6, "exponential sojourn");
	}
	assert_int_equal(up_queue_mmc(8, 1, 10, &q), 0);
	assert_near(q.wait_share, 0.4091801508, 1e-9, "Erlang C of 8 erlang on 10 servers");
	assert_int_equal(up_queue_mmc(1, 1, 1, &q), -EDOM);
	assert_int_equal(up_queue_mmc(900, 1, 1000, &q), 0); /* no overflow */
	assert_true(q.wait_share > 0 && q.wait_share < 0.01);
	assert_int_equal(up_queue_closed(1, 0.05, 0.01, 4, &closed), 0);
	assert_near(closed.throughput, 1 / 0.06, 1e-9, "one user never waits");
	assert_int_equal(up_queue_closed(128, 0.05, 0.01, 4, &closed), 0);
	assert_near(closed.throughput, 400, 1e-6, "c / S");
	assert_near(closed.response, 0.27, 1e-6, "N / X - Z");
	assert_int_equal(up_queue_closed(5000, 0.05, 0.01, 4, &closed), 0);
	assert_near(closed.utilisation, 1, 1e-9, "saturated, without overflow");
	assert_int_equal(up_queue_closed(8, 0, 0.01, 4, &closed), 0);
	assert_near(closed.response, 0.02, 1e-12, "no think time: always all inside");
}

static void tangent_knees(void **state)
{
	double rho[99], response[99];

	(void)state;
	assert_near(up_queue_tangent_knee(1), 0.5, 1e-12, "one server");
	assert_near(up_queue_tangent_knee(8), 0.7598356856, 1e-9, "eight, as published");
	for (int i = 0; i < 99; i++) {
		rho[i] = (i + 1) / 100.0;
		response[i] = 1 / (1 - pow(rho[i], 8));
	}
	assert_near(rho[up_queue_tangent_knee_of(rho, response, 99)], 0.76, 1e-9, "from samples");
	assert_int_equal(up_queue_tangent_knee_of(rho, response, 0), -1);
}

static void objectives(void **state)
{
	static const char *const bad[] = { "", "p95", "p95<", "p95>200ms", "p96<1ms", "failed<2", "p95<1%", "p95<200ms,",
		"p95<200msx", "p95<.", "failed<1ms" };
	struct up_summary s = { .n = 100, .failed = 2, .failed_known = true, .mean_ms = 40, .max_ms = 900 };
	struct up_slo slo;
	const char *at;

	(void)state;
	s.q[UP_P95].ms = 200;
	s.q[UP_P999].ms = 700;
	assert_int_equal(up_slo_parse("p95<=200ms, failed < 2.5% and p99.9<1s", &slo, &at), 0);
	assert_int_equal(slo.n, 3);
	assert_int_equal(up_slo_met(&slo, &s), 1);
	assert_int_equal(up_slo_parse("p95<200", &slo, &at), 0); /* ms, and not at 200 */
	assert_int_equal(up_slo_met(&slo, &s), 0);
	assert_int_equal(up_slo_parse("failed<0.01,mean<50,max<1s", &slo, &at), 0);
	assert_int_equal(up_slo_met(&slo, &s), 0);
	s.failed_known = false;
	assert_int_equal(up_slo_met(&slo, &s), -1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (up_slo_parse(bad[i], &slo, &at) != -EBADMSG)
			fail_msg("'%s' was taken", bad[i]);
	}
}

/* A ladder of 60 s steps, seen by two clocks. */
static void clock_shifts(void **state)
{
	static const struct {
		double shift_s;
		bool known;
		const char *why;
	} cases[] = { { 0, true, "none" }, { 37, true, "half a minute" }, { 3600, true, "one time zone" },
		{ -7200 - 90, true, "zone and drift" } };
	enum { N = 400, IDLE = 15, SEEN = N + 2 * IDLE };
	double a[N], b[SEEN] = { 0 }; /* the probe runs a little longer than the load */
	uint64_t seed = 31;
	struct up_shift shift;

	(void)state;
	for (int i = 0; i < N; i++) {
		double rate = 100 * (1 + i / 60);

		a[i] = rate + 10 * (random_unit(&seed) - 0.5);
		b[IDLE + i] = rate + 10 * (random_unit(&seed) - 0.5);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(up_shift_find(a, N, 1e9, b, SEEN, 1e9 - IDLE + cases[i].shift_s, 1, &shift), 0);
		if (shift.known != cases[i].known || fabs(shift.shift_s - cases[i].shift_s) > 2)
			fail_msg("%s: %s, %g s (%s)", cases[i].why, shift.known ? "known" : "not known", shift.shift_s,
				shift.reason);
	}
	for (int i = 0; i < N; i++)
		a[i] = b[i] = 200;
	assert_int_equal(up_shift_find(a, N, 1e9, b, N, 1e9 + 500, 1, &shift), 0);
	assert_false(shift.known);
	for (int i = 0; i < N; i++)
		a[i] = b[i] = 200 + 100 * (i / 10 % 2); /* the same every 20 s */
	assert_int_equal(up_shift_find(a, N, 1e9, b, N, 1e9 + 137, 1, &shift), 0);
	assert_false(shift.known);
	assert_non_null(strstr(shift.reason, "several"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kneedle_finds_the_turn),
		cmocka_unit_test(kneedle_of_the_paper),
		cmocka_unit_test(kneedle_sees_through_noise),
		cmocka_unit_test(usl_gives_back_its_own_curve),
		cmocka_unit_test(usl_stays_non_negative),
		cmocka_unit_test(queues_in_closed_form),
		cmocka_unit_test(tangent_knees),
		cmocka_unit_test(objectives),
		cmocka_unit_test(clock_shifts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
