/* The walk on simulated services whose limit is known, and on rows written by hand for each rule that is not the walk. */
#include "check.h"

#include <stdlib.h>

#include "nested_queues.h"
#include "useprobe/attribution.h"
#include "useprobe/ceilings.h"

static const struct {
	const char *why, *resource, *name;
	struct nq_service service;
} cases[] = {
	{ "one CPU, others free", "cpu", "/api", { { 64, 1, 1, 32, 16 }, .004, 0, .010 } },
	{ "four workers", "thread-pool", "api[7]/worker-", { { 4, 2, 1, 32, 16 }, .0005, 0, .012 } },
	{ "three connections", "connection-pool", "10.0.0.2:5433", { { 128, 2, 1, 3, 32 }, .0005, 0, .010 } },
	{ "slow database behind a full pool", "dependency", "10.0.0.2:5433", { { 256, 2, 1, 100, 3 }, .0005, 0, .010 } },
	{ "slow database, fewer workers than connections", "dependency", "10.0.0.2:5433",
		{ { 64, 2, 1, 100, 3 }, .0005, 0, .010 } },
	{ "one lock", "lock", "api[7]", { { 64, 2, 1, 32, 16 }, .0005, .0035, .010 } },
};

static double min2(double a, double b)
{
	return a < b ? a : b;
}

/* What the service can carry, by the tightest of its stations. */
static double capacity_per_s(const struct nq_service *s)
{
	double least = min2(s->servers[NQ_CPU] / s->cpu_s, min2(s->servers[NQ_POOL], s->servers[NQ_DB]) / s->db_s);

	if (s->lock_s > 0)
		least = min2(least, 1 / s->lock_s);
	return min2(least, s->servers[NQ_WORKER] / (s->cpu_s + s->db_s + s->lock_s));
}

/* Two good steps and a bad one of SECONDS each. */
static void run_ladder(const struct nq_service *service, const struct nq_view *view, uint64_t seed, double overload,
	struct up_recording *recording, struct up_stage stage[3])
{
	const double capacity = capacity_per_s(service), load[] = { 0.35, 0.6, overload };
	int64_t wall_us = INT64_C(1800000000000000);

	assert_int_equal(up_recording_init(recording), 0);
	for (int i = 0; i < 3; i++) {
		stage[i] = (struct up_stage){ .from_us = wall_us,
			.offered_per_s = capacity * load[i],
			.in_flight = NAN,
			.verdict = i < 2 ? UP_STAGE_GOOD : UP_STAGE_BAD };
		assert_int_equal(nq_run(service, view, capacity * load[i], 4, 8, seed * 3 + (uint64_t)i, &wall_us, recording), 0);
		stage[i].to_us = wall_us;
	}
}

static unsigned right_of(const struct nq_view *view, unsigned *ret_unknown, double *ret_unexplained)
{
	unsigned right = 0;

	*ret_unknown = 0;
	*ret_unexplained = 0;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			const double overload = 1.15 + 0.45 * (double)((seed * 7919) % 20) / 19;
			struct up_recording recording;
			struct up_attribution a;
			struct up_stage stage[3];

			run_ladder(&cases[i].service, view, seed, overload, &recording, stage);
			const struct up_attribution_input input = {
				.recording = &recording, .stage = stage, .n_stages = 3, .bad = 2, .collapse = -1
			};

			assert_int_equal(up_attribution_find(&input, &a), 0);
			if (a.verdict == UP_BOTTLENECK_RESOURCE && strcmp(a.suspect.resource, cases[i].resource) == 0 &&
				strstr(a.suspect.name, cases[i].name))
				right++;
			else
				print_message("%s, seed %d, x%.2f: %s %s %s (%s)\n", cases[i].why, (int)seed, overload,
					up_bottleneck_verdict_name(a.verdict), a.suspect.resource, a.suspect.name, a.reason);
			*ret_unknown += a.verdict == UP_BOTTLENECK_UNKNOWN;
			if (a.unexplained_share > *ret_unexplained)
				*ret_unexplained = a.unexplained_share;
			up_recording_done(&recording);
		}
	}
	return right;
}

static void test_nested(void **state)
{
	static const struct {
		const char *why;
		struct nq_view view;
	} views[] = {
		{ "everything counted by the application", { .queue_counted = true, .pool_counted = true } },
		{ "only what the kernel sees", { .queue_counted = false } },
		{ "the queue stands in the sockets, a decoy is busy", { .unread = true, .decoy = true } },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(views); i++) {
		unsigned unknown;
		double unexplained;
		const unsigned right = right_of(&views[i].view, &unknown, &unexplained);

		print_message("%s: %u of 120 right, %u unknown, at most %.1f %% unexplained\n", views[i].why, right, unknown,
			100 * unexplained);
		assert_int_equal(right, 120);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
