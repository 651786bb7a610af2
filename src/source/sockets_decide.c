/* The find thread's book-keeping: processes of the targets, decisions about listening sockets, and how they reach the others. */
#include "sockets_find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int finder_new(struct up_sockets *sockets, struct finder **ret)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	int r;

	if (!finder)
		return -ENOMEM;
	finder->sockets = sockets;
	finder->rows.items = malloc(SOCKETS_ROWS_MAX * sizeof(*finder->rows.items));
	r = finder->rows.items ? up_arena_init(&finder->arena) : -ENOMEM;
	if (r == 0)
		r = up_netns_of(sockets->source, 0, &finder->own_inode);
	if (r < 0) {
		finder_free(finder);
		return r;
	}
	*ret = finder;
	return 0;
}

static void done_targets(struct finder *finder)
{
	for (size_t t = 0; t < finder->target_count; t++) {
		sockets_ids_done(&finder->targets[t].ids);
		sockets_ids_done(&finder->targets[t].inodes);
	}
	finder->target_count = 0;
}

void finder_free(struct finder *finder)
{
	if (!finder)
		return;
	done_targets(finder);
	sockets_free_targets(finder->copies, finder->copy_count);
	free(finder->decisions);
	free(finder->rows.items);
	up_arena_done(&finder->arena);
	free(finder);
}

void finder_take_targets(struct finder *finder)
{
	struct up_sockets *sockets = finder->sockets;

	if (!sockets->pending)
		return;
	sockets_free_targets(finder->copies, finder->copy_count);
	finder->copies = sockets->pending;
	finder->copy_count = sockets->pending_count;
	sockets->pending = NULL;
	finder->forget_all = true;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * UINT64_C(0x100000001b3);
}

void finder_begin(struct finder *finder)
{
	struct up_sockets *sockets = finder->sockets;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	up_arena_reset(&finder->arena);
	done_targets(finder);
	memset(finder->reasons, 0, sizeof(finder->reasons));
	finder->decision_count = 0;
	if (!finder->copy_count)
		finder->targets[finder->target_count++] = (struct finder_target){ .bit = UP_TARGETS_MAX, .host = true };
	for (size_t i = 0; i < finder->copy_count; i++) {
		struct finder_target one = { .bit = (unsigned)i };
		const struct up_target *target = &finder->copies[i];
		const bool host = target->kind == UP_TARGET_HOST;
		const int r = !target->present || host
				      ? 0
				      : up_target_pids(target, sockets->source, &finder->arena, &one.pids, &one.pid_count);

		one.host = host && target->present;
		if (r < 0 && r != -ENOENT)
			snprintf(finder->reasons[i], SOCKETS_REASON, "processes of the target: %s", strerror(-r));
		for (size_t p = 0; p < one.pid_count; p++)
			hash = mix(hash, (uint64_t)one.pids[p]);
		finder->targets[finder->target_count++] = one;
	}
	if (hash != finder->pid_hash)
		finder->forget_strangers = true;
	finder->pid_hash = hash;
}

static int by_pid(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

uint32_t finder_mask_of_pid(const struct finder *finder, pid_t pid)
{
	uint32_t mask = 0;

	for (size_t t = 0; t < finder->target_count; t++) {
		const struct finder_target *one = &finder->targets[t];

		if (one->pid_count && bsearch(&pid, one->pids, one->pid_count, sizeof(pid), by_pid))
			mask |= 1u << one->bit;
	}
	return mask;
}

static enum up_owner owner_of(struct finder *finder, size_t t, const struct sockets_space *space, const struct sockets_row *row)
{
	struct finder_target *one = &finder->targets[t];
	const struct up_source *source = finder->sockets->source;
	size_t denied = 0;

	if (!(space->mask & 1u << one->bit))
		return UP_OWNER_NONE;
	if (one->host)
		return UP_OWNER_HOST;
	if (space->private_mask & 1u << one->bit)
		return UP_OWNER_NETNS;
	if (!one->has_ids && sockets_cgroup_ids(source, &finder->copies[t], &one->ids) < 0)
		sockets_ids_done(&one->ids);
	if (!one->has_ids)
		sockets_ids_sort(&one->ids);
	one->has_ids = true;
	if (row->cgroup_id && sockets_ids_has(&one->ids, row->cgroup_id))
		return UP_OWNER_CGROUP_ID;
	if (!one->has_inodes && sockets_fd_inodes(source, one->pids, one->pid_count, &one->inodes, &denied) < 0)
		sockets_ids_done(&one->inodes);
	one->has_inodes = true;
	if (denied)
		snprintf(finder->reasons[t], SOCKETS_REASON,
			"CAP_SYS_PTRACE is missing: open files of %zu processes may not be read", denied);
	return row->inode && sockets_ids_has(&one->inodes, row->inode) ? UP_OWNER_FD : UP_OWNER_NONE;
}

static void note(struct finder *finder, const struct decision *decision)
{
	if (finder->decision_count == finder->decision_capacity) {
		const size_t capacity = finder->decision_capacity ? finder->decision_capacity * 2 : 64;
		struct decision *grown = realloc(finder->decisions, capacity * sizeof(*grown));

		if (!grown)
			return; /* looked at again in the next search */
		finder->decisions = grown;
		finder->decision_capacity = capacity;
	}
	finder->decisions[finder->decision_count++] = *decision;
}

void finder_decide(struct finder *finder, const struct sockets_space *space, const struct sockets_row *row)
{
	struct up_sockets *sockets = finder->sockets;
	struct decision decision = { .known = { .cookie = row->cookie, .inode = space->inode }, .endpoint = row->endpoint };
	const struct sockets_known *before;

	/* Only this thread changes the table, so it may look without the lock. A decision for somebody stands; what was nobody's may have
	 * got an owner when processes or targets changed. */
	before = sockets_known_find(sockets, space->inode, row->cookie);
	if (before && !finder->forget_all && (before->mask || !finder->forget_strangers)) {
		decision.known.mask = before->mask;
		decision.known.owner = before->owner;
		note(finder, &decision);
		return;
	}
	for (size_t t = 0; t < finder->target_count; t++) {
		const enum up_owner owner = owner_of(finder, t, space, row);

		if (owner == UP_OWNER_NONE)
			continue;
		decision.known.mask |= 1u << finder->targets[t].bit;
		if (owner > decision.known.owner)
			decision.known.owner = owner;
	}
	note(finder, &decision);
}

/* The group of one address in one namespace for the same targets; a new one when there is none. */
static bool group_get(struct up_sockets *sockets, const struct decision *decision, uint64_t now_ns, uint16_t *ret)
{
	size_t free_slot = UP_LISTENERS_MAX;
	char text[UP_ENDPOINT_TEXT];
	struct sockets_group *group;

	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		group = &sockets->groups[i];
		if (!group->used) {
			if (free_slot == UP_LISTENERS_MAX)
				free_slot = i;
		} else if (group->mask == decision->known.mask && group->shared.netns == decision->known.inode &&
			   up_endpoint_equal(&group->shared.endpoint, &decision->endpoint)) {
			*ret = (uint16_t)i;
			return true;
		}
	}
	if (free_slot == UP_LISTENERS_MAX)
		return false;
	group = &sockets->groups[free_slot];
	*group = (struct sockets_group){
		.shared = { .endpoint = decision->endpoint, .netns = decision->known.inode, .first_ns = now_ns },
		.mask = decision->known.mask,
		.owner = decision->known.owner,
		.used = true,
	};
	snprintf(group->shared.name, sizeof(group->shared.name), "tcp:%s", up_endpoint_format(&decision->endpoint, text));
	*ret = (uint16_t)free_slot;
	return true;
}

/* Groups nobody listens for any more. A service that restarts comes back as a new listener: its counters start anew. */
static void retire_groups(struct up_sockets *sockets, const struct sockets_known *known, size_t count)
{
	bool live[UP_LISTENERS_MAX] = { false };

	for (size_t i = 0; i < count; i++)
		if (known[i].mask)
			live[known[i].group] = true;
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++)
		if (!live[i])
			sockets->groups[i].used = false;
}

static void publish_spaces(struct up_sockets *sockets)
{
	sockets->view_count = sockets->space_count;
	for (size_t i = 0; i < sockets->space_count; i++) {
		const struct sockets_space *space = &sockets->spaces[i];

		sockets->view[i].mask = space->mask;
		sockets->view[i].space =
			(struct up_space){ .inode = space->inode, .pid = space->pid, .is_private = space->private_mask != 0 };
	}
}

static void publish_reasons(struct finder *finder)
{
	struct up_sockets *sockets = finder->sockets;

	memset(sockets->reasons, 0, sizeof(sockets->reasons));
	for (size_t t = 0; t < finder->target_count; t++)
		memcpy(sockets->reasons[finder->targets[t].bit], finder->reasons[t], SOCKETS_REASON);
	for (size_t i = 0; i < sockets->space_count; i++)
		for (size_t g = 0; g < UP_LISTENERS_MAX; g++)
			if (sockets->groups[g].used && sockets->groups[g].shared.netns == sockets->spaces[i].inode)
				sockets->groups[g].shared.somaxconn = sockets->spaces[i].somaxconn;
}

void finder_publish(struct finder *finder)
{
	struct up_sockets *sockets = finder->sockets;
	struct sockets_known *known = calloc(finder->decision_count + 1, sizeof(*known)), *old;
	const uint64_t now_ns = sockets_now_ns();
	size_t count = 0, dropped = 0;

	if (!known)
		return;
	pthread_mutex_lock(&sockets->lock);
	for (size_t i = 0; i < finder->decision_count; i++) {
		struct decision *decision = &finder->decisions[i];
		const struct sockets_known *before = sockets_known_find(sockets, decision->known.inode, decision->known.cookie);

		if (decision->known.mask && !group_get(sockets, decision, now_ns, &decision->known.group)) {
			decision->known.mask = 0;
			dropped++;
		}
		if (before) {
			decision->known.drops_last = before->drops_last;
			decision->known.drops_known = before->drops_known;
		}
		known[count++] = decision->known;
	}
	qsort(known, count, sizeof(*known), sockets_known_order);
	old = sockets->known;
	sockets->known = known;
	sockets->known_count = count;
	retire_groups(sockets, known, count);
	for (size_t t = 0; dropped && t < finder->target_count; t++)
		if (!*finder->reasons[t])
			snprintf(finder->reasons[t], SOCKETS_REASON, "%zu listeners beyond the first %d are not watched", dropped,
				UP_LISTENERS_MAX);
	publish_reasons(finder);
	publish_spaces(sockets);
	sockets->found_once = true;
	pthread_cond_broadcast(&sockets->wake);
	pthread_mutex_unlock(&sockets->lock);
	free(old);
	finder->forget_strangers = finder->forget_all = false;
}
