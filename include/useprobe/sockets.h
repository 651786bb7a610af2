/* Sockets: one service for the whole run that watches the TCP sockets of all targets in their own network namespaces. Threads of its
 * own poll; a tick only copies what they found (cumulative counters and integrals), so it is never delayed.
 *   find    every 2 s, or at once when something new shows up: namespaces of the targets, whose listener is whose, half-open connections
 *   poll    50 times a second: depth and drops of every listener of the targets
 * Without targets the service watches the probe's own namespace as a whole. */
#ifndef UP_SOCKETS_H
#define UP_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/arena.h"
#include "useprobe/scan.h"
#include "useprobe/sock_diag.h"
#include "useprobe/source.h"
#include "useprobe/target.h"

#define UP_LISTENERS_MAX 256 /* listening addresses watched in one run */
#define UP_LISTENER_NAME 96

struct up_sockets;

/* Starts the service for TARGETS (none: the probe's own namespace). 0, -EOPNOTSUPP on a recorded tree, -ENOMEM, -EAGAIN. */
UP_MUST_CHECK int up_sockets_new(const struct up_source *source, const struct up_targets *targets, struct up_sockets **ret);
void up_sockets_free(struct up_sockets *sockets);
/* Waits until the first search is done, TIMEOUT_NS at most: what is attached later then knows the listeners from its first event on. */
void up_sockets_wait(struct up_sockets *sockets, uint64_t timeout_ns);
/* Targets appeared, came back or went. Called by the tick before any read. */
void up_sockets_retarget(struct up_sockets *sockets, const struct up_targets *targets);

/* How a listener was found to be the target's. */
enum up_owner {
	UP_OWNER_NONE,
	UP_OWNER_HOST, /* no target: every listener of the namespace */
	UP_OWNER_NETNS, /* the namespace holds processes of this target only */
	UP_OWNER_CGROUP_ID, /* v2 id of the socket is the target's or a descendant's */
	UP_OWNER_TASK_FILE, /* a process of the target holds it open (iter/task_file) */
	UP_OWNER_FD, /* the same by /proc/PID/fd */
};
const char *up_owner_name(enum up_owner owner);

/* One listening address of one target. SO_REUSEPORT sockets of one address are one listener: queues and limits are added up. */
struct up_listener {
	char name[UP_LISTENER_NAME]; /* "tcp:0.0.0.0:8080"; with "@INODE" of the namespace when the target has several */
	struct up_endpoint endpoint;
	uint64_t netns;
	enum up_owner owner;
	uint64_t first_ns; /* when counting began; another one = another listener of this name */
	uint64_t mono_ns; /* of the last poll */
	struct up_u64 queue_area_ns; /* counter: connections waiting to be accepted, integrated */
	struct up_u64 polls; /* counter */
	struct up_u64 drops; /* counter: connections its sockets dropped (sk_drops); absent without sock_diag */
	uint32_t sockets; /* that share the address */
	uint32_t queue; /* connections waiting now */
	uint32_t queue_max; /* highest seen in the window of this tick */
	uint32_t
		capacity; /* sum of backlog + 1: the kernel's test is "longer than the backlog" (sk_acceptq_is_full); 0 = not known */
	double fullest_ratio; /* queue / capacity of the fullest single socket in the window */
	struct up_u64 somaxconn; /* of the namespace */
	struct up_u64 syn_queue; /* gauge: half-open connections at the last search */
};

/* Copies the listeners of TARGET (NULL: the host) at this TICK into ARENA. Repeated calls in one tick give the same maxima.
 * 0 with *ret (borrowed from ARENA) and *ret_count, which may be 0; -EAGAIN while the first search is under way; -ENOENT when the
 * target is not watched. */
int up_sockets_listeners(struct up_sockets *sockets, const struct up_target *target, uint64_t tick, struct up_arena *arena,
	struct up_listener **ret, size_t *ret_count);

/* A network namespace with processes of a target. */
struct up_space {
	uint64_t inode;
	pid_t pid; /* a process inside; 0: the probe's own namespace */
	bool is_private; /* no process of anybody else lives there */
};
/* The namespaces of TARGET (NULL: the host), borrowed from ARENA. 0, -EAGAIN, -ENOSPC. */
int up_sockets_spaces(struct up_sockets *sockets, const struct up_target *target, struct up_arena *arena, struct up_space **ret,
	size_t *ret_count);

/* What keeps the service from seeing all of TARGET ("CAP_SYS_PTRACE is missing: ..."), copied into RET; false when nothing does. */
bool up_sockets_reason(struct up_sockets *sockets, const struct up_target *target, char *ret, size_t size);

#endif
