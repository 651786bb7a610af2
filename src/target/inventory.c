#include "useprobe/inventory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
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

/* The container whose id stands in the directory's name. */
static const char *container_of(struct up_arena *arena, const struct up_containers *containers, const char *path)
{
	const char *base = up_path_base(path);

	for (size_t i = 0; i < containers->count; i++)
		if (strstr(base, containers->items[i].id))
			return up_arena_strdup(arena, containers->items[i].name);
	return NULL;
}

int up_inventory_read(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_inventory_item **ret, size_t *ret_count)
{
	struct up_containers *containers = calloc(1, sizeof(*containers));
	struct up_inventory_item *items = NULL;
	struct up_tree tree = { 0 };
	int r = containers ? up_tree_read(source, arena, hierarchies, &tree) : -ENOMEM;

	if (r == 0 && !source->recorded)
		r = up_containers_find(NULL, UP_CONTAINER_TIMEOUT_MS, containers);
	if (r == 0) {
		items = up_arena_alloc(arena, tree.count * sizeof(*items) + 1);
		r = items ? 0 : -ENOSPC;
	}
	for (size_t i = 0; r == 0 && i < tree.count; i++) {
		const struct up_tree_node *node = &tree.items[i];
		const size_t mark = arena->used_bytes;
		char dir[UP_PATH_MAX];
		pid_t *pids;

		items[i] = (struct up_inventory_item){ .path = node->path, .kind = kind_of(node->path) };
		read_limits(source, arena, hierarchies, &items[i]);
		if (!up_path_join(hierarchies->items[node->hierarchy].mount, node->path, dir, sizeof(dir)) ||
			up_dir_pids(source, arena, dir, true, &pids, &items[i].processes) < 0)
			items[i].processes = 0;
		/* The texts of this group are not needed again; 10,000 groups would fill the arena. */
		arena->used_bytes = mark;
		items[i].container = container_of(arena, containers, node->path);
	}
	if (r == 0) {
		qsort(items, tree.count, sizeof(*items), by_path);
		*ret = items;
		*ret_count = tree.count;
	}
	up_tree_done(&tree);
	free(containers);
	return r;
}
