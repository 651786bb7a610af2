/* The scenarios: each draws its figures from the seed so that exactly one resource limits, well before any other would. */
#include "scenario.h"

#include <stdarg.h>
#include <stdio.h>

#include "random.h"

static double between(struct lab_random *random, double low, double high)
{
	return low + (high - low) * lab_random_unit(random);
}

static unsigned one_of(struct lab_random *random, unsigned low, unsigned high)
{
	return low + (unsigned)(lab_random_next(random) % (high - low + 1));
}

static void add(char args[SCENARIO_ARGS][SCENARIO_TEXT], unsigned *count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char args[SCENARIO_ARGS][SCENARIO_TEXT], unsigned *count, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(args[*count], SCENARIO_TEXT, format, list);
	va_end(list);
	(*count)++;
}

/* Five steps of 0.3 times CAPACITY: three below it, two above. */
static void ladder(struct scenario_plan *plan, double capacity_per_s)
{
	const double step = capacity_per_s * 0.3;

	plan->capacity_per_s = capacity_per_s;
	add(plan->load, &plan->load_count, "--steps");
	add(plan->load, &plan->load_count, "%.0f:%.0f:5:7s", step, step);
	add(plan->load, &plan->load_count, "--vus");
	add(plan->load, &plan->load_count, "400");
}

static void decoy(struct scenario_plan *plan, struct lab_random *random)
{
	plan->decoy_percent = one_of(random, 10, 25);
}

static void serve(struct scenario_plan *plan, unsigned workers, double cpu_ms)
{
	add(plan->serve, &plan->serve_count, "--workers");
	add(plan->serve, &plan->serve_count, "%u", workers);
	add(plan->serve, &plan->serve_count, "--cpu-ms");
	add(plan->serve, &plan->serve_count, "%.3f", cpu_ms);
}

static void database(struct scenario_plan *plan, unsigned pool, unsigned workers, double service_ms)
{
	add(plan->serve, &plan->serve_count, "--db");
	add(plan->serve, &plan->serve_count, SCENARIO_DB);
	add(plan->serve, &plan->serve_count, "--pool");
	add(plan->serve, &plan->serve_count, "%u", pool);
	add(plan->db, &plan->db_count, "--workers");
	add(plan->db, &plan->db_count, "%u", workers);
	add(plan->db, &plan->db_count, "--service-ms");
	add(plan->db, &plan->db_count, "%.2f", service_ms);
}

static void draw_cpu_quota(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;
	double cpu_ms;
	unsigned workers;

	lab_random_init(&random, seed, 1);
	cpu_ms = between(&random, 1.5, 3);
	workers = one_of(&random, 12, 24);
	plan->quota_cpus = between(&random, 0.3, 0.5);
	serve(plan, workers, cpu_ms);
	database(plan, workers, 32, between(&random, 2, 6));
	decoy(plan, &random);
	ladder(plan, plan->quota_cpus * 1e3 / (cpu_ms + 0.1));
	plan->verdict = "resource";
	plan->resource = "cpu";
}

static void draw_few_workers(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;
	unsigned workers;
	double wait_ms;

	lab_random_init(&random, seed, 2);
	workers = one_of(&random, 3, 6);
	wait_ms = between(&random, 12, 25);
	serve(plan, workers, 0.2);
	add(plan->serve, &plan->serve_count, "--wait-ms");
	add(plan->serve, &plan->serve_count, "%.2f", wait_ms);
	decoy(plan, &random);
	ladder(plan, workers * 1e3 / (wait_ms + 0.4));
	plan->verdict = "resource";
	plan->resource = "thread-pool";
	plan->name_holds = "/worker-";
}

static void draw_pool_small(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;
	double service_ms;
	unsigned pool;

	lab_random_init(&random, seed, 3);
	pool = one_of(&random, 2, 5);
	service_ms = between(&random, 10, 20);
	serve(plan, one_of(&random, 24, 40), 0.2);
	database(plan, pool, 64, service_ms);
	decoy(plan, &random);
	ladder(plan, pool * 1e3 / (service_ms + 0.3));
	plan->verdict = "resource";
	plan->resource = "connection-pool";
	plan->name_holds = SCENARIO_DB;
}

static void draw_database_slow(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;
	double service_ms;
	unsigned workers;

	lab_random_init(&random, seed, 4);
	workers = one_of(&random, 2, 4);
	service_ms = between(&random, 10, 20);
	serve(plan, 48, 0.2);
	database(plan, one_of(&random, 24, 40), workers, service_ms);
	decoy(plan, &random);
	ladder(plan, workers * 1e3 / (service_ms + 0.2));
	plan->verdict = "resource";
	plan->resource = "dependency";
	plan->name_holds = SCENARIO_DB;
}

/* A service with plenty of room, at a steady rate. */
static void steady(struct scenario_plan *plan, struct lab_random *random, double rate_per_s, const char *hold)
{
	serve(plan, 16, 0.3);
	database(plan, 16, 32, between(random, 2, 6));
	add(plan->load, &plan->load_count, "--rate");
	add(plan->load, &plan->load_count, "%.0f", rate_per_s);
	add(plan->load, &plan->load_count, "--hold");
	add(plan->load, &plan->load_count, "%s", hold);
	add(plan->load, &plan->load_count, "--vus");
	add(plan->load, &plan->load_count, "2000");
}

static void draw_frozen(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;

	lab_random_init(&random, seed, 5);
	steady(plan, &random, between(&random, 100, 200), "30s");
	decoy(plan, &random);
	plan->stop_at_s = between(&random, 14, 17);
	plan->stop_for_s = between(&random, 4, 5);
	plan->verdict = "frozen";
}

static void draw_generator_bound(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;
	double cpu_us;

	lab_random_init(&random, seed, 6);
	/* One thread of the generator that burns so long per request cannot pass 1e6 / cpu_us requests a second. */
	cpu_us = between(&random, 2500, 4000);
	serve(plan, 16, 0.2);
	add(plan->load, &plan->load_count, "--cpu-us");
	add(plan->load, &plan->load_count, "%.0f", cpu_us);
	ladder(plan, 1e6 / cpu_us);
	plan->verdict = "generator";
}

static void draw_no_knee(uint64_t seed, struct scenario_plan *plan)
{
	struct lab_random random;

	lab_random_init(&random, seed, 7);
	serve(plan, one_of(&random, 16, 32), 0.3);
	database(plan, 32, 64, between(&random, 2, 6));
	decoy(plan, &random);
	ladder(plan, between(&random, 120, 200));
	plan->verdict = "none";
}

const struct scenario scenarios[] = {
	{ "cpu-quota", "the server's CPU quota limits", draw_cpu_quota },
	{ "few-workers", "the number of worker threads limits", draw_few_workers },
	{ "pool-small", "the connections to a fast database limit", draw_pool_small },
	{ "database-slow", "the database's own workers limit, behind a pool that only fills because of it", draw_database_slow },
	{ "frozen", "the server is stopped for some seconds", draw_frozen },
	{ "generator-bound", "the load generator cannot send what it planned", draw_generator_bound },
	{ "no-knee", "nothing limits", draw_no_knee },
	{ NULL, NULL, NULL },
};
