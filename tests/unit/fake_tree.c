#include "fake_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void fake_tree_temporary(char *ret, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(ret, size, "%s/useprobe-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(ret))
		fail_msg("%s: %s", ret, strerror(errno));
}

void fake_tree_write(const char *dir, const char *path, const char *data, size_t len)
{
	char full[1024];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	for (char *slash = strchr(full + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	if (!file || fwrite(data, 1, len, file) != len || fclose(file) != 0)
		fail_msg("%s: %s", full, strerror(errno));
}

char *fake_tree_read(const char *dir, const char *path, size_t *ret_len)
{
	char full[1024], *data = NULL;
	size_t len = 0, size = 0, n;
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	file = fopen(full, "r");
	if (!file)
		fail_msg("%s: %s", full, strerror(errno));
	do {
		size += 65536;
		data = realloc(data, size);
		assert_non_null(data);
		n = fread(data + len, 1, size - len, file);
		len += n;
	} while (n > 0);
	fclose(file);
	*ret_len = len;
	return data;
}

struct list {
	char **items;
	size_t count;
};

static void collect(const char *dir, const char *below, struct list *list)
{
	char full[1024], path[1024];
	struct dirent *entry;
	struct stat st;
	DIR *stream;

	snprintf(full, sizeof(full), "%s/%s", dir, below);
	stream = opendir(full);
	if (!stream)
		fail_msg("%s: %s", full, strerror(errno));
	while ((entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", below, *below ? "/" : "", entry->d_name) >= sizeof(path) ||
			(size_t)snprintf(full, sizeof(full), "%s/%s", dir, path) >= sizeof(full) || lstat(full, &st) != 0)
			fail_msg("%s/%s: %s", dir, path, strerror(errno));
		if (S_ISDIR(st.st_mode)) {
			collect(dir, path, list);
		} else if (S_ISREG(st.st_mode)) {
			list->items = realloc(list->items, (list->count + 1) * sizeof(*list->items));
			assert_non_null(list->items);
			list->items[list->count++] = strdup(path);
		}
	}
	closedir(stream);
}

char **fake_tree_files(const char *dir, size_t *ret_count)
{
	struct list list = { 0 };

	collect(dir, "", &list);
	*ret_count = list.count;
	return list.items;
}

void fake_tree_copy(const char *from, const char *to)
{
	size_t count, len;
	char **files = fake_tree_files(from, &count);

	for (size_t i = 0; i < count; i++) {
		char *data = fake_tree_read(from, files[i], &len);

		fake_tree_write(to, files[i], data, len);
		free(data);
		free(files[i]);
	}
	free(files);
}

void fake_tree_remove(const char *path)
{
	struct stat st;
	char full[1024];
	struct dirent *entry;
	DIR *stream;

	if (lstat(path, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode) && (stream = opendir(path))) {
		while ((entry = readdir(stream))) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			if ((size_t)snprintf(full, sizeof(full), "%s/%s", path, entry->d_name) < sizeof(full))
				fake_tree_remove(full);
		}
		closedir(stream);
	}
	remove(path);
}
