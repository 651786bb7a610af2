/* The seven scenarios of the walk: each draws its figures from the seed so that one resource limits, and another would at 1.8 to 3 times
 * that rate. */
#include "scenario_plans.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double scenario_between(struct lab_random *random, double low, double high)
{
	return low + (high - low) * lab_random_unit(random);
}

unsigned scenario_one_of(struct lab_random *random, unsigned low, unsigned high)
{
	return low + (unsigned)(lab_random_next(random) % (high - low + 1));
}

void scenario_add(char text[SCENARIO_TEXT], const char *format, ...)
{
	const size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + used, SCENARIO_TEXT - used, format, list);
	va_end(list);
}

void scenario_ladder(struct scenario_plan *plan, struct lab_random *random, double capacity_per_s)
{
	/* Three steps below, two above: 0.35, 0.62, 0.89, 1.16, 1.43 of the capacity, moved a little by the seed. */
	const double start = scenario_between(random, 0.32, 0.38) * capacity_per_s,
		     step = scenario_between(random, 0.25, 0.28) * capacity_per_s;

	plan->capacity_per_s = capacity_per_s;
	scenario_add(
		plan->load, "--steps %.0f:%.0f:5:7s --vus 600%s", start, step, scenario_one_of(random, 0, 1) ? " --poisson" : "");
}

void scenario_sweep(struct scenario_plan *plan, struct lab_random *random, double capacity_per_s, double response_ms)
{
	const double think_ms = scenario_between(random, 150, 400), users = capacity_per_s * (think_ms + response_ms) / 1e3;

	plan->capacity_per_s = capacity_per_s;
	scenario_add(plan->load, "--sweep %.0f,%.0f,%.0f,%.0f,%.0f:7s --think-ms exp:%.0f", fmax(1, 0.3 * users),
		fmax(2, 0.55 * users), fmax(3, 0.8 * users), fmax(4, 1.5 * users), fmax(5, 2.5 * users), think_ms);
}

/* Open or closed, as the seed says; one run in four is closed. */
static void load(struct scenario_plan *plan, struct lab_random *random, double capacity_per_s, double response_ms)
{
	if (scenario_one_of(random, 0, 3) == 0)
		scenario_sweep(plan, random, capacity_per_s, response_ms);
	else
		scenario_ladder(plan, random, capacity_per_s);
}

void scenario_decoy(struct scenario_plan *plan, struct lab_random *random, bool cpu_is_short)
{
	switch (scenario_one_of(random, cpu_is_short ? 1 : 0, cpu_is_short ? 2 : 3)) {
	case 0:
		scenario_add(plan->serve, " --decoy-threads 1:%u", scenario_one_of(random, 10, 25));
		break;
	case 1:
		scenario_add(plan->decoy, "--percent %u", scenario_one_of(random, 15, 35));
		break;
	case 2:
		/* A second dependency that is asked often and answers at once. */
		scenario_add(plan->other, "--workers 16 --service-ms %.2f", scenario_between(random, 0.5, 1.5));
		scenario_add(plan->serve, " --db @OTHER,pool=24,every=2");
		break;
	default:
		/* A pool of some threads that come and go with nobody's requests. */
		scenario_add(plan->serve, " --decoy-threads 3:%u", scenario_one_of(random, 2, 4));
		break;
	}
}

/* CPU quota of the server, at most the CPU it is bound to; 0 = none needed. */
static double quota(double cpus)
{
	return cpus < 0.95 ? fmax(cpus, 0.1) : 0;
}

/* CPU time of the lab's own work for a request, beside what it is told to burn. */
#define OWN_CPU_MS 0.25

static void draw_cpu_quota(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double cpu_ms = scenario_between(random, 1.5, 3), service_ms = scenario_between(random, 3, 8);
	const double quota_cpus = scenario_between(random, 0.18, 0.24), rate = quota_cpus * 1e3 / (cpu_ms + OWN_CPU_MS);
	/* The workers limit next. */
	const double next = scenario_between(random, 1.8, 2.6) * rate;
	const unsigned workers = (unsigned)lround(fmax(2, next * (cpu_ms + OWN_CPU_MS + service_ms) / 1e3));

	plan->quota_cpus = quota(quota_cpus * lift);
	scenario_add(plan->serve, "--workers %u --cpu-ms %s%.3f --db @DB,pool=%u", workers,
		scenario_one_of(random, 0, 1) ? "exp:" : "", cpu_ms, workers + 8);
	scenario_add(plan->db, "--workers 64 --service-ms %.2f", service_ms);
	scenario_decoy(plan, random, true);
	load(plan, random, lift > 1 ? workers * 1e3 / (cpu_ms + OWN_CPU_MS + service_ms) : rate, cpu_ms + service_ms);
	plan->verdict = "resource";
	plan->resource = "cpu";
	plan->name = "@SERVER";
}

static void draw_few_workers(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const unsigned workers = scenario_one_of(random, 2, 5);
	const double wait_ms = scenario_between(random, 12, 25), cpu_ms = scenario_between(random, 0.4, 1);
	const double rate = workers * 1e3 / (wait_ms + cpu_ms + OWN_CPU_MS);
	/* The CPU limits next. */
	const double next = scenario_between(random, 1.8, 2.8) * rate;

	plan->quota_cpus = quota(next * (cpu_ms + OWN_CPU_MS) / 1e3);
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f", (unsigned)(workers * lift), cpu_ms);
	if (scenario_one_of(random, 0, 1)) {
		scenario_add(plan->serve, " --wait-ms %.2f", wait_ms);
	} else {
		scenario_add(plan->serve, " --db @DB,pool=%u", 40 + scenario_one_of(random, 0, 40));
		scenario_add(plan->db, "--workers 64 --service-ms %.2f", wait_ms);
	}
	scenario_decoy(plan, random, true);
	load(plan, random, lift > 1 ? plan->quota_cpus * 1e3 / (cpu_ms + OWN_CPU_MS) : rate, wait_ms + cpu_ms);
	plan->verdict = "resource";
	plan->resource = "thread-pool";
	plan->name = "/worker-";
}

static void draw_pool_small(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const unsigned pool = scenario_one_of(random, 2, 5);
	const double service_ms = scenario_between(random, 10, 20), cpu_ms = scenario_between(random, 0.4, 1);
	const double rate = pool * 1e3 / (service_ms + 0.3);
	const double next = scenario_between(random, 1.8, 2.8) * rate;

	plan->quota_cpus = quota(next * (cpu_ms + OWN_CPU_MS) / 1e3);
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --db @DB,pool=%u", scenario_one_of(random, 48, 96), cpu_ms,
		(unsigned)(pool * lift));
	scenario_add(plan->db, "--workers 64 --service-ms %s%.2f", scenario_one_of(random, 0, 1) ? "exp:" : "", service_ms);
	scenario_decoy(plan, random, true);
	load(plan, random, lift > 1 ? plan->quota_cpus * 1e3 / (cpu_ms + OWN_CPU_MS) : rate, service_ms + cpu_ms);
	plan->verdict = "resource";
	plan->resource = "connection-pool";
	plan->name = "@DB";
}

static void draw_database_slow(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const unsigned workers = scenario_one_of(random, 2, 4);
	const double service_ms = scenario_between(random, 10, 20), rate = workers * 1e3 / (service_ms + 0.2);

	(void)lift;
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --db @DB,pool=%u", scenario_one_of(random, 32, 64),
		scenario_between(random, 0.2, 0.8), scenario_one_of(random, 16, 48));
	scenario_add(
		plan->db, "--workers %u --service-ms %s%.2f", workers, scenario_one_of(random, 0, 1) ? "exp:" : "", service_ms);
	scenario_decoy(plan, random, false);
	load(plan, random, rate, service_ms + 1);
	plan->verdict = "resource";
	plan->resource = "dependency";
	plan->name = "@DB";
}

/* A service with plenty of room. */
static double roomy(struct scenario_plan *plan, struct lab_random *random)
{
	const double service_ms = scenario_between(random, 2, 8);

	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --db @DB,pool=32", scenario_one_of(random, 24, 48),
		scenario_between(random, 0.2, 0.6));
	scenario_add(plan->db, "--workers 64 --service-ms %.2f", service_ms);
	return service_ms;
}

static void draw_frozen(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	(void)lift;
	roomy(plan, random);
	scenario_decoy(plan, random, false);
	/* Both models meet the freeze: one goes on asking, the other waits with it. */
	if (scenario_one_of(random, 0, 1))
		scenario_add(plan->load, "--rate %.0f --hold 30s --vus 2000", scenario_between(random, 100, 200));
	else
		scenario_add(plan->load, "--users %u --think-ms 100 --hold 30s", scenario_one_of(random, 10, 25));
	plan->stop_at_s = scenario_between(random, 12, 16);
	plan->stop_for_s = scenario_between(random, 4, 5);
	plan->verdict = "frozen";
}

static void draw_generator_bound(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double service_ms = roomy(plan, random);

	(void)lift;
	scenario_decoy(plan, random, false);
	if (scenario_one_of(random, 0, 1)) {
		/* One thread of the generator that burns so long per request cannot pass 1e6 / cpu_us requests a second. */
		const double cpu_us = scenario_between(random, 3000, 5000);

		scenario_add(plan->load, "--cpu-us %.0f ", cpu_us);
		scenario_ladder(plan, random, 1e6 / cpu_us);
	} else {
		/* So few users that they cannot ask more often, however fast the answers come. */
		const unsigned users = scenario_one_of(random, 2, 3);
		const double rate = users * 1e3 / (service_ms + 1.2);

		plan->capacity_per_s = rate;
		scenario_add(plan->load, "--steps %.0f:%.0f:5:7s --vus %u", 0.3 * rate, 0.3 * rate, users);
	}
	plan->verdict = "generator";
}

static void draw_no_knee(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	(void)lift;
	roomy(plan, random);
	scenario_decoy(plan, random, false);
	scenario_ladder(plan, random, scenario_between(random, 120, 250));
	plan->verdict = "none";
}

const struct scenario scenarios[] = {
	{ "cpu-quota", "the server's CPU quota limits", draw_cpu_quota, true },
	{ "few-workers", "the number of worker threads limits", draw_few_workers, true },
	{ "pool-small", "the connections to a fast database limit", draw_pool_small, true },
	{ "database-slow", "the database's own workers limit, behind a pool that only fills because of it", draw_database_slow,
		false },
	{ "frozen", "the server is stopped for some seconds", draw_frozen, false },
	{ "generator-bound", "the load generator cannot send what it planned", draw_generator_bound, false },
	{ "no-knee", "nothing limits", draw_no_knee, false },
	{ NULL, NULL, NULL, false },
};

const struct scenario *scenario_at(unsigned index)
{
	unsigned first = 0;

	while (scenarios[first].name)
		first++;
	if (index < first)
		return &scenarios[index];
	/* Not past the end of the second list either. */
	for (unsigned i = 0; scenarios_more[i].name; i++)
		if (i == index - first)
			return &scenarios_more[i];
	return NULL;
}
