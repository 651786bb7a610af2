#include "useprobe/inventory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "useprobe/container.h"
#include "useprobe/scan.h"

/* v1 writes "no limit" as the largest page-aligned number. */
#define NO_LIMIT_BYTES ((uint64_t)1 << 60)

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

static const char *kind_of(const char *path)
{
	if (ends_with(path, ".slice"))
		return "slice";
	return ends_with(path, ".service") || ends_with(path, ".scope") ? "unit" : "cgroup";
}

/* Text of FILE in the group's directory of the hierarchy that owns CONTROLLER; NULL when it is not there. */
static const char *file_of(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	enum up_controller controller, const char *path, const char *v1, const char *v2)
{
	const int h = hierarchies->owner[controller];
	char dir[UP_PATH_MAX], file[UP_PATH_MAX + 64];
	const char *name;
	char *text;

	if (h < 0 || !up_path_join(hierarchies->items[h].mount, path, dir, sizeof(dir)))
		return NULL;
	name = hierarchies->items[h].v2 ? v2 : v1;
	if (!name)
		return NULL;
	snprintf(file, sizeof(file), "%s/%s", dir, name);
	return up_source_read(source, arena, file, &text, NULL) < 0 ? NULL : text;
}

static void read_limits(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_inventory_item *item)
{
	const char *max = file_of(source, arena, hierarchies, UP_CTL_CPU, item->path, NULL, "cpu.max");
	const char *quota = file_of(source, arena, hierarchies, UP_CTL_CPU, item->path, "cpu.cfs_quota_us", NULL);
	const char *period = file_of(source, arena, hierarchies, UP_CTL_CPU, item->path, "cpu.cfs_period_us", NULL);
	const char *memory =
		file_of(source, arena, hierarchies, UP_CTL_MEMORY, item->path, "memory.limit_in_bytes", "memory.max");
	bool unlimited;
	uint64_t n;

	if (max && up_scan_u64(&max, &n) == 0 && up_scan_literal(&max, " ")) {
		item->cpu_quota_us = (struct up_u64){ .n = n, .has = true };
		if (up_scan_u64(&max, &n) == 0)
			item->cpu_period_us = (struct up_u64){ .n = n, .has = true };
	}
	/* What cannot be read is no limit that could be shown; the measuring collectors say why. */
	if (quota && up_scan_single(quota, &item->cpu_quota_us, &unlimited) < 0)
		item->cpu_quota_us.has = false;
	if (period && up_scan_single(period, &item->cpu_period_us, &unlimited) < 0)
		item->cpu_period_us.has = false;
	if (memory && (up_scan_single(memory, &item->memory_bytes, &unlimited) < 0 || item->memory_bytes.n >= NO_LIMIT_BYTES))
		item->memory_bytes.has = false;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct up_inventory_item *)a)->path, ((const struct up_inventory_item *)b)->path);
}

/* The container or pod whose id stands in the directory's name. */
static const char *container_of(
	struct up_arena *arena, const struct up_containers *containers, const struct up_kube_names *kube, const char *path)
{
	const char *base = up_path_base(path);
	char own[UP_PATH_MAX];

	for (size_t i = 0; i < containers->count; i++) {
		snprintf(own, sizeof(own), "%s", base);
		/* A monitor has the id in its name too, and is not the container. */
		if (strstr(base, containers->items[i].id) && up_container_cut_path(own, containers->items[i].id))
			return *containers->items[i].name ? up_arena_strdup(arena, containers->items[i].name) : NULL;
	}
	return up_kube_name_of(kube, base);
}

/* Processes in the directory itself, of the first hierarchy in which it has any: on v1 a group may hold them in one alone. */
static size_t own_processes(
	const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies, const char *path)
{
	int order[UP_HIERARCHIES_MAX];
	const size_t hierarchy_count = up_hierarchies_order(hierarchies, order);
	size_t count = 0;

	for (size_t i = 0; i < hierarchy_count && count == 0; i++) {
		char dir[UP_PATH_MAX];
		pid_t *pids;

		if (!up_path_join(hierarchies->items[order[i]].mount, path, dir, sizeof(dir)) ||
			up_dir_pids(source, arena, dir, false, &pids, &count) < 0)
			count = 0;
	}
	return count;
}

/* A group has the processes of all below it. */
static void add_to_ancestors(const struct up_tree *tree, struct up_inventory_item *items, size_t i)
{
	char path[UP_PATH_MAX];

	snprintf(path, sizeof(path), "%s", tree->items[i].path);
	for (; up_path_strip(path, 1) && path[1];) {
		const long at = up_tree_find(tree, path);

		if (at >= 0)
			items[at].processes += items[i].own_processes;
	}
}

static int fill(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const struct up_containers *containers, const struct up_tree *tree, struct up_inventory_item *items)
{
	struct up_kube_names kube;
	const int r = up_kube_names_read(source, arena, &kube);

	if (r < 0)
		return r;
	for (size_t i = 0; i < tree->count; i++) {
		const size_t mark = arena->used_bytes;

		items[i] = (struct up_inventory_item){ .path = tree->items[i].path, .kind = kind_of(tree->items[i].path) };
		read_limits(source, arena, hierarchies, &items[i]);
		items[i].own_processes = own_processes(source, arena, hierarchies, items[i].path);
		items[i].processes = items[i].own_processes;
		/* The texts of this group are not needed again; 10,000 groups would fill the arena. */
		arena->used_bytes = mark;
		items[i].container = container_of(arena, containers, &kube, items[i].path);
	}
	for (size_t i = 0; i < tree->count; i++)
		if (items[i].own_processes)
			add_to_ancestors(tree, items, i);
	return 0;
}

int up_inventory_read(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_inventory_item **ret, size_t *ret_count)
{
	struct up_containers containers;
	struct up_inventory_item *items = NULL;
	struct up_tree tree = { 0 };
	int r = up_containers_list(source, arena, UP_CONTAINER_TIMEOUT_MS, &containers);

	if (r == 0)
		r = up_tree_read(source, arena, hierarchies, &tree);
	if (r == 0) {
		items = up_arena_alloc(arena, tree.count * sizeof(*items) + 1);
		r = items ? fill(source, arena, hierarchies, &containers, &tree, items) : -ENOSPC;
	}
	if (r == 0) {
		qsort(items, tree.count, sizeof(*items), by_path);
		*ret = items;
		*ret_count = tree.count;
	}
	up_tree_done(&tree);
	up_containers_done(&containers);
	return r;
}
