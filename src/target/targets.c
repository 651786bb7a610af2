/* Targets: what the names on the command line stand for, kept up to date over restarts. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int up_targets_init(struct up_targets *targets, const struct up_source *source, struct up_arena *arena)
{
	*targets = (struct up_targets){ .hierarchies = { .v2 = -1 } };
	for (unsigned c = 0; c < UP_CTL_COUNT; c++)
		targets->hierarchies.owner[c] = -1;
	return up_hierarchies_read(source, arena, &targets->hierarchies);
}

void up_targets_done(struct up_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		up_cgroup_done(&targets->items[i].cgroup);
		up_relookup_free(targets->items[i].relookup);
	}
	targets->count = 0;
}

bool up_target_dir_in(const struct up_target *target, int h, unsigned up, char *ret, size_t size)
{
	char path[UP_PATH_MAX];

	if (h < 0 || !target->cgroup.path[h])
		return false;
	snprintf(path, sizeof(path), "%s", target->cgroup.path[h]);
	return up_path_strip(path, up) && up_path_join(target->hierarchies->items[h].mount, path, ret, size);
}

bool up_target_dir(
	const struct up_target *target, enum up_controller controller, unsigned up, char *ret, size_t size, bool *ret_v2)
{
	const int h = target->hierarchies->owner[controller];

	if (!up_target_dir_in(target, h, up, ret, size))
		return false;
	if (ret_v2)
		*ret_v2 = target->hierarchies->items[h].v2;
	return true;
}

bool up_target_v2_dir(const struct up_target *target, unsigned up, char *ret, size_t size)
{
	return up_target_dir_in(target, target->hierarchies->v2, up, ret, size);
}

/* Path below the hierarchy's own root; above a cgroup namespace it has no name, so that the mount's top is "/". */
static bool label_of(const struct up_hierarchy *hierarchy, const char *path, char *ret, size_t size)
{
	return up_path_join(up_path_leaves(hierarchy->root) ? "/" : hierarchy->root, path, ret, size);
}

bool up_target_ancestor_label(const struct up_target *target, enum up_controller controller, unsigned up, char *ret, size_t size)
{
	const int h = target->hierarchies->owner[controller];
	char path[UP_PATH_MAX];

	if (h < 0 || !target->cgroup.path[h])
		return false;
	snprintf(path, sizeof(path), "%s", target->cgroup.path[h]);
	return up_path_strip(path, up) && label_of(&target->hierarchies->items[h], path, ret, size);
}

/* Number of a cgroup as BPF programs see it: the 8 bytes of its file handle (fs/kernfs/mount.c, FILEID_KERNFS; v1 and v2).
 * 0 on a recorded tree and on kernels before 5.5. */
static uint64_t cgroup_id(const struct up_source *source, const char *dir)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} space = { .handle = { .handle_bytes = sizeof(uint64_t) } };
	uint64_t id;
	int mount_id;

	if (source->recorded || name_to_handle_at(source->root_fd, dir + strspn(dir, "/"), &space.handle, &mount_id, 0) < 0 ||
		space.handle.handle_bytes != sizeof(id))
		return 0;
	memcpy(&id, space.handle.f_handle, sizeof(id));
	return id;
}

/* Hierarchy that names the target: the first of cpu, v2, memory, ... it has a directory in. */
static int main_hierarchy(const struct up_target *target)
{
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(target->hierarchies, order);

	for (size_t i = 0; i < count; i++)
		if (target->cgroup.path[order[i]])
			return order[i];
	return -1;
}

static void read_ids(struct up_target *target, const struct up_source *source)
{
	char dir[UP_PATH_MAX];

	target->v2_id = up_target_v2_dir(target, 0, dir, sizeof(dir)) ? cgroup_id(source, dir) : 0;
	target->cpu_id = up_target_dir(target, UP_CTL_CPU, 0, dir, sizeof(dir), NULL) ? cgroup_id(source, dir) : 0;
	target->inode = up_target_dir_in(target, target->main, 0, dir, sizeof(dir)) ? up_source_inode(source, dir) : 0;
}

int up_target_bind(struct up_target *target, const struct up_source *source, struct up_arena *arena,
	const struct up_candidate *candidate, const char *how)
{
	struct up_cgroup cgroup;
	int r = up_cgroup_resolve(
		source, arena, target->hierarchies, candidate->path, candidate->hierarchy, candidate->pid, &cgroup);

	if (r < 0)
		return r;
	up_cgroup_done(&target->cgroup);
	target->cgroup = cgroup;
	target->main = main_hierarchy(target);
	if (!label_of(&target->hierarchies->items[target->main], cgroup.path[target->main], target->label, sizeof(target->label)))
		return -ENAMETOOLONG;
	snprintf(target->container_id, sizeof(target->container_id), "%s", candidate->container_id);
	target->how = how;
	target->present = true;
	read_ids(target, source);
	return 0;
}

static void say_candidates(const struct up_candidates *candidates, const char *name, char *message, size_t size)
{
	char quoted[2 * UP_PATH_MAX];

	message[0] = '\0';
	up_message_add(message, size,
		"'%s' stands for %zu cgroups (%s); name one of them by its path:", up_message_quote(name, quoted, sizeof(quoted)),
		candidates->count + candidates->more, candidates->how);
	for (size_t i = 0; i < candidates->count; i++)
		up_message_add(message, size, "\n  %s", up_message_quote(candidates->items[i].label, quoted, sizeof(quoted)));
	if (candidates->more)
		up_message_add(message, size, "\n  ... and %zu more", candidates->more);
}

/* Another target that is the same cgroup, NULL = none. */
static const struct up_target *same_cgroup(const struct up_targets *targets, const struct up_target *target)
{
	for (size_t i = 0; i < targets->count; i++) {
		const struct up_target *other = &targets->items[i];

		if (other != target && other->kind == UP_TARGET_CGROUP && other->present && other->main == target->main &&
			strcmp(other->label, target->label) == 0)
			return other;
	}
	return NULL;
}

/* A free place for a target; it counts only when the caller adds 1 to targets->count. */
static struct up_target *prepare(struct up_targets *targets, const char *name, enum up_target_kind kind)
{
	struct up_target *target = &targets->items[targets->count];

	*target = (struct up_target){ .kind = kind, .hierarchies = &targets->hierarchies, .main = -1 };
	snprintf(target->name, sizeof(target->name), "%s", name);
	return target;
}

static int add_candidate(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, const char *name,
	const struct up_candidate *candidate, const char *how, char *message, size_t size)
{
	struct up_target *target;
	const struct up_target *other;
	char quoted[512];
	int r;

	if (targets->count == UP_TARGETS_MAX) {
		snprintf(message, size, "more than %d targets", UP_TARGETS_MAX);
		return -ENOSPC;
	}
	target = prepare(targets, name, UP_TARGET_CGROUP);
	snprintf(target->lookup, sizeof(target->lookup), "%s", candidate->container_name);
	r = up_target_bind(target, source, arena, candidate, how);
	if (r < 0) {
		up_cgroup_done(&target->cgroup);
		snprintf(message, size, "'%s': %s", up_message_quote(name, quoted, sizeof(quoted)),
			r == -ENOENT ? "the cgroup vanished while it was looked up" : strerror(-r));
		return r;
	}
	other = same_cgroup(targets, target);
	if (other) {
		char other_quoted[512];

		up_cgroup_done(&target->cgroup);
		snprintf(message, size, "'%s' and '%s' are the same cgroup", up_message_quote(name, quoted, sizeof(quoted)),
			up_message_quote(other->name, other_quoted, sizeof(other_quoted)));
		return -EEXIST;
	}
	targets->count++;
	return 0;
}

static int add_absent(struct up_targets *targets, const char *name, char *message, size_t size)
{
	if (targets->count == UP_TARGETS_MAX) {
		snprintf(message, size, "more than %d targets", UP_TARGETS_MAX);
		return -ENOSPC;
	}
	/* Until it is found its rows carry the name as typed. */
	snprintf(prepare(targets, name, UP_TARGET_CGROUP)->label, sizeof(targets->items[0].label), "%s", name);
	targets->count++;
	return 0;
}

int up_targets_add_name(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, const char *name,
	bool wait, char *message, size_t message_size)
{
	struct up_candidates candidates;
	const size_t had = targets->count;
	int r;

	if (strlen(name) >= sizeof(targets->items[0].name)) {
		snprintf(message, message_size, "the name of a target is longer than %zu bytes",
			sizeof(targets->items[0].name) - 1);
		return -EINVAL;
	}
	for (size_t i = 0; i < targets->count; i++)
		if (targets->items[i].kind == UP_TARGET_CGROUP && strcmp(targets->items[i].name, name) == 0)
			return 0;
	if (targets->hierarchies.count == 0) {
		snprintf(message, message_size, "no cgroup file system is mounted: only --pid and --host can be measured");
		return -ENOENT;
	}
	r = up_lookup(source, arena, &targets->hierarchies, name, NULL, &candidates, message, message_size);
	if (r == -ENOENT && wait && name[0])
		return add_absent(targets, name, message, message_size);
	if (r < 0)
		return r;
	if (candidates.count + candidates.more > 1 && !candidates.all) {
		say_candidates(&candidates, name, message, message_size);
		r = -ENOTUNIQ;
	}
	for (size_t i = 0; r == 0 && i < candidates.count; i++)
		r = add_candidate(targets, source, arena, name, &candidates.items[i], candidates.how, message, message_size);
	up_candidates_done(&candidates);
	while (r < 0 && targets->count > had)
		up_cgroup_done(&targets->items[--targets->count].cgroup);
	return r;
}

static int copy_paths(struct up_cgroup *to, const struct up_pid_cgroups *paths, size_t count)
{
	for (size_t h = 0; h < count; h++)
		if (paths->path[h] && !(to->path[h] = strdup(paths->path[h]))) {
			up_cgroup_done(to);
			return -ENOMEM;
		}
	return 0;
}

int up_targets_add_pid(struct up_targets *targets, const struct up_source *source, struct up_arena *arena, pid_t pid,
	char *message, size_t message_size)
{
	struct up_pid_cgroups paths;
	struct up_target *target;
	char comm[UP_COMM_MAX], text[32];
	uint64_t start_ticks;
	int r = up_pid_stat(source, arena, pid, comm, &start_ticks);

	if (r < 0) {
		snprintf(
			message, message_size, r == -ESRCH ? "there is no process %d" : "/proc/%d/stat cannot be read", (int)pid);
		return r;
	}
	for (size_t i = 0; i < targets->count; i++)
		if (targets->items[i].kind == UP_TARGET_PID && targets->items[i].pid == pid)
			return 0;
	if (targets->count == UP_TARGETS_MAX) {
		snprintf(message, message_size, "more than %d targets", UP_TARGETS_MAX);
		return -ENOSPC;
	}
	snprintf(text, sizeof(text), "%d", (int)pid);
	target = prepare(targets, text, UP_TARGET_PID);
	snprintf(target->label, sizeof(target->label), "%s[%d]", comm, (int)pid);
	target->pid = pid;
	target->pid_start_ticks = start_ticks;
	target->how = "process id";
	target->present = true;
	/* The cgroup is context only, so a process whose groups cannot be read is still a target. */
	if (up_pid_cgroups_read(source, arena, &targets->hierarchies, pid, &paths) == 0) {
		r = copy_paths(&target->cgroup, &paths, targets->hierarchies.count);
		if (r < 0) {
			snprintf(message, message_size, "%s", strerror(-r));
			return r;
		}
		target->main = main_hierarchy(target);
		read_ids(target, source);
	}
	targets->count++;
	return 0;
}
