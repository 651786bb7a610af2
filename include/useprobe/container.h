/* Containers: names, compose services and ids as a Docker-compatible daemon (Docker, Podman) tells them over its unix socket.
 * API: GET /containers/json and GET /containers/ID/json (Docker Engine API v1.24 and later; Podman serves the same). */
#ifndef UP_CONTAINER_H
#define UP_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "useprobe/compiler.h"

#define UP_CONTAINERS_MAX 64

struct up_container {
	char id[80];
	char name[256]; /* without the leading slash */
	char service[256]; /* compose service, "" = none */
	char state[32]; /* "running", "paused", ... */
	pid_t pid; /* its first process; 0 = not asked or not running */
};

struct up_containers {
	struct up_container items[UP_CONTAINERS_MAX];
	size_t count;
	size_t more; /* beyond UP_CONTAINERS_MAX */
	bool service; /* the matches are the replicas of one compose service */
	size_t daemons; /* that answered */
	char error[256]; /* of a daemon that did not, "" = none */
};

/* Asks every daemon found: $DOCKER_HOST, $CONTAINER_HOST, the system's sockets, the user's sockets in $XDG_RUNTIME_DIR. NAME: a container
 * name, else a compose service, else at least 4 digits of an id; NULL lists all running ones. Matches carry their pid. Takes at most
 * TIMEOUT_MS a daemon. 0, also without any match or daemon; -ENOMEM. */
UP_MUST_CHECK int up_containers_find(const char *name, long timeout_ms, struct up_containers *ret);

/* The pure part: picks the matches for NAME out of the text of /containers/json. 0 or -EBADMSG. Pids are not in it. */
UP_MUST_CHECK int up_containers_parse(const char *json, size_t len, const char *name, struct up_containers *ret);
/* State.Pid out of the text of /containers/ID/json. 0 or -EBADMSG. */
UP_MUST_CHECK int up_container_parse_pid(const char *json, size_t len, pid_t *ret);

/* The same search in a thread of its own, for look-ups during a run: a daemon that hangs must not delay a tick. */
struct up_containers_query;
UP_MUST_CHECK int up_containers_query_start(const char *name, long timeout_ms, struct up_containers_query **ret);
/* The result when it is there, else NULL. Borrowed until the query is freed. */
const struct up_containers *up_containers_query_poll(struct up_containers_query *query);
/* Waits for the thread (bounded by the timeouts) and frees. NULL is accepted. */
void up_containers_query_free(struct up_containers_query *query);

#endif
