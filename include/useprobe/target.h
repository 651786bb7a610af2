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
	bool read_only;
	bool named; /* v1 "name=systemd": no controllers, but units without accounting live only there */
	unsigned controllers; /* bit set of 1u << enum up_controller */
	char mount[512]; /* mount point, "/sys/fs/cgroup/cpu" */
	char root[1024]; /* directory of the hierarchy that is mounted there (mountinfo field 4), "/" or a container's */
	char ns[1024]; /* where below the mount the own cgroup namespace begins, when root lies above it ("/.."); "" = not known */
};

struct up_hierarchies {
	struct up_hierarchy items[UP_HIERARCHIES_MAX];
	size_t count;
	int owner[UP_CTL_COUNT]; /* index of the hierarchy that has the controller, -1 = none */
	int v2; /* index of the v2 hierarchy, -1 = none */
};

/* Reads /proc/self/mountinfo (a tree without it: /proc/self/mounts, /proc/mounts) and, for v2, cgroup.controllers. Of several mounts of
 * one hierarchy the one that shows most of it is taken. Other named hierarchies than systemd's, and those without a controller of ours,
 * are left out. 0; -ENOENT when no cgroup file system is mounted; -EBADMSG when a line is cut or malformed.
 * libcgroup is not asked: it does not know field 4 (the part of the hierarchy a container sees) and reads no recorded tree. */
UP_MUST_CHECK int up_hierarchies_read(const struct up_source *source, struct up_arena *arena, struct up_hierarchies *ret);

/* Cgroups of a process in every hierarchy: path below the mount point, NULL where it is not visible from here. */
struct up_pid_cgroups {
	const char *path[UP_HIERARCHIES_MAX]; /* borrowed from the arena */
};
/* Reads /proc/PID/cgroup. 0; -ESRCH when there is no such process; -EACCES; -EBADMSG. */
UP_MUST_CHECK int up_pid_cgroups_read(const struct up_source *source, struct up_arena *arena,
	const struct up_hierarchies *hierarchies, pid_t pid, struct up_pid_cgroups *ret);
/* The pure part: lines "ID:CONTROLLERS:PATH", where PATH is all that follows the second colon (kernel/cgroup/cgroup.c,
 * proc_cgroup_show). A last line without newline sets *ret_cut and is taken as it is. 0, -EBADMSG, -ENOMEM. */
UP_MUST_CHECK int up_pid_cgroups_parse(const char *text, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_pid_cgroups *ret, bool *ret_cut);
/* Index of the hierarchy in which these paths say most: the first of cpu, v2, memory, ... with another path than "/"; -1 when the
 * process is in the root of all of them. */
int up_pid_cgroups_main(const struct up_hierarchies *hierarchies, const struct up_pid_cgroups *paths);

/* Name and start time of a process from /proc/PID/stat (fields 2 and 22; the name may hold blanks, ')' and newlines).
 * NAME may be NULL. 0, -ESRCH, -EBADMSG. */
#define UP_COMM_MAX 64
UP_MUST_CHECK int up_pid_stat(
	const struct up_source *source, struct up_arena *arena, pid_t pid, char name[UP_COMM_MAX], uint64_t *ret_start_ticks);

struct up_relookup; /* a look-up under way in a thread of its own */

/* Path below its hierarchy's root of the cgroup that BPF programs know as ID (fs/kernfs/mount.c, FILEID_KERNFS). false when it is gone, lies
 * outside of what is mounted here, or CAP_DAC_READ_SEARCH is missing (open_by_handle_at(2)). */
UP_MUST_CHECK bool up_group_label(const struct up_hierarchy *hierarchy, uint64_t id, char *ret, size_t size);

enum up_target_kind { UP_TARGET_HOST, UP_TARGET_CGROUP, UP_TARGET_PID };

/* A cgroup in every hierarchy it has a directory in: path below the hierarchy's mount point ("/api", "/" for the mount itself). */
struct up_cgroup {
	char *path[UP_HIERARCHIES_MAX]; /* owned; NULL = not in this hierarchy */
};

struct up_target {
	char name[UP_PATH_MAX]; /* as typed */
	char lookup[256]; /* looked up instead of name after a restart: the container of a compose service; "" = name */
	enum up_target_kind kind;
	char label[UP_PATH_MAX]; /* CSV name: path below the hierarchy root ("/api"), "host", "comm[pid]" */
	const char *how; /* class of the lookup that found it: "relative path", "systemd unit", ... static */
	char container_id[80]; /* when a container runtime named it, else "" */
	const struct up_hierarchies *hierarchies; /* borrowed */
	int main; /* hierarchy of label and inode: that of cpu, else v2, else the first the target is in; -1 = not found yet */
	struct up_cgroup cgroup; /* for UP_TARGET_PID: the process's own cgroup (context, not the measured set) */
	pid_t pid; /* UP_TARGET_PID only */
	uint64_t pid_start_ticks; /* /proc/PID/stat field 22; tells a reused pid */
	uint64_t v2_id; /* cgroup id in the v2 hierarchy, 0 = none */
	uint64_t cpu_id; /* cgroup id in the hierarchy of the cpu controller (v1 or v2), 0 = none */
	unsigned long inode; /* of the main directory; another one = recreated */
	unsigned generation; /* 0 at first, +1 each time the target came back */
	bool present;
	struct up_relookup *relookup; /* owned, NULL = none */
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
	char *path; /* owned; path below the hierarchy's mount */
	pid_t pid; /* a process inside, 0 = not known */
	int hierarchy; /* index path belongs to */
	char container_id[80];
	char container_name[256]; /* likewise */
};
struct up_candidates {
	struct up_candidate items[UP_CANDIDATES_MAX];
	size_t count;
	size_t more; /* matches beyond UP_CANDIDATES_MAX */
	const char *how; /* class that matched, static */
	bool all; /* every one is taken (replicas of a compose service) */
};
void up_candidates_done(struct up_candidates *candidates);
/* Adds one, copying the strings; a path that is there already (the same group in another hierarchy) is not added twice.
 * 0 with *ret_added (may be NULL; NULL when it was there or did not fit and was counted), -ENOMEM. */
UP_MUST_CHECK int up_candidates_add(struct up_candidates *candidates, const char *label, const char *path, int hierarchy,
	pid_t pid, struct up_candidate **ret_added);

/* Looks NAME up class by class; the first class with any match decides. ONLY (may be NULL) restricts it to one class, as named by
 * candidates.how. 0 with >= 1 candidates; -ENOENT with MESSAGE saying what was searched; -ENOMEM.
 * Messages hold lines separated by newlines; foreign bytes that are not printable UTF-8 are written as \xNN. */
UP_MUST_CHECK int up_lookup(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const char *name, const char *only, struct up_candidates *ret, char *message, size_t message_size);

/* Adds targets. up_targets_add_name: 0; -ENOENT (MESSAGE says what was searched); -ENOTUNIQ (MESSAGE lists the candidates);
 * -EEXIST (another name of a target that is there already); -ENOSPC; -EINVAL; -ENOMEM: MESSAGE is always set on error.
 * A name given twice is one target. With WAIT a name that is not there yet is added as not present.
 * TARGETS must not move afterwards (targets borrow its hierarchies). up_targets_init: 0 or the error of up_hierarchies_read; it may be
 * used without cgroups all the same (--pid). */
int up_targets_init(struct up_targets *targets, const struct up_source *source, struct up_arena *arena);
void up_targets_done(struct up_targets *targets);
int up_targets_add_name(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, const char *name,
	bool wait, char *message, size_t message_size);
int up_targets_add_pid(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, pid_t pid,
	char *message, size_t message_size);

/* Looks whether TARGET is still there, and for it again when it is not. Returns the change of this tick; UP_TARGET_BACK also for one
 * that was removed and made again between two ticks. Ids, paths and label are those of the new one. */
enum up_target_change { UP_TARGET_SAME, UP_TARGET_GONE, UP_TARGET_BACK };
enum up_target_change up_target_refresh(struct up_target *target, const struct up_source *source, struct up_arena *arena);

/* Process ids of TARGET with all descendants of its cgroup, ascending, each once: array and count borrowed from ARENA. Processes that
 * this pid namespace does not show are left out. 0, -ENOENT, -EACCES, -EFBIG. */
UP_MUST_CHECK int up_target_pids(const struct up_target *target, const struct up_source *source, struct up_arena *arena,
	pid_t **ret_pids, size_t *ret_count);

#endif
