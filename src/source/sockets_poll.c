/* The poll thread: every 20 ms one dump of the listening sockets of each namespace (20 us each; the kernel walks only its small table
 * of listeners). Bursts that a 1 Hz sample never sees fill an accept queue for tens of milliseconds. */
#include "sockets_internal.h"

#include <stdlib.h>
#include <string.h>

int sockets_known_order(const void *a, const void *b)
{
	const struct sockets_known *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->cookie > y->cookie) - (x->cookie < y->cookie);
}

struct sockets_known *sockets_known_find(struct up_sockets *sockets, uint64_t inode, uint64_t cookie)
{
	const struct sockets_known key = { .inode = inode, .cookie = cookie };

	if (!sockets->known_count)
		return NULL;
	return bsearch(&key, sockets->known, sockets->known_count, sizeof(key), sockets_known_order);
}

static void fold_row(struct sockets_group *group, struct sockets_known *known, const struct sockets_row *row)
{
	const double ratio = row->has_backlog ? (double)row->queue / ((double)row->backlog + 1) : 0;

	group->queue_sum += row->queue;
	group->capacity_sum += row->has_backlog ? row->backlog + 1 : 0;
	group->socket_count++;
	if (ratio > group->fullest)
		group->fullest = ratio;
	if (!row->has_drops)
		return;
	/* What a socket dropped before it was first seen belongs to no window. */
	group->shared.drops.has = true;
	if (known->drops_known && row->drops > known->drops_last)
		group->shared.drops.n += row->drops - known->drops_last;
	known->drops_last = row->drops;
	known->drops_known = true;
}

/* Between two polls the depth is taken to go straight from one to the other. */
static void fold_group(struct sockets_group *group, uint64_t now_ns)
{
	struct up_listener *shared = &group->shared;

	if (shared->mono_ns && now_ns > shared->mono_ns && shared->sockets)
		shared->queue_area_ns.n += (now_ns - shared->mono_ns) * ((uint64_t)shared->queue + group->queue_sum) / 2;
	shared->queue_area_ns.has = shared->polls.has = true;
	shared->polls.n++;
	shared->mono_ns = now_ns;
	shared->queue = group->queue_sum;
	shared->capacity = group->capacity_sum;
	shared->sockets = group->socket_count;
	if (group->queue_sum > group->window_max)
		group->window_max = group->queue_sum;
	if (group->fullest > group->window_fullest)
		group->window_fullest = group->fullest;
}

bool sockets_fold(struct up_sockets *sockets, uint64_t inode, const struct sockets_rows *rows, uint64_t now_ns)
{
	bool stranger = false;

	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		struct sockets_group *group = &sockets->groups[i];

		group->queue_sum = group->capacity_sum = group->socket_count = 0;
		group->fullest = 0;
	}
	for (size_t i = 0; i < rows->count; i++) {
		struct sockets_known *known = sockets_known_find(sockets, inode, rows->items[i].cookie);

		if (!known)
			stranger = true;
		else if (known->mask)
			fold_row(&sockets->groups[known->group], known, &rows->items[i]);
	}
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		struct sockets_group *group = &sockets->groups[i];

		if (group->used && group->shared.netns == inode)
			fold_group(group, now_ns);
	}
	return stranger;
}

static bool watched(const struct up_sockets *sockets, uint64_t inode)
{
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++)
		if (sockets->groups[i].used && sockets->groups[i].shared.netns == inode)
			return true;
	return false;
}

/* One round. Namespaces without a listener of ours are looked at only now and then, by the search. */
static void poll_spaces(struct up_sockets *sockets, struct sockets_rows *rows)
{
	pthread_mutex_lock(&sockets->space_lock);
	for (size_t i = 0; i < sockets->space_count; i++) {
		struct sockets_space *space = &sockets->spaces[i];
		bool go;

		pthread_mutex_lock(&sockets->lock);
		go = watched(sockets, space->inode);
		pthread_mutex_unlock(&sockets->lock);
		/* A dump that failed leaves mono_ns where it is: the row turns stale. */
		if (!go || sockets_dump_listeners(space, SOCKETS_POLL, rows) < 0)
			continue;
		pthread_mutex_lock(&sockets->lock);
		if (sockets_fold(sockets, space->inode, rows, sockets_now_ns()) && !sockets->find_now) {
			sockets->find_now = true;
			pthread_cond_broadcast(&sockets->wake);
		}
		pthread_mutex_unlock(&sockets->lock);
	}
	pthread_mutex_unlock(&sockets->space_lock);
}

void *sockets_poll_main(void *arg)
{
	struct up_sockets *sockets = arg;
	struct sockets_rows rows = { .items = malloc(SOCKETS_ROWS_MAX * sizeof(*rows.items)) };
	uint64_t deadline_ns = sockets_now_ns();

	if (!rows.items)
		return NULL;
	pthread_mutex_lock(&sockets->lock);
	while (!sockets->stop) {
		const uint64_t now_ns = sockets_now_ns();

		if (now_ns < deadline_ns) {
			const struct timespec until = { .tv_sec = (time_t)(deadline_ns / UP_NS_PER_S),
				.tv_nsec = (long)(deadline_ns % UP_NS_PER_S) };

			pthread_cond_timedwait(&sockets->wake, &sockets->lock, &until);
			continue;
		}
		/* Rounds that were missed are not made up for. */
		deadline_ns += ((now_ns - deadline_ns) / SOCKETS_POLL_NS + 1) * SOCKETS_POLL_NS;
		pthread_mutex_unlock(&sockets->lock);
		poll_spaces(sockets, &rows);
		pthread_mutex_lock(&sockets->lock);
	}
	pthread_mutex_unlock(&sockets->lock);
	free(rows.items);
	return NULL;
}
