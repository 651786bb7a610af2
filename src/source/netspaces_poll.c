/* The thread of the service: dumps outside of the lock, folds inside. */
#include "netspaces_internal.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define QUEUES_NS (50 * UP_NS_PER_MS)
#define CENSUS_NS (500 * UP_NS_PER_MS) /* each walks the whole hash of established sockets, about 2 ms on a machine of 24 GiB */
#define SHARE 100 /* polling takes at most 1/100 of the time */
#define TICKS_KEPT 2 /* a namespace nobody asked for is given up: our sockets would keep it alive */

struct gather {
	const struct netspaces_space *space;
	struct netspaces_round *round;
};

static int take_queue(void *ctx, const struct up_qdisc *qdisc)
{
	const struct gather *gather = ctx;
	struct netspaces_round *round = gather->round;
	struct ifreq request = { .ifr_ifindex = (int)qdisc->ifindex };

	/* An interface that is down has "noop", which queues nothing and counts nothing. */
	if (qdisc->parent != UP_QDISC_ROOT || strcmp(qdisc->kind, "noop") == 0)
		return 0;
	if (round->count == UP_QUEUES_MAX) {
		round->more++;
		return 0;
	}
	/* Any socket knows the interfaces of its own namespace (net/socket.c, sock_do_ioctl). It may have gone since. */
	if (ioctl(gather->space->route.fd_plus_1 - 1, SIOCGIFNAME, &request) < 0)
		return 0;
	round->queues[round->count] = (struct up_link_queue){ .qdisc = *qdisc };
	memcpy(round->queues[round->count].link, request.ifr_name, UP_LINK_NAME - 1);
	round->count++;
	return 0;
}

int netspaces_dump_queues(struct netspaces_space *space, struct netspaces_round *round)
{
	struct gather gather = { .space = space, .round = round };

	round->count = round->more = 0;
	return up_qdisc_dump(&space->route, take_queue, &gather);
}

/* The same queue: a qdisc that was replaced counts from zero. */
static bool same_queue(const struct up_link_queue *a, const struct up_link_queue *b)
{
	return a->qdisc.ifindex == b->qdisc.ifindex && a->qdisc.handle == b->qdisc.handle &&
	       strcmp(a->qdisc.kind, b->qdisc.kind) == 0;
}

/* Forgets queues that are not in ROUND, so that new ones find room. */
static void drop_queues(struct netspaces_space *space, const struct netspaces_round *round)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->queue_count; i++) {
		bool there = false;

		for (size_t n = 0; n < round->count && !there; n++)
			there = same_queue(&space->queues[i].shared, &round->queues[n]);
		if (there)
			space->queues[kept++] = space->queues[i];
	}
	space->queue_count = kept;
}

/* Between two polls the length is taken to go straight from one to the other. */
static void fold_queue(struct netspaces_queue *queue, const struct up_link_queue *now, uint64_t dt_ns)
{
	struct up_link_queue *shared = &queue->shared;

	shared->area_ns.n += dt_ns * (shared->qdisc.queued_packets.n + now->qdisc.queued_packets.n) / 2;
	shared->area_ns.has = now->qdisc.queued_packets.has;
	shared->qdisc = now->qdisc;
	memcpy(shared->link, now->link, sizeof(shared->link)); /* it may have been renamed */
	if (now->qdisc.queued_packets.n > queue->window_max)
		queue->window_max = (uint32_t)now->qdisc.queued_packets.n;
}

void netspaces_fold_queues(struct netspaces_space *space, const struct netspaces_round *round, uint64_t now_ns)
{
	const uint64_t dt_ns = space->queues_ns && now_ns > space->queues_ns ? now_ns - space->queues_ns : 0;

	drop_queues(space, round);
	for (size_t n = 0; n < round->count; n++) {
		const struct up_link_queue *now = &round->queues[n];
		size_t i = 0;

		while (i < space->queue_count && !same_queue(&space->queues[i].shared, now))
			i++;
		/* A new one: what it held before it was seen belongs to no window. */
		if (i == space->queue_count) {
			space->queues[space->queue_count++] = (struct netspaces_queue){ .shared = *now };
			fold_queue(&space->queues[i], now, 0);
		} else {
			fold_queue(&space->queues[i], now, dt_ns);
		}
	}
	space->more_queues = round->more;
	space->queues_ns = now_ns;
	space->queue_polls++;
}

void netspaces_close(struct netspaces_space *space)
{
	if (!space)
		return;
	up_netlink_close(&space->route);
	netspaces_close_census(space);
	free(space);
}

/* Takes out what nobody looks at. With the lock held; what is taken out is closed by the caller without it. */
static size_t take_unused(struct up_netspaces *spaces, struct netspaces_space *ret[UP_NETNS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < spaces->count;) {
		if (spaces->items[i]->asked_tick + TICKS_KEPT >= spaces->tick) {
			i++;
			continue;
		}
		ret[count++] = spaces->items[i];
		spaces->items[i] = spaces->items[--spaces->count];
	}
	return count;
}

static void poll_queues(struct up_netspaces *spaces, struct netspaces_space *space, struct netspaces_round *round)
{
	const int r = netspaces_dump_queues(space, round);

	pthread_mutex_lock(&spaces->lock);
	/* A dump that failed leaves queues_ns where it is: the rows turn stale. */
	space->queues_error = r;
	if (r == 0)
		netspaces_fold_queues(space, round, netspaces_now_ns());
	pthread_mutex_unlock(&spaces->lock);
}

/* The thread's own. */
struct poller {
	struct up_netspaces *spaces;
	struct netspaces_round round;
	struct up_census census;
	uint64_t queues_due_ns, census_due_ns;
};

static uint64_t next_ns(uint64_t begin_ns, uint64_t period_ns, uint64_t cost_ns)
{
	return begin_ns + (SHARE * cost_ns > period_ns ? SHARE * cost_ns : period_ns);
}

static void poll_all(struct poller *poller, uint64_t begin_ns)
{
	struct up_netspaces *spaces = poller->spaces;
	struct netspaces_space *items[UP_NETNS_MAX], *unused[UP_NETNS_MAX];
	size_t count, unused_count;
	uint64_t spent_ns;

	pthread_mutex_lock(&spaces->lock);
	unused_count = take_unused(spaces, unused);
	count = spaces->count;
	memcpy(items, spaces->items, sizeof(items));
	pthread_mutex_unlock(&spaces->lock);
	for (size_t i = 0; i < unused_count; i++)
		netspaces_close(unused[i]);
	spent_ns = netspaces_spent_ns();
	for (size_t i = 0; i < count && begin_ns >= poller->queues_due_ns; i++)
		poll_queues(spaces, items[i], &poller->round);
	if (begin_ns >= poller->queues_due_ns)
		poller->queues_due_ns = next_ns(begin_ns, QUEUES_NS, netspaces_spent_ns() - spent_ns);
	spent_ns = netspaces_spent_ns();
	for (size_t i = 0; i < count && begin_ns >= poller->census_due_ns; i++)
		netspaces_take_census(items[i], &poller->census, &spaces->lock);
	/* Without a namespace nothing was learned of its price. */
	if (count && begin_ns >= poller->census_due_ns)
		poller->census_due_ns = next_ns(begin_ns, CENSUS_NS, netspaces_spent_ns() - spent_ns);
}

void *netspaces_main(void *arg)
{
	struct up_netspaces *spaces = arg;
	struct poller *poller = calloc(1, sizeof(*poller));

	if (!poller)
		return NULL;
	poller->spaces = spaces;
	pthread_mutex_lock(&spaces->lock);
	while (!spaces->stop) {
		const uint64_t now_ns = netspaces_now_ns();
		uint64_t due_ns = poller->queues_due_ns;

		if (spaces->count && poller->census_due_ns < due_ns)
			due_ns = poller->census_due_ns;
		if (now_ns < due_ns) {
			const struct timespec until = { .tv_sec = (time_t)(due_ns / UP_NS_PER_S),
				.tv_nsec = (long)(due_ns % UP_NS_PER_S) };

			pthread_cond_timedwait(&spaces->wake, &spaces->lock, &until);
			continue;
		}
		pthread_mutex_unlock(&spaces->lock);
		poll_all(poller, now_ns);
		pthread_mutex_lock(&spaces->lock);
	}
	pthread_mutex_unlock(&spaces->lock);
	free(poller);
	return NULL;
}
