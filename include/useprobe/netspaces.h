/* Netspaces: one service for the whole run that looks into network namespaces: what cannot be read through /proc/PID/net. A thread of its
 * own polls; a tick only copies what it found (cumulative counters and integrals).
 *   census  all sockets, 5 times a second, less often when a pass costs more than 1 % of one CPU; sysctls
 *   queues  20 times a second, less often when a round costs more than 1 % of one CPU: packets queued per interface
 * A namespace is watched from the first look at it until nobody looks any more. */
#ifndef UP_NETSPACES_H
#define UP_NETSPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "useprobe/arena.h"
#include "useprobe/census.h"
#include "useprobe/netlimits.h"
#include "useprobe/qdisc.h"
#include "useprobe/source.h"

#define UP_QUEUES_MAX 64 /* interfaces watched in one namespace */
#define UP_LINK_NAME 16 /* IFNAMSIZ */

struct up_netspaces;

/* Starts the service. 0, -EOPNOTSUPP on a recorded tree, -ENOMEM, -EAGAIN. up_netspaces_free ends it; NULL is fine. */
UP_MUST_CHECK int up_netspaces_new(const struct up_source *source, struct up_netspaces **ret);
void up_netspaces_free(struct up_netspaces *spaces);

/* The queue of one interface. */
struct up_link_queue {
	char link[UP_LINK_NAME];
	struct up_qdisc qdisc; /* the root, as of the last poll */
	struct up_u64 area_ns; /* counter: packets queued, integrated */
	uint32_t packets_max; /* highest seen in the window of this tick */
};

/* Connections of one listening port, or those that were opened from here (port 0). */
struct up_port_use {
	uint16_t port;
	struct up_unsent last; /* of the last census */
	struct up_u64 unsent_area_ns, nagle_area_ns, window_area_ns; /* counters: connections, integrated */
	uint32_t unsent_max; /* highest seen in the window of this tick */
};

/* What is known of one namespace. */
struct up_netspace {
	uint64_t inode;
	uint64_t queues_ns; /* monotonic time of the last poll of the queues; 0: none yet */
	uint64_t queue_polls; /* counter */
	int queues_error; /* -errno of the last poll */
	struct up_link_queue *queues; /* [queue_count], borrowed from the arena */
	size_t queue_count, more_queues;
	uint64_t census_ns; /* monotonic time of the last census; 0: none yet */
	uint64_t censuses; /* counter */
	uint64_t census_cost_ns; /* CPU time of the last one */
	int census_error; /* -errno of the last one */
	uint32_t sockets; /* in the last one */
	struct up_port_use *ports; /* [port_count], borrowed from the arena; the first one is port 0 */
	size_t port_count, more_ports;
	struct up_destination top[UP_CENSUS_TOP]; /* [top_count] destinations with most ports, fullest first */
	size_t top_count, destination_count;
	uint32_t more_sockets; /* whose destination did not fit */
	const struct up_netlimits *limits; /* borrowed from the arena */
};

/* Copies what is known at this TICK of the namespace of PID (0: the probe's own). The first look enters the namespace and polls once.
 * 0; -ENOENT: no such process; -EACCES, -EPERM with REASON: what right is missing; -ENOSPC: too many namespaces. */
UP_MUST_CHECK int up_netspaces_look(struct up_netspaces *spaces, pid_t pid, uint64_t tick, struct up_arena *arena,
	struct up_netspace *ret, char *reason, size_t reason_size);

#endif
