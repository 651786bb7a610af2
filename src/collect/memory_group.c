/* The memory files of one cgroup.
 * v2 (Documentation/admin-guide/cgroup-v2.rst): memory.current "4096", memory.stat "inactive_file 4096", memory.max "max", memory.high,
 *     memory.events "oom_kill 0", memory.swap.current, memory.pressure
 * v1 (Documentation/admin-guide/cgroup-v1/memory.rst): memory.usage_in_bytes, memory.stat "total_inactive_file 4096",
 *     memory.limit_in_bytes, memory.failcnt, memory.oom_control "under_oom 0", "oom_kill 0" (4.13) */
#include "memory_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURRENT, STAT, MAX, HIGH, EVENTS, FAILCNT, SWAP, PRESSURE };

static const char *const names_v2[MEMORY_FILES] = {
	[CURRENT] = "memory.current",
	[STAT] = "memory.stat",
	[MAX] = "memory.max",
	[HIGH] = "memory.high",
	[EVENTS] = "memory.events",
	[SWAP] = "memory.swap.current",
	[PRESSURE] = "memory.pressure",
};
static const char *const names_v1[MEMORY_FILES] = {
	[CURRENT] = "memory.usage_in_bytes",
	[STAT] = "memory.stat",
	[MAX] = "memory.limit_in_bytes",
	[EVENTS] = "memory.oom_control",
	[FAILCNT] = "memory.failcnt",
};
static const char *const keys_v2[] = { "inactive_file", "anon", "pgmajfault" };
static const char *const keys_v1[] = { "total_inactive_file", "total_rss", "total_pgmajfault" };

/* v1 writes "no limit" as LONG_MAX rounded down to pages (mm/memcontrol-v1.c, PAGE_COUNTER_MAX); pages are at most 64 KiB. */
#define V1_UNLIMITED_BYTES ((uint64_t)INT64_MAX - 0xffff)

static int set_path(struct memory_group_files *files, int which, const char *dir, const char *name)
{
	if (name && asprintf(&files->path[which], "%s/%s", dir, name) < 0) {
		files->path[which] = NULL;
		return -ENOMEM;
	}
	files->files[which].path = files->path[which];
	return 0;
}

int memory_group_open(struct memory_group_files *files, const struct up_target *target, unsigned up)
{
	char dir[UP_PATH_MAX];
	int r = 0;

	if (!up_target_dir(target, UP_CTL_MEMORY, up, dir, sizeof(dir), &files->v2))
		return -ENOENT;
	if (!up_target_ancestor_label(target, UP_CTL_MEMORY, up, files->label, sizeof(files->label)))
		snprintf(files->label, sizeof(files->label), "%s", target->label);
	for (int i = 0; i < MEMORY_FILES && r == 0; i++)
		r = set_path(files, i, dir, files->v2 ? names_v2[i] : names_v1[i]);
	/* On a hybrid host PSI of the same group stands in the v2 tree; its ancestors there need not be the v1 ones. */
	if (r == 0 && !files->v2 && up == 0 && up_target_v2_dir(target, 0, dir, sizeof(dir)))
		r = set_path(files, PRESSURE, dir, names_v2[PRESSURE]);
	return r;
}

void memory_group_close(struct memory_group_files *files)
{
	for (int i = 0; i < MEMORY_FILES; i++) {
		up_file_close(&files->files[i]);
		free(files->path[i]);
	}
}

/* NULL when the file is not there (older kernel, root cgroup, group just removed); other errors are the caller's. */
static int text_of(struct up_env *env, struct memory_group_files *files, int which, struct up_arena *arena, char **ret)
{
	int r = -ENOENT;

	*ret = NULL;
	if (files->files[which].path)
		r = up_file_read(env->source, &files->files[which], arena, ret, NULL);
	if (r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV)
		return 0;
	return r < 0 ? up_fail(env, r, "%s: %s", files->path[which], strerror(-r)) : 0;
}

static int malformed(struct up_env *env, const struct memory_group_files *files, int which, const char *text)
{
	return up_fail(env, -EBADMSG, "%s: not understood: \"%.40s\"", files->path[which], text);
}

/* One number per file; "max" and -1 are no number. */
static int single_of(struct up_env *env, struct memory_group_files *files, int which, struct up_arena *arena, struct up_u64 *ret)
{
	bool unlimited;
	char *text;
	int r = text_of(env, files, which, arena, &text);

	if (r == 0 && text && up_scan_single(text, ret, &unlimited) < 0)
		r = malformed(env, files, which, text);
	return r;
}

static int read_limit(struct up_env *env, struct memory_group_files *files, struct up_arena *arena, struct memory_group *group)
{
	bool unlimited;
	char *text;
	int r = text_of(env, files, MAX, arena, &text);

	if (r < 0)
		return r;
	group->limit_known = text != NULL;
	if (text && up_scan_single(text, &group->max_bytes, &unlimited) < 0)
		return malformed(env, files, MAX, text);
	if (!files->v2 && group->max_bytes.has && group->max_bytes.n >= V1_UNLIMITED_BYTES)
		group->max_bytes.has = false;
	return single_of(env, files, HIGH, arena, &group->high_bytes);
}

static int read_stat(struct up_env *env, struct memory_group_files *files, struct up_arena *arena, struct memory_group *group)
{
	const char *const *keys = files->v2 ? keys_v2 : keys_v1;
	struct up_u64 *const values[] = { &group->inactive_bytes, &group->anon_bytes, &group->major_faults };
	char *text;
	int r = text_of(env, files, STAT, arena, &text);

	/* A figure that is no number leaves what is made of it unknown; the rest of the row stands. */
	for (size_t i = 0; r == 0 && text && i < UP_COUNT(values); i++)
		if (up_scan_key(text, keys[i], values[i]) < 0)
			values[i]->has = false;
	if (r == 0 && text && !files->v2 && up_scan_key(text, "total_swap", &group->swap_bytes) < 0)
		group->swap_bytes.has = false;
	return r;
}

static int read_events(struct up_env *env, struct memory_group_files *files, struct up_arena *arena, struct memory_group *group)
{
	struct up_u64 under_oom = { 0 };
	char *text;
	int r = text_of(env, files, EVENTS, arena, &text);

	if (r < 0)
		return r;
	if (text && (up_scan_key(text, "oom_kill", &group->oom_kills) < 0 ||
			    up_scan_key(text, files->v2 ? "oom" : "under_oom", files->v2 ? &group->ooms : &under_oom) < 0))
		return malformed(env, files, EVENTS, text);
	group->under_oom = under_oom.has && under_oom.n > 0;
	if (text && files->v2 &&
		(up_scan_key(text, "max", &group->limit_hits) < 0 || up_scan_key(text, "high", &group->high_hits) < 0))
		return malformed(env, files, EVENTS, text);
	return files->v2 ? 0 : single_of(env, files, FAILCNT, arena, &group->limit_hits);
}

int memory_group_read(
	struct up_env *env, struct memory_group_files *files, bool only_limited, struct up_arena *arena, struct memory_group *ret)
{
	struct memory_group group = { .label = up_arena_strdup(arena, files->label), .psi.error = -ENOENT };
	int r = group.label ? read_limit(env, files, arena, &group) : -ENOSPC;

	if (r == 0 && (!only_limited || memory_group_limit(&group).has)) {
		r = single_of(env, files, CURRENT, arena, &group.current_bytes);
		if (r == 0)
			r = read_stat(env, files, arena, &group);
		if (r == 0)
			r = read_events(env, files, arena, &group);
		if (r == 0 && files->v2)
			r = single_of(env, files, SWAP, arena, &group.swap_bytes);
		if (r == 0)
			(void)psi_read(env, &files->files[PRESSURE], arena, &group.psi);
	}
	if (r == 0)
		*ret = group;
	return r;
}

struct up_u64 memory_group_limit(const struct memory_group *group)
{
	return group->high_bytes.has && (!group->max_bytes.has || group->high_bytes.n < group->max_bytes.n) ? group->high_bytes
													    : group->max_bytes;
}
