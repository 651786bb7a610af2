/* The ladder's class of Kubernetes names. A kubelet puts the pod's uid and the runtime the container's id into directory names,
 *   kubepods-burstable-pod8d2f1c3a_1111_2222_3333_444455556666.slice/cri-containerd-<64 hex>.scope
 *   kubepods/burstable/pod8d2f1c3a-1111-2222-3333-444455556666/<64 hex>
 * and keeps the names that people know beside the logs (pkg/kubelet/kuberuntime, logs.go and legacy.go):
 *   /var/log/pods/NAMESPACE_POD_UID   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PREFIX_MIN 8
#define ID_DIGITS 64
static const char hex[] = "0123456789abcdef";

static bool is_monitor(const char *base)
{
	return strstr(base, "-conmon-") != NULL;
}

/* BASE carries a container id that begins with WANT. */
static bool has_container_id(const char *base, const char *want)
{
	const size_t len = strlen(want);

	while (*base) {
		const size_t digits = strspn(base, hex);

		if (digits == ID_DIGITS && strncmp(base, want, len) == 0)
			return true;
		base += digits;
		base += strcspn(base, hex);
	}
	return false;
}

/* BASE carries a pod uid that begins with WANT; systemd's names have '_' for its dashes. */
static bool has_pod_uid(const char *base, const char *want)
{
	const char *pod = strncmp(base, "pod", 3) == 0 ? base : strstr(base, "-pod");
	size_t i = 0;

	if (!pod)
		return false;
	pod += 3 + (*pod == '-');
	while (want[i] && (pod[i] == want[i] || (pod[i] == '_' && want[i] == '-') || (pod[i] == '-' && want[i] == '_')))
		i++;
	return !want[i];
}

static int add_by_id(struct up_ladder *ladder, const char *id, bool pod)
{
	int r = up_ladder_read_tree(ladder);

	for (size_t i = 0; r == 0 && i < ladder->tree.count; i++) {
		const struct up_tree_node *node = &ladder->tree.items[i];
		const char *base = up_path_base(node->path);

		if (!is_monitor(base) && (pod ? has_pod_uid(base, id) : has_container_id(base, id)))
			r = up_ladder_add(ladder, node->path, node->hierarchy, 0);
	}
	return r;
}

static int by_id(struct up_ladder *ladder)
{
	const char *id = strncmp(ladder->name, "pod", 3) == 0 ? ladder->name + 3 : ladder->name;
	const size_t len = strlen(id);
	int r = 0;

	if (len < PREFIX_MIN)
		return 0;
	if (strspn(id, hex) == len && id == ladder->name)
		r = add_by_id(ladder, id, false);
	if (r == 0 && ladder->ret->count == 0 && strspn(id, "0123456789abcdef-_") == len)
		r = add_by_id(ladder, id, true);
	return r;
}

/* "NAMESPACE_POD_UID" stands for "POD" or "NAMESPACE/POD"; no part can hold an underscore (RFC 1123 names). */
static const char *uid_of_pod(const char *entry, const char *name)
{
	const char *pod = strchr(entry, '_'), *uid = pod ? strchr(pod + 1, '_') : NULL, *slash = strchr(name, '/');
	const char *want = slash ? slash + 1 : name;

	if (!uid || strlen(uid + 1) < PREFIX_MIN)
		return NULL;
	if (slash && ((size_t)(pod - entry) != (size_t)(slash - name) || strncmp(entry, name, (size_t)(slash - name)) != 0))
		return NULL;
	pod++;
	return strlen(want) == (size_t)(uid - pod) && strncmp(pod, want, (size_t)(uid - pod)) == 0 ? uid + 1 : NULL;
}

/* "POD_NAMESPACE_CONTAINER-ID.log" stands for CONTAINER; its id is written into RET_ID. */
static bool id_of_container(const char *entry, const char *name, char ret_id[ID_DIGITS + 1])
{
	const char *space = strchr(entry, '_'), *container = space ? strchr(space + 1, '_') : NULL;
	const char *dash = strrchr(entry, '-');

	if (!container || !dash || dash < container || strspn(dash + 1, hex) != ID_DIGITS ||
		strcmp(dash + 1 + ID_DIGITS, ".log") != 0)
		return false;
	container++;
	if (strlen(name) != (size_t)(dash - container) || strncmp(container, name, strlen(name)) != 0)
		return false;
	memcpy(ret_id, dash + 1, ID_DIGITS);
	ret_id[ID_DIGITS] = '\0';
	return true;
}

static int by_log(struct up_ladder *ladder, const char *directory, bool pods)
{
	DIR *dir = up_source_opendir(ladder->source, directory);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		char id[ID_DIGITS + 1];
		const char *uid = pods ? uid_of_pod(entry->d_name, ladder->name) : NULL;

		if (uid)
			r = add_by_id(ladder, uid, true);
		else if (!pods && id_of_container(entry->d_name, ladder->name, id))
			r = add_by_id(ladder, id, false);
	}
	if (dir)
		closedir(dir);
	return r;
}

int up_ladder_kubernetes(struct up_ladder *ladder)
{
	int r;

	if (!ladder->name[0] || ladder->name[0] == '/')
		return 0;
	r = by_id(ladder);
	if (r == 0 && ladder->ret->count == 0)
		r = by_log(ladder, "/var/log/pods", true);
	/* Containers of one name in several pods are listed; the log of one that has ended leads to no directory. */
	if (r == 0 && ladder->ret->count == 0)
		r = by_log(ladder, "/var/log/containers", false);
	return r;
}

/* Adds what DIRECTORY says about pods or containers to NAMES. */
static int read_names(
	const struct up_source *source, struct up_arena *arena, const char *directory, bool pods, struct up_kube_names *names)
{
	DIR *dir = up_source_opendir(source, directory);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir)) && names->count < UP_KUBE_NAMES_MAX) {
		const char *first = strchr(entry->d_name, '_'), *second = first ? strchr(first + 1, '_') : NULL;
		const char *dash = strrchr(entry->d_name, '-');
		struct up_kube_name *name = &names->items[names->count];

		if (!second || (!pods && (!dash || dash < second || strspn(dash + 1, hex) != ID_DIGITS)))
			continue;
		name->pod = pods;
		name->id = pods ? up_arena_strdup(arena, second + 1) : up_arena_strndup(arena, dash + 1, ID_DIGITS);
		name->name = pods ? up_arena_printf(arena, "%.*s/%.*s", (int)(first - entry->d_name), entry->d_name,
					    (int)(second - first - 1), first + 1)
				  : up_arena_strndup(arena, second + 1, (size_t)(dash - second - 1));
		if (!name->id || !name->name)
			r = -ENOSPC;
		else if (strlen(name->id) >= PREFIX_MIN)
			names->count++;
	}
	if (dir)
		closedir(dir);
	return r;
}

int up_kube_names_read(const struct up_source *source, struct up_arena *arena, struct up_kube_names *ret)
{
	struct up_kube_names names = { .items = up_arena_alloc(arena, UP_KUBE_NAMES_MAX * sizeof(*names.items)) };
	int r = names.items ? read_names(source, arena, "/var/log/pods", true, &names) : -ENOSPC;

	if (r == 0)
		r = read_names(source, arena, "/var/log/containers", false, &names);
	if (r == 0)
		*ret = names;
	return r;
}

const char *up_kube_name_of(const struct up_kube_names *names, const char *base)
{
	for (size_t i = 0; i < names->count; i++) {
		const struct up_kube_name *name = &names->items[i];

		if (!is_monitor(base) && (name->pod ? has_pod_uid(base, name->id) : has_container_id(base, name->id)))
			return name->name;
	}
	return NULL;
}
