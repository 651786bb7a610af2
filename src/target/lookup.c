/* Lookup: the ladder from a name as typed to cgroups. The classes stand in the table at the end; the first with any match decides. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/scan.h"

int up_ladder_add(struct up_ladder *ladder, const char *path, int hierarchy, pid_t pid)
{
	char label[UP_PATH_MAX];
	const char *root = ladder->hierarchies->items[hierarchy].root;

	if (!up_path_join(up_path_leaves(root) ? "/" : root, path, label, sizeof(label)))
		return -ENAMETOOLONG;
	return up_candidates_add(ladder->ret, label, path, hierarchy, pid, NULL);
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

static int by_absolute_path(struct up_ladder *ladder)
{
	char path[UP_PATH_MAX];
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(ladder->hierarchies, order);

	if (ladder->name[0] != '/' || !normalize(ladder->name, path, sizeof(path)))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct up_hierarchy *hierarchy = &ladder->hierarchies->items[order[i]];
		const char *below = up_path_below(hierarchy->mount, path);

		/* A mount inside another one's directory is no part of it, so the file system has to agree. */
		if (below && strcmp(hierarchy->mount, "/") != 0 && up_cgroup_exists(ladder->source, hierarchy, below))
			return up_ladder_add(ladder, below, order[i], 0);
	}
	return 0;
}

static int by_relative_path(struct up_ladder *ladder)
{
	char path[UP_PATH_MAX];
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(ladder->hierarchies, order);

	if (!ladder->name[0] || !normalize(ladder->name, path, sizeof(path)))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (up_cgroup_exists(ladder->source, &ladder->hierarchies->items[order[i]], path))
			return up_ladder_add(ladder, path, order[i], 0);
	/* As /proc/PID/cgroup writes it, when only a part of the hierarchy is mounted here. */
	for (size_t i = 0; i < count; i++) {
		const struct up_hierarchy *hierarchy = &ladder->hierarchies->items[order[i]];
		const char *below = up_path_below(hierarchy->root, path);

		if (below && below != path && up_cgroup_exists(ladder->source, hierarchy, below))
			return up_ladder_add(ladder, below, order[i], 0);
	}
	return 0;
}

int up_ladder_read_tree(struct up_ladder *ladder)
{
	int r;

	if (ladder->tree_read)
		return 0;
	r = up_tree_read(ladder->source, ladder->arena, ladder->hierarchies, &ladder->tree);
	if (r == 0)
		ladder->tree_read = true;
	return r;
}

/* Adds every directory whose base name MATCH accepts. */
static int add_matching(struct up_ladder *ladder, bool (*match)(const char *base, const char *want), const char *want)
{
	int r = up_ladder_read_tree(ladder);

	for (size_t i = 0; r == 0 && i < ladder->tree.count; i++) {
		const struct up_tree_node *node = &ladder->tree.items[i];

		if (match(up_path_base(node->path), want))
			r = up_ladder_add(ladder, node->path, node->hierarchy, 0);
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
static int add_unit(struct up_ladder *ladder, const char *unit)
{
	char path[UP_PATH_MAX];
	int r;

	if (up_unit_slice_path(unit, path, sizeof(path)))
		for (size_t h = 0; h < ladder->hierarchies->count; h++)
			if (up_cgroup_exists(ladder->source, &ladder->hierarchies->items[h], path))
				return up_ladder_add(ladder, path, (int)h, 0);
	r = add_matching(ladder, is_base, unit);
	if (r == 0 && ladder->ret->count == 0)
		r = add_matching(ladder, is_unescaped_base, unit);
	return r;
}

static int by_systemd_unit(struct up_ladder *ladder)
{
	/* As systemctl takes it: a name without a type is a service. The others that own cgroups follow. */
	static const char *const types[] = { ".service", ".scope", ".slice", ".socket", ".mount", ".swap" };
	char unit[UP_PATH_MAX];
	int r = 0;

	if (!ladder->name[0] || strchr(ladder->name, '/'))
		return 0;
	for (size_t i = 0; i < UP_COUNT(types); i++)
		if (ends_with(ladder->name, types[i]))
			return add_unit(ladder, ladder->name);
	for (size_t i = 0; r == 0 && ladder->ret->count == 0 && i < UP_COUNT(types); i++) {
		const int n = snprintf(unit, sizeof(unit), "%s%s", ladder->name, types[i]);

		if (n > 0 && (size_t)n < sizeof(unit))
			r = add_unit(ladder, unit);
	}
	return r;
}

static int by_base_name(struct up_ladder *ladder)
{
	if (!ladder->name[0] || strchr(ladder->name, '/'))
		return 0;
	return add_matching(ladder, is_base, ladder->name);
}

/* The kernel keeps 15 bytes of a name (TASK_COMM_LEN). */
static bool is_comm(const char *comm, const char *name)
{
	return strcmp(comm, name) == 0 || (strlen(comm) == 15 && strncmp(comm, name, 15) == 0);
}

/* Hierarchy that says which group a process is in. -1: the root of all, which is the whole machine; -2: a group that is not visible. */
static int group_of(const struct up_ladder *ladder, const struct up_pid_cgroups *paths)
{
	int order[UP_HIERARCHIES_MAX], result = -2;
	const size_t count = up_hierarchies_order(ladder->hierarchies, order);
	const int main = up_pid_cgroups_main(ladder->hierarchies, paths);

	for (size_t i = 0; main < 0 && i < count; i++) {
		if (!paths->path[order[i]])
			continue;
		/* The top of what a container sees is a group like any other. */
		if (up_namespace_top_is_group(ladder->source, &ladder->hierarchies->items[order[i]]))
			return order[i];
		result = -1;
	}
	return main < 0 ? result : main;
}

static int by_process_name(struct up_ladder *ladder)
{
	pid_t *pids;
	size_t count;
	int r = up_proc_pids(ladder->source, ladder->arena, &pids, &count);

	if (r < 0 || !ladder->name[0])
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < count; i++) {
		char path[64], *comm;
		size_t len;
		struct up_pid_cgroups paths;
		int h;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pids[i]);
		if ((!ladder->source->recorded && pids[i] == getpid()) ||
			up_source_read(ladder->source, ladder->arena, path, &comm, &len) < 0)
			continue;
		ladder->processes++;
		if (len > 0 && comm[len - 1] == '\n')
			comm[len - 1] = '\0';
		if (!is_comm(comm, ladder->name) ||
			up_pid_cgroups_read(ladder->source, ladder->arena, ladder->hierarchies, pids[i], &paths) < 0)
			continue;
		h = group_of(ladder, &paths);
		if (h == -1)
			ladder->root_pid = ladder->root_pid ? ladder->root_pid : pids[i];
		else if (h < 0)
			ladder->hidden_pid = ladder->hidden_pid ? ladder->hidden_pid : pids[i];
		else if ((r = up_ladder_add(ladder, paths.path[h], h, pids[i])) < 0)
			return r;
	}
	return 0;
}

static const struct {
	const char *how; /* as shown to people, and the identity of the class */
	int (*find)(struct up_ladder *ladder); /* adds candidates; 0 or -errno */
} classes[] = {
	{ UP_HOW_ABSOLUTE, by_absolute_path },
	{ UP_HOW_RELATIVE, by_relative_path },
	{ "systemd unit", by_systemd_unit },
	{ "container", up_ladder_container },
	{ "Kubernetes pod or container", up_ladder_kubernetes },
	{ "directory name", by_base_name },
	{ UP_HOW_PROCESS, by_process_name },
};

/* What was searched, and what to do about it. */
static void say_not_found(const struct up_ladder *ladder, char *message, size_t size)
{
	char name[512], quoted[1024];

	up_message_quote(ladder->name, name, sizeof(name));
	message[0] = '\0';
	if (!ladder->name[0]) {
		up_message_add(message, size, "the name of a target is empty");
		return;
	}
	up_message_add(message, size, "'%s' was not found. Searched: ", name);
	for (size_t i = 0; i < UP_COUNT(classes); i++)
		up_message_add(message, size, "%s%s", i ? ", " : "", classes[i].how);
	/* A path is looked at where it says; the tree was not walked for it. */
	if (ladder->tree.count)
		up_message_add(message, size, " (%zu%s cgroups, %zu processes)", ladder->tree.count, ladder->tree.more ? "+" : "",
			ladder->processes);
	up_message_add(message, size, ".");
	if (*ladder->note)
		up_message_add(message, size, "\n%s.", up_message_quote(ladder->note, quoted, sizeof(quoted)));
	if (ladder->root_pid)
		up_message_add(message, size,
			"\nProcess %d has that name but is in the root cgroup, which holds the whole machine: use --pid %d or --host.",
			(int)ladder->root_pid, (int)ladder->root_pid);
	if (ladder->hidden_pid)
		up_message_add(message, size, "\nProcess %d has that name; its cgroup is not visible from here, --pid %d is.",
			(int)ladder->hidden_pid, (int)ladder->hidden_pid);
	up_namespace_explain(ladder->source, ladder->arena, ladder->hierarchies, name, message, size);
	if (!ladder->root_pid)
		up_message_add(message, size, "\n`useprobe list` shows what there is; --wait waits for it to appear.");
}

int up_lookup(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies, const char *name,
	const char *only, struct up_candidates *ret, char *message, size_t message_size)
{
	struct up_candidates found = { 0 };
	struct up_ladder ladder = { .source = source,
		.arena = arena,
		.hierarchies = hierarchies,
		.name = name,
		.explain = message_size > 0,
		.ret = &found };
	int r = 0;

	for (size_t i = 0; r == 0 && found.count == 0 && i < UP_COUNT(classes); i++) {
		if (only && strcmp(only, classes[i].how) != 0)
			continue;
		r = classes[i].find(&ladder);
		found.how = classes[i].how;
	}
	if (r == 0 && found.count > 1)
		up_candidates_merge(source, arena, hierarchies, &found);
	if (r == 0 && found.count == 0) {
		if (message_size)
			say_not_found(&ladder, message, message_size);
		r = -ENOENT;
	} else if (r < 0 && message_size) {
		snprintf(message, message_size, "looking up a target failed: %s", strerror(-r));
	}
	up_tree_done(&ladder.tree);
	if (r < 0)
		up_candidates_done(&found);
	else
		*ret = found;
	return r;
}
