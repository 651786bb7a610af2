/* The ladder's class "container": from what a runtime tells to the container's cgroup.
 * The cgroup is read from the first process, but only believed when the container's id stands in its path: a daemon in another pid
 * namespace (docker in docker) tells pids that are other processes here. Without such a process the directory with the id is taken. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#include "useprobe/container.h"

/* Path of the container's group by its first process. false when that process is not known to be the container's. */
static bool by_pid(
	const struct up_ladder *ladder, const struct up_container *container, char *ret_path, size_t size, int *ret_hierarchy)
{
	struct up_pid_cgroups paths;
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(ladder->hierarchies, order);

	if (container->pid <= 0 ||
		up_pid_cgroups_read(ladder->source, ladder->arena, ladder->hierarchies, container->pid, &paths) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *path = paths.path[order[i]];

		if (!path || strlen(path) >= size)
			continue;
		snprintf(ret_path, size, "%s", path);
		if (up_container_cut_path(ret_path, container->id) &&
			up_cgroup_exists(ladder->source, &ladder->hierarchies->items[order[i]], ret_path)) {
			*ret_hierarchy = order[i];
			return true;
		}
	}
	return false;
}

/* The same by the directory that carries the id. 1 when found, 0, -errno. */
static int by_directory(
	struct up_ladder *ladder, const struct up_container *container, char *ret_path, size_t size, int *ret_hierarchy)
{
	const int r = up_ladder_read_tree(ladder);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ladder->tree.count; i++) {
		const struct up_tree_node *node = &ladder->tree.items[i];
		char leaf[UP_PATH_MAX];

		if (!strstr(up_path_base(node->path), container->id) || strlen(node->path) >= size)
			continue;
		snprintf(ret_path, size, "%s", node->path);
		if (!up_container_cut_path(ret_path, container->id) || strcmp(ret_path, node->path) != 0)
			continue;
		if ((size_t)snprintf(leaf, sizeof(leaf), "%s/container", node->path) < size &&
			up_cgroup_exists(ladder->source, &ladder->hierarchies->items[node->hierarchy], leaf))
			snprintf(ret_path, size, "%s", leaf);
		*ret_hierarchy = node->hierarchy;
		return 1;
	}
	return 0;
}

static int add_container(struct up_ladder *ladder, const struct up_container *container)
{
	struct up_candidate *added;
	char path[UP_PATH_MAX], label[UP_PATH_MAX + 700];
	int hierarchy, r = 1;

	if (!by_pid(ladder, container, path, sizeof(path), &hierarchy))
		r = by_directory(ladder, container, path, sizeof(path), &hierarchy);
	if (r == 0 && container->daemon >= 0)
		snprintf(ladder->note, sizeof(ladder->note),
			"Container %.12s (%.250s) is %s, but no cgroup with its id is visible here", container->id,
			container->name, container->state);
	if (r <= 0)
		return r;
	/* Its pid is not passed on: the group may hold it by another pid namespace's number. */
	snprintf(label, sizeof(label), "%s (container %s%s%s, id %.12s)", path, container->name,
		*container->project ? ", project " : "", container->project, container->id);
	r = up_candidates_add(ladder->ret, label, path, hierarchy, 0, &added);
	if (r == 0 && added) {
		snprintf(added->container_id, sizeof(added->container_id), "%s", container->id);
		snprintf(added->container_name, sizeof(added->container_name), "%s", container->name);
	}
	return r;
}

int up_ladder_container(struct up_ladder *ladder)
{
	struct up_containers found;
	int r;

	/* A name with a slash is a path. */
	if (!ladder->name[0] || strchr(ladder->name, '/'))
		return 0;
	r = up_containers_find(ladder->source, ladder->arena, ladder->name, UP_CONTAINER_TIMEOUT_MS, ladder->explain, &found);
	if (*found.error)
		snprintf(ladder->note, sizeof(ladder->note), "A container daemon did not answer: %s", found.error);
	if (*found.stopped)
		snprintf(ladder->note, sizeof(ladder->note), "A container of that name is there, but not running (%s)",
			found.stopped);
	for (size_t i = 0; r == 0 && i < found.count; i++)
		r = add_container(ladder, &found.items[i]);
	ladder->ret->all = found.all;
	up_containers_done(&found);
	return r;
}
