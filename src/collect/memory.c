/* memory - working set of a target against the smallest limit above it, stalls and OOM kills. The files are in memory_group.c;
 * /proc/meminfo "MemTotal: 2032348 kB" is the limit of everybody.
 * Working set = current - inactive_file, what the kernel cannot drop at no cost (the definition kubelet and docker stats use). The two
 * files are read one after the other, so the difference may fall below 0: it is then 0 and flagged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory_group.h"
#include "stalled.h"

#define LEVELS_MAX 24

struct state {
	struct memory_group_files *levels; /* [level_count], 0 = the target, owned */
	size_t level_count;
	struct up_file meminfo;
};

struct raw {
	struct memory_group *groups; /* [group_count], 0 = the target */
	size_t group_count;
	uint64_t total_bytes; /* gauge, RAM */
	struct stalled stalled; /* threads of the target */
};

static int memory_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;
	int r = 0;

	if (env->target->kind != UP_TARGET_CGROUP)
		return up_fail(env, -ENOENT, "memory is limited per cgroup, not per process");
	state->meminfo.path = "proc/meminfo";
	state->levels = calloc(LEVELS_MAX, sizeof(*state->levels));
	if (!state->levels)
		return -ENOMEM;
	while (state->level_count < LEVELS_MAX && r == 0) {
		r = memory_group_open(&state->levels[state->level_count], env->target, (unsigned)state->level_count);
		state->level_count += r == 0;
	}
	if (r < 0 && r != -ENOENT)
		return r;
	if (!state->level_count)
		return up_fail(env, -ENOENT, "no memory controller for %s", env->target->label);
	return 0;
}

static void memory_close(void *opaque)
{
	struct state *state = opaque;

	for (size_t i = 0; state->levels && i < LEVELS_MAX; i++)
		memory_group_close(&state->levels[i]);
	free(state->levels);
	up_file_close(&state->meminfo);
}

static int read_total(struct up_env *env, struct state *state, struct up_arena *arena, uint64_t *ret_bytes)
{
	const char *cursor;
	char *text;
	uint64_t kib;
	int r = up_file_read(env->source, &state->meminfo, arena, &text, NULL);

	if (r < 0)
		return up_fail(env, r, "/proc/meminfo: %s", strerror(-r));
	cursor = text;
	if (!up_scan_literal(&cursor, "MemTotal:"))
		return up_fail(env, -EBADMSG, "/proc/meminfo does not begin with MemTotal");
	up_scan_blanks(&cursor);
	if (up_scan_u64(&cursor, &kib) < 0 || !up_scan_literal(&cursor, " kB\n") || kib > UINT64_MAX / 1024)
		return up_fail(env, -EBADMSG, "/proc/meminfo: MemTotal is not understood");
	*ret_bytes = kib * 1024;
	return 0;
}

static int memory_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { .groups = up_arena_alloc(arena, state->level_count * sizeof(*raw.groups)) };
	int r = raw.groups ? read_total(env, state, arena, &raw.total_bytes) : -ENOSPC;

	for (; r == 0 && raw.group_count < state->level_count; raw.group_count += r == 0)
		r = memory_group_read(
			env, &state->levels[raw.group_count], raw.group_count > 0, arena, &raw.groups[raw.group_count]);
	if (r < 0)
		return r;
	if (!raw.groups[0].current_bytes.has)
		return up_fail(
			env, -ENOENT, "%s has no memory usage file (root cgroup or controller not enabled)", raw.groups[0].label);
	stalled_read(env, UP_STALL_MEMORY, &raw.stalled);
	*(struct raw *)ret_raw = raw;
	return 0;
}

struct limit {
	double bytes;
	const char *by; /* "max", "high", "ram" */
	size_t level; /* whose it is; group_count when it is the machine's memory */
};

/* Smallest limit from LEVEL upwards. */
static struct limit limit_of(const struct raw *raw, size_t level)
{
	struct limit limit = { .bytes = (double)raw->total_bytes, .by = "ram", .level = raw->group_count };

	for (size_t i = level; i < raw->group_count; i++) {
		const struct memory_group *group = &raw->groups[i];

		if (group->max_bytes.has && (double)group->max_bytes.n < limit.bytes)
			limit = (struct limit){ (double)group->max_bytes.n, "max", i };
		if (group->high_bytes.has && (double)group->high_bytes.n < limit.bytes)
			limit = (struct limit){ (double)group->high_bytes.n, "high", i };
	}
	return limit;
}

/* An allocation that failed at a limit and the process that was killed for it are one error, counted in two places: `oom` where the limit
 * is, `oom_kill` where the process was. */
static struct up_value errors_of(const struct memory_group *prev, const struct memory_group *cur)
{
	const struct up_value kills =
		up_delta(prev ? &prev->oom_kills : NULL, cur->oom_kills, "this kernel does not count oom_kill");
	const struct up_value ooms = up_delta(prev ? &prev->ooms : NULL, cur->ooms, NULL);

	return up_value_ok(ooms) && (!up_value_ok(kills) || kills.number < ooms.number) ? ooms : kills;
}

static void detail_bytes(struct up_detail *detail, const char *key, struct up_u64 bytes)
{
	if (bytes.has)
		up_detail_count(detail, key, bytes.n);
}

static void detail_growth(struct up_detail *detail, const char *key, const struct up_u64 *prev, struct up_u64 cur)
{
	if (cur.has)
		up_detail_value(detail, key, up_delta(prev, cur, NULL));
}

static void describe(struct up_detail *detail, const struct memory_group *prev, const struct memory_group *cur)
{
	detail_bytes(detail, "anon_bytes", cur->anon_bytes);
	detail_bytes(detail, "swap_bytes", cur->swap_bytes);
	detail_growth(detail, "ooms", prev ? &prev->ooms : NULL, cur->ooms);
	detail_growth(detail, "oom_kills", prev ? &prev->oom_kills : NULL, cur->oom_kills);
	detail_growth(detail, "limit_hits", prev ? &prev->limit_hits : NULL, cur->limit_hits);
	detail_growth(detail, "high_hits", prev ? &prev->high_hits : NULL, cur->high_hits);
	detail_growth(detail, "major_faults", prev ? &prev->major_faults : NULL, cur->major_faults);
	if (cur->under_oom)
		up_detail_text(detail, "under_oom", "tasks wait for memory, the OOM killer is off");
}

/* A thread that takes memory back itself is on a CPU, and in the cpu row too: how many do is told apart. */
static void describe_stalls(struct up_detail *detail, const struct raw *p, const struct raw *c)
{
	const struct up_value running = stalled_running(p ? &p->stalled : NULL, &c->stalled);

	if (up_value_ok(running))
		up_detail_value(detail, "stalled_running", running);
}

static struct up_value waiting_of(const struct raw *p, const struct raw *c, size_t level)
{
	if (level > 0)
		return up_none("threads are counted for the target, not for a group above it");
	return stalled_tasks(p ? &p->stalled : NULL, &c->stalled);
}

static void add_level(const struct raw *p, const struct raw *c, size_t level, uint64_t dt_ns, struct up_rows *out)
{
	const struct memory_group *cur = &c->groups[level], *prev = p ? &p->groups[level] : NULL;
	const struct limit limit = limit_of(c, level);
	struct up_value working = up_none("memory.stat has no inactive_file");
	struct up_detail detail = { 0 };
	char method[80];

	up_detail_count(&detail, "current_bytes", cur->current_bytes.n);
	if (cur->inactive_bytes.has) {
		working = up_minus(up_value((double)cur->current_bytes.n), up_value((double)cur->inactive_bytes.n));
		if (cur->inactive_bytes.n > cur->current_bytes.n)
			up_detail_text(&detail, "clamped", "inactive_file was above current");
	}
	up_detail_value(&detail, "working_set_bytes", working);
	up_detail_number(&detail, "limit_bytes", limit.bytes);
	up_detail_text(&detail, "limit_by", limit.by);
	/* The machine's own memory is a limit for everybody; only a group's is worth a name. */
	if (limit.level != level && limit.level < c->group_count)
		up_detail_text(&detail, "limited_by", c->groups[limit.level].label);
	describe(&detail, prev, cur);
	if (level == 0)
		describe_stalls(&detail, p, c);
	up_rows_add(
		out, &(struct up_row){
			     .scope = UP_SCOPE_CGROUP,
			     .resource = "memory",
			     .name = cur->label,
			     .utilization = up_scaled(working, 1, limit.bytes, "the limit is 0"),
			     .saturation = psi_some_share(prev ? &prev->psi : NULL, &cur->psi, dt_ns, NULL),
			     .saturation_unit = "ratio",
			     .waiting = waiting_of(p, c, level),
			     .waiting_max = level == 0 ? stalled_most(p ? &p->stalled : NULL, &c->stalled) : up_none(NULL),
			     .errors = errors_of(prev, cur),
			     .method = level == 0 ? stalled_method(&c->stalled, "memory files measured", method, sizeof(method))
						  : "memory files measured",
			     .detail = detail.text,
			     .state = p ? UP_OK : UP_FIRST,
		     });
}

static void add_limit_event(const char *name, const char *text, struct up_u64 from, struct up_u64 to, struct up_rows *out)
{
	struct up_detail detail = { 0 };

	if (from.has == to.has && from.n == to.n)
		return;
	up_detail_text(&detail, "text", text);
	detail_bytes(&detail, "from_bytes", from);
	detail_bytes(&detail, "to_bytes", to);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_EVENT,
				 .resource = "limit-changed",
				 .name = name,
				 .detail = detail.text,
				 .state = UP_OK,
			 });
}

static void add_limit_events(const struct memory_group *was, const struct memory_group *is, struct up_rows *out)
{
	if (!was->limit_known || !is->limit_known)
		return;
	add_limit_event(is->label, "memory limit", was->max_bytes, is->max_bytes, out);
	add_limit_event(is->label, "memory.high", was->high_bytes, is->high_bytes, out);
}

static int memory_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	for (size_t i = 0; i < c->group_count; i++) {
		const struct up_u64 limit = memory_group_limit(&c->groups[i]);

		/* A limit above the machine's memory limits nobody. */
		if (i == 0 || (limit.has && limit.n < c->total_bytes && c->groups[i].current_bytes.has))
			add_level(p, c, i, dt_ns, out);
		if (p)
			add_limit_events(&p->groups[i], &c->groups[i], out);
	}
	return 0;
}

const struct up_collector up_collector_memory = {
	.name = "memory",
	.summary = "working set of a target against the smallest limit above it, stalls, OOM kills",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "memory",
	.needs_tasks = true,
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = memory_open,
	.read = memory_read,
	.derive = memory_derive,
	.close = memory_close,
};
