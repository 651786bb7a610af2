#include "internal.h"

#include <stdio.h>
#include <string.h>

bool up_path_join(const char *mount, const char *path, char *ret, size_t size)
{
	const bool top = strcmp(path, "/") == 0;
	const int n = snprintf(ret, size, "%s%s", strcmp(mount, "/") == 0 && !top ? "" : mount, top ? "" : path);

	return n >= 0 && (size_t)n < size;
}

const char *up_path_below(const char *dir, const char *path)
{
	const size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path;
	if (strncmp(path, dir, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] ? path + len : "/";
}

bool up_path_leaves(const char *path)
{
	while (*path) {
		const size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len;
		path += strspn(path, "/");
	}
	return false;
}

unsigned up_path_count(const char *path, bool dots)
{
	unsigned count = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		const size_t len = strcspn(path, "/");

		count += dots == (len == 2 && path[0] == '.' && path[1] == '.');
		path += len;
	}
	return count;
}

bool up_path_resolve(const char *from, const char *path, char *ret, size_t size)
{
	size_t used;

	if (strlen(from) >= size)
		return false;
	snprintf(ret, size, "%s", from);
	for (; strncmp(path, "/..", 3) == 0 && (path[3] == '/' || !path[3]); path += 3)
		if (!up_path_strip(ret, 1))
			return false;
	if (up_path_leaves(path) || !*path || strcmp(path, "/") == 0)
		return !up_path_leaves(path);
	used = strcmp(ret, "/") == 0 ? 0 : strlen(ret);
	if (used + strlen(path) >= size)
		return false;
	snprintf(ret + used, size - used, "%s", path);
	return true;
}

const char *up_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool up_path_strip(char *path, unsigned components)
{
	for (; components > 0; components--) {
		char *slash = strrchr(path, '/');

		if (!slash || !slash[1])
			return false;
		slash[slash == path] = '\0';
	}
	return true;
}

bool up_cgroup_exists(const struct up_source *source, const struct up_hierarchy *hierarchy, const char *path)
{
	char full[UP_PATH_MAX];

	return up_path_join(hierarchy->mount, path, full, sizeof(full)) && up_source_is_dir(source, full);
}

bool up_cgroup_file_exists(
	const struct up_source *source, const struct up_hierarchy *hierarchy, const char *path, const char *file)
{
	char full[UP_PATH_MAX], name[UP_PATH_MAX];

	return up_path_join(hierarchy->mount, path, full, sizeof(full)) &&
	       (size_t)snprintf(name, sizeof(name), "%s/%s", full, file) < sizeof(name) && up_source_exists(source, name);
}
