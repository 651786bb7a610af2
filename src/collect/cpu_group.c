/* The CPU files of one cgroup.
 * v2 (Documentation/admin-guide/cgroup-v2.rst):  cpu.stat "usage_usec 14" (microseconds), cpu.max "50000 100000" or "max 100000"
 * v1 (Documentation/scheduler/sched-bwc.rst):    cpu.stat "throttled_time 14" (nanoseconds), cpu.cfs_quota_us, cpuacct.usage
 * A limit on an ancestor leaves nr_throttled of the child at 0; only cpu.stat.local (both versions, since 6.8) shows it there. */
#include "cpu_group.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"

enum { STAT, LOCAL, MAX, PERIOD, BURST, USAGE, CPUSET, FILES };

static const char *const names_v2[FILES] = {
	[STAT] = "cpu.stat",
	[LOCAL] = "cpu.stat.local",
	[MAX] = "cpu.max",
	[BURST] = "cpu.max.burst",
};
static const char *const names_v1[FILES] = {
	[STAT] = "cpu.stat",
	[LOCAL] = "cpu.stat.local",
	[MAX] = "cpu.cfs_quota_us",
	[PERIOD] = "cpu.cfs_period_us",
	[BURST] = "cpu.cfs_burst_us",
};

static void set_path(struct cpu_group_files *files, int which, const char *dir, const char *name)
{
	if (!name || (size_t)snprintf(files->path[which], sizeof(files->path[which]), "%s/%s", dir, name) >=
			     sizeof(files->path[which]))
		return;
	files->files[which].path = files->path[which];
}

bool cpu_group_open(struct cpu_group_files *files, const struct up_target *target, unsigned up)
{
	char dir[UP_PATH_MAX];
	bool v2 = true;

	memset(files, 0, sizeof(*files));
	/* Without a cpu controller anywhere, the v2 directory still counts usage (bare v2 mount of a hybrid host). */
	if (!up_target_dir(target, UP_CTL_CPU, up, dir, sizeof(dir), &v2) && !up_target_v2_dir(target, up, dir, sizeof(dir)))
		return false;
	if (!up_target_ancestor_label(target, UP_CTL_CPU, up, files->label, sizeof(files->label)))
		snprintf(files->label, sizeof(files->label), "%s", target->label);
	files->v2 = v2;
	for (int i = 0; i < FILES; i++)
		set_path(files, i, dir, v2 ? names_v2[i] : names_v1[i]);
	if (!v2 && up_target_dir(target, UP_CTL_CPUACCT, up, dir, sizeof(dir), NULL))
		set_path(files, USAGE, dir, "cpuacct.usage");
	if (up_target_dir(target, UP_CTL_CPUSET, up, dir, sizeof(dir), &v2))
		set_path(files, CPUSET, dir, v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
	return true;
}

void cpu_group_close(struct cpu_group_files *files)
{
	for (int i = 0; i < FILES; i++)
		up_file_close(&files->files[i]);
}

/* Text of one of the files; NULL when it is not there. A malformed file is an error, a missing one is not. */
static int text_of(struct up_env *env, struct cpu_group_files *files, int which, struct up_arena *arena, char **ret)
{
	int r = -ENOENT;

	*ret = NULL;
	if (files->files[which].path)
		r = up_file_read(env->source, &files->files[which], arena, ret, NULL);
	return r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP ? 0 : r;
}

static int malformed(struct up_env *env, const struct cpu_group_files *files, int which, const char *text)
{
	return up_fail(env, -EBADMSG, "%s: not understood: \"%.40s\"", files->path[which], text);
}

static int key_scaled(const char *text, const char *key, uint64_t factor, struct up_u64 *ret)
{
	const int r = up_scan_key(text, key, ret);

	/* A counter near 2^64 after scaling is as good as not there: it could not be compared with the next one. */
	if (r == 0 && ret->has && ret->n > UINT64_MAX / factor)
		ret->has = false;
	else if (r == 0 && ret->has)
		ret->n *= factor;
	return r;
}

static int read_stat(struct up_env *env, struct cpu_group_files *files, struct up_arena *arena, struct cpu_group *ret)
{
	const uint64_t unit_ns = files->v2 ? UP_NS_PER_US : 1;
	char *text;
	int r = text_of(env, files, STAT, arena, &text);

	if (r < 0 || !text)
		return r;
	if (files->v2 && key_scaled(text, "usage_usec", UP_NS_PER_US, &ret->usage_ns) < 0)
		return malformed(env, files, STAT, text);
	if (up_scan_key(text, "nr_periods", &ret->now.periods) < 0 ||
		up_scan_key(text, "nr_throttled", &ret->now.throttled) < 0 || up_scan_key(text, "nr_bursts", &ret->bursts) < 0 ||
		key_scaled(text, files->v2 ? "throttled_usec" : "throttled_time", unit_ns, &ret->throttled_ns) < 0)
		return malformed(env, files, STAT, text);
	r = text_of(env, files, LOCAL, arena, &text);
	if (r < 0 || !text)
		return r;
	if (key_scaled(text, files->v2 ? "throttled_usec" : "throttled_time", unit_ns, &ret->local_ns) < 0)
		return malformed(env, files, LOCAL, text);
	return 0;
}

/* "50000 100000\n", "max 100000\n". */
static int scan_max_v2(const char *text, struct cpu_group *ret)
{
	uint64_t quota = 0, period;
	const bool unlimited = up_scan_literal(&text, "max");

	if (!unlimited && up_scan_u64(&text, &quota) < 0)
		return -EBADMSG;
	if (!up_scan_literal(&text, " ") || up_scan_u64(&text, &period) < 0 || strcmp(text, "\n") != 0 || period == 0)
		return -EBADMSG;
	ret->quota_us = (struct up_u64){ .n = quota, .has = !unlimited };
	ret->period_us = (struct up_u64){ .n = period, .has = true };
	return 0;
}

static int read_limits(struct up_env *env, struct cpu_group_files *files, struct up_arena *arena, struct cpu_group *ret)
{
	bool unlimited;
	char *text;
	int r = text_of(env, files, MAX, arena, &text);

	if (r < 0 || !text)
		return r;
	ret->has_controller = true;
	if (files->v2) {
		if (scan_max_v2(text, ret) < 0)
			return malformed(env, files, MAX, text);
	} else {
		if (up_scan_single(text, &ret->quota_us, &unlimited) < 0)
			return malformed(env, files, MAX, text);
		r = text_of(env, files, PERIOD, arena, &text);
		if (r < 0)
			return r;
		if (text && up_scan_single(text, &ret->period_us, &unlimited) < 0)
			return malformed(env, files, PERIOD, text);
	}
	r = text_of(env, files, BURST, arena, &text);
	if (r < 0 || !text)
		return r;
	return up_scan_single(text, &ret->burst_us, &unlimited) < 0 ? malformed(env, files, BURST, text) : 0;
}

static int read_usage_and_cpuset(struct up_env *env, struct cpu_group_files *files, struct up_arena *arena, struct cpu_group *ret)
{
	unsigned cpus;
	bool unlimited;
	char *text;
	int r = text_of(env, files, USAGE, arena, &text);

	if (r < 0)
		return r;
	if (text && up_scan_single(text, &ret->usage_ns, &unlimited) < 0)
		return malformed(env, files, USAGE, text);
	r = text_of(env, files, CPUSET, arena, &text);
	if (r < 0 || !text)
		return r;
	if (up_scan_cpu_list(text, &cpus) < 0)
		return malformed(env, files, CPUSET, text);
	/* An empty list is a v1 group nobody has configured yet: it says nothing about the limit. */
	ret->cpuset_cpus = (struct up_u64){ .n = cpus, .has = cpus > 0 };
	return 0;
}

/* Hands the look-back to the sample and remembers this one for the next tick. */
static int keep_history(struct cpu_group_files *files, struct up_arena *arena, struct cpu_group *ret)
{
	const size_t kept = files->history_count < CPU_HISTORY ? files->history_count : CPU_HISTORY;

	if (!ret->now.periods.has || !ret->quota_us.has) {
		files->history_count = 0;
		return 0;
	}
	ret->history = up_arena_alloc(arena, kept * sizeof(*ret->history) + 1);
	if (!ret->history)
		return -ENOSPC;
	for (size_t i = 0; i < kept; i++)
		ret->history[i] = files->history[(files->history_count - kept + i) % CPU_HISTORY];
	ret->history_count = kept;
	files->history[files->history_count++ % CPU_HISTORY] = ret->now;
	return 0;
}

int cpu_group_read(struct up_env *env, struct cpu_group_files *files, struct up_arena *arena, struct cpu_group *ret)
{
	struct cpu_group group = { .label = up_arena_strdup(arena, files->label), .v2 = files->v2 };
	int r = group.label ? 0 : -ENOSPC;

	if (r == 0)
		r = read_stat(env, files, arena, &group);
	if (r == 0)
		r = read_limits(env, files, arena, &group);
	if (r == 0)
		r = read_usage_and_cpuset(env, files, arena, &group);
	if (r == 0)
		r = keep_history(files, arena, &group);
	if (r == 0)
		*ret = group;
	return r;
}

struct up_value cpu_group_quota(const struct cpu_group *group)
{
	if (!group->has_controller)
		return up_none("no cpu controller on this cgroup");
	if (!group->quota_us.has || !group->period_us.has)
		return up_none("no quota");
	return up_scaled(up_value((double)group->quota_us.n), 1, (double)group->period_us.n, "period is 0");
}

/* No quota period ran for the time that CPU_PERIODS_MIN of them take: the kernel's period timer sleeps while the group is idle. */
static bool idle_long(const struct cpu_group *cur, uint64_t dt_ns)
{
	const double wanted_ns = (double)CPU_PERIODS_MIN * (double)cur->period_us.n * (double)UP_NS_PER_US;
	const size_t ticks = dt_ns ? (size_t)ceil(wanted_ns / (double)dt_ns) : 0;

	return ticks > 0 && ticks <= cur->history_count &&
	       cur->history[cur->history_count - ticks].periods.n == cur->now.periods.n;
}

struct up_value cpu_group_throttled_share(
	const struct cpu_group *prev, const struct cpu_group *cur, uint64_t dt_ns, double *ret_periods)
{
	const struct up_value quota = cpu_group_quota(cur);
	struct up_value periods = up_value_state(UP_FIRST, NULL), throttled = up_value_state(UP_FIRST, NULL);

	if (quota.state != UP_OK)
		return quota;
	if (!prev || !cur->now.periods.has)
		return up_delta(prev ? &prev->now.periods : NULL, cur->now.periods, "cpu.stat has no nr_periods");
	if (idle_long(cur, dt_ns))
		return up_value(0);
	for (size_t back = cur->history_count; back > 0; back--) {
		const struct cpu_periods *then = &cur->history[back - 1];

		periods = up_delta(&then->periods, cur->now.periods, NULL);
		throttled = up_delta(&then->throttled, cur->now.throttled, NULL);
		if (periods.state != UP_OK || throttled.state != UP_OK)
			return periods.state != UP_OK ? periods : throttled;
		if (periods.number >= CPU_PERIODS_MIN)
			break;
	}
	if (ret_periods && up_value_ok(periods))
		*ret_periods = periods.number;
	if (up_value_ok(throttled) && throttled.number == 0)
		return throttled;
	if (up_value_ok(periods) && periods.number < CPU_PERIODS_MIN)
		return up_value_state(UP_FIRST, "fewer than 10 quota periods yet");
	return up_ratio(throttled, periods, "no quota period ran");
}
