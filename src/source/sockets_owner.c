/* Whose socket is it? Two sets of numbers answer: v2 cgroup ids (a socket carries the id of the group that made it, an accepted one that
 * of its listener; include/linux/cgroup.h, sock_cgroup_ptr) and inodes of the sockets a process holds open (/proc/PID/fd: links
 * "socket:[12345]"). */
#include "sockets_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 32
#define IDS_MAX ((size_t)1 << 20)

void sockets_ids_done(struct sockets_ids *ids)
{
	free(ids->items);
	*ids = (struct sockets_ids){ 0 };
}

int sockets_ids_add(struct sockets_ids *ids, uint64_t id)
{
	if (ids->count == ids->capacity) {
		const size_t capacity = ids->capacity ? ids->capacity * 2 : 64;
		uint64_t *grown;

		if (capacity > IDS_MAX)
			return -EFBIG;
		grown = realloc(ids->items, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		ids->items = grown;
		ids->capacity = capacity;
	}
	ids->items[ids->count++] = id;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void sockets_ids_sort(struct sockets_ids *ids)
{
	if (ids->count)
		qsort(ids->items, ids->count, sizeof(*ids->items), by_number);
}

bool sockets_ids_has(const struct sockets_ids *ids, uint64_t id)
{
	return ids->count && bsearch(&id, ids->items, ids->count, sizeof(*ids->items), by_number);
}

/* The id of a v2 cgroup is the inode number of its directory (fs/kernfs/mount.c, 64-bit hosts). */
static int add_tree(const struct up_source *source, char *path, size_t len, unsigned depth, struct sockets_ids *ids)
{
	const unsigned long inode = up_source_inode(source, path);
	struct dirent *entry;
	DIR *dir;
	int r;

	if (!inode)
		return 0; /* removed meanwhile */
	r = sockets_ids_add(ids, inode);
	if (r < 0 || depth == 0)
		return r;
	dir = up_source_opendir(source, path);
	if (!dir)
		return 0;
	while (r == 0 && (entry = readdir(dir))) {
		const size_t name_len = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || len + 1 + name_len >= UP_PATH_MAX)
			continue;
		path[len] = '/';
		memcpy(path + len + 1, entry->d_name, name_len + 1);
		r = add_tree(source, path, len + 1 + name_len, depth - 1, ids);
		path[len] = '\0';
	}
	closedir(dir);
	return r;
}

int sockets_cgroup_ids(const struct up_source *source, const struct up_target *target, struct sockets_ids *ret)
{
	char path[UP_PATH_MAX], above[UP_PATH_MAX];

	/* On a hybrid host everything sits in the v2 root: that id says nothing about whose a socket is. */
	if (target->kind != UP_TARGET_CGROUP || !up_target_v2_dir(target, 0, path, sizeof(path)) ||
		!up_target_v2_dir(target, 1, above, sizeof(above)))
		return 0;
	return add_tree(source, path, strlen(path), DEPTH_MAX, ret);
}

static int add_open_sockets(const struct up_source *source, pid_t pid, struct sockets_ids *ids)
{
	char path[64], text[64];
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = up_source_opendir(source, path);
	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		const char *cursor = text;
		uint64_t inode;
		ssize_t len;

		if (entry->d_name[0] == '.')
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text) - 1);
		if (len < 0)
			continue; /* closed meanwhile */
		text[len] = '\0';
		if (up_scan_literal(&cursor, "socket:[") && up_scan_u64(&cursor, &inode) == 0 && *cursor == ']')
			r = sockets_ids_add(ids, inode);
	}
	closedir(dir);
	return r;
}

int sockets_fd_inodes(
	const struct up_source *source, const pid_t *pids, size_t count, struct sockets_ids *ret, size_t *ret_denied)
{
	for (size_t i = 0; i < count; i++) {
		const int r = add_open_sockets(source, pids[i], ret);

		if (r == -EACCES || r == -EPERM)
			++*ret_denied;
		else if (r == -ENOMEM || r == -EFBIG)
			return r;
	}
	sockets_ids_sort(ret);
	return 0;
}
