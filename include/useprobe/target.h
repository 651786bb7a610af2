/* Target: who is measured. A NAME becomes directories (one per controller, since v1 and hybrid differ), processes and ids. */
#ifndef UP_TARGET_H
#define UP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "useprobe/arena.h"
#include "useprobe/source.h"

#define UP_TARGETS_MAX 16
#define UP_HIERARCHIES_MAX 24
#define UP_CANDIDATES_MAX 64

/* Controllers we read. v1 blkio and v2 io are one; v1 cpuacct is part of cpu on v2. */
enum up_controller {
	UP_CTL_CPU,
	UP_CTL_CPUACCT,
	UP_CTL_CPUSET,
	UP_CTL_MEMORY,
	UP_CTL_PIDS,
	UP_CTL_IO,
	UP_CTL_FREEZER,
	UP_CTL_COUNT
};
const char *up_controller_name(enum up_controller controller);

/* One mounted cgroup hierarchy, from /proc/self/mountinfo. */
struct up_hierarchy {
	bool v2;
	unsigned controllers; /* bit set of 1u << enum up_controller */
	char mount[512]; /* mount point, "/sys/fs/cgroup/cpu" */
	char root[UP_PATH_MAX /
		  4]; /* directory of the hierarchy that is mounted there (mountinfo field 4), "/" or a container's */
};

struct up_hierarchies {
	struct up_hierarchy items[UP_HIERARCHIES_MAX];
	size_t count;
	int owner[UP_CTL_COUNT]; /* index of the hierarchy that has the controller, -1 = none */
	int v2; /* index of the v2 hierarchy, -1 = none */
};

/* Reads mountinfo and, for v2, cgroup.controllers. 0; -ENOENT when no cgroup file system is mounted; -EBADMSG. */
int up_hierarchies_read(const struct up_source *source, struct up_arena *arena, struct up_hierarchies *ret);

enum up_target_kind { UP_TARGET_HOST, UP_TARGET_CGROUP, UP_TARGET_PID };

/* A cgroup in every hierarchy it has a directory in: path below the hierarchy's mount point ("/api", "/" for the mount itself). */
struct up_cgroup {
	char *path[UP_HIERARCHIES_MAX]; /* owned; NULL = not in this hierarchy */
};

struct up_target {
	char name[512]; /* as typed */
	enum up_target_kind kind;
	char label[UP_PATH_MAX / 4]; /* CSV name: path below the hierarchy root ("/api"), "host", "comm[pid]" */
	const char *how; /* class of the lookup that found it: "relative path", "systemd unit", ... static */
	char container_id[80]; /* when a container runtime named it, else "" */
	const struct up_hierarchies *hierarchies; /* borrowed */
	struct up_cgroup cgroup; /* for UP_TARGET_PID: the process's own cgroup (context, not the measured set) */
	pid_t pid; /* UP_TARGET_PID only */
	uint64_t pid_start_ticks; /* /proc/PID/stat field 22; tells a reused pid */
	uint64_t v2_id; /* cgroup id in the v2 hierarchy, 0 = none */
	uint64_t cpu_id; /* cgroup id in the hierarchy of the cpu controller (v1 or v2), 0 = none */
	unsigned long inode; /* of the main directory; another one = recreated */
	unsigned generation; /* 0 at first, +1 each time the target came back */
	bool present;
};

struct up_targets {
	struct up_hierarchies hierarchies;
	struct up_target items[UP_TARGETS_MAX];
	size_t count;
};

/* Directory of TARGET's (or, with UP, its N-th ancestor's) cgroup in the hierarchy of CONTROLLER as a path for up_source_read,
 * written to RET. true; false when the controller is not mounted, the target has no directory there or UP passes the mount point.
 * *ret_v2 (may be NULL) tells the version. */
bool up_target_dir(
	const struct up_target *target, enum up_controller controller, unsigned up, char *ret, size_t size, bool *ret_v2);
/* The same in the v2 hierarchy whatever its controllers (PSI, cgroup.events, cgroup.procs). */
bool up_target_v2_dir(const struct up_target *target, unsigned up, char *ret, size_t size);
/* Path below the hierarchy root of the N-th ancestor ("/pod1"), as rows name it. */
bool up_target_ancestor_label(const struct up_target *target, enum up_controller controller, unsigned up, char *ret, size_t size);

/* Candidates of a lookup. */
struct up_candidate {
	char *label; /* owned; what is printed when the name is ambiguous */
	char *path; /* owned; path below the hierarchy's mount, NULL when only pid is known */
	pid_t pid; /* a process inside, 0 = not known */
	int hierarchy; /* index path belongs to */
	char container_id[80];
	bool replica; /* one of a compose service: all of them are taken */
};
struct up_candidates {
	struct up_candidate items[UP_CANDIDATES_MAX];
	size_t count;
	size_t more; /* matches beyond UP_CANDIDATES_MAX */
	const char *how; /* class that matched, static */
};
void up_candidates_done(struct up_candidates *candidates);
/* Adds one, copying the strings; a path that is there already (the same group in another hierarchy) is not added twice. */
int up_candidates_add(struct up_candidates *candidates, const char *label, const char *path, int hierarchy, pid_t pid);

/* Looks NAME up class by class; the first class with any match decides. 0 with >= 1 candidates; -ENOENT with MESSAGE saying what was
 * searched. */
int up_lookup(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies, const char *name,
	struct up_candidates *ret, char *message, size_t message_size);

/* Adds targets. up_targets_add_name: 0; -ENOENT (MESSAGE says what was searched); -ENOTUNIQ (MESSAGE lists the candidates); -ENOSPC.
 * With WAIT a name that is not there yet is added as not present. */
int up_targets_init(struct up_targets *targets, const struct up_source *source, struct up_arena *arena);
void up_targets_done(struct up_targets *targets);
int up_targets_add_name(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, const char *name,
	bool wait, char *message, size_t message_size);
int up_targets_add_pid(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, pid_t pid,
	char *message, size_t message_size);

/* Looks whether TARGET is still there, and for it again when it is not. Returns the change of this tick. */
enum up_target_change { UP_TARGET_SAME, UP_TARGET_GONE, UP_TARGET_BACK };
enum up_target_change up_target_refresh(struct up_target *target, const struct up_source *source, struct up_arena *arena);

/* Process ids of TARGET with all descendants of its cgroup: array and count borrowed from ARENA. 0, -ENOENT, -EFBIG. */
int up_target_pids(const struct up_target *target, const struct up_source *source, struct up_arena *arena, pid_t **ret_pids,
	size_t *ret_count);

#endif
