#include "useprobe/sockets.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sockets_find.h"
#include "useprobe/thread.h"

#define STACK_BYTES ((size_t)256 << 10)

static const char *const owner_names[] = {
	[UP_OWNER_NONE] = "none",
	[UP_OWNER_HOST] = "host",
	[UP_OWNER_NETNS] = "netns",
	[UP_OWNER_CGROUP_ID] = "cgroup-id",
	[UP_OWNER_TASK_FILE] = "task-file",
	[UP_OWNER_FD] = "fd",
};

const char *up_owner_name(enum up_owner owner)
{
	return owner_names[owner];
}

void sockets_free_targets(struct up_target *copies, size_t count)
{
	for (size_t i = 0; copies && i < count; i++)
		for (size_t h = 0; h < UP_HIERARCHIES_MAX; h++)
			free(copies[i].cgroup.path[h]);
	free(copies);
}

struct up_target *sockets_copy_targets(const struct up_targets *targets)
{
	struct up_target *copies = calloc(targets->count + 1, sizeof(*copies));
	bool whole = copies != NULL;

	for (size_t i = 0; whole && i < targets->count; i++) {
		copies[i] = targets->items[i];
		for (size_t h = 0; h < UP_HIERARCHIES_MAX; h++) {
			const char *path = targets->items[i].cgroup.path[h];

			copies[i].cgroup.path[h] = path ? strdup(path) : NULL;
			whole &= !path || copies[i].cgroup.path[h];
		}
	}
	if (!whole) {
		sockets_free_targets(copies, targets->count);
		return NULL;
	}
	return copies;
}

void up_sockets_retarget(struct up_sockets *sockets, const struct up_targets *targets)
{
	struct up_target *copies = sockets_copy_targets(targets);

	/* Out of memory: the threads go on with what they have, and the next change tries again. */
	if (!copies)
		return;
	pthread_mutex_lock(&sockets->lock);
	sockets_free_targets(sockets->pending, sockets->pending_count);
	sockets->pending = copies;
	sockets->pending_count = targets->count;
	sockets->find_now = true;
	pthread_cond_broadcast(&sockets->wake);
	pthread_mutex_unlock(&sockets->lock);
}

void up_sockets_wait(struct up_sockets *sockets, uint64_t timeout_ns)
{
	const uint64_t deadline_ns = sockets_now_ns() + timeout_ns;
	const struct timespec step = { .tv_nsec = 5 * (long)UP_NS_PER_MS };
	bool done = false;

	while (!done && sockets_now_ns() < deadline_ns) {
		pthread_mutex_lock(&sockets->lock);
		done = sockets->found_once;
		pthread_mutex_unlock(&sockets->lock);
		if (!done)
			nanosleep(&step, NULL);
	}
}

/* Signals are the main thread's: its wait has to be the one that is interrupted. */
static int start_threads(struct up_sockets *sockets)
{
	int r = up_netns_helper_new(&sockets->helper);

	if (r < 0)
		return r;
	r = up_thread_start(&sockets->find_thread, "up-find", STACK_BYTES, sockets_find_main, sockets->finder);
	sockets->find_started = r == 0;
	if (r == 0) {
		r = up_thread_start(&sockets->poll_thread, "up-listen", STACK_BYTES, sockets_poll_main, sockets);
		sockets->poll_started = r == 0;
	}
	return r;
}

int up_sockets_new(const struct up_source *source, const struct up_targets *targets, struct up_sockets **ret)
{
	struct up_sockets *sockets;
	pthread_condattr_t attr;
	sigset_t all, before;
	int r;

	if (source->recorded)
		return -EOPNOTSUPP;
	sockets = calloc(1, sizeof(*sockets));
	if (!sockets)
		return -ENOMEM;
	sockets->source = source;
	sockets->targets = targets;
	sockets->window_tick = UINT64_MAX;
	pthread_mutex_init(&sockets->space_lock, NULL);
	pthread_mutex_init(&sockets->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sockets->wake, &attr);
	pthread_condattr_destroy(&attr);
	sockets->groups = calloc(UP_LISTENERS_MAX, sizeof(*sockets->groups));
	r = sockets->groups ? finder_new(sockets, &sockets->finder) : -ENOMEM;
	if (r == 0) {
		up_sockets_retarget(sockets, targets);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		r = sockets->pending ? start_threads(sockets) : -ENOMEM;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (r < 0) {
		up_sockets_free(sockets);
		return r;
	}
	*ret = sockets;
	return 0;
}

void up_sockets_free(struct up_sockets *sockets)
{
	if (!sockets)
		return;
	pthread_mutex_lock(&sockets->lock);
	sockets->stop = true;
	pthread_cond_broadcast(&sockets->wake);
	pthread_mutex_unlock(&sockets->lock);
	if (sockets->poll_started)
		pthread_join(sockets->poll_thread, NULL);
	if (sockets->find_started)
		pthread_join(sockets->find_thread, NULL);
	finder_free(sockets->finder);
	up_netns_helper_free(sockets->helper);
	for (size_t i = 0; i < sockets->space_count; i++)
		sockets_space_close(&sockets->spaces[i]);
	sockets_free_targets(sockets->pending, sockets->pending_count);
	free(sockets->known);
	free(sockets->groups);
	pthread_cond_destroy(&sockets->wake);
	pthread_mutex_destroy(&sockets->lock);
	pthread_mutex_destroy(&sockets->space_lock);
	free(sockets);
}

/* Bit of TARGET in masks; UP_TARGETS_MAX for the host. */
static unsigned bit_of(const struct up_sockets *sockets, const struct up_target *target)
{
	return target ? (unsigned)(target - sockets->targets->items) : UP_TARGETS_MAX;
}

/* A new tick closes the window of the maxima and opens the next with what waits now. */
static void roll_window(struct up_sockets *sockets, uint64_t tick)
{
	if (sockets->window_tick == tick)
		return;
	sockets->window_tick = tick;
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		struct sockets_group *group = &sockets->groups[i];

		group->shared.queue_max = group->window_max;
		group->shared.fullest_ratio = group->window_fullest;
		group->window_max = group->shared.queue;
		group->window_fullest = 0;
	}
}

/* True when the same address of the same target is there in another namespace too. */
static bool is_ambiguous(const struct up_sockets *sockets, const struct sockets_group *group, uint32_t mask)
{
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		const struct sockets_group *other = &sockets->groups[i];

		if (other != group && other->used && (other->mask & mask) &&
			up_endpoint_equal(&other->shared.endpoint, &group->shared.endpoint))
			return true;
	}
	return false;
}

static void copy_group(
	const struct up_sockets *sockets, const struct sockets_group *group, uint32_t mask, struct up_listener *ret)
{
	*ret = group->shared;
	ret->owner = group->owner;
	if (is_ambiguous(sockets, group, mask))
		snprintf(ret->name + strlen(ret->name), sizeof(ret->name) - strlen(ret->name), "@%llu",
			(unsigned long long)group->shared.netns);
}

int up_sockets_listeners(struct up_sockets *sockets, const struct up_target *target, uint64_t tick, struct up_arena *arena,
	struct up_listener **ret, size_t *ret_count)
{
	const uint32_t mask = 1u << bit_of(sockets, target);
	struct up_listener *copies = up_arena_alloc(arena, UP_LISTENERS_MAX * sizeof(*copies));
	size_t count = 0;
	int r = 0;

	if (!copies)
		return -ENOSPC;
	pthread_mutex_lock(&sockets->lock);
	roll_window(sockets, tick);
	if (!sockets->found_once)
		r = -EAGAIN;
	for (size_t i = 0; r == 0 && i < UP_LISTENERS_MAX; i++) {
		const struct sockets_group *group = &sockets->groups[i];

		if (group->used && (group->mask & mask) && group->shared.sockets)
			copy_group(sockets, group, mask, &copies[count++]);
	}
	pthread_mutex_unlock(&sockets->lock);
	if (r < 0)
		return r;
	*ret = copies;
	*ret_count = count;
	return 0;
}

int up_sockets_spaces(struct up_sockets *sockets, const struct up_target *target, struct up_arena *arena, struct up_space **ret,
	size_t *ret_count)
{
	const uint32_t mask = 1u << bit_of(sockets, target);
	struct up_space *copies = up_arena_alloc(arena, UP_NETNS_MAX * sizeof(*copies));
	size_t count = 0;

	if (!copies)
		return -ENOSPC;
	pthread_mutex_lock(&sockets->lock);
	for (size_t i = 0; i < sockets->view_count; i++)
		if (sockets->view[i].mask & mask)
			copies[count++] = sockets->view[i].space;
	pthread_mutex_unlock(&sockets->lock);
	*ret = copies;
	*ret_count = count;
	return 0;
}

size_t sockets_all_spaces(struct up_sockets *sockets, struct up_space spaces[UP_NETNS_MAX], uint32_t masks[UP_NETNS_MAX])
{
	size_t count;

	pthread_mutex_lock(&sockets->lock);
	count = sockets->view_count;
	for (size_t i = 0; i < count; i++) {
		spaces[i] = sockets->view[i].space;
		masks[i] = sockets->view[i].mask;
	}
	pthread_mutex_unlock(&sockets->lock);
	return count;
}

size_t sockets_all_listeners(struct up_sockets *sockets, struct sockets_listener ret[UP_LISTENERS_MAX])
{
	size_t count = 0;

	pthread_mutex_lock(&sockets->lock);
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		const struct sockets_group *group = &sockets->groups[i];

		if (group->used)
			ret[count++] = (struct sockets_listener){ group->shared.netns, group->shared.endpoint };
	}
	pthread_mutex_unlock(&sockets->lock);
	return count;
}

bool up_sockets_reason(struct up_sockets *sockets, const struct up_target *target, char *ret, size_t size)
{
	const unsigned bit = bit_of(sockets, target);
	bool any;

	pthread_mutex_lock(&sockets->lock);
	any = *sockets->reasons[bit] != '\0';
	if (any)
		snprintf(ret, size, "%s", sockets->reasons[bit]);
	pthread_mutex_unlock(&sockets->lock);
	return any;
}
