#include "tree_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void tree_init(struct tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/useprobe-tree-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	assert_int_equal(up_source_open(&tree->source, tree->root), 0);
	assert_int_equal(up_arena_init(&tree->arena), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_done(struct tree *tree)
{
	up_source_close(&tree->source);
	up_arena_done(&tree->arena);
	nftw(tree->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void full_path(struct tree *tree, const char *path, char *ret, size_t size)
{
	assert_true((size_t)snprintf(ret, size, "%s/%s", tree->root, path + (*path == '/')) < size);
}

static void make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
}

void tree_dir(struct tree *tree, const char *path)
{
	char full[UP_PATH_MAX + 128];

	char with_end[UP_PATH_MAX + 8];

	assert_true((size_t)snprintf(with_end, sizeof(with_end), "%s/", path) < sizeof(with_end));
	full_path(tree, with_end, full, sizeof(full));
	make_dirs(full);
}

void tree_file(struct tree *tree, const char *path, const char *text)
{
	char full[UP_PATH_MAX + 128];
	FILE *file;

	full_path(tree, path, full, sizeof(full));
	make_dirs(full);
	file = fopen(full, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

void tree_link(struct tree *tree, const char *path, const char *to)
{
	char full[UP_PATH_MAX + 128];

	full_path(tree, path, full, sizeof(full));
	make_dirs(full);
	assert_int_equal(symlink(to, full), 0);
}

void tree_remove(struct tree *tree, const char *path)
{
	char full[UP_PATH_MAX + 128];

	full_path(tree, path, full, sizeof(full));
	assert_int_equal(nftw(full, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void tree_process(struct tree *tree, int pid, const char *comm, unsigned long long start_ticks, const char *cgroup)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	tree_file(tree, path, cgroup);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	tree_file(tree, path, text);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %llu 20 21\n", pid, comm,
		start_ticks);
	tree_file(tree, path, text);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	snprintf(text, sizeof(text), "Name:\t%s\nTgid:\t%d\n", comm, pid);
	tree_file(tree, path, text);
}

void tree_cgroup(struct tree *tree, const char *path, const char *procs)
{
	char file[UP_PATH_MAX];

	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	tree_file(tree, file, procs);
}
