/* Pids: the processes of a cgroup with all its descendants. cgroup.procs is neither sorted nor free of doubles on v1, gives 0 for a
 * process that the reader's pid namespace does not show, and fails with EOPNOTSUPP in a threaded v2 cgroup
 * (Documentation/admin-guide/cgroup-v1/cgroups.rst, cgroup-v2.rst "Threads"). */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/scan.h"

#define PIDS_MAX ((size_t)1 << 22) /* PID_MAX_LIMIT, include/linux/threads.h */
#define DEPTH_MAX 64

struct pids {
	pid_t *items; /* in the arena */
	size_t count, capacity;
};

static int push(struct pids *pids, struct up_arena *arena, uint64_t pid)
{
	if (pid == 0)
		return 0;
	if (pid > PIDS_MAX)
		return -EBADMSG;
	if (pids->count == pids->capacity) {
		const size_t capacity = pids->capacity ? pids->capacity * 2 : 64;
		pid_t *grown = up_arena_alloc(arena, capacity * sizeof(*grown));

		if (!grown)
			return -EFBIG;
		if (pids->count)
			memcpy(grown, pids->items, pids->count * sizeof(*grown));
		pids->items = grown;
		pids->capacity = capacity;
	}
	pids->items[pids->count++] = (pid_t)pid;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static void sort_unique(struct pids *pids)
{
	size_t kept = 0;

	if (pids->count == 0)
		return;
	qsort(pids->items, pids->count, sizeof(*pids->items), by_number);
	for (size_t i = 1; i < pids->count; i++)
		if (pids->items[i] != pids->items[kept])
			pids->items[++kept] = pids->items[i];
	pids->count = kept + 1;
}

/* Process of a thread, from "Tgid:\t123\n" in /proc/TID/status; 0 when it has ended. */
static uint64_t process_of(const struct up_source *source, struct up_arena *arena, uint64_t tid)
{
	char path[64], *text, *line;
	const char *cursor;
	uint64_t tgid;

	snprintf(path, sizeof(path), "/proc/%llu/status", (unsigned long long)tid);
	if (up_source_read(source, arena, path, &text, NULL) < 0 || !(line = strstr(text, "\nTgid:")))
		return 0;
	cursor = line + 6;
	up_scan_blanks(&cursor);
	return up_scan_u64(&cursor, &tgid) == 0 && *cursor == '\n' ? tgid : 0;
}

static int read_list(const struct up_source *source, struct up_arena *arena, const char *dir, struct pids *pids)
{
	char path[UP_PATH_MAX], *text;
	const char *cursor;
	bool threads = false;
	int r;

	if (!up_path_join(dir, "/cgroup.procs", path, sizeof(path)))
		return -ENAMETOOLONG;
	r = up_source_read(source, arena, path, &text, NULL);
	if (r == -EOPNOTSUPP) {
		if (!up_path_join(dir, "/cgroup.threads", path, sizeof(path)))
			return -ENAMETOOLONG;
		threads = true;
		r = up_source_read(source, arena, path, &text, NULL);
	}
	if (r < 0)
		return r;
	for (cursor = text; *cursor;) {
		uint64_t pid;

		if (up_scan_u64(&cursor, &pid) < 0 || *cursor++ != '\n')
			return -EBADMSG;
		r = push(pids, arena, threads ? process_of(source, arena, pid) : pid);
		if (r < 0)
			return r;
	}
	return 0;
}

static int collect(const struct up_source *source, struct up_arena *arena, const char *dir, unsigned depth, struct pids *pids)
{
	char **names, child[UP_PATH_MAX];
	size_t count;
	int r = read_list(source, arena, dir, pids);

	if (r < 0 || depth == 0)
		return r;
	r = up_dir_children(source, arena, dir, &names, &count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const int n = snprintf(child, sizeof(child), "%s/%s", dir, names[i]);

		if (n < 0 || (size_t)n >= sizeof(child))
			continue;
		r = collect(source, arena, child, depth - 1, pids);
		if (r == -ENOENT || r == -ENODEV)
			r = 0; /* a child that ended meanwhile takes nothing from the others */
	}
	return r;
}

int up_dir_pids(
	const struct up_source *source, struct up_arena *arena, const char *dir, bool deep, pid_t **ret_pids, size_t *ret_count)
{
	struct pids pids = { 0 };
	const int r = collect(source, arena, dir, deep ? DEPTH_MAX : 0, &pids);

	if (r < 0)
		return r == -ENODEV ? -ENOENT : r;
	sort_unique(&pids);
	*ret_pids = pids.items;
	*ret_count = pids.count;
	return 0;
}

int up_proc_pids(const struct up_source *source, struct up_arena *arena, pid_t **ret_pids, size_t *ret_count)
{
	DIR *dir = up_source_opendir(source, "/proc");
	struct pids pids = { 0 };
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		uint64_t pid;

		if (up_scan_whole_u64(entry->d_name, &pid) == 0 && pid <= PIDS_MAX)
			r = push(&pids, arena, pid);
	}
	closedir(dir);
	if (r < 0)
		return r;
	sort_unique(&pids);
	*ret_pids = pids.items;
	*ret_count = pids.count;
	return 0;
}

int up_target_pids(const struct up_target *target, const struct up_source *source, struct up_arena *arena, pid_t **ret_pids,
	size_t *ret_count)
{
	pid_t *pids = NULL;
	size_t count = 0;
	int first = -ENOENT;

	if (target->kind == UP_TARGET_PID) {
		if (!target->present)
			return -ENOENT;
		pids = up_arena_alloc(arena, sizeof(*pids));
		if (!pids)
			return -EFBIG;
		pids[0] = target->pid;
		*ret_pids = pids;
		*ret_count = 1;
		return 0;
	}
	/* On v1 a group may hold its processes in one hierarchy only; the main one is asked first. */
	for (int i = -1; i < (int)target->hierarchies->count && count == 0; i++) {
		const int h = i < 0 ? target->main : i;
		char dir[UP_PATH_MAX];
		int r;

		if (h < 0 || i == target->main || !target->cgroup.path[h] ||
			!up_path_join(target->hierarchies->items[h].mount, target->cgroup.path[h], dir, sizeof(dir)))
			continue;
		r = up_dir_pids(source, arena, dir, true, &pids, &count);
		if (first == -ENOENT)
			first = r;
	}
	if (first < 0)
		return first;
	*ret_pids = pids;
	*ret_count = count;
	return 0;
}
