/* One cgroup's CPU files, v1 or v2, as read in one tick. Private to the cpu collectors. */
#ifndef UP_CPU_GROUP_H
#define UP_CPU_GROUP_H

#include "useprobe/collector.h"

/* Entries kept to look back over at least CPU_PERIODS_MIN quota periods, however short the interval is. */
#define CPU_HISTORY 128
#define CPU_PERIODS_MIN 10

struct cpu_periods {
	struct up_u64 periods; /* counter */
	struct up_u64 throttled; /* counter, periods in which the group was throttled */
};

struct cpu_group {
	const char *label; /* path below the hierarchy root, borrowed from the arena */
	bool v2;
	bool has_controller; /* quota files are there */
	struct up_u64 usage_ns; /* counter, all CPUs summed; v2 usage_usec, v1 cpuacct.usage */
	struct up_u64 quota_us; /* gauge; not there = no limit */
	struct up_u64 period_us; /* gauge */
	struct up_u64 burst_us; /* gauge, since 5.14 */
	struct up_u64 throttled_ns; /* counter, summed over CPUs; by this group's own quota */
	struct up_u64 local_ns; /* counter, summed over CPUs; cpu.stat.local: by own or an ancestor's quota (since 6.8) */
	struct up_u64 bursts; /* counter */
	struct up_u64 cpuset_cpus; /* gauge, CPUs of the effective cpuset */
	struct cpu_periods now;
	struct cpu_periods *history; /* [history_count] newest last, without now; borrowed from the arena */
	size_t history_count;
};

/* Paths and descriptors of one group, kept over the run. */
struct cpu_group_files {
	char label[UP_PATH_MAX];
	bool v2;
	char path[8][UP_PATH_MAX];
	struct up_file files[8];
	struct cpu_periods history[CPU_HISTORY];
	size_t history_count; /* entries ever written */
};

/* Prepares the paths of TARGET's N-th ancestor (0 = itself). false past the mount point or when no hierarchy counts CPU. */
bool cpu_group_open(struct cpu_group_files *files, const struct up_target *target, unsigned up);
void cpu_group_close(struct cpu_group_files *files);
/* Reads. 0; -ENOENT when the group is gone; -EBADMSG with env->error. Missing optional files leave fields not there. */
int cpu_group_read(struct up_env *env, struct cpu_group_files *files, struct up_arena *arena, struct cpu_group *ret);

/* Quota in CPUs (quota / period); UP_ABSENT without one. */
struct up_value cpu_group_quota(const struct cpu_group *group);
/* Throttled share of the last >= CPU_PERIODS_MIN periods; *ret_periods (may be NULL) says over how many. DT_NS is the window: a group in
 * which no period ran for so long was not throttled in it, whatever came before. */
struct up_value cpu_group_throttled_share(
	const struct cpu_group *prev, const struct cpu_group *cur, uint64_t dt_ns, double *ret_periods);

#endif
