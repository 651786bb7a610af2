/* Cgroups of a process: /proc/PID/cgroup, one line a hierarchy, "4:memory:/docker/3fc9" and "0::/system.slice/api.service" for v2
 * (cgroups(7)). The path counts from the root of the reader's cgroup namespace, the mount from mountinfo field 4: both have to agree. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/scan.h"

/* Path below the mount of HIERARCHY, borrowed from PATH or ARENA; NULL when the mount does not show it. */
static const char *below_mount(struct up_arena *arena, const struct up_hierarchy *hierarchy, const char *path)
{
	const char *below = up_path_below(hierarchy->root, path);
	char resolved[UP_PATH_MAX];

	if (below && !up_path_leaves(below))
		return below;
	/* The mount begins above the namespace's root: both are known below the mount only through where that root is. */
	if (!*hierarchy->ns || !up_path_resolve(hierarchy->ns, path, resolved, sizeof(resolved)))
		return NULL;
	return up_arena_strdup(arena, resolved);
}

static bool has_word(const char *list, size_t len, const char *word)
{
	const size_t word_len = strlen(word);

	for (size_t at = 0; at < len;) {
		size_t end = at;

		while (end < len && list[end] != ',')
			end++;
		if (end - at == word_len && memcmp(list + at, word, word_len) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

/* Hierarchy of a line by its controller list; -1 when it is none of ours. */
static int hierarchy_of(const struct up_hierarchies *hierarchies, const char *list, size_t len)
{
	if (len == 0)
		return hierarchies->v2;
	for (size_t i = 0; i < hierarchies->count; i++) {
		const struct up_hierarchy *hierarchy = &hierarchies->items[i];

		if (hierarchy->v2)
			continue;
		if (hierarchy->named && has_word(list, len, "name=systemd"))
			return (int)i;
		for (unsigned c = 0; c < UP_CTL_COUNT; c++)
			if (hierarchy->controllers & 1u << c &&
				(has_word(list, len, up_controller_name(c)) || (c == UP_CTL_IO && has_word(list, len, "blkio"))))
				return (int)i;
	}
	return -1;
}

static int parse_line(const char *line, size_t len, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_pid_cgroups *ret)
{
	const char *cursor = line, *list, *colon;
	uint64_t id;
	int h;

	if (up_scan_u64(&cursor, &id) < 0 || *cursor != ':')
		return -EBADMSG;
	list = cursor + 1;
	colon = memchr(list, ':', len - (size_t)(list - line));
	if (!colon || colon + 1 >= line + len || colon[1] != '/')
		return -EBADMSG;
	h = hierarchy_of(hierarchies, list, (size_t)(colon - list));
	if (h < 0)
		return 0;
	ret->path[h] = up_arena_strndup(arena, colon + 1, len - (size_t)(colon + 1 - line));
	return ret->path[h] ? 0 : -ENOMEM;
}

int up_pid_cgroups_raw(const char *text, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_pid_cgroups *ret, bool *ret_cut)
{
	struct up_pid_cgroups found = { 0 };
	const char *line;
	size_t len;
	bool cut = false;
	int r;

	while (up_scan_line(&text, &line, &len, &cut)) {
		r = parse_line(line, len, arena, hierarchies, &found);
		if (r < 0)
			return r;
	}
	if (cut) {
		r = parse_line(text, strlen(text), arena, hierarchies, &found);
		if (r < 0)
			return r;
	}
	*ret = found;
	*ret_cut = cut;
	return 0;
}

int up_pid_cgroups_parse(const char *text, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_pid_cgroups *ret, bool *ret_cut)
{
	struct up_pid_cgroups found;
	const int r = up_pid_cgroups_raw(text, arena, hierarchies, &found, ret_cut);

	if (r < 0)
		return r;
	for (size_t h = 0; h < hierarchies->count; h++)
		if (found.path[h])
			found.path[h] = below_mount(arena, &hierarchies->items[h], found.path[h]);
	*ret = found;
	return 0;
}

int up_pid_cgroups_read(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	pid_t pid, struct up_pid_cgroups *ret)
{
	struct up_pid_cgroups found;
	char path[64], *text;
	bool cut;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	r = up_source_read(source, arena, path, &text, NULL);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = up_pid_cgroups_parse(text, arena, hierarchies, &found, &cut);
	if (r < 0)
		return r;
	/* The kernel ends every line. In a tree put together by hand the last newline is often lost. */
	if (cut && !source->recorded)
		return -EBADMSG;
	*ret = found;
	return 0;
}

int up_pid_cgroups_main(const struct up_hierarchies *hierarchies, const struct up_pid_cgroups *paths)
{
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(hierarchies, order);

	for (size_t i = 0; i < count; i++)
		if (paths->path[order[i]] && strcmp(paths->path[order[i]], "/") != 0)
			return order[i];
	return -1;
}

int up_pid_stat(
	const struct up_source *source, struct up_arena *arena, pid_t pid, char name[UP_COMM_MAX], uint64_t *ret_start_ticks)
{
	char path[64], *text, *open, *close;
	const char *cursor;
	uint64_t start_ticks;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = up_source_read(source, arena, path, &text, NULL);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open)
		return -EBADMSG;
	cursor = close + 1;
	for (int field = 2; field < 21; field++) { /* behind the name stand fields 3 to 21, each after one blank */
		cursor = strchr(cursor, ' ');
		if (!cursor)
			return -EBADMSG;
		cursor++;
	}
	cursor = strchr(cursor, ' ');
	if (!cursor)
		return -EBADMSG;
	cursor++;
	r = up_scan_u64(&cursor, &start_ticks);
	if (r < 0 || (*cursor != ' ' && *cursor != '\n'))
		return -EBADMSG;
	if (name) {
		*close = '\0';
		snprintf(name, UP_COMM_MAX, "%s", open + 1);
	}
	*ret_start_ticks = start_ticks;
	return 0;
}
