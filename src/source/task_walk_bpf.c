/* User side of bpf/tasks.bpf.c. */
#include <bpf/bpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_match.h"
#include "bpf_session.h"
#include "task_walk.h"
#include "tasks.skel.h"

#define RECORDS_FIRST 1024

static const struct up_bpf_need needs[] = {
	{ "task_struct", "sched_task_group", "kernel without CONFIG_CGROUP_SCHED" },
};
static const struct up_bpf_need end_needs[] = {
	{ "btf_trace_sched_process_free", NULL, "kernel without the sched_process_free tracepoint in BTF" },
};

struct up_bpf_walk {
	struct tasks *skeleton;
	struct bpf_link *link, *ends_link;
	struct ring_buffer *ring;
	struct up_match match;
	char no_ends[160];
	void (*function)(void *opaque, const struct up_ended *ended); /* of the drain under way */
	void *opaque;
};

int up_records_grow(struct up_records *records)
{
	const size_t room = records->room ? 2 * records->room : RECORDS_FIRST;
	struct up_task_record *items;

	if (room > UP_POOL_THREADS_MAX)
		return -ENOSPC;
	items = realloc(records->items, room * sizeof(*items));
	if (!items)
		return -ENOMEM;
	records->items = items;
	records->room = room;
	return 0;
}

void up_records_done(struct up_records *records)
{
	free(records->items);
	*records = (struct up_records){ 0 };
}

static int load(struct up_bpf_walk *walk, bool ends)
{
	int r;

	walk->skeleton = tasks__open();
	if (!walk->skeleton)
		return errno ? -errno : -EINVAL;
	bpf_program__set_autoload(walk->skeleton->progs.up_tasks_end, ends);
	r = tasks__load(walk->skeleton);
	if (r < 0) {
		tasks__destroy(walk->skeleton);
		walk->skeleton = NULL;
	}
	return r;
}

static int take_end(void *opaque, void *data, size_t size)
{
	struct up_bpf_walk *walk = opaque;
	const struct up_task_end *end = data;
	struct up_ended ended;

	if (size < sizeof(*end))
		return 0;
	ended = (struct up_ended){
		.pid = end->pid, .tgid = end->tgid, .target = end->target, .start_ns = end->start_ns, .exec_ns = end->exec_ns
	};
	memcpy(ended.comm, end->comm, sizeof(ended.comm));
	walk->function(walk->opaque, &ended);
	return 0;
}

/* Without them the pools still stand; they lack what happens between two snapshots. */
static void attach_ends(struct up_bpf_walk *walk)
{
	int r = 0;

	walk->ends_link = bpf_program__attach(walk->skeleton->progs.up_tasks_end);
	if (walk->ends_link)
		walk->ring = ring_buffer__new(bpf_map__fd(walk->skeleton->maps.ends), take_end, walk, NULL);
	if (!walk->ring)
		r = errno ? -errno : -EINVAL;
	if (r < 0)
		up_bpf_why(r, end_needs, UP_COUNT(end_needs), walk->no_ends, sizeof(walk->no_ends));
}

static int open_all(struct up_bpf_walk *walk)
{
	int r = load(walk, true);
	bool ends = true;

	if (r < 0 && r != -EPERM && r != -EACCES) {
		up_bpf_why(r, end_needs, UP_COUNT(end_needs), walk->no_ends, sizeof(walk->no_ends));
		ends = false;
		r = load(walk, false);
	}
	if (r < 0)
		return r;
	walk->link = bpf_program__attach_iter(walk->skeleton->progs.up_tasks_snapshot, NULL);
	if (!walk->link)
		return -errno;
	if (ends)
		attach_ends(walk);
	return 0;
}

int up_bpf_walk_new(struct up_bpf_walk **ret, char *reason, size_t reason_size)
{
	struct up_bpf_walk *walk = calloc(1, sizeof(*walk));
	int r;

	if (!walk)
		return -ENOMEM;
	up_bpf_listen();
	r = open_all(walk);
	if (r < 0) {
		up_bpf_why(r, needs, UP_COUNT(needs), reason, reason_size);
		up_bpf_walk_free(walk);
		return r;
	}
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	*ret = walk;
	return 0;
}

void up_bpf_walk_free(struct up_bpf_walk *walk)
{
	if (!walk)
		return;
	ring_buffer__free(walk->ring);
	bpf_link__destroy(walk->ends_link);
	bpf_link__destroy(walk->link);
	tasks__destroy(walk->skeleton);
	free(walk);
}

void up_bpf_walk_retarget(struct up_bpf_walk *walk, const struct up_targets *targets)
{
	up_match_write(&walk->match, bpf_map__fd(walk->skeleton->maps.groups), &walk->skeleton->bss->match, targets);
}

int up_bpf_walk_read(struct up_bpf_walk *walk, struct up_records *ret)
{
	const int fd = bpf_iter_create(bpf_link__fd(walk->link));
	size_t bytes = 0;
	int r = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (bytes == ret->room * sizeof(*ret->items)) {
			r = up_records_grow(ret);
			if (r < 0)
				break;
		}
		n = read(fd, (char *)ret->items + bytes, ret->room * sizeof(*ret->items) - bytes);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		bytes += (size_t)n;
	}
	close(fd);
	ret->count = bytes / sizeof(*ret->items);
	return r == -ENOMEM ? r : 0;
}

void up_bpf_walk_ends(struct up_bpf_walk *walk, void (*function)(void *opaque, const struct up_ended *ended), void *opaque)
{
	if (!walk->ring)
		return;
	walk->function = function;
	walk->opaque = opaque;
	(void)ring_buffer__consume(walk->ring);
}

const char *up_bpf_walk_no_ends(const struct up_bpf_walk *walk)
{
	return walk->no_ends[0] ? walk->no_ends : NULL;
}

uint64_t up_bpf_walk_ends_lost(const struct up_bpf_walk *walk)
{
	return walk->skeleton->bss->ends_lost;
}

bool up_bpf_walk_sees_stalls(const struct up_bpf_walk *walk)
{
	return walk->skeleton->bss->memstall_known != 0;
}
