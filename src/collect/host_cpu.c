/* host_cpu - CPU time of the whole machine, and the part of it used outside the targets. Reads /proc/stat (fs/proc/stat.c):
 *     cpu0 74608 2520 24433 1117073 6176 4054 0 0 0 0      user nice system idle iowait irq softirq steal guest guest_nice, USER_HZ
 * guest is inside user. idle and iowait may step back by a few ticks (node_exporter#1903), a CPU that went offline loses its line and
 * starts anew when it returns: each CPU is compared with itself only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_group.h"
#include "useprobe/clock.h"
#include "useprobe/delay.h"

#define FIELDS 8 /* user nice system idle iowait irq softirq steal */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL };

struct host_cpu {
	uint64_t id;
	uint64_t ticks[FIELDS]; /* counter, USER_HZ */
};

struct state {
	struct up_file stat;
	struct cpu_group_files *targets; /* [UP_TARGETS_MAX], owned */
	bool opened[UP_TARGETS_MAX];
	unsigned generation[UP_TARGETS_MAX];
};

struct raw {
	struct host_cpu *cpus; /* [cpu_count] in the order of the file */
	size_t cpu_count;
	struct up_u64 running; /* gauge, procs_running */
	struct up_u64 target_ns[UP_TARGETS_MAX]; /* counter; not there = not counted (gone, or inside another one) */
	const char
		*unknown; /* a target whose CPU time cannot be read: what is used outside of it is not known then; NULL = none */
	size_t target_count;
	double hz;
};

static int host_cpu_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;

	(void)env;
	state->stat.path = "proc/stat";
	state->targets = calloc(UP_TARGETS_MAX, sizeof(*state->targets));
	return state->targets ? 0 : -ENOMEM;
}

static void host_cpu_close(void *opaque)
{
	struct state *state = opaque;

	for (size_t i = 0; state->targets && i < UP_TARGETS_MAX; i++)
		cpu_group_close(&state->targets[i]);
	free(state->targets);
	up_file_close(&state->stat);
}

/* One "cpuN ..." line; older kernels have fewer columns, newer ones more. false for other lines. */
static int scan_cpu(const char *line, struct host_cpu *ret)
{
	struct host_cpu cpu = { 0 };

	if (!up_scan_literal(&line, "cpu") || up_scan_u64(&line, &cpu.id) < 0)
		return -ENOENT;
	for (size_t i = 0; i < FIELDS; i++) {
		up_scan_blanks(&line);
		if (*line == '\n' && i > IDLE)
			break;
		if (up_scan_u64(&line, &cpu.ticks[i]) < 0)
			return -EBADMSG;
	}
	*ret = cpu;
	return 0;
}

static int scan_stat(struct up_env *env, struct up_arena *arena, const char *text, struct raw *raw)
{
	const char *cursor = text, *line;
	size_t len, lines = 0;
	bool cut = false;

	while (up_scan_line(&cursor, &line, &len, &cut))
		lines += strncmp(line, "cpu", 3) == 0;
	raw->cpus = up_arena_alloc(arena, lines * sizeof(*raw->cpus) + 1);
	if (!raw->cpus)
		return -ENOSPC;
	for (cursor = text; up_scan_line(&cursor, &line, &len, &cut);) {
		const int r = scan_cpu(line, &raw->cpus[raw->cpu_count]);

		if (r == -EBADMSG)
			return up_fail(env, r, "/proc/stat: not understood: \"%.40s\"", line);
		raw->cpu_count += r == 0;
	}
	if (cut || !raw->cpu_count || up_scan_key(text, "procs_running", &raw->running) < 0)
		return up_fail(env, -EBADMSG, "/proc/stat: cut off or without a cpu line");
	return 0;
}

/* Is INNER at or below OUTER? The same target asked for twice counts once. */
static bool lies_inside(const struct up_target *inner, const struct up_target *outer)
{
	const int h = outer->main;
	const char *in = h < 0 ? NULL : inner->cgroup.path[h], *out = h < 0 ? NULL : outer->cgroup.path[h];
	const size_t len = out ? strlen(out) : 0;

	if (inner->kind == UP_TARGET_PID && outer->kind == UP_TARGET_PID)
		return inner->pid == outer->pid && outer < inner;
	if (outer->kind != UP_TARGET_CGROUP || !in || !out)
		return false;
	if (strcmp(out, "/") == 0)
		return strcmp(in, "/") != 0 || inner->kind == UP_TARGET_PID || outer < inner;
	if (strncmp(in, out, len) != 0 || (in[len] != '/' && in[len] != '\0'))
		return false;
	return in[len] == '/' || inner->kind == UP_TARGET_PID || outer < inner;
}

static int read_usage(struct up_env *env, struct state *state, struct up_arena *arena, size_t i, struct up_u64 *ret_ns)
{
	const struct up_target *target = &env->targets->items[i];
	struct up_delay_sample sample;
	struct cpu_group group;
	int r = -ENOENT;

	if (target->kind == UP_TARGET_PID) {
		if (env->delay)
			r = up_delay_read(env->delay, env->source, arena, target, env->tick, &sample);
		if (r == 0)
			*ret_ns = sample.on_cpu_ns;
		return r;
	}
	if (!state->opened[i] || state->generation[i] != target->generation) {
		cpu_group_close(&state->targets[i]);
		state->opened[i] = cpu_group_open(&state->targets[i], target, 0);
		state->generation[i] = target->generation;
	}
	if (state->opened[i])
		r = cpu_group_read(env, &state->targets[i], arena, &group);
	if (r == 0)
		*ret_ns = group.usage_ns;
	return r;
}

/* CPU of target I, unless it lies inside another target: it would count twice. */
static void read_target(struct up_env *env, struct state *state, struct up_arena *arena, size_t i, struct raw *raw)
{
	const struct up_target *target = &env->targets->items[i];

	if (!target->present || target->kind == UP_TARGET_HOST)
		return;
	for (size_t j = 0; j < env->targets->count; j++)
		if (j != i && env->targets->items[j].present && lies_inside(target, &env->targets->items[j]))
			return;
	if (read_usage(env, state, arena, i, &raw->target_ns[i]) < 0 || !raw->target_ns[i].has)
		raw->unknown = up_arena_strdup(arena, target->label);
}

static int host_cpu_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	/* USER_HZ is part of the ABI: 100 on every architecture Debian builds for. */
	struct raw raw = { .hz = 100, .target_count = env->targets->count };
	char *text;
	int r = up_file_read(env->source, &state->stat, arena, &text, NULL);

	if (r < 0)
		return up_fail(env, r, "/proc/stat: %s", strerror(-r));
	r = scan_stat(env, arena, text, &raw);
	if (r < 0)
		return r;
	for (size_t i = 0; i < raw.target_count; i++)
		read_target(env, state, arena, i, &raw);
	*(struct raw *)ret_raw = raw;
	return 0;
}

struct totals {
	double busy, all, steal, iowait, user, system; /* USER_HZ ticks */
	size_t compared; /* CPUs that are in both samples */
};

static const struct host_cpu *find_cpu(const struct raw *raw, size_t hint, uint64_t id)
{
	if (hint < raw->cpu_count && raw->cpus[hint].id == id)
		return &raw->cpus[hint];
	for (size_t i = 0; i < raw->cpu_count; i++)
		if (raw->cpus[i].id == id)
			return &raw->cpus[i];
	return NULL;
}

/* Growth of one field; a small step back counts as none. */
static double growth(uint64_t was, uint64_t is)
{
	const struct up_u64 prev = { .n = was, .has = true };
	const struct up_value delta = up_delta(&prev, (struct up_u64){ .n = is, .has = true }, NULL);

	return up_value_ok(delta) ? delta.number : 0;
}

static uint64_t all_ticks(const struct host_cpu *cpu)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < FIELDS; i++)
		sum += cpu->ticks[i];
	return sum;
}

static struct totals compare(const struct raw *p, const struct raw *c)
{
	struct totals totals = { 0 };

	for (size_t i = 0; i < c->cpu_count; i++) {
		const struct host_cpu *cur = &c->cpus[i], *prev = find_cpu(p, i, cur->id);
		double delta[FIELDS], busy = 0;

		/* A CPU that came back counts from near 0: this sample is its new baseline. */
		if (!prev || all_ticks(cur) < all_ticks(prev))
			continue;
		for (size_t f = 0; f < FIELDS; f++) {
			delta[f] = growth(prev->ticks[f], cur->ticks[f]);
			if (f != IDLE && f != IOWAIT)
				busy += delta[f];
		}
		totals.busy += busy;
		totals.all += busy + delta[IDLE] + delta[IOWAIT];
		totals.steal += delta[STEAL];
		totals.iowait += delta[IOWAIT];
		totals.user += delta[USER] + delta[NICE];
		totals.system += delta[SYSTEM] + delta[IRQ] + delta[SOFTIRQ];
		totals.compared++;
	}
	return totals;
}

/* What the targets do not explain of the host's busy time. */
static void add_outside(const struct raw *p, const struct raw *c, double busy_cpus, uint64_t dt_ns, struct up_rows *out)
{
	struct up_value inside = up_value(0), outside;
	struct up_detail detail = { 0 };
	char why[160];

	for (size_t i = 0; i < c->target_count; i++)
		if (c->target_ns[i].has)
			inside = up_plus(inside, up_delta(&p->target_ns[i], c->target_ns[i], NULL));
	if (c->unknown || p->unknown) {
		snprintf(why, sizeof(why), "the CPU time of %.120s is not known", c->unknown ? c->unknown : p->unknown);
		inside = up_none(why);
	}
	inside = up_scaled(inside, 1, (double)dt_ns, NULL);
	outside = up_minus(up_value(busy_cpus), inside);
	up_detail_value(&detail, "used_cpus", outside);
	up_detail_value(&detail, "targets_cpus", inside);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_HOST,
				 .resource = "cpu-outside",
				 .name = "host",
				 .utilization = up_scaled(outside, 1, (double)c->cpu_count, "no CPU online"),
				 .saturation = up_none("a share of the host's row"),
				 .errors = up_none("a share of the host's row"),
				 .servers = (double)c->cpu_count,
				 .method = "/proc/stat minus the targets' usage, computed",
				 .detail = detail.text,
				 .state = outside.state,
			 });
}

static int host_cpu_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	const struct totals t = p ? compare(p, c) : (struct totals){ 0 };
	struct up_value busy = p ? up_scaled(up_value(t.busy), 1, t.all, "no tick of the kernel's clock passed")
				 : up_value_state(UP_FIRST, NULL);
	struct up_detail detail = { 0 };

	/* Between two updates of /proc/stat nothing is known; that is not the same as idle. */
	up_detail_count(&detail, "online_cpus", c->cpu_count);
	if (c->running.has)
		up_detail_count(&detail, "running_tasks", c->running.n);
	if (p && t.all > 0) {
		up_detail_number(&detail, "used_cpus", t.busy / t.all * (double)t.compared);
		up_detail_number(&detail, "user_ratio", t.user / t.all);
		up_detail_number(&detail, "system_ratio", t.system / t.all);
		up_detail_number(&detail, "iowait_ratio", t.iowait / t.all);
		up_detail_number(&detail, "steal_ratio", t.steal / t.all);
	}
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_HOST,
				 .resource = "cpu",
				 .name = "host",
				 .utilization = busy,
				 .saturation = up_none("a host has no quota; see run-queue and pressure"),
				 .waiting = up_none("a host has no quota; see run-queue"),
				 .errors = up_none("thermal and machine-check counters are not read"),
				 .servers = (double)c->cpu_count,
				 .method = "/proc/stat measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
	if (p && c->target_count && t.all > 0)
		add_outside(p, c, t.busy / t.all * (double)t.compared, dt_ns, out);
	return 0;
}

const struct up_collector up_collector_host_cpu = {
	.name = "host_cpu",
	.summary = "CPU time of the machine, and CPU used outside the targets",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "cpu",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = host_cpu_open,
	.read = host_cpu_read,
	.derive = host_cpu_derive,
	.close = host_cpu_close,
};
