#include "tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tally_internal.h"
#include "useprobe/thread.h"

#define PASS_NS (100 * UP_NS_PER_MS)
#define SHARE 50 /* a pass takes at most 1/50 of the time */
#define STACK_BYTES ((size_t)256 << 10)

static uint64_t cpu_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * UP_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void take_targets(struct tally *tally)
{
	if (!tally->pending)
		return;
	sockets_free_targets(tally->targets, tally->target_count);
	tally->targets = tally->pending;
	tally->target_count = tally->pending_count;
	tally->pending = NULL;
	tally->owners_ns = 0;
}

static void *tally_main(void *arg)
{
	struct tally *tally = arg;
	uint64_t due_ns = sockets_now_ns(), pass = 0;

	pthread_mutex_lock(&tally->lock);
	while (!tally->stop) {
		const uint64_t now_ns = sockets_now_ns();
		uint64_t cost_ns;

		if (now_ns < due_ns) {
			const struct timespec until = { .tv_sec = (time_t)(due_ns / UP_NS_PER_S),
				.tv_nsec = (long)(due_ns % UP_NS_PER_S) };

			pthread_cond_timedwait(&tally->wake, &tally->lock, &until);
			continue;
		}
		take_targets(tally);
		pthread_mutex_unlock(&tally->lock);
		cost_ns = cpu_ns();
		tally_pass(tally);
		cost_ns = cpu_ns() - cost_ns;
		due_ns = sockets_now_ns() + requests_period_ns(SHARE * cost_ns > PASS_NS ? SHARE * cost_ns : PASS_NS, pass++);
		pthread_mutex_lock(&tally->lock);
	}
	pthread_mutex_unlock(&tally->lock);
	return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct tally *tally)
{
	const int r = up_thread_start(&tally->thread, "up-tally", STACK_BYTES, tally_main, tally);

	tally->started = r == 0;
	return r;
}

void tally_retarget(struct tally *tally, const struct up_targets *targets)
{
	struct up_target *copies = sockets_copy_targets(targets);

	/* Out of memory: the thread goes on with what it has, and the next change tries again. */
	if (!copies)
		return;
	pthread_mutex_lock(&tally->lock);
	sockets_free_targets(tally->pending, tally->pending_count);
	tally->pending = copies;
	tally->pending_count = targets->count;
	pthread_mutex_unlock(&tally->lock);
}

int tally_new(const struct up_source *source, const struct up_targets *targets, struct up_sockets *sockets, struct tally **ret)
{
	pthread_condattr_t condition;
	struct tally *tally;
	int r;

	if (!sockets)
		return -EOPNOTSUPP;
	tally = calloc(1, sizeof(*tally));
	if (!tally)
		return -ENOMEM;
	tally->source = source;
	tally->sockets = sockets;
	pthread_mutex_init(&tally->lock, NULL);
	pthread_condattr_init(&condition);
	pthread_condattr_setclock(&condition, CLOCK_MONOTONIC);
	pthread_cond_init(&tally->wake, &condition);
	pthread_condattr_destroy(&condition);
	r = up_arena_init(&tally->arena);
	if (r == 0)
		r = up_netns_of(source, 0, &tally->own_inode);
	if (r == 0)
		r = up_netns_helper_new(&tally->helper);
	if (r == 0) {
		tally_retarget(tally, targets);
		r = tally->pending ? start_thread(tally) : -ENOMEM;
	}
	if (r < 0) {
		tally_free(tally);
		return r;
	}
	*ret = tally;
	return 0;
}

void tally_free(struct tally *tally)
{
	if (!tally)
		return;
	pthread_mutex_lock(&tally->lock);
	tally->stop = true;
	pthread_cond_broadcast(&tally->wake);
	pthread_mutex_unlock(&tally->lock);
	if (tally->started)
		pthread_join(tally->thread, NULL);
	tally_pass_done(tally);
	up_netns_helper_free(tally->helper);
	sockets_free_targets(tally->pending, tally->pending_count);
	sockets_free_targets(tally->targets, tally->target_count);
	up_arena_done(&tally->arena);
	pthread_cond_destroy(&tally->wake);
	pthread_mutex_destroy(&tally->lock);
	free(tally);
}

static struct up_u64 known(uint64_t n)
{
	return (struct up_u64){ .n = n, .has = true };
}

static void copy_entry(const struct tally_entry *entry, struct up_turns *ret)
{
	*ret = (struct up_turns){
		.uncounted = "sock_diag tells bounds of levels, not single requests",
		.mono_ns = known(entry->mono_ns),
		.area_ns = known(entry->low_ns),
		.area_high_ns = known(entry->high_ns),
		.unread_area_ns = known(entry->unread_ns),
		.connections = entry->connections,
	};
}

int tally_server(struct tally *tally, const struct up_req_key *key, struct up_turns *ret)
{
	int r = -ENODATA;

	pthread_mutex_lock(&tally->lock);
	for (size_t i = 0; i < tally->entry_count && r < 0; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		if (!entry->server || !entry->counted || memcmp(&entry->key, key, sizeof(*key)) != 0)
			continue;
		copy_entry(entry, ret);
		r = 0;
	}
	pthread_mutex_unlock(&tally->lock);
	return r;
}

int tally_peers(struct tally *tally, uint16_t target, struct up_arena *arena, struct up_peer **ret, size_t *ret_count)
{
	struct up_peer *peers = up_arena_alloc(arena, UP_REQ_SLOTS * sizeof(*peers));
	size_t count = 0;

	if (!peers)
		return -ENOSPC;
	pthread_mutex_lock(&tally->lock);
	for (size_t i = 0; i < tally->entry_count; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		if (entry->server || !entry->counted || entry->key.target != target)
			continue;
		peers[count].netns = entry->key.netns;
		requests_endpoint_of(&entry->key, &peers[count].endpoint);
		copy_entry(entry, &peers[count++].turns);
	}
	pthread_mutex_unlock(&tally->lock);
	*ret = peers;
	*ret_count = count;
	return 0;
}

uint64_t tally_dropped(struct tally *tally)
{
	uint64_t dropped;

	pthread_mutex_lock(&tally->lock);
	dropped = tally->dropped;
	pthread_mutex_unlock(&tally->lock);
	return dropped;
}
