/* cpu - CPU time of a target against what it may use, and what its quota holds back.
 *
 * Capacity is the smallest of: quota of the group and of each ancestor, the effective cpuset, the CPUs online. Own and ancestor
 * throttling are told apart: the group's row has its own quota's share of throttled periods, each ancestor with a quota has a row of
 * its own, and the child names the tightest one. `waiting` counts tasks kept from a CPU by any of these quotas. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_group.h"
#include "useprobe/clock.h"
#include "useprobe/delay.h"

#define LEVELS_MAX 24
#define SATURATED_SHARE 0.25 /* kubernetes-mixin's CPUThrottlingHigh draws the line at the same share */

struct state {
	struct cpu_group_files *levels; /* [level_count], 0 = the target, owned */
	size_t level_count;
	struct up_file online, stat;
};

struct raw {
	struct cpu_group *groups; /* [group_count], 0 = the target */
	size_t group_count;
	unsigned online_cpus; /* 0 = not known */
	struct up_delay_sample delay; /* method UP_DELAY_NONE: not known */
	bool process; /* a --pid target: usage is the process's, limits are its cgroup's */
	const char *label;
};

static int cpu_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;

	state->online.path = "sys/devices/system/cpu/online";
	state->stat.path = "proc/stat";
	state->levels = calloc(LEVELS_MAX, sizeof(*state->levels));
	if (!state->levels)
		return -ENOMEM;
	while (state->level_count < LEVELS_MAX &&
		cpu_group_open(&state->levels[state->level_count], env->target, (unsigned)state->level_count))
		state->level_count++;
	if (!state->level_count)
		return up_fail(env, -ENOENT, "%s: no cgroup hierarchy counts CPU time", env->target->label);
	return 0;
}

static void cpu_close(void *opaque)
{
	struct state *state = opaque;

	for (size_t i = 0; i < state->level_count; i++)
		cpu_group_close(&state->levels[i]);
	up_file_close(&state->online);
	up_file_close(&state->stat);
	free(state->levels);
}

/* One "cpuN" line for each CPU that is online (fs/proc/stat.c); 0 without such a file. */
static unsigned count_in_stat(struct up_env *env, struct state *state, struct up_arena *arena)
{
	unsigned count = 0;
	char *text;

	if (up_file_read(env->source, &state->stat, arena, &text, NULL) < 0)
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t id;

		line += *line == '\n';
		count += up_scan_literal(&line, "cpu") && up_scan_u64(&line, &id) == 0;
	}
	return count;
}

static int read_online(struct up_env *env, struct state *state, struct up_arena *arena, unsigned *ret)
{
	char *text;
	int r = up_file_read(env->source, &state->online, arena, &text, NULL);

	/* Without /sys (a chroot, a sandbox) the other place is asked; a figure that neither has takes no other one with it. */
	if (r == -ENOENT) {
		*ret = count_in_stat(env, state, arena);
		return 0;
	}
	if (r < 0)
		return up_fail(env, r, "/%s: %s", state->online.path, strerror(-r));
	if (up_scan_cpu_list(text, ret) < 0)
		return up_fail(env, -EBADMSG, "/%s: not a CPU list: \"%.40s\"", state->online.path, text);
	return 0;
}

static int cpu_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { .process = env->target->kind == UP_TARGET_PID };
	int r = read_online(env, state, arena, &raw.online_cpus);

	raw.label = up_arena_strdup(arena, env->target->label);
	raw.groups = up_arena_alloc(arena, state->level_count * sizeof(*raw.groups));
	if (!raw.groups || !raw.label)
		return -ENOSPC;
	for (; r == 0 && raw.group_count < state->level_count; raw.group_count += r == 0)
		r = cpu_group_read(env, &state->levels[raw.group_count], arena, &raw.groups[raw.group_count]);
	if (r < 0)
		return r;
	/* A missing delay only empties `waiting`; its reason is in the run-queue row. */
	if (!env->delay || up_delay_read(env->delay, env->source, arena, env->target, env->tick, &raw.delay) < 0)
		raw.delay = (struct up_delay_sample){ .method = UP_DELAY_NONE };
	if (!raw.process && !raw.groups[0].usage_ns.has)
		return up_fail(env, -ENOENT, "%s has no %s", raw.groups[0].label,
			raw.groups[0].v2 ? "cpu.stat (the root cgroup of older kernels: use --host)" : "cpuacct.usage");
	*(struct raw *)ret_raw = raw;
	return 0;
}

struct capacity {
	double cpus; /* INFINITY = not known */
	const char *by; /* "quota", "cpuset", "online" */
	size_t level; /* whose quota or cpuset it is */
};

static struct capacity capacity_of(const struct raw *raw, size_t from)
{
	struct capacity capacity = {
		.cpus = raw->online_cpus ? (double)raw->online_cpus : (double)INFINITY, .by = "online", .level = from
	};

	for (size_t i = from; i < raw->group_count; i++) {
		const struct up_value quota = cpu_group_quota(&raw->groups[i]);

		if (up_value_ok(quota) && quota.number < capacity.cpus)
			capacity = (struct capacity){ .cpus = quota.number, .by = "quota", .level = i };
		if (raw->groups[i].cpuset_cpus.has && (double)raw->groups[i].cpuset_cpus.n < capacity.cpus)
			capacity = (struct capacity){ .cpus = (double)raw->groups[i].cpuset_cpus.n, .by = "cpuset", .level = i };
	}
	/* A quota of more CPUs than the machine may have is no capacity. */
	if (!raw->online_cpus && capacity.cpus > 1 && strcmp(capacity.by, "quota") == 0)
		capacity.cpus = INFINITY;
	return capacity;
}

static bool any_quota(const struct raw *raw, size_t from)
{
	for (size_t i = from; i < raw->group_count; i++)
		if (raw->groups[i].quota_us.has)
			return true;
	return false;
}

/* Throttled run-queue seconds per second: every throttled run queue holds at least one task, so this is a lower bound of the tasks
 * that wait. cpu.stat.local has own and inherited throttling; without it only the own quota's is known. */
static struct up_value throttled_bound(
	const struct cpu_group *prev, const struct cpu_group *cur, bool ancestors_limit, uint64_t dt_ns)
{
	if (cur->local_ns.has)
		return up_scaled(
			up_delta(prev ? &prev->local_ns : NULL, cur->local_ns, NULL), 1, (double)dt_ns, "no time passed");
	if (ancestors_limit)
		return up_none("an ancestor has a quota and this kernel has no cpu.stat.local");
	return up_scaled(up_delta(prev ? &prev->throttled_ns : NULL, cur->throttled_ns, "no throttled time in cpu.stat"), 1,
		(double)dt_ns, "no time passed");
}

static struct up_value waiting_of(const struct raw *p, const struct raw *c, size_t level, uint64_t dt_ns, const char **ret_method)
{
	if (level == 0 && c->delay.throttled_ns.has) {
		*ret_method = "cpu.stat, tp_btf/sched_switch measured";
		return up_scaled(
			up_delta(p ? &p->delay.throttled_ns : NULL, c->delay.throttled_ns, NULL), 1, (double)dt_ns, NULL);
	}
	if (!any_quota(c, level)) {
		*ret_method = "cpu.stat measured";
		return up_none("no quota");
	}
	*ret_method = c->groups[level].local_ns.has ? "cpu.stat measured, waiting cpu.stat.local lower bound"
						    : "cpu.stat measured, waiting cpu.stat lower bound";
	return throttled_bound(p ? &p->groups[level] : NULL, &c->groups[level], any_quota(c, level + 1), dt_ns);
}

static void describe(struct up_detail *detail, const struct raw *p, const struct raw *c, size_t level,
	const struct capacity *capacity, struct up_value share, double periods, uint64_t dt_ns)
{
	const struct cpu_group *cur = &c->groups[level], *prev = p ? &p->groups[level] : NULL;
	const struct up_value quota = cpu_group_quota(cur);

	if (isfinite(capacity->cpus)) {
		up_detail_number(detail, "capacity_cpus", capacity->cpus);
		up_detail_text(detail, "capacity_by", capacity->by);
	}
	if (capacity->level != level)
		up_detail_text(detail, "limited_by", c->groups[capacity->level].label);
	if (up_value_ok(quota)) {
		up_detail_number(detail, "quota_cpus", quota.number);
		up_detail_number(detail, "period_ms", (double)cur->period_us.n / 1e3);
		up_detail_number(detail, "periods", periods);
		up_detail_value(detail, "throttled_s_per_s",
			up_scaled(up_delta(prev ? &prev->throttled_ns : NULL, cur->throttled_ns, NULL), 1, (double)dt_ns, NULL));
	}
	if (!up_value_ok(share) && share.reason)
		up_detail_value(detail, "saturation", share);
	if (cur->burst_us.has && cur->burst_us.n > 0 && cur->period_us.has) {
		up_detail_number(detail, "burst_cpus", (double)cur->burst_us.n / (double)cur->period_us.n);
		up_detail_value(detail, "bursts", up_delta(prev ? &prev->bursts : NULL, cur->bursts, NULL));
	}
}

static void add_level(const struct raw *p, const struct raw *c, size_t level, uint64_t dt_ns, struct up_rows *out)
{
	const struct cpu_group *cur = &c->groups[level], *prev = p ? &p->groups[level] : NULL;
	const struct capacity capacity = capacity_of(c, level);
	const bool process = c->process && level == 0;
	struct up_value used = up_delta(prev ? &prev->usage_ns : NULL, cur->usage_ns, "usage is not counted here");
	struct up_value share, waiting, utilization;
	struct up_detail detail = { 0 };
	const char *method;
	double periods = 0;

	if (process)
		used = up_delta(p ? &p->delay.on_cpu_ns : NULL, c->delay.on_cpu_ns, "CPU time of the process is not readable");
	share = cpu_group_throttled_share(prev, cur, dt_ns, &periods);
	waiting = waiting_of(p, c, level, dt_ns, &method);
	if (up_value_ok(used) && dt_ns > 0)
		up_detail_number(&detail, "used_cpus", used.number / (double)dt_ns);
	utilization = isfinite(capacity.cpus) || !up_value_ok(used)
			      ? up_scaled(used, 1, (double)dt_ns * capacity.cpus, "no CPU to use")
			      : up_none("neither /sys/devices/system/cpu/online nor /proc/stat is there");
	describe(&detail, p, c, level, &capacity, share, periods, dt_ns);
	if (!up_value_ok(waiting) && waiting.reason)
		up_detail_value(&detail, "waiting", waiting);
	up_rows_add(out, &(struct up_row){
				 .scope = process ? UP_SCOPE_PROCESS : UP_SCOPE_CGROUP,
				 .resource = "cpu",
				 .name = process ? c->label : cur->label,
				 .utilization = utilization,
				 .saturation = share,
				 .saturation_unit = "ratio",
				 .saturated_at = SATURATED_SHARE,
				 .waiting = waiting,
				 .errors = up_none("not counted per cgroup"),
				 .servers = isfinite(capacity.cpus) ? capacity.cpus : 0,
				 .method = method,
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static void add_limit_event(const struct raw *p, const struct raw *c, struct up_rows *out)
{
	for (size_t i = 0; i < c->group_count && i < p->group_count; i++) {
		const struct up_value was = cpu_group_quota(&p->groups[i]), is = cpu_group_quota(&c->groups[i]);
		struct up_detail detail = { 0 };

		if (was.state == is.state && was.number == is.number)
			continue;
		up_detail_text(&detail, "text", "cpu quota");
		up_detail_value(&detail, "from_cpus", was);
		up_detail_value(&detail, "to_cpus", is);
		up_rows_add(out, &(struct up_row){
					 .scope = UP_SCOPE_EVENT,
					 .resource = "limit-changed",
					 .name = c->groups[i].label,
					 .detail = detail.text,
					 .state = UP_OK,
				 });
	}
}

static int cpu_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	/* The number of levels is fixed while the target stays open, so the two samples match level by level. */
	add_level(p, c, 0, dt_ns, out);
	for (size_t i = 1; i < c->group_count; i++)
		if (c->groups[i].quota_us.has)
			add_level(p, c, i, dt_ns, out);
	if (p)
		add_limit_event(p, c, out);
	return 0;
}

const struct up_collector up_collector_cpu = {
	.name = "cpu",
	.summary = "CPU time of a target against its capacity; throttling by its own and by its ancestors' quotas",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "cpu",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = cpu_open,
	.read = cpu_read,
	.derive = cpu_derive,
	.close = cpu_close,
};
