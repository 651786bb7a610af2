/* From the number of a cgroup to its path. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h, since 5.5 */

bool up_group_label(const struct up_hierarchy *hierarchy, uint64_t id, char *ret, size_t size)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} space = { .handle = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	char link[64], path[UP_PATH_MAX];
	const char *below = NULL;
	const int mount = open(hierarchy->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;
	ssize_t n = -1;

	memcpy(space.handle.f_handle, &id, sizeof(id));
	if (mount >= 0)
		fd = open_by_handle_at(mount, &space.handle, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, sizeof(path) - 1);
		close(fd);
	}
	if (mount >= 0)
		close(mount);
	if (n > 0) {
		path[n] = '\0';
		below = up_path_below(hierarchy->mount, path);
	}
	return below && up_path_join(up_path_leaves(hierarchy->root) ? "/" : hierarchy->root, below, ret, size);
}
