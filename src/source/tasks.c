#include "useprobe/tasks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf_match.h"
#include "bpf_session.h"
#include "task_doing.h"
#include "tasks.h"
#include "tasks.skel.h"
#include "useprobe/clock.h"

#define SNAPSHOT_NS (UP_NS_PER_S / 10)
#define STACK_BYTES ((size_t)256 << 10)
#define RECORDS_FIRST 1024

static const struct up_bpf_need needs[] = {
	{ "task_struct", "sched_task_group", "kernel without CONFIG_CGROUP_SCHED" },
};

struct up_tasks {
	struct tasks *skeleton;
	struct bpf_link *link;
	struct up_match match;
	struct up_pools *pools;
	struct up_task_sums sums;
	uint32_t members[UP_TARGETS_MAX]; /* up_match_members */
	char no_memory_stalls[160]; /* why they are not known, "" = they are */
	struct up_task_record *records; /* [room] of the snapshot thread, owned */
	struct up_thread *threads; /* [room], owned */
	size_t room;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* pools, sums, members, stop */
	pthread_cond_t wake;
	bool stop;
};

static int grow(struct up_tasks *tasks)
{
	const size_t room = tasks->room ? 2 * tasks->room : RECORDS_FIRST;
	struct up_task_record *records;
	struct up_thread *threads;

	if (room > UP_POOL_THREADS_MAX)
		return -ENOSPC;
	records = realloc(tasks->records, room * sizeof(*records));
	if (records)
		tasks->records = records;
	threads = realloc(tasks->threads, room * sizeof(*threads));
	if (threads)
		tasks->threads = threads;
	if (!records || !threads)
		return -ENOMEM;
	tasks->room = room;
	return 0;
}

/* One walk over all threads. Number of records, or -errno. */
static long read_records(struct up_tasks *tasks)
{
	const int fd = bpf_iter_create(bpf_link__fd(tasks->link));
	size_t bytes = 0;
	int r = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (bytes == tasks->room * sizeof(*tasks->records)) {
			r = grow(tasks);
			if (r < 0)
				break;
		}
		n = read(fd, (char *)tasks->records + bytes, tasks->room * sizeof(*tasks->records) - bytes);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		bytes += (size_t)n;
	}
	close(fd);
	/* What does not fit is left out of this snapshot; the rest of it stands. */
	return r == -ENOMEM ? r : (long)(bytes / sizeof(*tasks->records));
}

static void snapshot(struct up_tasks *tasks)
{
	const long count = read_records(tasks);
	uint64_t mono_ns;

	if (count < 0)
		return;
	for (long i = 0; i < count; i++)
		up_thread_of_record(&tasks->records[i], &tasks->threads[i]);
	mono_ns = up_clock_real.mono_ns(NULL);
	pthread_mutex_lock(&tasks->lock);
	(void)!up_pools_fold(tasks->pools, tasks->threads, (size_t)count, mono_ns);
	up_task_sums_fold(&tasks->sums, tasks->members, tasks->threads, (size_t)count, mono_ns);
	pthread_mutex_unlock(&tasks->lock);
}

static void *run(void *opaque)
{
	struct up_tasks *tasks = opaque;
	uint64_t due_ns = up_clock_real.mono_ns(NULL);
	bool stop = false;

	while (!stop) {
		struct timespec until;
		uint64_t now_ns;

		snapshot(tasks);
		now_ns = up_clock_real.mono_ns(NULL);
		due_ns = due_ns + SNAPSHOT_NS > now_ns ? due_ns + SNAPSHOT_NS : now_ns + SNAPSHOT_NS;
		until = (struct timespec){ .tv_sec = (time_t)(due_ns / UP_NS_PER_S), .tv_nsec = (long)(due_ns % UP_NS_PER_S) };
		pthread_mutex_lock(&tasks->lock);
		while (!tasks->stop && pthread_cond_timedwait(&tasks->wake, &tasks->lock, &until) == 0)
			;
		stop = tasks->stop;
		pthread_mutex_unlock(&tasks->lock);
	}
	return NULL;
}

static int start_thread(struct up_tasks *tasks)
{
	pthread_condattr_t cond;
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&tasks->wake, &cond);
	pthread_condattr_destroy(&cond);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&tasks->thread, &attr, run, tasks);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	tasks->started = r == 0;
	return -r;
}

/* With PSI off at boot the kernel has the mark and never sets it. */
static void look_at_psi(struct up_tasks *tasks)
{
	char first;
	const int fd = open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, &first, 1);

	if (n < 0)
		snprintf(tasks->no_memory_stalls, sizeof(tasks->no_memory_stalls),
			"the kernel marks no memory stalls (/proc/pressure/memory: %s)", strerror(errno));
	if (fd >= 0)
		close(fd);
}

int up_tasks_new(
	const struct up_source *source, const struct up_targets *targets, struct up_tasks **ret, char *reason, size_t reason_size)
{
	struct up_tasks *tasks;
	int r;

	if (source->recorded) {
		snprintf(reason, reason_size, "a recorded tree has no threads");
		return -EOPNOTSUPP;
	}
	tasks = calloc(1, sizeof(*tasks));
	if (!tasks)
		return -ENOMEM;
	pthread_mutex_init(&tasks->lock, NULL);
	up_bpf_listen();
	tasks->skeleton = tasks__open_and_load();
	r = tasks->skeleton ? 0 : -errno;
	if (r == 0) {
		tasks->link = bpf_program__attach_iter(tasks->skeleton->progs.up_tasks_snapshot, NULL);
		r = tasks->link ? 0 : -errno;
	}
	if (r < 0) {
		up_bpf_why(r, needs, UP_COUNT(needs), reason, reason_size);
		up_tasks_free(tasks);
		return r;
	}
	look_at_psi(tasks);
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	up_tasks_retarget(tasks, targets);
	r = up_pools_new(&tasks->pools);
	if (r == 0)
		r = grow(tasks);
	if (r == 0)
		r = start_thread(tasks);
	if (r < 0) {
		snprintf(reason, reason_size, "%s", strerror(-r));
		up_tasks_free(tasks);
		return r;
	}
	*ret = tasks;
	return 0;
}

void up_tasks_free(struct up_tasks *tasks)
{
	if (!tasks)
		return;
	if (tasks->started) {
		pthread_mutex_lock(&tasks->lock);
		tasks->stop = true;
		pthread_cond_broadcast(&tasks->wake);
		pthread_mutex_unlock(&tasks->lock);
		pthread_join(tasks->thread, NULL);
		pthread_cond_destroy(&tasks->wake);
	}
	pthread_mutex_destroy(&tasks->lock);
	bpf_link__destroy(tasks->link);
	tasks__destroy(tasks->skeleton);
	up_pools_free(tasks->pools);
	free(tasks->records);
	free(tasks->threads);
	free(tasks);
}

void up_tasks_retarget(struct up_tasks *tasks, const struct up_targets *targets)
{
	up_match_write(&tasks->match, bpf_map__fd(tasks->skeleton->maps.groups), &tasks->skeleton->bss->match, targets);
	pthread_mutex_lock(&tasks->lock);
	up_match_members(targets, tasks->members);
	pthread_mutex_unlock(&tasks->lock);
}

int up_tasks_pools(struct up_tasks *tasks, struct up_arena *arena, struct up_pool **ret, size_t *ret_count, uint64_t *ret_mono_ns)
{
	const struct up_pool *pools;
	struct up_pool *copy;
	size_t count;

	pthread_mutex_lock(&tasks->lock);
	pools = up_pools_get(tasks->pools, &count);
	copy = up_arena_alloc(arena, count * sizeof(*copy) + 1);
	if (copy)
		memcpy(copy, pools, count * sizeof(*copy));
	*ret_mono_ns = up_pools_mono_ns(tasks->pools);
	pthread_mutex_unlock(&tasks->lock);
	if (!copy)
		return -ENOSPC;
	*ret = copy;
	*ret_count = count;
	return 0;
}

void up_tasks_stall(struct up_tasks *tasks, size_t target, enum up_stall stall, struct up_stall_sample *ret)
{
	struct up_stall_sum *sum;

	*ret = (struct up_stall_sample){ .reason = "no snapshot yet" };
	if (target >= UP_TARGETS_MAX)
		return;
	pthread_mutex_lock(&tasks->lock);
	if (tasks->sums.mono_ns) {
		sum = &tasks->sums.stalls[target][stall];
		ret->mono_ns = (struct up_u64){ tasks->sums.mono_ns, true };
		if (stall == UP_STALL_MEMORY && !tasks->skeleton->bss->memstall_known)
			ret->reason =
				"the kernel has no mark for threads in a memory stall (task_struct.in_memstall, CONFIG_PSI)";
		else if (stall == UP_STALL_MEMORY && tasks->no_memory_stalls[0])
			ret->reason = tasks->no_memory_stalls;
		else {
			ret->area_ns = (struct up_u64){ sum->area_ns, true };
			ret->running_area_ns = (struct up_u64){ sum->running_area_ns, true };
			ret->most = sum->most;
			ret->reason = NULL;
		}
		sum->most = 0;
	}
	pthread_mutex_unlock(&tasks->lock);
}

const char *up_tasks_method(const struct up_tasks *tasks)
{
	(void)tasks;
	return "iter/task 10 Hz";
}
