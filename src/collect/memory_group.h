/* The memory files of one cgroup, v1 or v2, as read in one tick. Private to the memory collector. */
#ifndef UP_MEMORY_GROUP_H
#define UP_MEMORY_GROUP_H

#include "psi.h"

#define MEMORY_FILES 8

struct memory_group {
	const char *label; /* path below the hierarchy root, borrowed from the arena */
	struct up_u64 current_bytes; /* gauge */
	struct up_u64 inactive_bytes; /* gauge, page cache that can be dropped at once */
	struct up_u64 anon_bytes; /* gauge */
	struct up_u64 swap_bytes; /* gauge */
	struct up_u64 max_bytes; /* gauge; not there = no limit */
	struct up_u64 high_bytes; /* gauge, v2: above it allocations are slowed down; not there = none */
	struct up_u64 major_faults; /* counter */
	struct up_u64 ooms; /* counter, v2: allocations that failed at a limit of this group (killing or not) */
	struct up_u64 oom_kills; /* counter, processes killed; of this group whoever's limit it was */
	struct up_u64 limit_hits; /* counter, v2 max events, v1 failcnt: reclaim was forced, nothing failed yet */
	struct up_u64 high_hits; /* counter, v2 high events */
	bool limit_known; /* the file of the limit is there: false for the root, and while a group is removed */
	bool under_oom; /* v1: its tasks wait for memory because the OOM killer is off */
	struct psi psi; /* of the group itself */
};

/* Paths and descriptors of one group, kept over the run. */
struct memory_group_files {
	char label[UP_PATH_MAX];
	bool v2;
	char *path[MEMORY_FILES]; /* owned */
	struct up_file files[MEMORY_FILES];
};

/* Prepares the paths of TARGET's N-th ancestor (0 = itself). 0; -ENOENT past the mount point or without the controller; -ENOMEM.
 * Ends with memory_group_close, also after an error. */
UP_MUST_CHECK int memory_group_open(struct memory_group_files *files, const struct up_target *target, unsigned up);
void memory_group_close(struct memory_group_files *files);
/* Reads. With ONLY_LIMITED a group without a limit is left at its label after one or two reads. 0; -EBADMSG and the like with env->error. */
UP_MUST_CHECK int memory_group_read(struct up_env *env, struct memory_group_files *files, bool only_limited,
	struct up_arena *arena, struct memory_group *ret);

/* The smaller of max and high; not there = no limit. */
struct up_u64 memory_group_limit(const struct memory_group *group);

#endif
