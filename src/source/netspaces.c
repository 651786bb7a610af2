#include "useprobe/netspaces.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netspaces_internal.h"
#include "useprobe/thread.h"

#define STACK_BYTES ((size_t)256 << 10)

/* Signals are the main thread's: its wait has to be the one that is interrupted. */
static int start_thread(struct up_netspaces *spaces)
{
	int r = up_netns_helper_new(&spaces->helper);

	if (r == 0)
		r = up_thread_start(&spaces->thread, "up-network", STACK_BYTES, netspaces_main, spaces);
	spaces->started = r == 0;
	return r;
}

int up_netspaces_new(const struct up_source *source, struct up_netspaces **ret)
{
	struct up_netspaces *spaces;
	pthread_condattr_t attr;
	int r;

	if (source->recorded)
		return -EOPNOTSUPP;
	spaces = calloc(1, sizeof(*spaces));
	if (!spaces)
		return -ENOMEM;
	spaces->source = source;
	pthread_mutex_init(&spaces->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&spaces->wake, &attr);
	pthread_condattr_destroy(&attr);
	r = start_thread(spaces);
	if (r < 0) {
		up_netspaces_free(spaces);
		return r;
	}
	*ret = spaces;
	return 0;
}

void up_netspaces_free(struct up_netspaces *spaces)
{
	if (!spaces)
		return;
	pthread_mutex_lock(&spaces->lock);
	spaces->stop = true;
	pthread_cond_broadcast(&spaces->wake);
	pthread_mutex_unlock(&spaces->lock);
	if (spaces->started)
		pthread_join(spaces->thread, NULL);
	up_netns_helper_free(spaces->helper);
	for (size_t i = 0; i < spaces->count; i++)
		netspaces_close(spaces->items[i]);
	pthread_cond_destroy(&spaces->wake);
	pthread_mutex_destroy(&spaces->lock);
	free(spaces);
}

/* Runs inside the namespace, in the helper thread. */
static int open_inside(void *arg)
{
	struct netspaces_space *space = arg;

	const int r = up_netlink_open(&space->route, NETLINK_ROUTE);

	return r < 0 ? r : netspaces_open_census(space);
}

/* Enters the namespace of PID and polls it once, so that the next tick has a growth to show. */
static int enter(struct up_netspaces *spaces, pid_t pid, uint64_t inode, struct netspaces_space **ret)
{
	struct netspaces_space *space = calloc(1, sizeof(*space));
	struct netspaces_round *round = malloc(sizeof(*round));
	int r = space && round ? 0 : -ENOMEM;

	for (int i = 0; space && i < UP_NETLIMIT_COUNT; i++)
		space->limit_fds[i] = -1;
	if (r == 0) {
		space->inode = inode;
		space->window_tick = UINT64_MAX;
		r = up_netns_run(spaces->helper, pid, inode, open_inside, space);
	}
	if (r == 0) {
		space->queues_error = netspaces_dump_queues(space, round);
		if (space->queues_error == 0)
			netspaces_fold_queues(space, round, netspaces_now_ns());
		netspaces_read_limits(space, &space->limits);
	}
	free(round);
	if (r < 0) {
		netspaces_close(space);
		return r;
	}
	*ret = space;
	return 0;
}

static struct netspaces_space *find(struct up_netspaces *spaces, uint64_t inode)
{
	for (size_t i = 0; i < spaces->count; i++)
		if (spaces->items[i]->inode == inode)
			return spaces->items[i];
	return NULL;
}

/* A new tick closes the window of the maxima and opens the next with what waits now. */
static void roll_window(struct netspaces_space *space, uint64_t tick)
{
	if (space->window_tick == tick)
		return;
	space->window_tick = tick;
	for (size_t i = 0; i < space->queue_count; i++) {
		struct netspaces_queue *queue = &space->queues[i];

		queue->shared.packets_max = queue->window_max;
		queue->window_max = (uint32_t)queue->shared.qdisc.queued_packets.n;
	}
	for (size_t i = 0; i < space->port_count; i++) {
		space->ports[i].shared.unsent_max = space->ports[i].window_max;
		space->ports[i].window_max = space->ports[i].shared.last.unsent;
	}
}

/* Room for a copy. */
struct copies {
	struct up_link_queue *queues;
	struct up_port_use *ports;
	struct up_netlimits *limits;
};

static void copy_space(const struct netspaces_space *space, const struct copies *copies, struct up_netspace *ret)
{
	*ret = (struct up_netspace){
		.inode = space->inode,
		.queues_ns = space->queues_ns,
		.queue_polls = space->queue_polls,
		.queues_error = space->queues_error,
		.queues = copies->queues,
		.queue_count = space->queue_count,
		.more_queues = space->more_queues,
		.census_ns = space->census_ns,
		.censuses = space->censuses,
		.census_cost_ns = space->census_cost_ns,
		.census_error = space->census_error,
		.sockets = space->sockets,
		.ports = copies->ports,
		.port_count = space->port_count,
		.more_ports = space->more_ports,
		.top_count = space->top_count,
		.destination_count = space->destination_count,
		.more_sockets = space->more_sockets,
		.limits = copies->limits,
	};
	memcpy(ret->top, space->top, sizeof(ret->top));
	*copies->limits = space->limits;
	for (size_t i = 0; i < space->queue_count; i++)
		copies->queues[i] = space->queues[i].shared;
	for (size_t i = 0; i < space->port_count; i++)
		copies->ports[i] = space->ports[i].shared;
}

static int explain(int error, pid_t pid, char *reason, size_t size)
{
	if (error == -EPERM)
		snprintf(reason, size, "CAP_SYS_ADMIN is missing: the network namespace of process %d cannot be entered",
			(int)pid);
	else if (error == -EACCES)
		snprintf(
			reason, size, "CAP_SYS_PTRACE is missing: the network namespace of process %d may not be read", (int)pid);
	else
		snprintf(reason, size, "network namespace of process %d: %s", (int)pid, strerror(-error));
	return error;
}

int up_netspaces_look(struct up_netspaces *spaces, pid_t pid, uint64_t tick, struct up_arena *arena, struct up_netspace *ret,
	char *reason, size_t reason_size)
{
	const struct copies copies = {
		.queues = up_arena_alloc(arena, UP_QUEUES_MAX * sizeof(*copies.queues)),
		.ports = up_arena_alloc(arena, UP_CENSUS_PORTS * sizeof(*copies.ports)),
		.limits = up_arena_alloc(arena, sizeof(*copies.limits)),
	};
	struct netspaces_space *space = NULL;
	uint64_t inode, own;
	int r = copies.queues && copies.ports && copies.limits ? up_netns_of(spaces->source, pid, &inode) : -ENOSPC;

	if (r < 0)
		return explain(r, pid, reason, reason_size);
	/* The probe's own namespace needs no right. */
	if (up_netns_of(spaces->source, 0, &own) == 0 && own == inode)
		pid = 0;
	pthread_mutex_lock(&spaces->lock);
	spaces->tick = tick;
	space = find(spaces, inode);
	if (!space) {
		const bool room = spaces->count < UP_NETNS_MAX;

		pthread_mutex_unlock(&spaces->lock);
		r = room ? enter(spaces, pid, inode, &space) : -ENOSPC;
		if (r < 0)
			return explain(r, pid, reason, reason_size);
		space->asked_tick = tick;
		pthread_mutex_lock(&spaces->lock);
		/* Only the tick adds, so there is still room. */
		spaces->items[spaces->count++] = space;
	}
	space->asked_tick = tick;
	roll_window(space, tick);
	copy_space(space, &copies, ret);
	pthread_mutex_unlock(&spaces->lock);
	return 0;
}
