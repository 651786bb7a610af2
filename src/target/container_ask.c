/* Containers, the asking part: daemons over their sockets, Podman's storage through files. */
#include "useprobe/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "useprobe/clock.h"
#include "useprobe/http.h"
#include "useprobe/scan.h"

#define SOCKETS_MAX 8
#define REPLY_MAX_BYTES ((size_t)16 << 20)
#define PIDS_ASKED_MAX 64 /* more matches than this are an ambiguous name anyway */

struct sockets {
	char path[SOCKETS_MAX][256];
	size_t count;
	const char *refused; /* variable whose value is no unix socket, NULL = none */
};

static uint64_t deadline_after_ns(long timeout_ms)
{
	return up_clock_real.mono_ns(NULL) + (uint64_t)timeout_ms * UP_NS_PER_MS;
}

static long left_ms(uint64_t deadline_ns)
{
	const uint64_t now_ns = up_clock_real.mono_ns(NULL);

	return now_ns < deadline_ns ? (long)((deadline_ns - now_ns) / UP_NS_PER_MS) : 0;
}

/* Adds PATH when it is a socket that is not there yet (docker.sock is often a link to podman.sock). */
static void add_socket(struct sockets *sockets, const char *path)
{
	struct stat st, other;

	if (sockets->count == SOCKETS_MAX || strlen(path) >= sizeof(sockets->path[0]) || stat(path, &st) < 0 ||
		!S_ISSOCK(st.st_mode))
		return;
	for (size_t i = 0; i < sockets->count; i++)
		if (stat(sockets->path[i], &other) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev)
			return;
	snprintf(sockets->path[sockets->count++], sizeof(sockets->path[0]), "%s", path);
}

static void add_below(struct sockets *sockets, const char *run_dir)
{
	static const char *const names[] = { "docker.sock", "podman/podman.sock" };
	char path[256];

	for (size_t i = 0; i < UP_COUNT(names); i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", run_dir, names[i]) < sizeof(path))
			add_socket(sockets, path);
}

static void find_sockets(struct sockets *ret)
{
	static const char *const variables[] = { "DOCKER_HOST", "CONTAINER_HOST" };
	static const char *const system[] = { "/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock" };
	const char *run_dir = getenv("XDG_RUNTIME_DIR"), *sudo_uid = getenv("SUDO_UID");
	char path[64];
	uint64_t uid;

	*ret = (struct sockets){ 0 };
	for (size_t i = 0; i < UP_COUNT(variables); i++) {
		const char *value = getenv(variables[i]);

		/* tcp:// and ssh:// would leave the machine whose kernel is measured. */
		if (value && strncmp(value, "unix://", 7) == 0)
			add_socket(ret, value + 7);
		else if (value && *value)
			ret->refused = variables[i];
	}
	for (size_t i = 0; i < UP_COUNT(system); i++)
		add_socket(ret, system[i]);
	if (run_dir && *run_dir)
		add_below(ret, run_dir);
	snprintf(path, sizeof(path), "/run/user/%u", (unsigned)geteuid());
	add_below(ret, path);
	/* Under sudo the containers may be those of the user who typed it. No other user's socket is believed. */
	if (geteuid() == 0 && sudo_uid && up_scan_whole_u64(sudo_uid, &uid) == 0) {
		snprintf(path, sizeof(path), "/run/user/%llu", (unsigned long long)uid);
		add_below(ret, path);
	}
}

/* GET of a daemon's PATH; only status 200 counts. */
static int ask(const char *socket, const char *path, long timeout_ms, struct up_http_reply *ret, char *error, size_t size)
{
	char url[256];
	int r;

	if (timeout_ms <= 0) {
		snprintf(error, size, "no answer in time");
		return -ETIMEDOUT;
	}
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

static int ask_list(const struct sockets *sockets, size_t i, const char *path, uint64_t deadline_ns, struct up_containers *ret)
{
	/* An equal part of what is left, so that a daemon that hangs leaves the others their time. */
	const long timeout_ms = left_ms(deadline_ns) / (long)(sockets->count - i);
	struct up_http_reply reply;
	char error[128];
	int r = ask(sockets->path[i], path, timeout_ms, &reply, error, sizeof(error));

	if (r == 0) {
		r = up_containers_parse(reply.body, reply.len, (int)i, ret);
		if (r < 0)
			snprintf(error, sizeof(error), "the answer is not a list of containers");
		up_http_reply_done(&reply);
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		snprintf(ret->error, sizeof(ret->error), "%.100s: %s", sockets->path[i], error);
	else
		ret->daemons++;
	return 0;
}

static int ask_all(const struct sockets *sockets, const char *path, uint64_t deadline_ns, struct up_containers *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sockets->count; i++)
		r = ask_list(sockets, i, path, deadline_ns, ret);
	if (sockets->refused && !*ret->error)
		snprintf(ret->error, sizeof(ret->error), "%s is no unix:// address, so that daemon was not asked",
			sockets->refused);
	return r;
}

static void ask_pid(const struct sockets *sockets, uint64_t deadline_ns, struct up_container *container)
{
	struct up_http_reply reply;
	char path[128], error[128];

	snprintf(path, sizeof(path), "/containers/%s/json", container->id);
	if (ask(sockets->path[container->daemon], path, left_ms(deadline_ns), &reply, error, sizeof(error)) < 0)
		return;
	if (up_container_parse_pid(reply.body, reply.len, &container->pid) < 0)
		container->pid = 0;
	up_http_reply_done(&reply);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/* Storage files of every driver below ROOT ("overlay-containers/containers.json"). A file that is not JSON is a half-written one. */
static int read_storage(const struct up_source *source, struct up_arena *arena, const char *root, struct up_containers *ret)
{
	static const char *const files[] = { "containers.json", "volatile-containers.json" };
	DIR *dir = up_source_opendir(source, root);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		for (size_t i = 0; ends_with(entry->d_name, "-containers") && i < UP_COUNT(files) && r == 0; i++) {
			const size_t mark = arena->used_bytes;
			const char *path = up_arena_printf(arena, "%s/%s/%s", root, entry->d_name, files[i]);
			char *text;
			size_t len;

			if (path && up_source_read(source, arena, path, &text, &len) == 0)
				r = up_containers_parse_storage(text, len, ret);
			arena->used_bytes = mark;
			if (r == -EBADMSG)
				r = 0;
		}
	}
	if (dir)
		closedir(dir);
	return r;
}

static int read_storages(const struct up_source *source, struct up_arena *arena, struct up_containers *ret)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	char root[UP_PATH_MAX] = "";
	int r = read_storage(source, arena, "/var/lib/containers/storage", ret);

	if (r < 0 || source->recorded)
		return r;
	if (data && *data)
		snprintf(root, sizeof(root), "%s/containers/storage", data);
	else if (home && *home)
		snprintf(root, sizeof(root), "%s/.local/share/containers/storage", home);
	return *root ? read_storage(source, arena, root, ret) : 0;
}

int up_containers_list(const struct up_source *source, struct up_arena *arena, long timeout_ms, struct up_containers *ret)
{
	struct sockets sockets = { 0 };
	const uint64_t deadline_ns = deadline_after_ns(timeout_ms);
	int r;

	*ret = (struct up_containers){ 0 };
	if (!source->recorded)
		find_sockets(&sockets);
	r = ask_all(&sockets, "/containers/json", deadline_ns, ret);
	return r < 0 ? r : read_storages(source, arena, ret);
}

/* Whether a container that NAME means is there without running. */
static int find_stopped(const struct sockets *sockets, const char *name, uint64_t deadline_ns, struct up_containers *ret)
{
	struct up_containers all = { 0 };
	const int r = ask_all(sockets, "/containers/json?all=1", deadline_ns, &all);

	up_containers_select(&all, name);
	if (all.count > 0)
		memcpy(ret->stopped, all.items[0].state, sizeof(ret->stopped));
	up_containers_done(&all);
	return r;
}

int up_containers_find(const struct up_source *source, struct up_arena *arena, const char *name, long timeout_ms, bool explain,
	struct up_containers *ret)
{
	struct sockets sockets = { 0 };
	const uint64_t deadline_ns = deadline_after_ns(timeout_ms);
	int r;

	*ret = (struct up_containers){ 0 };
	if (!source->recorded)
		find_sockets(&sockets);
	r = ask_all(&sockets, "/containers/json", deadline_ns, ret);
	if (r == 0)
		r = read_storages(source, arena, ret);
	if (r < 0)
		return r;
	up_containers_select(ret, name);
	for (size_t i = 0; i < ret->count && i < PIDS_ASKED_MAX; i++)
		if (ret->items[i].daemon >= 0)
			ask_pid(&sockets, deadline_ns, &ret->items[i]);
	if (ret->count == 0 && ret->daemons > 0 && explain)
		r = find_stopped(&sockets, name, deadline_ns, ret);
	return r;
}
