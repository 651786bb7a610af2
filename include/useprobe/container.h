/* Containers: names, compose services and ids as a Docker-compatible daemon (Docker, Podman) tells them over its unix socket, and as
 * Podman's storage records them, since Podman usually runs without a daemon.
 * API: GET /containers/json and GET /containers/ID/json (Docker Engine API v1.24 and later; Podman serves the same).
 * Storage: ROOT/DRIVER-containers/containers.json and volatile-containers.json (containers/storage, containers.go). */
#ifndef UP_CONTAINER_H
#define UP_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "useprobe/arena.h"
#include "useprobe/compiler.h"
#include "useprobe/source.h"

#define UP_CONTAINERS_MAX 8192

struct up_container {
	char id[80];
	char name[256]; /* without the leading slash; "" when it has none, or one that is longer than any runtime makes */
	char service[256]; /* compose or swarm service, "" = none */
	char project[256]; /* compose project of the service, "" = none */
	char state[32]; /* "running", "paused", "exited", ...; "" = not told (storage) */
	int daemon; /* socket it came from, -1 = storage */
	pid_t pid; /* its first process in the daemon's pid namespace; 0 = not asked, not told or not running */
};

struct up_containers {
	struct up_container *items; /* [count], owned */
	size_t count, capacity;
	size_t more; /* beyond UP_CONTAINERS_MAX */
	bool all; /* the matches are the replicas of one service: every one is meant */
	size_t daemons; /* that answered */
	char error[256]; /* of a daemon that did not, "" = none */
	char stopped[32]; /* no match runs, but one is there in this state ("exited"); "" = none */
};
void up_containers_done(struct up_containers *containers);

/* Every running container that daemons and storage know, without pids. Daemons: $DOCKER_HOST, $CONTAINER_HOST, the system's sockets, the
 * user's sockets ($XDG_RUNTIME_DIR, /run/user/UID; under sudo the invoking user's too). On a recorded tree only its storage is read.
 * Takes at most TIMEOUT_MS in all. 0, also without any; -ENOMEM. RET is to be freed in any case. */
UP_MUST_CHECK int up_containers_list(
	const struct up_source *source, struct up_arena *arena, long timeout_ms, struct up_containers *ret);
/* Those of them that NAME means (up_containers_select), with pids. EXPLAIN: when there is none, also looks for a stopped one. */
UP_MUST_CHECK int up_containers_find(const struct up_source *source, struct up_arena *arena, const char *name, long timeout_ms,
	bool explain, struct up_containers *ret);

/* The pure parts. Append what the text of /containers/json, or of a storage file, tells. 0, -EBADMSG, -ENOMEM. */
UP_MUST_CHECK int up_containers_parse(const char *json, size_t len, int daemon, struct up_containers *ret);
UP_MUST_CHECK int up_containers_parse_storage(const char *json, size_t len, struct up_containers *ret);
/* State.Pid out of the text of /containers/ID/json. 0 or -EBADMSG. */
UP_MUST_CHECK int up_container_parse_pid(const char *json, size_t len, pid_t *ret);
/* Keeps what NAME means and drops the others: a container name, else a service, else at least 4 digits of an id. */
void up_containers_select(struct up_containers *containers, const char *name);

/* Cuts PATH, the cgroup of a process inside container ID, to the container's own group: the deepest directory with the id in its name,
 * with the leaf "container" in which crun sets the limits; what an init inside made below is the container's. false when the id is
 * nowhere in the path: then the process is not known to be the container's. */
bool up_container_cut_path(char *path, const char *id);

#endif
