/* What the files of this room share. */
#ifndef UP_TARGET_INTERNAL_H
#define UP_TARGET_INTERNAL_H

#include "useprobe/target.h"

/* MOUNT and a path below it ("/" = the mount itself) as one path. false when it does not fit. */
bool up_path_join(const char *mount, const char *path, char *ret, size_t size);
/* The part of PATH that lies below DIR ("/" for DIR itself), NULL when it does not. Both absolute, no slash at the end. */
const char *up_path_below(const char *dir, const char *path);
/* true when a component of PATH is "..", so that it leaves the cgroup namespace or the tree. */
bool up_path_leaves(const char *path);
/* Components of PATH that are ".." (DOTS), or that are not. */
unsigned up_path_count(const char *path, bool dots);
/* PATH, which may begin with "/..", seen from directory FROM. false when it leaves the tree or does not fit. */
bool up_path_resolve(const char *from, const char *path, char *ret, size_t size);
const char *up_path_base(const char *path);
bool up_path_strip(char *path, unsigned components); /* false when there are fewer */

/* Directory of PATH in HIERARCHY exists. */
bool up_cgroup_exists(const struct up_source *source, const struct up_hierarchy *hierarchy, const char *path);
bool up_cgroup_file_exists(
	const struct up_source *source, const struct up_hierarchy *hierarchy, const char *path, const char *file);

/* The cgroup directories of all hierarchies, each relative path once. */
#define UP_TREE_MAX 65536
struct up_tree_node {
	const char *path; /* borrowed from the arena; below the mount, "/api" */
	int hierarchy; /* the first it was found in */
};
struct up_tree {
	struct up_tree_node *items; /* owned */
	size_t count, capacity;
	uint32_t *slots; /* owned; hash of path -> index + 1 */
	size_t slot_count;
	size_t more; /* directories beyond UP_TREE_MAX */
};
UP_MUST_CHECK int up_tree_read(
	const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies, struct up_tree *ret);
void up_tree_done(struct up_tree *tree);
/* Index of PATH, -1 when it is not in it. */
long up_tree_find(const struct up_tree *tree, const char *path);
/* Names of the subdirectories of PATH, borrowed from ARENA. 0 or -errno. */
UP_MUST_CHECK int up_dir_children(
	const struct up_source *source, struct up_arena *arena, const char *path, char ***ret_names, size_t *ret_count);

/* Mounts in the text of /proc/PID/mountinfo, or of /proc/PID/mounts. 0 or -EBADMSG. */
UP_MUST_CHECK int up_hierarchies_parse(const char *text, bool mountinfo, struct up_hierarchies *ret);
/* Order in which a hierarchy is asked when several will do: cpu, v2, memory, the others, the named one. Fills ORDER, returns its length. */
size_t up_hierarchies_order(const struct up_hierarchies *hierarchies, int order[UP_HIERARCHIES_MAX]);

/* From one candidate to the cgroup in every hierarchy. CGROUP is zeroed before. 0, -ENOENT when it vanished, -ENOMEM. */
UP_MUST_CHECK int up_cgroup_resolve(const struct up_source *source, struct up_arena *arena,
	const struct up_hierarchies *hierarchies, const char *path, int hierarchy, pid_t pid, struct up_cgroup *ret);
void up_cgroup_done(struct up_cgroup *cgroup);
/* Removes candidates that are the group of another candidate in another hierarchy under another path. */
void up_candidates_merge(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_candidates *candidates);

/* Directory of TARGET, or of its UP-th ancestor, in hierarchy H. */
bool up_target_dir_in(const struct up_target *target, int h, unsigned up, char *ret, size_t size);
/* Makes TARGET stand for the candidate. 0, -ENOENT when it vanished meanwhile, -ENAMETOOLONG, -ENOMEM. */
UP_MUST_CHECK int up_target_bind(struct up_target *target, const struct up_source *source, struct up_arena *arena,
	const struct up_candidate *candidate, const char *how);

/* Process ids in cgroup.procs of DIR itself, or with DEEP of all below too. Array borrowed from ARENA, ascending. */
UP_MUST_CHECK int up_dir_pids(
	const struct up_source *source, struct up_arena *arena, const char *dir, bool deep, pid_t **ret_pids, size_t *ret_count);
/* Numeric directories of /proc, ascending. */
UP_MUST_CHECK int up_proc_pids(const struct up_source *source, struct up_arena *arena, pid_t **ret_pids, size_t *ret_count);

/* Undoes systemd's \xNN escapes (unit_name_escape). false when it does not fit. */
bool up_unit_unescape(const char *name, char *ret, size_t size);
/* Where systemd puts a slice: "my-foo-group.slice" -> "/my.slice/my-foo.slice/my-foo-group.slice" (systemd.slice(5)).
 * false when NAME is no valid slice name. */
bool up_unit_slice_path(const char *name, char *ret, size_t size);

/* Cgroups of a process as the kernel writes them, not yet brought below the mounts. */
UP_MUST_CHECK int up_pid_cgroups_raw(const char *text, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_pid_cgroups *ret, bool *ret_cut);
/* Fills ns of the hierarchies that are mounted from above the own cgroup namespace. */
void up_namespace_find(const struct up_source *source, struct up_arena *arena, struct up_hierarchies *hierarchies);
/* Whether the top of the mount is a group (of a container), and not the root that holds the whole machine. */
bool up_namespace_top_is_group(const struct up_source *source, const struct up_hierarchy *hierarchy);
/* Adds to the message what could hide QUOTED_NAME from here: a cgroup namespace, a container's part of the tree, hidepid. */
void up_namespace_explain(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const char *quoted_name, char *message, size_t size);

/* One look-up on its way down the ladder. */
struct up_ladder {
	const struct up_source *source;
	struct up_arena *arena;
	const struct up_hierarchies *hierarchies;
	const char *name;
	bool explain; /* somebody reads the message */
	struct up_tree tree; /* read when first needed */
	bool tree_read;
	size_t processes; /* looked at */
	pid_t root_pid; /* a process of that name in the root cgroup, 0 = none */
	pid_t hidden_pid; /* one whose cgroup is not visible from here, 0 = none */
	char note[512]; /* what a container daemon had to say, "" = nothing */
	struct up_candidates *ret;
};
/* Adds a candidate named after its path. */
UP_MUST_CHECK int up_ladder_add(struct up_ladder *ladder, const char *path, int hierarchy, pid_t pid);
UP_MUST_CHECK int up_ladder_read_tree(struct up_ladder *ladder);
/* Names of classes that are treated apart. */
#define UP_HOW_ABSOLUTE "absolute path"
#define UP_HOW_RELATIVE "relative path"
#define UP_HOW_PROCESS "process name"
/* Classes of the ladder with a file of their own: add candidates; 0 or -errno. */
UP_MUST_CHECK int up_ladder_container(struct up_ladder *ladder);
UP_MUST_CHECK int up_ladder_kubernetes(struct up_ladder *ladder);
#define UP_CONTAINER_TIMEOUT_MS 1000

/* What people call the pods and containers of this node, from the kubelet's log directories. */
#define UP_KUBE_NAMES_MAX 4096
struct up_kube_name {
	const char *id; /* pod uid or container id, borrowed from the arena */
	const char *name; /* "NAMESPACE/POD" or the container's name, likewise */
	bool pod;
};
struct up_kube_names {
	struct up_kube_name *items;
	size_t count;
};
UP_MUST_CHECK int up_kube_names_read(const struct up_source *source, struct up_arena *arena, struct up_kube_names *ret);
/* Name of what the directory BASE stands for, NULL = not known. */
const char *up_kube_name_of(const struct up_kube_names *names, const char *base);

/* Looks a name up again and again in a thread, until it is found as exactly one cgroup. ONLY as in up_lookup. */
UP_MUST_CHECK int up_relookup_start(const struct up_source *source, const struct up_hierarchies *hierarchies, const char *name,
	const char *only, struct up_relookup **ret);
/* 1 when it was found: RET is then the caller's; 0 while it is looked for; -1 when the thread was stopped without. Never waits; with 1
 * and -1 the thread has ended. */
int up_relookup_take(struct up_relookup *relookup, struct up_candidates *ret);
/* Tells the thread to end; true when it has, so that freeing does not wait. */
bool up_relookup_stop(struct up_relookup *relookup);
/* Waits for the thread, at most the time a container daemon has. NULL is accepted. */
void up_relookup_free(struct up_relookup *relookup);

/* Text for a message: TEXT cut at SIZE - 1, control bytes and broken UTF-8 as \xNN. Returns RET. */
char *up_message_quote(const char *text, char *ret, size_t size);
/* Appends to the message of SIZE bytes; what does not fit is cut. */
UP_PRINTF(3, 4) void up_message_add(char *message, size_t size, const char *format, ...);

#endif
