/* A file tree made in a test that stands for a machine (useprobe --root DIR), with a source and an arena on it. */
#ifndef UP_TESTS_TREE_HELPER_H
#define UP_TESTS_TREE_HELPER_H

#include "check.h"
#include "useprobe/source.h"

struct tree {
	char root[64];
	struct up_source source;
	struct up_arena arena;
};

/* Makes an empty tree; every one of these fails the test when the machine refuses. */
void tree_init(struct tree *tree);
void tree_done(struct tree *tree); /* removes the tree */
/* Writes TEXT to PATH ("/proc/1/cgroup"), making the directories in front of it. */
void tree_file(struct tree *tree, const char *path, const char *text);
void tree_dir(struct tree *tree, const char *path);
void tree_link(struct tree *tree, const char *path, const char *to);
/* Removes PATH with all below. */
void tree_remove(struct tree *tree, const char *path);
/* A process: /proc/PID/{stat,comm,cgroup,status}. */
void tree_process(struct tree *tree, int pid, const char *comm, unsigned long long start_ticks, const char *cgroup);
/* A cgroup directory with its cgroup.procs ("12\n13\n"). */
void tree_cgroup(struct tree *tree, const char *path, const char *procs);

#endif
