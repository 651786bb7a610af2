/* Containers, the pure part: what daemons and storage files tell, and which of it a name means. */
#include "useprobe/container.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_PREFIX_MIN 4
#define ID_DIGITS_MIN 12 /* the short form that docker ps prints; less is no id of a running container */

void up_containers_done(struct up_containers *containers)
{
	free(containers->items);
	*containers = (struct up_containers){ 0 };
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* A cut name would be another container's, so one that does not fit is none. */
static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", strlen(from) < size ? from : "");
}

/* Name of a container; legacy links add names with a slash inside ("/web/db"), which are another container's view. */
static const char *first_name(const json_t *names)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (!name)
			continue;
		name += name[0] == '/';
		if (*name && !strchr(name, '/'))
			return name;
	}
	return "";
}

static const char *label_of(const json_t *item, const char *const keys[], size_t count)
{
	const json_t *labels = json_object_get(item, "Labels");

	for (size_t i = 0; i < count; i++)
		if (*text_of(labels, keys[i]))
			return text_of(labels, keys[i]);
	return "";
}

/* Appends; one that is known by its id already (two sockets of one daemon, storage beside a daemon) is not added twice. */
static int add(struct up_containers *to, const struct up_container *container)
{
	const size_t digits = strspn(container->id, "0123456789abcdef");

	if (digits < ID_DIGITS_MIN || container->id[digits])
		return 0;
	for (size_t i = 0; i < to->count; i++)
		if (strcmp(to->items[i].id, container->id) == 0)
			return 0;
	if (to->count == UP_CONTAINERS_MAX) {
		to->more++;
		return 0;
	}
	if (to->count == to->capacity) {
		const size_t capacity = to->capacity ? to->capacity * 2 : 16;
		struct up_container *grown = realloc(to->items, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		to->items = grown;
		to->capacity = capacity;
	}
	to->items[to->count++] = *container;
	return 0;
}

/* Calls for each object of a JSON array. */
static int parse_list(const char *json, size_t len, int daemon, struct up_containers *ret,
	void (*read)(const json_t *item, struct up_container *container))
{
	json_error_t error;
	json_t *list = json_loadb(json, len, 0, &error);
	int r = json_is_array(list) ? 0 : -EBADMSG;

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct up_container container = { .daemon = daemon };

		read(json_array_get(list, i), &container);
		r = add(ret, &container);
	}
	json_decref(list);
	return r;
}

static void read_docker(const json_t *item, struct up_container *container)
{
	static const char *const services[] = { "com.docker.compose.service", "io.podman.compose.service",
		"com.docker.swarm.service.name" };
	static const char *const projects[] = { "com.docker.compose.project", "io.podman.compose.project" };

	copy(container->id, sizeof(container->id), text_of(item, "Id"));
	copy(container->name, sizeof(container->name), first_name(json_object_get(item, "Names")));
	copy(container->service, sizeof(container->service), label_of(item, services, UP_COUNT(services)));
	copy(container->project, sizeof(container->project), label_of(item, projects, UP_COUNT(projects)));
	copy(container->state, sizeof(container->state), text_of(item, "State"));
}

static void read_storage(const json_t *item, struct up_container *container)
{
	copy(container->id, sizeof(container->id), text_of(item, "id"));
	copy(container->name, sizeof(container->name), first_name(json_object_get(item, "names")));
}

int up_containers_parse(const char *json, size_t len, int daemon, struct up_containers *ret)
{
	return parse_list(json, len, daemon, ret, read_docker);
}

int up_containers_parse_storage(const char *json, size_t len, struct up_containers *ret)
{
	return parse_list(json, len, -1, ret, read_storage);
}

int up_container_parse_pid(const char *json, size_t len, pid_t *ret)
{
	json_error_t error;
	json_t *root = json_loadb(json, len, 0, &error);
	const json_t *pid = json_object_get(json_object_get(root, "State"), "Pid");
	const bool ok = json_is_integer(pid) && json_integer_value(pid) >= 0 && json_integer_value(pid) <= 1 << 22;

	if (ok)
		*ret = (pid_t)json_integer_value(pid);
	json_decref(root);
	return ok ? 0 : -EBADMSG;
}

enum { BY_NAME, BY_SERVICE, BY_ID, KINDS };

static bool matches(const struct up_container *container, const char *name, int kind)
{
	const size_t len = strlen(name);

	switch (kind) {
	case BY_NAME:
		return strcmp(container->name, name) == 0;
	case BY_SERVICE:
		return strcmp(container->service, name) == 0;
	default:
		return len >= ID_PREFIX_MIN && strspn(name, "0123456789abcdef") == len && strncmp(container->id, name, len) == 0;
	}
}

void up_containers_select(struct up_containers *containers, const char *name)
{
	size_t kept = 0;
	int kind;

	/* The kinds of match stand in order: a container named like another one's service is meant itself. */
	for (kind = *name ? BY_NAME : KINDS; kind < KINDS && kept == 0; kind++)
		for (size_t i = 0; i < containers->count; i++)
			if (matches(&containers->items[i], name, kind))
				containers->items[kept++] = containers->items[i];
	containers->count = kept;
	containers->all = kept > 0 && kind == BY_SERVICE + 1;
	/* Services of one name in two projects are two services, and the user has to say which. */
	for (size_t i = 1; i < kept; i++)
		if (strcmp(containers->items[i].project, containers->items[0].project) != 0)
			containers->all = false;
}

bool up_container_cut_path(char *path, const char *id)
{
	static const char leaf[] = "container";
	char *end = NULL;

	for (char *at = strstr(path, id); at; at = strstr(at + 1, id)) {
		char *start = at;

		while (start > path && start[-1] != '/')
			start--;
		/* The monitor of a container has its id too, and is not the container. */
		if (strncmp(start, "libpod-conmon-", 14) != 0 && strncmp(start, "crio-conmon-", 12) != 0)
			end = at + strcspn(at, "/");
	}
	if (!end)
		return false;
	if (strncmp(end, "/container", sizeof(leaf)) == 0 && (end[sizeof(leaf)] == '/' || !end[sizeof(leaf)]))
		end += sizeof(leaf);
	*end = '\0';
	return true;
}
