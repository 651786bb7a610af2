/* What the files of this room share. */
#ifndef UP_TARGET_INTERNAL_H
#define UP_TARGET_INTERNAL_H

#include "useprobe/container.h"
#include "useprobe/target.h"

/* MOUNT and a path below it ("/" = the mount itself) as one path. false when it does not fit. */
bool up_path_join(const char *mount, const char *path, char *ret, size_t size);
/* The part of PATH that lies below DIR ("/" for DIR itself), NULL when it does not. Both absolute, no slash at the end. */
const char *up_path_below(const char *dir, const char *path);
/* true when a component of PATH is "..", so that it leaves the cgroup namespace or the tree. */
bool up_path_leaves(const char *path);
const char *up_path_base(const char *path);
bool up_path_strip(char *path, unsigned components); /* false when there are fewer */

/* Directory of PATH in HIERARCHY exists. */
bool up_cgroup_exists(const struct up_source *source, const struct up_hierarchy *hierarchy, const char *path);

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
UP_MUST_CHECK int up_tree_read(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_tree *ret);
void up_tree_done(struct up_tree *tree);
/* Names of the subdirectories of PATH, borrowed from ARENA. 0 or -errno. */
UP_MUST_CHECK int up_dir_children(const struct up_source *source, struct up_arena *arena, const char *path, char ***ret_names,
	size_t *ret_count);

/* Order in which a hierarchy is asked when several will do: cpu, v2, memory, the others, the named one. Fills ORDER, returns its length. */
size_t up_hierarchies_order(const struct up_hierarchies *hierarchies, int order[UP_HIERARCHIES_MAX]);

/* From one candidate to the cgroup in every hierarchy. CGROUP is zeroed before. 0, -ENOENT when it vanished, -ENOMEM. */
UP_MUST_CHECK int up_cgroup_resolve(const struct up_source *source, struct up_arena *arena,
	const struct up_hierarchies *hierarchies, const char *path, int hierarchy, pid_t pid, struct up_cgroup *ret);
void up_cgroup_done(struct up_cgroup *cgroup);
/* Removes candidates that are the group of another candidate in another hierarchy under another path. */
void up_candidates_merge(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_candidates *candidates);

/* Process ids in cgroup.procs of DIR itself, or with DEEP of all below too. Array borrowed from ARENA, ascending. */
UP_MUST_CHECK int up_dir_pids(const struct up_source *source, struct up_arena *arena, const char *dir, bool deep, pid_t **ret_pids,
	size_t *ret_count);
/* Numeric directories of /proc, ascending. */
UP_MUST_CHECK int up_proc_pids(const struct up_source *source, struct up_arena *arena, pid_t **ret_pids, size_t *ret_count);

/* Undoes systemd's \xNN escapes (unit_name_escape). false when it does not fit. */
bool up_unit_unescape(const char *name, char *ret, size_t size);
/* Where systemd puts a slice: "my-foo-group.slice" -> "/my.slice/my-foo.slice/my-foo-group.slice" (systemd.slice(5)).
 * false when NAME is no valid slice name. */
bool up_unit_slice_path(const char *name, char *ret, size_t size);

/* The class of names that a container daemon tells, and how long it has for an answer. */
#define UP_HOW_CONTAINER "container"
/* Restricts a look-up to the classes that ask no daemon. */
#define UP_HOW_NO_DAEMON "all but containers"
#define UP_CONTAINER_TIMEOUT_MS 1000
/* Candidates of the containers found. 0 or -ENOMEM. */
UP_MUST_CHECK int up_lookup_containers(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const struct up_containers *containers, struct up_candidates *ret);

/* Text for a message: TEXT cut at SIZE - 1, control bytes and broken UTF-8 as \xNN. Returns RET. */
char *up_message_quote(const char *text, char *ret, size_t size);
/* Appends to the message of SIZE bytes; what does not fit is cut. */
UP_PRINTF(3, 4) void up_message_add(char *message, size_t size, const char *format, ...);

#endif
