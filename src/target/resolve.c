/* Resolve: from one directory in one hierarchy to the directories of the same group in all of them.
 * Where a process of the group says another path than the one found, that path is the group's only when nothing else lives there:
 * a group that was made in one v1 hierarchy alone shares the others' groups with strangers, whose memory is not its own. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct group {
	const struct up_source *source;
	struct up_arena *arena;
	const struct up_hierarchies *hierarchies;
	const char *path; /* where it was found */
	int hierarchy;
};

/* Paths of a process inside, and how deep below the group it lives ("" or "/child"). false when there is no process to ask. */
static bool ask_member(const struct group *group, pid_t pid, struct up_pid_cgroups *ret_paths, const char **ret_below)
{
	char dir[UP_PATH_MAX];
	const char *below;
	pid_t *pids;
	size_t count;

	if (pid <= 0) {
		if (!up_path_join(group->hierarchies->items[group->hierarchy].mount, group->path, dir, sizeof(dir)))
			return false;
		if (up_dir_pids(group->source, group->arena, dir, false, &pids, &count) < 0 || count == 0)
			if (up_dir_pids(group->source, group->arena, dir, true, &pids, &count) < 0 || count == 0)
				return false;
		pid = pids[0];
	}
	if (up_pid_cgroups_read(group->source, group->arena, group->hierarchies, pid, ret_paths) < 0 ||
		!ret_paths->path[group->hierarchy])
		return false;
	/* It may have moved on since; then it tells nothing about this group. */
	below = up_path_below(group->path, ret_paths->path[group->hierarchy]);
	if (!below)
		return false;
	*ret_below = strcmp(below, "/") == 0 ? "" : below;
	return true;
}

/* The part of PATH in front of BELOW, NULL when it does not end so. */
static const char *cut_below(struct up_arena *arena, const char *path, const char *below)
{
	const size_t len = strlen(path), cut = strlen(below);

	if (cut == 0)
		return path;
	if (len < cut || strcmp(path + len - cut, below) != 0)
		return NULL;
	return len == cut ? "/" : up_arena_strndup(arena, path, len - cut);
}

/* Whether all processes below PATH in hierarchy H belong to the group. One that ended meanwhile does not count. */
static bool exclusive(const struct group *group, int h, const char *path)
{
	char dir[UP_PATH_MAX];
	pid_t *pids;
	size_t count;

	if (!up_path_join(group->hierarchies->items[h].mount, path, dir, sizeof(dir)) ||
		up_dir_pids(group->source, group->arena, dir, true, &pids, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct up_pid_cgroups paths;
		const int r = up_pid_cgroups_read(group->source, group->arena, group->hierarchies, pids[i], &paths);

		if (r == -ESRCH)
			continue;
		if (r < 0 || !paths.path[group->hierarchy] || !up_path_below(group->path, paths.path[group->hierarchy]))
			return false;
	}
	return count > 0;
}

static const char *path_in(const struct group *group, int h, const struct up_pid_cgroups *member, const char *below)
{
	const struct up_hierarchy *hierarchy = &group->hierarchies->items[h];
	const char *path = member && member->path[h] ? cut_below(group->arena, member->path[h], below) : NULL;

	if (h != group->hierarchy && path && strcmp(path, "/") != 0 && strcmp(path, group->path) != 0 &&
		exclusive(group, h, path))
		return path;
	return up_cgroup_exists(group->source, hierarchy, group->path) ? group->path : NULL;
}

int up_cgroup_resolve(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const char *path, int hierarchy, pid_t pid, struct up_cgroup *ret)
{
	const struct group group = { source, arena, hierarchies, path, hierarchy };
	struct up_cgroup cgroup = { 0 };
	struct up_pid_cgroups member;
	const char *below = "";
	const bool root = strcmp(path, "/") == 0;
	const bool asked = !root && ask_member(&group, pid, &member, &below);

	for (size_t h = 0; h < hierarchies->count; h++) {
		const char *found = path_in(&group, (int)h, asked ? &member : NULL, below);

		if (!found)
			continue;
		cgroup.path[h] = strdup(found);
		if (!cgroup.path[h]) {
			up_cgroup_done(&cgroup);
			return -ENOMEM;
		}
	}
	if (!cgroup.path[hierarchy]) {
		up_cgroup_done(&cgroup);
		return -ENOENT;
	}
	*ret = cgroup;
	return 0;
}

void up_cgroup_done(struct up_cgroup *cgroup)
{
	for (size_t h = 0; h < UP_HIERARCHIES_MAX; h++)
		free(cgroup->path[h]);
	*cgroup = (struct up_cgroup){ 0 };
}
