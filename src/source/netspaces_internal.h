/* Inside of the service of network namespaces: what the tick and its thread share. */
#ifndef UP_NETSPACES_INTERNAL_H
#define UP_NETSPACES_INTERNAL_H

#include <pthread.h>

#include "useprobe/clock.h"
#include "useprobe/netns.h"
#include "useprobe/netspaces.h"

/* Result of one dump. */
struct netspaces_round {
	struct up_link_queue queues[UP_QUEUES_MAX];
	size_t count, more;
};

struct netspaces_queue {
	struct up_link_queue shared; /* packets_max is that of the closed window */
	uint32_t window_max;
};

struct netspaces_port {
	struct up_port_use shared; /* unsent_max is that of the closed window */
	uint32_t window_max;
};

/* One namespace. Made by the tick, removed by the thread; the sockets are the thread's once it is in the table. */
struct netspaces_space {
	uint64_t inode;
	struct up_netlink route;
	struct up_netlink diag;
	int limit_fds[UP_NETLIMIT_COUNT]; /* -1: not there */
	/* Under lock. */
	uint64_t asked_tick;
	uint64_t window_tick; /* tick whose maxima are in shared.packets_max */
	struct netspaces_queue queues[UP_QUEUES_MAX];
	size_t queue_count, more_queues;
	uint64_t queues_ns, queue_polls;
	int queues_error;
	struct netspaces_port ports[UP_CENSUS_PORTS];
	size_t port_count, more_ports;
	struct up_destination top[UP_CENSUS_TOP];
	size_t top_count, destination_count;
	uint32_t more_sockets, sockets;
	uint64_t census_ns, censuses, census_cost_ns;
	int census_error;
	struct up_netlimits limits;
};

struct up_netspaces {
	const struct up_source *source; /* borrowed */
	struct up_netns_helper *helper;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* all below; held for copies only */
	pthread_cond_t wake; /* monotonic clock */
	bool stop;
	uint64_t tick;
	struct netspaces_space *items[UP_NETNS_MAX]; /* [count], owned */
	size_t count;
};

static inline uint64_t netspaces_now_ns(void)
{
	return up_clock_real.mono_ns(up_clock_real.self);
}

/* netspaces_poll.c */
void *netspaces_main(void *arg);
/* Dumps the queues of SPACE into ROUND. 0 or -errno. No lock. */
int netspaces_dump_queues(struct netspaces_space *space, struct netspaces_round *round);
/* Folds a dump made at NOW_NS into SPACE. With the lock held. Pure. */
void netspaces_fold_queues(struct netspaces_space *space, const struct netspaces_round *round, uint64_t now_ns);
void netspaces_close(struct netspaces_space *space);

/* netspaces_census.c. CPU time of the calling thread. */
uint64_t netspaces_spent_ns(void);
/* Opens what a census reads; called inside the namespace. 0 or -errno; sysctls that are not there are left out. */
int netspaces_open_census(struct netspaces_space *space);
void netspaces_close_census(struct netspaces_space *space);
/* Reads the sysctls. No lock. */
void netspaces_read_limits(const struct netspaces_space *space, struct up_netlimits *ret);
/* One census of SPACE into it. Takes LOCK for the result only. */
void netspaces_take_census(struct netspaces_space *space, struct up_census *census, pthread_mutex_t *lock);
/* Folds a census made at NOW_NS into SPACE. With the lock held. Pure. */
void netspaces_fold_census(struct netspaces_space *space, const struct up_census *census, uint64_t now_ns);

#endif
