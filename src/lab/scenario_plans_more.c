/* Further bottlenecks that people meet, beyond the seven of the walk (scenario_plans.c). */
#include <stddef.h>

#include "scenario_plans.h"

/* CPU time of the lab's own work for a request, and for one that brings its own connection. */
#define OWN_CPU_MS 0.25
#define CONNECTION_CPU_MS 0.35

static void truth(struct scenario_plan *plan, const char *resource, const char *name)
{
	plan->verdict = "resource";
	plan->resource = resource;
	plan->name = name;
}

static void draw_parent_quota(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double cpu_ms = scenario_between(random, 1.5, 3), quota_cpus = scenario_between(random, 0.18, 0.24);

	(void)lift;
	plan->parent_quota_cpus = quota_cpus;
	scenario_add(plan->serve, "--workers %u --cpu-ms %s%.3f --db @DB,pool=32", scenario_one_of(random, 12, 24),
		scenario_one_of(random, 0, 1) ? "exp:" : "", cpu_ms);
	scenario_add(plan->db, "--workers 64 --service-ms %.2f", scenario_between(random, 2, 5));
	scenario_decoy(plan, random, true);
	scenario_ladder(plan, random, quota_cpus * 1e3 / (cpu_ms + OWN_CPU_MS));
	truth(plan, "cpu", "@PARENT");
}

static void draw_noisy_neighbour(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double cpu_ms = scenario_between(random, 2, 4);

	(void)lift;
	/* Two groups of equal weight on one CPU: half of it for each. */
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f", scenario_one_of(random, 12, 24), cpu_ms);
	scenario_add(plan->rival, "--threads %u --percent 100", scenario_one_of(random, 2, 3));
	scenario_ladder(plan, random, 0.5 * 1e3 / (cpu_ms + OWN_CPU_MS));
	truth(plan, "run-queue", "@RIVAL");
}

static void draw_hot_lock(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double held_ms = scenario_between(random, 4, 9);

	(void)lift;
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --hot-lock-ms %.2f", scenario_one_of(random, 24, 64),
		scenario_between(random, 0.2, 0.5), held_ms);
	scenario_decoy(plan, random, false);
	scenario_ladder(plan, random, 1e3 / (held_ms + 0.15));
	truth(plan, "lock", "]");
}

static void draw_slow_accept(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double delay_ms = scenario_between(random, 5, 10);

	(void)lift;
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --wait-ms %.2f --accept-delay %.2fms",
		scenario_one_of(random, 16, 32), scenario_between(random, 0.2, 0.5), scenario_between(random, 2, 6), delay_ms);
	scenario_add(plan->load, "--new-connection ");
	scenario_decoy(plan, random, true);
	scenario_ladder(plan, random, 1e3 / (delay_ms + 0.2));
	truth(plan, "listen", "@URL");
}

static void draw_descriptor_limit(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double wait_ms = scenario_between(random, 80, 150);
	const unsigned room = scenario_one_of(random, 15, 30);

	(void)lift;
	/* What the server has open itself: standard streams, listener, event descriptors. */
	scenario_add(plan->serve, "--mode thread-per-request --cpu-ms %.3f --wait-ms %.1f --max-fds %u",
		scenario_between(random, 0.1, 0.3), wait_ms, room + 8);
	scenario_add(plan->load, "--new-connection --timeout 5s ");
	scenario_ladder(plan, random, room * 1e3 / (wait_ms + CONNECTION_CPU_MS));
	truth(plan, "descriptors", "]");
}

static void draw_blocked_loop(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const double wait_ms = scenario_between(random, 4, 9);

	(void)lift;
	scenario_add(plan->serve, "--single-thread --cpu-ms %.3f --wait-ms %.2f", scenario_between(random, 0.2, 0.5), wait_ms);
	scenario_add(plan->decoy, "--percent %u", scenario_one_of(random, 15, 35));
	scenario_ladder(plan, random, 1e3 / (wait_ms + 0.6));
	truth(plan, "thread-pool", "");
}

static void draw_disk_fsync(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	(void)lift;
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --fsync @DIR/synced", scenario_one_of(random, 48, 64),
		scenario_between(random, 0.1, 0.3));
	/* How many syncs a device does is not drawn but found: users double until it does no more. */
	scenario_add(plan->load, "--sweep 1,2,4,8,16,32:6s --think-ms exp:%.0f", scenario_between(random, 2, 6));
	scenario_decoy(plan, random, true);
	truth(plan, "disk", "@SERVER");
}

static void draw_memory_limit(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const unsigned file_mb = scenario_one_of(random, 72, 96);

	(void)lift;
	/* The file does not fit into what the group may hold: each page has to be fetched again, and another has to go for it. */
	plan->memory_mb = 48;
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --pages @DIR/pages:%u:%u", scenario_one_of(random, 24, 48),
		scenario_between(random, 0.1, 0.3), file_mb, scenario_one_of(random, 20, 40));
	scenario_add(plan->load, "--sweep 1,2,4,8,16,32:6s --think-ms exp:%.0f", scenario_between(random, 2, 6));
	truth(plan, "memory", "@SERVER");
}

static void draw_slow_third(struct lab_random *random, double lift, struct scenario_plan *plan)
{
	const unsigned workers = scenario_one_of(random, 2, 4);
	const double service_ms = scenario_between(random, 10, 20);

	(void)lift;
	scenario_add(plan->serve, "--workers %u --cpu-ms %.3f --db @DB,pool=%u --db @OTHER,pool=%u",
		scenario_one_of(random, 32, 64), scenario_between(random, 0.2, 0.6), scenario_one_of(random, 16, 32),
		scenario_one_of(random, 16, 32));
	scenario_add(plan->db, "--workers 64 --service-ms %.2f", scenario_between(random, 2, 6));
	scenario_add(plan->other, "--workers %u --service-ms %s%.2f", workers, scenario_one_of(random, 0, 1) ? "exp:" : "",
		service_ms);
	scenario_add(plan->decoy, "--percent %u", scenario_one_of(random, 15, 35));
	scenario_ladder(plan, random, workers * 1e3 / (service_ms + 0.2));
	truth(plan, "dependency", "@OTHER");
}

const struct scenario scenarios_more[] = {
	{ "parent-quota", "the quota of a group around the server's limits", draw_parent_quota, false },
	{ "noisy-neighbour", "another group on the same CPU takes its share", draw_noisy_neighbour, false },
	{ "hot-lock", "one mutex that every request holds limits", draw_hot_lock, false },
	{ "slow-accept", "one thread accepts connections, slowly", draw_slow_accept, false },
	{ "descriptor-limit", "the server may not open more files", draw_descriptor_limit, false },
	{ "blocked-loop", "a single thread does everything and waits in between", draw_blocked_loop, false },
	{ "memory-limit", "the data does not fit into the group's memory", draw_memory_limit, false },
	{ "disk-fsync", "every request waits for the device", draw_disk_fsync, false },
	{ "slow-third", "one of two dependencies is slow", draw_slow_third, false },
	{ NULL, NULL, NULL, false },
};
