/* memory - working set of a target against the smallest limit above it. Reads
 *   v2: memory.current, memory.stat "inactive_file 4096", memory.max "max", memory.high, memory.events "oom_kill 0", memory.pressure
 *   v1: memory.usage_in_bytes, memory.stat "total_inactive_file 4096", memory.limit_in_bytes, memory.failcnt, memory.oom_control
 * Working set = current - inactive_file, what the kernel cannot drop at no cost (the definition kubelet and docker stats use). The two
 * files are read one after the other, so the difference may fall below 0: it is then 0 and flagged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "psi.h"

#define LEVELS_MAX 24

enum { CURRENT, STAT, MAX, HIGH, EVENTS, FAILCNT, SWAP, FILES };

static const char *const names_v2[FILES] = {
	[CURRENT] = "memory.current",
	[STAT] = "memory.stat",
	[MAX] = "memory.max",
	[HIGH] = "memory.high",
	[EVENTS] = "memory.events",
	[SWAP] = "memory.swap.current",
};
static const char *const names_v1[FILES] = {
	[CURRENT] = "memory.usage_in_bytes",
	[STAT] = "memory.stat",
	[MAX] = "memory.limit_in_bytes",
	[EVENTS] = "memory.oom_control",
	[FAILCNT] = "memory.failcnt",
};

struct level {
	char label[UP_PATH_MAX];
	char dir[UP_PATH_MAX];
	bool v2;
	char *path[FILES]; /* owned */
	struct up_file files[FILES];
};

struct state {
	struct level *levels; /* [level_count], 0 = the target, owned */
	size_t level_count;
	struct up_file meminfo, pressure;
	char pressure_path[UP_PATH_MAX + 32];
};

struct group {
	const char *label;
	struct up_u64 current_bytes; /* gauge */
	struct up_u64 inactive_bytes; /* gauge, page cache that can be dropped at once */
	struct up_u64 anon_bytes; /* gauge */
	struct up_u64 swap_bytes; /* gauge */
	struct up_u64 limit_bytes; /* gauge, smaller of max and high; not there = none */
	struct up_u64 major_faults; /* counter */
	struct up_u64 ooms; /* counter, oom_kill */
	struct up_u64 limit_hits; /* counter, v2 max events, v1 failcnt: reclaim was forced, nothing failed yet */
};

struct raw {
	struct group *groups; /* [group_count], 0 = the target */
	size_t group_count;
	uint64_t total_bytes; /* gauge, RAM */
	struct psi psi;
	int psi_error;
};

static void level_close(struct level *level)
{
	for (int i = 0; i < FILES; i++) {
		up_file_close(&level->files[i]);
		free(level->path[i]);
	}
}

static int level_open(struct level *level, const struct up_target *target, unsigned up)
{
	if (!up_target_dir(target, UP_CTL_MEMORY, up, level->dir, sizeof(level->dir), &level->v2))
		return -ENOENT;
	if (!up_target_ancestor_label(target, UP_CTL_MEMORY, up, level->label, sizeof(level->label)))
		snprintf(level->label, sizeof(level->label), "%s", target->label);
	for (int i = 0; i < FILES; i++) {
		const char *name = level->v2 ? names_v2[i] : names_v1[i];

		if (name && asprintf(&level->path[i], "%s/%s", level->dir, name) < 0) {
			level->path[i] = NULL;
			return -ENOMEM;
		}
		level->files[i].path = level->path[i];
	}
	return 0;
}

static int memory_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;
	char dir[UP_PATH_MAX];
	int r = 0;

	if (env->target->kind != UP_TARGET_CGROUP)
		return up_fail(env, -ENOENT, "memory is limited per cgroup, not per process");
	state->meminfo.path = "proc/meminfo";
	state->levels = calloc(LEVELS_MAX, sizeof(*state->levels));
	if (!state->levels)
		return -ENOMEM;
	while (state->level_count < LEVELS_MAX) {
		r = level_open(&state->levels[state->level_count], env->target, (unsigned)state->level_count);
		if (r < 0)
			break;
		state->level_count++;
	}
	if (r == -ENOMEM)
		return r;
	if (!state->level_count)
		return up_fail(env, -ENOENT, "no memory controller for %s", env->target->label);
	if (up_target_v2_dir(env->target, 0, dir, sizeof(dir))) {
		snprintf(state->pressure_path, sizeof(state->pressure_path), "%s/memory.pressure", dir);
		state->pressure.path = state->pressure_path;
	}
	return 0;
}

static void memory_close(void *opaque)
{
	struct state *state = opaque;

	for (size_t i = 0; state->levels && i < LEVELS_MAX; i++)
		level_close(&state->levels[i]);
	free(state->levels);
	up_file_close(&state->meminfo);
	up_file_close(&state->pressure);
}

/* NULL when the file is not there (older kernel, root cgroup); other errors are the caller's. */
static int text_of(struct up_env *env, struct level *level, int which, struct up_arena *arena, char **ret)
{
	int r = -ENOENT;

	*ret = NULL;
	if (level->files[which].path)
		r = up_file_read(env->source, &level->files[which], arena, ret, NULL);
	if (r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV)
		return 0;
	return r < 0 ? up_fail(env, r, "%s: %s", level->files[which].path, strerror(-r)) : 0;
}

static int malformed(struct up_env *env, const struct level *level, int which, const char *text)
{
	return up_fail(env, -EBADMSG, "%s: not understood: \"%.40s\"", level->files[which].path, text);
}

/* One number per file; "max" and -1 are no number. */
static int single_of(struct up_env *env, struct level *level, int which, struct up_arena *arena, struct up_u64 *ret)
{
	bool unlimited;
	char *text;
	int r = text_of(env, level, which, arena, &text);

	if (r == 0 && text && up_scan_single(text, ret, &unlimited) < 0)
		r = malformed(env, level, which, text);
	return r;
}

static int read_limit(struct up_env *env, struct level *level, struct up_arena *arena, struct group *group)
{
	struct up_u64 max = { 0 }, high = { 0 };
	int r = single_of(env, level, MAX, arena, &max);

	if (r == 0)
		r = single_of(env, level, HIGH, arena, &high);
	/* v1 writes "no limit" as the largest page-aligned number; the comparison with RAM takes care of it. */
	group->limit_bytes = high.has && (!max.has || high.n < max.n) ? high : max;
	return r;
}

static int read_stat(struct up_env *env, struct level *level, struct up_arena *arena, struct group *group)
{
	char *text;
	int r = text_of(env, level, STAT, arena, &text);

	if (r < 0 || !text)
		return r;
	/* A file-cache figure that is no number leaves the working set unknown; the rest of the row stands. */
	if (up_scan_key(text, level->v2 ? "inactive_file" : "total_inactive_file", &group->inactive_bytes) < 0)
		group->inactive_bytes.has = false;
	if (up_scan_key(text, level->v2 ? "anon" : "total_rss", &group->anon_bytes) < 0)
		group->anon_bytes.has = false;
	if (up_scan_key(text, level->v2 ? "pgmajfault" : "total_pgmajfault", &group->major_faults) < 0)
		group->major_faults.has = false;
	return 0;
}

static int read_events(struct up_env *env, struct level *level, struct up_arena *arena, struct group *group)
{
	char *text;
	int r = text_of(env, level, EVENTS, arena, &text);

	if (r < 0)
		return r;
	if (text && up_scan_key(text, "oom_kill", &group->ooms) < 0)
		return malformed(env, level, EVENTS, text);
	if (text && level->v2 && up_scan_key(text, "max", &group->limit_hits) < 0)
		return malformed(env, level, EVENTS, text);
	return level->v2 ? 0 : single_of(env, level, FAILCNT, arena, &group->limit_hits);
}

/* Ancestors without a limit cost one or two reads. */
static int read_level(struct up_env *env, struct state *state, size_t i, struct up_arena *arena, struct group *group)
{
	struct level *level = &state->levels[i];
	int r;

	group->label = up_arena_strdup(arena, level->label);
	if (!group->label)
		return -ENOSPC;
	r = read_limit(env, level, arena, group);
	if (r < 0 || (i > 0 && !group->limit_bytes.has))
		return r;
	r = single_of(env, level, CURRENT, arena, &group->current_bytes);
	if (r == 0)
		r = read_stat(env, level, arena, group);
	if (r == 0)
		r = read_events(env, level, arena, group);
	if (r == 0)
		r = single_of(env, level, SWAP, arena, &group->swap_bytes);
	return r;
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
	if (up_scan_u64(&cursor, &kib) < 0 || !up_scan_literal(&cursor, " kB\n"))
		return up_fail(env, -EBADMSG, "/proc/meminfo: MemTotal is not understood");
	*ret_bytes = kib * 1024;
	return 0;
}

static int memory_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { .psi_error = -ENOENT };
	int r = read_total(env, state, arena, &raw.total_bytes);

	raw.groups = up_arena_alloc(arena, state->level_count * sizeof(*raw.groups));
	if (!raw.groups)
		return -ENOSPC;
	for (; r == 0 && raw.group_count < state->level_count; raw.group_count += r == 0)
		r = read_level(env, state, raw.group_count, arena, &raw.groups[raw.group_count]);
	if (r < 0)
		return r;
	if (!raw.groups[0].current_bytes.has)
		return up_fail(
			env, -ENOENT, "%s has no memory usage file (root cgroup or controller not enabled)", raw.groups[0].label);
	if (state->pressure.path)
		raw.psi_error = psi_read(env, &state->pressure, arena, &raw.psi);
	*(struct raw *)ret_raw = raw;
	return 0;
}

/* Smallest limit from LEVEL upwards; *ret_level = raw->group_count when it is the machine's memory. */
static double limit_of(const struct raw *raw, size_t level, size_t *ret_level)
{
	double limit = (double)raw->total_bytes;

	*ret_level = raw->group_count;
	for (size_t i = level; i < raw->group_count; i++) {
		if (raw->groups[i].limit_bytes.has && (double)raw->groups[i].limit_bytes.n < limit) {
			limit = (double)raw->groups[i].limit_bytes.n;
			*ret_level = i;
		}
	}
	return limit;
}

static void add_level(const struct raw *p, const struct raw *c, size_t level, uint64_t dt_ns, struct up_rows *out)
{
	const struct group *cur = &c->groups[level], *prev = p ? &p->groups[level] : NULL;
	struct up_value working = up_none("memory.stat has no inactive_file"), stall;
	struct up_detail detail = { 0 };
	size_t by;
	const double limit = limit_of(c, level, &by);

	if (cur->inactive_bytes.has) {
		working = up_minus(up_value((double)cur->current_bytes.n), up_value((double)cur->inactive_bytes.n));
		if (cur->inactive_bytes.n > cur->current_bytes.n)
			up_detail_text(&detail, "clamped", "inactive_file was above current");
	}
	stall = level > 0 ? up_none("PSI is read for the target itself")
			  : psi_some_share(p && p->psi_error == 0 ? &p->psi : NULL, &c->psi, dt_ns, psi_reason(c->psi_error));
	up_detail_count(&detail, "current_bytes", cur->current_bytes.n);
	up_detail_value(&detail, "working_set_bytes", working);
	if (cur->anon_bytes.has)
		up_detail_count(&detail, "anon_bytes", cur->anon_bytes.n);
	if (cur->swap_bytes.has)
		up_detail_count(&detail, "swap_bytes", cur->swap_bytes.n);
	up_detail_number(&detail, "limit_bytes", limit);
	/* The machine's own memory is a limit for everybody; only a group's is worth a name. */
	if (by != level && by < c->group_count)
		up_detail_text(&detail, "limited_by", c->groups[by].label);
	up_detail_value(&detail, "limit_hits", up_delta(prev ? &prev->limit_hits : NULL, cur->limit_hits, "not counted"));
	up_detail_value(&detail, "major_faults", up_delta(prev ? &prev->major_faults : NULL, cur->major_faults, "not counted"));
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_CGROUP,
				 .resource = "memory",
				 .name = cur->label,
				 .utilization = up_scaled(working, 1, limit, "the limit is 0"),
				 .saturation = stall,
				 .saturation_unit = "ratio",
				 .waiting = up_none("stalled threads are not counted here"),
				 .errors = up_delta(prev ? &prev->ooms : NULL, cur->ooms, "this kernel does not count oom_kill"),
				 .method = "memory files measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static void add_limit_event(const struct group *was, const struct group *is, struct up_rows *out)
{
	struct up_detail detail = { 0 };

	if (was->limit_bytes.has == is->limit_bytes.has && was->limit_bytes.n == is->limit_bytes.n)
		return;
	up_detail_text(&detail, "text", "memory limit");
	if (was->limit_bytes.has)
		up_detail_count(&detail, "from_bytes", was->limit_bytes.n);
	if (is->limit_bytes.has)
		up_detail_count(&detail, "to_bytes", is->limit_bytes.n);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_EVENT,
				 .resource = "limit-changed",
				 .name = is->label,
				 .detail = detail.text,
				 .state = UP_OK,
			 });
}

static int memory_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	for (size_t i = 0; i < c->group_count; i++) {
		/* v1 has a "limit" everywhere; one above the machine's memory limits nobody. */
		if (i == 0 || (c->groups[i].limit_bytes.has && c->groups[i].limit_bytes.n < c->total_bytes))
			add_level(p, c, i, dt_ns, out);
		if (p)
			add_limit_event(&p->groups[i], &c->groups[i], out);
	}
	return 0;
}

const struct up_collector up_collector_memory = {
	.name = "memory",
	.summary = "working set of a target against the smallest limit above it, stalls, OOM kills",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "memory",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = memory_open,
	.read = memory_read,
	.derive = memory_derive,
	.close = memory_close,
};
