/* The find thread: which namespaces the targets live in, and whose every listening socket there is. The ladder, first match:
 *   the namespace holds processes of one target only: the namespace is the filter
 *   the socket's v2 cgroup id is the target's or a descendant's
 *   a process of the target holds the socket open */
#include "sockets_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sockets_find.h"

#define GAP_NS (250 * UP_NS_PER_MS) /* between searches because of something new */
#define RECHECK_NS (30 * UP_NS_PER_S) /* a socket of nobody may have been handed to a target */
#define SHARE 100 /* a search takes at most 1/100 of the time */

static int space_get(struct finder *finder, const struct up_netns_ref *ref, struct sockets_space **ret)
{
	struct up_sockets *sockets = finder->sockets;
	struct sockets_space space = { .inode = ref->inode, .pid = ref->inode == finder->own_inode ? 0 : ref->pid };
	int r;

	for (size_t i = 0; i < sockets->space_count; i++) {
		if (sockets->spaces[i].inode == ref->inode) {
			if (sockets->spaces[i].pid)
				sockets->spaces[i].pid = ref->pid; /* the one before may have ended */
			*ret = &sockets->spaces[i];
			return 0;
		}
	}
	if (sockets->space_count == UP_NETNS_MAX)
		return -ENOSPC;
	r = sockets_space_open(&space, sockets->helper);
	if (r < 0)
		return r;
	pthread_mutex_lock(&sockets->space_lock);
	sockets->spaces[sockets->space_count++] = space;
	pthread_mutex_unlock(&sockets->space_lock);
	*ret = &sockets->spaces[sockets->space_count - 1];
	return 0;
}

/* The first reason of a search stands: it explains most of the later ones. */
UP_PRINTF(3, 4) static void set_reason(struct finder *finder, size_t target, const char *format, ...)
{
	char *reason = finder->reasons[target];
	va_list args;

	if (*reason)
		return;
	va_start(args, format);
	vsnprintf(reason, SOCKETS_REASON, format, args);
	va_end(args);
}

/* Namespaces of one target into the table of spaces. */
static void find_spaces(struct finder *finder, size_t t)
{
	struct finder_target *one = &finder->targets[t];
	struct up_netns_set set = { 0 };

	if (one->host)
		set = (struct up_netns_set){ .items[0] = { .inode = finder->own_inode }, .count = 1 };
	else
		up_netns_collect(finder->sockets->source, one->pids, one->pid_count, &set);
	if (set.denied)
		set_reason(finder, t, "CAP_SYS_PTRACE is missing: the network namespaces of %zu processes may not be read",
			set.denied);
	if (set.more)
		set_reason(finder, t, "%zu processes are in network namespaces beyond the first %d", set.more, UP_NETNS_MAX);
	for (size_t i = 0; i < set.count; i++) {
		struct sockets_space *space;
		const int r = space_get(finder, &set.items[i], &space);

		if (r == 0 && space->is_limited)
			set_reason(finder, t,
				"CAP_SYS_ADMIN is missing: the network namespace of process %d cannot be entered, its backlogs and drops are not known",
				(int)set.items[i].pid);
		if (r == 0) {
			space->wanted = true;
			space->mask |= 1u << one->bit;
		} else if (r != -ENOENT && r != -ESTALE) {
			set_reason(finder, t, "network namespace of process %d: %s", (int)set.items[i].pid, strerror(-r));
		}
	}
}

/* Which spaces hold processes of their targets only. A namespace that somebody else shares (a side-car, a pod) filters nothing. */
static void find_private(struct finder *finder)
{
	struct up_sockets *sockets = finder->sockets;
	bool foreign_spaces = false;
	struct dirent *entry;
	DIR *dir;

	for (size_t i = 0; i < sockets->space_count; i++) {
		struct sockets_space *space = &sockets->spaces[i];

		space->private_mask = space->inode == finder->own_inode ? 0 : space->mask;
		foreign_spaces |= space->private_mask != 0;
	}
	dir = foreign_spaces ? up_source_opendir(sockets->source, "/proc") : NULL;
	while (dir && (entry = readdir(dir))) {
		uint64_t pid, inode;

		if (up_scan_whole_u64(entry->d_name, &pid) < 0 || up_netns_of(sockets->source, (pid_t)pid, &inode) < 0)
			continue;
		for (size_t i = 0; i < sockets->space_count; i++)
			if (sockets->spaces[i].inode == inode)
				sockets->spaces[i].private_mask &= finder_mask_of_pid(finder, (pid_t)pid);
	}
	if (dir)
		closedir(dir);
}

static void drop_spaces(struct up_sockets *sockets)
{
	pthread_mutex_lock(&sockets->space_lock);
	for (size_t i = 0; i < sockets->space_count;) {
		if (sockets->spaces[i].wanted) {
			i++;
			continue;
		}
		sockets_space_close(&sockets->spaces[i]);
		sockets->spaces[i] = sockets->spaces[--sockets->space_count];
	}
	pthread_mutex_unlock(&sockets->space_lock);
}

static void search(struct finder *finder)
{
	struct up_sockets *sockets = finder->sockets;

	finder_begin(finder);
	for (size_t i = 0; i < sockets->space_count; i++) {
		sockets->spaces[i].wanted = false;
		sockets->spaces[i].mask = 0;
	}
	for (size_t t = 0; t < finder->target_count; t++)
		find_spaces(finder, t);
	drop_spaces(sockets);
	find_private(finder);
	for (size_t i = 0; i < sockets->space_count; i++) {
		struct sockets_space *space = &sockets->spaces[i];
		int r;

		sockets_space_sysctls(space);
		r = sockets_dump_listeners(space, SOCKETS_FIND, &finder->rows);
		if (r < 0)
			for (size_t t = 0; t < finder->target_count; t++)
				set_reason(finder, t, "sockets of namespace %llu: %s", (unsigned long long)space->inode,
					strerror(-r));
		for (size_t row = 0; r == 0 && row < finder->rows.count; row++)
			finder_decide(finder, space, &finder->rows.items[row]);
	}
	finder_publish(finder);
	for (size_t i = 0; i < sockets->space_count; i++)
		sockets_count_half_open(sockets, &sockets->spaces[i]);
}

void *sockets_find_main(void *arg)
{
	struct finder *finder = arg;
	struct up_sockets *sockets = finder->sockets;
	uint64_t earliest_ns = 0, latest_ns = 0;

	pthread_mutex_lock(&sockets->lock);
	while (!sockets->stop) {
		uint64_t now_ns = sockets_now_ns(), cost_ns;
		const uint64_t due_ns = sockets->find_now ? earliest_ns : latest_ns;

		if (now_ns < due_ns) {
			const struct timespec until = { .tv_sec = (time_t)(due_ns / UP_NS_PER_S),
				.tv_nsec = (long)(due_ns % UP_NS_PER_S) };

			pthread_cond_timedwait(&sockets->wake, &sockets->lock, &until);
			continue;
		}
		sockets->find_now = false;
		finder_take_targets(finder);
		pthread_mutex_unlock(&sockets->lock);
		if (now_ns - finder->rechecked_ns > RECHECK_NS) {
			finder->forget_strangers = true;
			finder->rechecked_ns = now_ns;
		}
		search(finder);
		cost_ns = sockets_now_ns() - now_ns;
		now_ns += cost_ns;
		earliest_ns = now_ns + (SHARE * cost_ns > GAP_NS ? SHARE * cost_ns : GAP_NS);
		latest_ns = earliest_ns > now_ns + SOCKETS_FIND_NS ? earliest_ns : now_ns + SOCKETS_FIND_NS;
		pthread_mutex_lock(&sockets->lock);
	}
	pthread_mutex_unlock(&sockets->lock);
	return NULL;
}
