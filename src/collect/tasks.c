/* tasks - processes and threads of a target against the smallest pids limit above it (pids controller, v1 and v2 alike):
 *     pids.current "17", pids.max "max", pids.events "max 0" (forks refused, since 4.4)
 * Each ancestor with a limit has a row of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/collector.h"

#define LEVELS_MAX 24

enum { CURRENT, MAX, EVENTS, FILES };
static const char *const names[FILES] = { "pids.current", "pids.max", "pids.events" };

struct level {
	char label[UP_PATH_MAX];
	char *path[FILES]; /* owned */
	struct up_file files[FILES];
};

struct state {
	struct level *levels; /* [level_count], 0 = the target, owned */
	size_t level_count;
};

struct group {
	const char *label;
	struct up_u64 current; /* gauge, tasks */
	struct up_u64 max; /* gauge; not there = no limit */
	struct up_u64 refused; /* counter, forks that failed at this limit */
};

struct raw {
	struct group *groups; /* [group_count], 0 = the target */
	size_t group_count;
};

static void tasks_close(void *opaque)
{
	struct state *state = opaque;

	for (size_t i = 0; state->levels && i < LEVELS_MAX; i++) {
		for (int f = 0; f < FILES; f++) {
			up_file_close(&state->levels[i].files[f]);
			free(state->levels[i].path[f]);
		}
	}
	free(state->levels);
}

static int tasks_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;
	char dir[UP_PATH_MAX];

	if (env->target->kind != UP_TARGET_CGROUP)
		return up_fail(env, -ENOENT, "tasks are limited per cgroup, not per process");
	state->levels = calloc(LEVELS_MAX, sizeof(*state->levels));
	if (!state->levels)
		return -ENOMEM;
	for (; state->level_count < LEVELS_MAX; state->level_count++) {
		const unsigned up = (unsigned)state->level_count;
		struct level *level = &state->levels[up];

		if (!up_target_dir(env->target, UP_CTL_PIDS, up, dir, sizeof(dir), NULL))
			break;
		if (!up_target_ancestor_label(env->target, UP_CTL_PIDS, up, level->label, sizeof(level->label)))
			snprintf(level->label, sizeof(level->label), "%s", env->target->label);
		for (int f = 0; f < FILES; f++) {
			if (asprintf(&level->path[f], "%s/%s", dir, names[f]) < 0) {
				level->path[f] = NULL;
				return -ENOMEM;
			}
			level->files[f].path = level->path[f];
		}
	}
	if (!state->level_count)
		return up_fail(env, -ENOENT, "no pids controller for %s", env->target->label);
	return 0;
}

static int read_file(struct up_env *env, struct level *level, int which, struct up_arena *arena, char **ret)
{
	int r = up_file_read(env->source, &level->files[which], arena, ret, NULL);

	if (r == -ENOENT || r == -ENODEV) {
		*ret = NULL;
		return 0;
	}
	return r < 0 ? up_fail(env, r, "%s: %s", level->path[which], strerror(-r)) : 0;
}

static int read_level(struct up_env *env, struct level *level, struct up_arena *arena, struct group *group)
{
	char *text[FILES];
	bool unlimited;

	group->label = up_arena_strdup(arena, level->label);
	if (!group->label)
		return -ENOSPC;
	for (int f = 0; f < FILES; f++) {
		const int r = read_file(env, level, f, arena, &text[f]);

		if (r < 0)
			return r;
	}
	if ((text[CURRENT] && up_scan_single(text[CURRENT], &group->current, &unlimited) < 0) ||
		(text[MAX] && up_scan_single(text[MAX], &group->max, &unlimited) < 0) ||
		(text[EVENTS] && up_scan_key(text[EVENTS], "max", &group->refused) < 0))
		return up_fail(env, -EBADMSG, "%s: a pids file is not understood", level->path[CURRENT]);
	return 0;
}

static int tasks_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { .groups = up_arena_alloc(arena, state->level_count * sizeof(*raw.groups)) };
	int r = raw.groups ? 0 : -ENOSPC;

	for (; r == 0 && raw.group_count < state->level_count; raw.group_count += r == 0)
		r = read_level(env, &state->levels[raw.group_count], arena, &raw.groups[raw.group_count]);
	if (r < 0)
		return r;
	if (!raw.groups[0].current.has)
		return up_fail(
			env, -ENOENT, "%s has no pids.current (root cgroup or controller not enabled)", raw.groups[0].label);
	*(struct raw *)ret_raw = raw;
	return 0;
}

static void add_level(const struct raw *p, const struct raw *c, size_t level, struct up_rows *out)
{
	const struct group *cur = &c->groups[level], *prev = p ? &p->groups[level] : NULL;
	struct up_detail detail = { 0 };
	struct up_u64 limit = { 0 };
	size_t by = level;

	for (size_t i = level; i < c->group_count; i++) {
		if (c->groups[i].max.has && (!limit.has || c->groups[i].max.n < limit.n)) {
			limit = c->groups[i].max;
			by = i;
		}
	}
	up_detail_count(&detail, "tasks", cur->current.n);
	if (limit.has)
		up_detail_count(&detail, "limit", limit.n);
	if (by != level)
		up_detail_text(&detail, "limited_by", c->groups[by].label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_CGROUP,
				 .resource = "tasks",
				 .name = cur->label,
				 .utilization = limit.has ? up_scaled(up_value((double)cur->current.n), 1, (double)limit.n,
								    "the limit is 0")
							  : up_none("no limit"),
				 .saturation = up_none("a fork beyond the limit fails, it does not wait"),
				 .waiting = up_none("a fork beyond the limit fails, it does not wait"),
				 .errors = up_delta(prev ? &prev->refused : NULL, cur->refused,
					 "no pids.events (root cgroup, or kernel before 4.4)"),
				 .servers = (double)limit.n,
				 .method = "pids files measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static int tasks_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *c = cur;

	(void)dt_ns;
	for (size_t i = 0; i < c->group_count; i++)
		if (i == 0 || (c->groups[i].max.has && c->groups[i].current.has))
			add_level(prev, c, i, out);
	return 0;
}

const struct up_collector up_collector_tasks = {
	.name = "tasks",
	.summary = "processes and threads of a target against its pids limit",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "tasks",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = tasks_open,
	.read = tasks_read,
	.derive = tasks_derive,
	.close = tasks_close,
};
