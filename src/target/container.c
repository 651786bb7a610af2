#include "useprobe/container.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "useprobe/http.h"

#define SOCKETS_MAX 8
#define REPLY_MAX_BYTES ((size_t)8 << 20)
#define ID_PREFIX_MIN 4

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

/* Name of a container; legacy links add names with a slash inside ("/web/db"), which are another container's view. */
static const char *name_of(const json_t *item)
{
	const json_t *names = json_object_get(item, "Names");

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

static const char *service_of(const json_t *item)
{
	const json_t *labels = json_object_get(item, "Labels");
	const char *service = text_of(labels, "com.docker.compose.service");

	return *service ? service : text_of(labels, "io.podman.compose.service");
}

enum { BY_NAME, BY_SERVICE, BY_ID, MATCHES };

static bool matches(const struct up_container *container, const char *name, int by)
{
	const size_t len = strlen(name);

	switch (by) {
	case BY_NAME:
		return strcmp(container->name, name) == 0;
	case BY_SERVICE:
		return strcmp(container->service, name) == 0;
	default:
		return len >= ID_PREFIX_MIN && strspn(name, "0123456789abcdef") == len && strncmp(container->id, name, len) == 0;
	}
}

static void add(struct up_containers *found, const struct up_container *container)
{
	if (found->count < UP_CONTAINERS_MAX)
		found->items[found->count++] = *container;
	else
		found->more++;
}

int up_containers_parse(const char *json, size_t len, const char *name, struct up_containers *ret)
{
	json_error_t error;
	json_t *list = json_loadb(json, len, 0, &error);
	const size_t had = ret->count;

	if (!json_is_array(list)) {
		json_decref(list);
		return -EBADMSG;
	}
	/* The kinds of match stand in order: a container named like another one's service is meant itself. */
	for (int by = name ? BY_NAME : MATCHES - 1; by < MATCHES && ret->count == had; by++) {
		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *item = json_array_get(list, i);
			struct up_container container = { 0 };

			copy(container.id, sizeof(container.id), text_of(item, "Id"));
			copy(container.name, sizeof(container.name), name_of(item));
			copy(container.service, sizeof(container.service), service_of(item));
			copy(container.state, sizeof(container.state), text_of(item, "State"));
			if (*container.id && (!name || matches(&container, name, by))) {
				ret->service = ret->service || (name && by == BY_SERVICE);
				add(ret, &container);
			}
		}
	}
	json_decref(list);
	return 0;
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

/* Adds PATH when it is a socket that is not there yet (docker.sock is often a link to podman.sock). */
static void add_socket(char sockets[SOCKETS_MAX][256], size_t *count, const char *path)
{
	struct stat st, other;

	if (*count == SOCKETS_MAX || stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	for (size_t i = 0; i < *count; i++)
		if (stat(sockets[i], &other) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev)
			return;
	copy(sockets[(*count)++], 256, path);
}

static size_t find_sockets(char sockets[SOCKETS_MAX][256])
{
	static const char *const variables[] = { "DOCKER_HOST", "CONTAINER_HOST" };
	static const char *const system[] = { "/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock" };
	const char *run_dir = getenv("XDG_RUNTIME_DIR");
	size_t count = 0;
	char path[256];

	for (size_t i = 0; i < UP_COUNT(variables); i++) {
		const char *value = getenv(variables[i]);

		/* tcp:// would leave the machine whose kernel is measured. */
		if (value && strncmp(value, "unix://", 7) == 0)
			add_socket(sockets, &count, value + 7);
	}
	for (size_t i = 0; i < UP_COUNT(system); i++)
		add_socket(sockets, &count, system[i]);
	if (run_dir && *run_dir) {
		if ((size_t)snprintf(path, sizeof(path), "%s/docker.sock", run_dir) < sizeof(path))
			add_socket(sockets, &count, path);
		if ((size_t)snprintf(path, sizeof(path), "%s/podman/podman.sock", run_dir) < sizeof(path))
			add_socket(sockets, &count, path);
	}
	return count;
}

/* GET of a daemon's PATH; only status 200 counts. */
static int ask(const char *socket, const char *path, long timeout_ms, struct up_http_reply *ret, char *error, size_t size)
{
	char url[256];
	int r;

	snprintf(url, sizeof(url), "http://localhost%s", path);
	r = up_http_get(
		&(struct up_http_request){
			.url = url, .unix_socket = socket, .timeout_ms = timeout_ms, .max_bytes = REPLY_MAX_BYTES },
		ret, error, size);
	if (r == 0 && ret->status != 200) {
		snprintf(error, size, "answered %ld", ret->status);
		up_http_reply_done(ret);
		return -EIO;
	}
	return r;
}

static void find_pid(const char *socket, long timeout_ms, struct up_container *container)
{
	struct up_http_reply reply;
	char path[128], error[128];

	snprintf(path, sizeof(path), "/containers/%s/json", container->id);
	if (ask(socket, path, timeout_ms, &reply, error, sizeof(error)) < 0)
		return;
	if (up_container_parse_pid(reply.body, reply.len, &container->pid) < 0)
		container->pid = 0;
	up_http_reply_done(&reply);
}

static void ask_daemon(const char *socket, const char *name, long timeout_ms, struct up_containers *ret)
{
	const size_t had = ret->count;
	struct up_http_reply reply;
	char error[128];
	int r = ask(socket, "/containers/json", timeout_ms, &reply, error, sizeof(error));

	if (r == 0) {
		r = up_containers_parse(reply.body, reply.len, name, ret);
		if (r < 0)
			snprintf(error, sizeof(error), "the answer is not a list of containers");
		up_http_reply_done(&reply);
	}
	if (r < 0) {
		snprintf(ret->error, sizeof(ret->error), "%.100s: %s", socket, error);
		return;
	}
	ret->daemons++;
	for (size_t i = had; i < ret->count; i++)
		find_pid(socket, timeout_ms, &ret->items[i]);
}

int up_containers_find(const char *name, long timeout_ms, struct up_containers *ret)
{
	char sockets[SOCKETS_MAX][256];
	const size_t count = find_sockets(sockets);

	*ret = (struct up_containers){ 0 };
	for (size_t i = 0; i < count; i++)
		ask_daemon(sockets[i], name, timeout_ms, ret);
	return 0;
}

struct up_containers_query {
	pthread_t thread;
	char name[256];
	long timeout_ms;
	atomic_bool done;
	struct up_containers found;
};

static void *run_query(void *opaque)
{
	struct up_containers_query *query = opaque;

	if (up_containers_find(query->name, query->timeout_ms, &query->found) < 0)
		query->found.count = 0;
	atomic_store_explicit(&query->done, true, memory_order_release);
	return NULL;
}

int up_containers_query_start(const char *name, long timeout_ms, struct up_containers_query **ret)
{
	struct up_containers_query *query = calloc(1, sizeof(*query));
	int r;

	if (!query)
		return -ENOMEM;
	copy(query->name, sizeof(query->name), name);
	query->timeout_ms = timeout_ms;
	r = pthread_create(&query->thread, NULL, run_query, query);
	if (r != 0) {
		free(query);
		return -r;
	}
	*ret = query;
	return 0;
}

const struct up_containers *up_containers_query_poll(struct up_containers_query *query)
{
	return atomic_load_explicit(&query->done, memory_order_acquire) ? &query->found : NULL;
}

void up_containers_query_free(struct up_containers_query *query)
{
	if (!query)
		return;
	pthread_join(query->thread, NULL);
	free(query);
}
