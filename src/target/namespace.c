/* Namespace: what of the cgroups is hidden from here, and where the own cgroup namespace lies when the mount shows more than it
 * (cgroup_namespaces(7)). In a container that has the host's /sys/fs/cgroup mounted, /proc/PID/cgroup counts from the container's group
 * ("/../other.service") and mountinfo field 4 says "/../..": the names of the directories above are in neither. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/scan.h"

#define INITIAL_NAMESPACE "cgroup:[4026531835]" /* PROC_CGROUP_INIT_INO, include/linux/proc_ns.h */

struct search {
	const struct up_source *source;
	struct up_arena *arena;
	const char *mount;
	pid_t pid;
};

static bool holds(const struct search *search, const char *path)
{
	char dir[UP_PATH_MAX];
	pid_t *pids;
	size_t count;

	if (!up_path_join(search->mount, path, dir, sizeof(dir)) ||
		up_dir_pids(search->source, search->arena, dir, false, &pids, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (pids[i] == search->pid)
			return true;
	return false;
}

/* Looks DEPTH levels below PATH for the directory with the process; PATH becomes it. */
static bool find_self(const struct search *search, char *path, size_t size, unsigned depth)
{
	const size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path), mark = search->arena->used_bytes;
	char dir[UP_PATH_MAX], **names;
	size_t count;
	bool found = false;

	if (depth == 0) {
		found = holds(search, path);
	} else if (up_path_join(search->mount, path, dir, sizeof(dir)) &&
		   up_dir_children(search->source, search->arena, dir, &names, &count) == 0) {
		for (size_t i = 0; !found && i < count; i++) {
			const int n = snprintf(path + len, size - len, "/%s", names[i]);

			found = n > 0 && (size_t)n < size - len && find_self(search, path, size, depth - 1);
		}
		if (!found)
			snprintf(path + len, size - len, "%s", len ? "" : "/");
	}
	search->arena->used_bytes = mark;
	return found;
}

/* Where the namespace's root is: the own directory without the own path below that root. */
static void find_in(const struct search *search, const char *own, struct up_hierarchy *hierarchy)
{
	const unsigned ups = up_path_count(hierarchy->root, true);
	char path[UP_PATH_MAX] = "/";

	if (up_path_leaves(own) || !find_self(search, path, sizeof(path), ups + up_path_count(own, false)) ||
		!up_path_strip(path, up_path_count(own, false)) || strlen(path) >= sizeof(hierarchy->ns))
		return;
	memcpy(hierarchy->ns, path, strlen(path) + 1);
}

void up_namespace_find(const struct up_source *source, struct up_arena *arena, struct up_hierarchies *hierarchies)
{
	struct up_pid_cgroups own;
	bool above = false, cut;
	char *text;

	for (size_t h = 0; h < hierarchies->count; h++)
		above = above || up_path_leaves(hierarchies->items[h].root);
	/* Who reads a recorded tree is not in it. */
	if (!above || source->recorded || up_source_read(source, arena, "/proc/self/cgroup", &text, NULL) < 0 ||
		up_pid_cgroups_raw(text, arena, hierarchies, &own, &cut) < 0)
		return;
	for (size_t h = 0; h < hierarchies->count; h++) {
		struct up_hierarchy *hierarchy = &hierarchies->items[h];
		const struct search search = { source, arena, hierarchy->mount, getpid() };

		if (own.path[h] && up_path_leaves(hierarchy->root))
			find_in(&search, own.path[h], hierarchy);
	}
}

/* Only the kernel's root lacks cgroup.events on v2 (kernel/cgroup/cgroup.c, CFTYPE_NOT_ON_ROOT) and has release_agent on v1
 * (cgroup-v1.c, CFTYPE_ONLY_ON_ROOT). Container engines mount the top of a namespace read-only, which a tree recorded without these
 * files still tells. */
bool up_namespace_top_is_group(const struct up_source *source, const struct up_hierarchy *hierarchy)
{
	const bool whole = strcmp(hierarchy->root, "/") == 0;

	if (!whole && !up_path_leaves(hierarchy->root))
		return true;
	if (hierarchy->v2)
		return up_cgroup_file_exists(source, hierarchy, "/", "cgroup.events") || (whole && hierarchy->read_only);
	return up_cgroup_file_exists(source, hierarchy, "/", "notify_on_release") &&
	       !up_cgroup_file_exists(source, hierarchy, "/", "release_agent");
}

static bool in_namespace(const struct up_source *source, const struct up_hierarchies *hierarchies)
{
	char link[64];

	for (size_t h = 0; h < hierarchies->count; h++)
		if (up_namespace_top_is_group(source, &hierarchies->items[h]))
			return true;
	return source->recorded && up_source_readlink(source, "/proc/self/ns/cgroup", link, sizeof(link)) == 0 &&
	       strcmp(link, INITIAL_NAMESPACE) != 0;
}

void up_namespace_explain(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const char *quoted_name, char *message, size_t size)
{
	bool part = false;
	char hidepid[32];

	for (size_t h = 0; h < hierarchies->count; h++)
		part = part || (strcmp(hierarchies->items[h].root, "/") != 0 && !up_path_leaves(hierarchies->items[h].root));
	if (in_namespace(source, hierarchies))
		up_message_add(message, size,
			"\nIf it runs on this host, '%s' is not visible from this %s: run useprobe on the host itself, or in a "
			"container\nstarted with --pid host --cgroupns host -v /sys/fs/cgroup:/sys/fs/cgroup:ro.",
			quoted_name, part ? "container" : "cgroup namespace");
	if (up_source_hidepid(source, arena, hidepid, sizeof(hidepid)) && (source->recorded || geteuid() != 0))
		up_message_add(message, size,
			"\nProcesses of other users are hidden from this one (/proc is mounted with hidepid=%s).", hidepid);
}
