/* Lookup: the ladder from a name as typed to cgroups. The classes stand in the table at the end; the first with any match decides. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/container.h"
#include "useprobe/scan.h"

struct lookup {
	const struct up_source *source;
	struct up_arena *arena;
	const struct up_hierarchies *hierarchies;
	const char *name;
	struct up_tree tree;
	bool tree_read;
	size_t processes; /* looked at */
	char container_error[256]; /* of a daemon that did not answer, "" = none */
	pid_t root_pid; /* a process of that name in the root cgroup, 0 = none */
	struct up_candidates *ret;
};

static int add(struct lookup *lookup, const char *path, int hierarchy, pid_t pid)
{
	char label[UP_PATH_MAX];
	const char *root = lookup->hierarchies->items[hierarchy].root;

	if (!up_path_join(up_path_leaves(root) ? "/" : root, path, label, sizeof(label)))
		return -ENAMETOOLONG;
	return up_candidates_add(lookup->ret, label, path, hierarchy, pid, NULL);
}

/* Copies PATH with single slashes and one in front, none behind. false when it is too long, or has "." or ".." in it. */
static bool normalize(const char *path, char *ret, size_t size)
{
	size_t used = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		const size_t len = strcspn(path, "/");

		if ((len <= 2 && strncmp(path, "..", len) == 0) || used + len + 2 > size)
			return false;
		ret[used++] = '/';
		memcpy(ret + used, path, len);
		used += len;
		path += len;
	}
	if (used == 0)
		ret[used++] = '/';
	ret[used] = '\0';
	return true;
}

static int by_absolute_path(struct lookup *lookup)
{
	char path[UP_PATH_MAX];
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(lookup->hierarchies, order);

	if (lookup->name[0] != '/' || !normalize(lookup->name, path, sizeof(path)))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct up_hierarchy *hierarchy = &lookup->hierarchies->items[order[i]];
		const char *below = up_path_below(hierarchy->mount, path);

		/* A mount inside another one's directory is no part of it, so the file system has to agree. */
		if (below && strcmp(hierarchy->mount, "/") != 0 && up_cgroup_exists(lookup->source, hierarchy, below))
			return add(lookup, below, order[i], 0);
	}
	return 0;
}

static int by_relative_path(struct lookup *lookup)
{
	char path[UP_PATH_MAX];
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(lookup->hierarchies, order);

	if (!lookup->name[0] || !normalize(lookup->name, path, sizeof(path)))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (up_cgroup_exists(lookup->source, &lookup->hierarchies->items[order[i]], path))
			return add(lookup, path, order[i], 0);
	/* As /proc/PID/cgroup writes it, when only a part of the hierarchy is mounted here. */
	for (size_t i = 0; i < count; i++) {
		const struct up_hierarchy *hierarchy = &lookup->hierarchies->items[order[i]];
		const char *below = up_path_below(hierarchy->root, path);

		if (below && below != path && up_cgroup_exists(lookup->source, hierarchy, below))
			return add(lookup, below, order[i], 0);
	}
	return 0;
}

static int read_tree(struct lookup *lookup)
{
	int r;

	if (lookup->tree_read)
		return 0;
	r = up_tree_read(lookup->source, lookup->arena, lookup->hierarchies, &lookup->tree);
	if (r == 0)
		lookup->tree_read = true;
	return r;
}

/* Adds every directory whose base name MATCH accepts. */
static int add_matching(struct lookup *lookup, bool (*match)(const char *base, const char *want), const char *want)
{
	int r = read_tree(lookup);

	for (size_t i = 0; r == 0 && i < lookup->tree.count; i++) {
		const struct up_tree_node *node = &lookup->tree.items[i];

		if (match(up_path_base(node->path), want))
			r = add(lookup, node->path, node->hierarchy, 0);
	}
	return r;
}

static bool is_base(const char *base, const char *want)
{
	return strcmp(base, want) == 0;
}

static bool is_unescaped_base(const char *base, const char *want)
{
	char plain[UP_PATH_MAX];

	return strstr(base, "\\x") && up_unit_unescape(base, plain, sizeof(plain)) && strcmp(plain, want) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/* One unit name in full: a slice where systemd puts it, else anywhere, since Slice= may move any unit. */
static int add_unit(struct lookup *lookup, const char *unit)
{
	char path[UP_PATH_MAX];
	int r;

	if (up_unit_slice_path(unit, path, sizeof(path)))
		for (size_t h = 0; h < lookup->hierarchies->count; h++)
			if (up_cgroup_exists(lookup->source, &lookup->hierarchies->items[h], path))
				return add(lookup, path, (int)h, 0);
	r = add_matching(lookup, is_base, unit);
	if (r == 0 && lookup->ret->count == 0)
		r = add_matching(lookup, is_unescaped_base, unit);
	return r;
}

static int by_systemd_unit(struct lookup *lookup)
{
	/* As systemctl takes it: a name without a type is a service. The others that own cgroups follow. */
	static const char *const types[] = { ".service", ".scope", ".slice", ".socket", ".mount", ".swap" };
	char unit[UP_PATH_MAX];
	int r = 0;

	if (!lookup->name[0] || strchr(lookup->name, '/'))
		return 0;
	for (size_t i = 0; i < UP_COUNT(types); i++)
		if (ends_with(lookup->name, types[i]))
			return add_unit(lookup, lookup->name);
	for (size_t i = 0; r == 0 && lookup->ret->count == 0 && i < UP_COUNT(types); i++) {
		const int n = snprintf(unit, sizeof(unit), "%s%s", lookup->name, types[i]);

		if (n > 0 && (size_t)n < sizeof(unit))
			r = add_unit(lookup, unit);
	}
	return r;
}

static int by_base_name(struct lookup *lookup)
{
	if (!lookup->name[0] || strchr(lookup->name, '/'))
		return 0;
	return add_matching(lookup, is_base, lookup->name);
}

/* The kernel keeps 15 bytes of a name (TASK_COMM_LEN). */
static bool is_comm(const char *comm, const char *name)
{
	return strcmp(comm, name) == 0 || (strlen(comm) == 15 && strncmp(comm, name, 15) == 0);
}

static int by_process_name(struct lookup *lookup)
{
	const size_t mark = lookup->arena->used_bytes;
	pid_t *pids;
	size_t count;
	int r = up_proc_pids(lookup->source, lookup->arena, &pids, &count);

	(void)mark;
	if (r < 0 || !lookup->name[0])
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < count; i++) {
		char path[64], *comm;
		size_t len;
		struct up_pid_cgroups paths;
		int h;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pids[i]);
		if ((!lookup->source->recorded && pids[i] == getpid()) ||
			up_source_read(lookup->source, lookup->arena, path, &comm, &len) < 0)
			continue;
		lookup->processes++;
		if (len > 0 && comm[len - 1] == '\n')
			comm[len - 1] = '\0';
		if (!is_comm(comm, lookup->name) ||
			up_pid_cgroups_read(lookup->source, lookup->arena, lookup->hierarchies, pids[i], &paths) < 0)
			continue;
		h = up_pid_cgroups_main(lookup->hierarchies, &paths);
		if (h < 0)
			lookup->root_pid = lookup->root_pid ? lookup->root_pid : pids[i];
		else if ((r = add(lookup, paths.path[h], h, pids[i])) < 0)
			return r;
	}
	return 0;
}

/* One container as a candidate: its cgroup is read from its first process, never put together from the id. */
static int add_container(struct lookup *lookup, const struct up_container *container)
{
	struct up_candidate *added;
	struct up_pid_cgroups paths;
	char path[UP_PATH_MAX], label[UP_PATH_MAX];
	int h, r;

	if (!container->pid ||
		up_pid_cgroups_read(lookup->source, lookup->arena, lookup->hierarchies, container->pid, &paths) < 0)
		return 0;
	h = up_pid_cgroups_main(lookup->hierarchies, &paths);
	if (h < 0)
		return 0;
	snprintf(path, sizeof(path), "%s", paths.path[h]);
	/* crun puts the processes into a leaf "container" below the scope that has the limits (podman#8290). */
	if (strcmp(up_path_base(path), "container") == 0 && strstr(path, container->id))
		up_path_strip(path, 1);
	snprintf(label, sizeof(label), "%.200s %.12s", *container->name ? container->name : container->id, container->id);
	r = up_candidates_add(lookup->ret, label, path, h, container->pid, &added);
	if (r == 0 && added) {
		snprintf(added->container_id, sizeof(added->container_id), "%s", container->id);
		snprintf(added->container_name, sizeof(added->container_name), "%s", container->name);
	}
	return r;
}

int up_lookup_containers(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const struct up_containers *containers, struct up_candidates *ret)
{
	struct lookup lookup = { .source = source, .arena = arena, .hierarchies = hierarchies, .ret = ret };
	int r = 0;

	for (size_t i = 0; r == 0 && i < containers->count; i++)
		r = add_container(&lookup, &containers->items[i]);
	ret->all = containers->service;
	return r;
}

static int by_container(struct lookup *lookup)
{
	struct up_containers containers;
	int r;

	/* A name with a slash is a path; a recorded tree has no daemon. */
	if (lookup->source->recorded || !lookup->name[0] || strchr(lookup->name, '/'))
		return 0;
	r = up_containers_find(lookup->name, UP_CONTAINER_TIMEOUT_MS, &containers);
	if (r < 0)
		return r;
	snprintf(lookup->container_error, sizeof(lookup->container_error), "%s", containers.error);
	return up_lookup_containers(lookup->source, lookup->arena, lookup->hierarchies, &containers, lookup->ret);
}

/* Pod uids and container ids stand inside the directory names: "kubepods-burstable-pod8d2f1c3a_1111_....slice",
 * "cri-containerd-1d3d30....scope". At least 8 characters of one, '-' or '_' alike. */
static bool holds_id(const char *base, const char *id)
{
	const size_t len = strlen(id);

	for (; strlen(base) >= len; base++) {
		size_t i = 0;

		while (i < len && (base[i] == id[i] || (base[i] == '_' && id[i] == '-')))
			i++;
		if (i == len)
			return true;
	}
	return false;
}

static int by_id_in_path(struct lookup *lookup)
{
	const size_t len = strlen(lookup->name);

	if (len < 8 || strspn(lookup->name, "0123456789abcdef-") != len)
		return 0;
	return add_matching(lookup, holds_id, lookup->name);
}

static const struct {
	const char *how; /* as shown to people, and the identity of the class */
	int (*find)(struct lookup *lookup); /* adds candidates; 0 or -errno */
} classes[] = {
	{ "absolute path", by_absolute_path },
	{ "relative path", by_relative_path },
	{ "systemd unit", by_systemd_unit },
	{ UP_HOW_CONTAINER, by_container },
	{ "pod or container id", by_id_in_path },
	{ "directory name", by_base_name },
	{ "process name", by_process_name },
};

/* What was searched, and what to do about it. */
static void say_not_found(const struct lookup *lookup, char *message, size_t size)
{
	char name[512];

	up_message_quote(lookup->name, name, sizeof(name));
	message[0] = '\0';
	if (!lookup->name[0]) {
		up_message_add(message, size, "the name of a target is empty");
		return;
	}
	up_message_add(message, size, "'%s' was not found. Searched: ", name);
	for (size_t i = 0; i < UP_COUNT(classes); i++)
		up_message_add(message, size, "%s%s", i ? ", " : "", classes[i].how);
	up_message_add(message, size, " (%zu%s cgroups, %zu processes).", lookup->tree.count, lookup->tree.more ? "+" : "",
		lookup->processes);
	if (*lookup->container_error)
		up_message_add(message, size, "\nA container daemon did not answer: %s.", lookup->container_error);
	if (lookup->root_pid)
		up_message_add(message, size,
			"\nProcess %d has that name but is in the root cgroup, which holds the whole machine: use --pid %d or --host.",
			(int)lookup->root_pid, (int)lookup->root_pid);
	else
		up_message_add(message, size, "\n`useprobe list` shows what there is; --wait waits for it to appear.");
}

static bool wanted(const char *only, const char *how)
{
	if (!only)
		return true;
	if (strcmp(only, UP_HOW_NO_DAEMON) == 0)
		return strcmp(how, UP_HOW_CONTAINER) != 0;
	return strcmp(only, how) == 0;
}

int up_lookup(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies, const char *name,
	const char *only, struct up_candidates *ret, char *message, size_t message_size)
{
	struct up_candidates found = { 0 };
	struct lookup lookup = { .source = source, .arena = arena, .hierarchies = hierarchies, .name = name, .ret = &found };
	int r = 0;

	for (size_t i = 0; r == 0 && found.count == 0 && i < UP_COUNT(classes); i++) {
		if (!wanted(only, classes[i].how))
			continue;
		r = classes[i].find(&lookup);
		found.how = classes[i].how;
	}
	if (r == 0 && found.count > 1)
		up_candidates_merge(source, arena, hierarchies, &found);
	if (r == 0 && found.count == 0) {
		say_not_found(&lookup, message, message_size);
		r = -ENOENT;
	} else if (r < 0) {
		snprintf(message, message_size, "looking up a target failed: %s", strerror(-r));
	}
	up_tree_done(&lookup.tree);
	if (r < 0)
		up_candidates_done(&found);
	else
		*ret = found;
	return r;
}
