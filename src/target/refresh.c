/* Refresh: whether a target is still there, and where it is when it comes back. Called by every tick, so it only does what is quick:
 * one stat while the target is there; the long searches run in a thread (relookup.c). */
#include "internal.h"

#include <stdio.h>
#include <string.h>

static bool still_there(const struct up_target *target, const struct up_source *source, struct up_arena *arena)
{
	char dir[UP_PATH_MAX];
	uint64_t start_ticks;

	if (target->kind == UP_TARGET_PID)
		return up_pid_stat(source, arena, target->pid, NULL, &start_ticks) == 0 && start_ticks == target->pid_start_ticks;
	return up_target_dir_in(target, target->main, 0, dir, sizeof(dir)) && up_source_is_dir(source, dir);
}

/* Whether the directory is another one than before. Frames of a recorded tree are different files anyway. */
static bool made_again(const struct up_target *target, const struct up_source *source)
{
	char dir[UP_PATH_MAX];

	return !source->recorded && target->kind == UP_TARGET_CGROUP &&
	       up_target_dir_in(target, target->main, 0, dir, sizeof(dir)) && up_source_inode(source, dir) != target->inode;
}

static bool is_how(const struct up_target *target, const char *how)
{
	return target->how && strcmp(target->how, how) == 0;
}

/* Takes the only candidate, or the first of a service's replicas. true when it is still there. */
static bool take(
	struct up_target *target, const struct up_source *source, struct up_arena *arena, struct up_candidates *candidates)
{
	const bool one = candidates->count + candidates->more == 1 || (candidates->all && candidates->count > 0);
	const bool found = one && up_target_bind(target, source, arena, &candidates->items[0], candidates->how) == 0;

	if (found && candidates->items[0].container_name[0])
		snprintf(target->lookup, sizeof(target->lookup), "%s", candidates->items[0].container_name);
	up_candidates_done(candidates);
	return found;
}

static bool look_now(struct up_target *target, const struct up_source *source, struct up_arena *arena, const char *only)
{
	struct up_candidates candidates;
	char none[1];

	return up_lookup(source, arena, target->hierarchies, target->lookup[0] ? target->lookup : target->name, only, &candidates,
		       none, 0) == 0 &&
	       take(target, source, arena, &candidates);
}

/* A restarted unit or container is mostly made again where it was. What was found by its process's name is not its directory. */
static bool same_path_again(struct up_target *target, const struct up_source *source, struct up_arena *arena)
{
	struct up_candidate candidate = { .hierarchy = target->main };

	if (target->main < 0 || is_how(target, UP_HOW_PROCESS) || !still_there(target, source, arena))
		return false;
	candidate.path = target->cgroup.path[target->main];
	memcpy(candidate.container_id, target->container_id, sizeof(candidate.container_id));
	return up_target_bind(target, source, arena, &candidate, target->how) == 0;
}

/* Starts the thread, or takes what it found. */
static bool look_in_thread(struct up_target *target, const struct up_source *source, struct up_arena *arena)
{
	struct up_candidates candidates;
	bool found;
	int r;

	if (!target->relookup) {
		/* Out of threads or descriptors: the next tick tries again. */
		if (up_relookup_start(source, target->hierarchies, target->lookup[0] ? target->lookup : target->name, target->how,
			    &target->relookup) < 0)
			target->relookup = NULL;
		return false;
	}
	r = up_relookup_take(target->relookup, &candidates);
	if (r == 0)
		return false;
	found = r > 0 && take(target, source, arena, &candidates);
	up_relookup_free(target->relookup);
	target->relookup = NULL;
	return found;
}

/* In the class that found it the first time; a name that never was found (--wait) may become anything. */
static bool find_again(struct up_target *target, const struct up_source *source, struct up_arena *arena)
{
	const bool by_path = is_how(target, UP_HOW_ABSOLUTE) || is_how(target, UP_HOW_RELATIVE);

	if (source->recorded)
		return look_now(target, source, arena, target->how);
	if (same_path_again(target, source, arena))
		return true;
	if (!target->how &&
		(look_now(target, source, arena, UP_HOW_ABSOLUTE) || look_now(target, source, arena, UP_HOW_RELATIVE)))
		return true;
	if (by_path)
		return look_now(target, source, arena, target->how);
	return look_in_thread(target, source, arena);
}

/* A thread that is not needed any more is told to end, and freed when it has. */
static void reap(struct up_target *target)
{
	if (!target->relookup || !target->present || !up_relookup_stop(target->relookup))
		return;
	up_relookup_free(target->relookup);
	target->relookup = NULL;
}

enum up_target_change up_target_refresh(struct up_target *target, const struct up_source *source, struct up_arena *arena)
{
	const bool was_found = target->how != NULL;

	if (target->kind == UP_TARGET_HOST)
		return UP_TARGET_SAME;
	reap(target);
	if (target->present && still_there(target, source, arena) && !made_again(target, source))
		return UP_TARGET_SAME;
	if (target->kind == UP_TARGET_CGROUP && find_again(target, source, arena)) {
		target->generation += was_found;
		return UP_TARGET_BACK;
	}
	if (!target->present)
		return UP_TARGET_SAME;
	target->present = false;
	target->v2_id = target->cpu_id = 0;
	return UP_TARGET_GONE;
}
