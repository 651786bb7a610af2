#include "useprobe/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf_match.h"
#include "task_doing.h"
#include "task_walk.h"
#include "task_walk_proc.h"
#include "useprobe/clock.h"
#include "useprobe/thread.h"

#define SNAPSHOT_NS (100 * UP_NS_PER_MS)
#define SNAPSHOT_NS_MAX (5 * UP_NS_PER_S)
#define STACK_BYTES ((size_t)256 << 10)
/* Share of a CPU that the snapshots may take; beyond it they are taken less often. */
#define WALK_SHARE 0.05
#define WALK_SHARE_VARIABLE "USEPROBE_WALK_SHARE" /* another share, for tests */
#define NO_BPF_VARIABLE "USEPROBE_TASKS" /* "proc": as if the BPF programs were refused, for tests */

struct up_tasks {
	struct up_bpf_walk *bpf; /* owned; NULL = refused */
	struct up_proc_walk *proc; /* owned; instead of it */
	char no_bpf[160]; /* why it was refused */
	struct up_records records; /* of the snapshot thread */
	struct up_thread *threads; /* [thread_room], owned */
	size_t thread_room;
	double walk_share;
	uint64_t period_ns; /* between two snapshots */
	struct up_pools *pools;
	struct up_task_sums sums;
	uint32_t members[UP_TARGETS_MAX]; /* up_match_members */
	uint64_t snapshots, cost_ns, lost; /* lost: snapshots of /proc that left threads out */
	char no_memory_stalls[160]; /* why they are not known, "" = they are */
	char note[512];
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* pools, sums, members, snapshots, cost_ns, period_ns, note, stop */
	pthread_cond_t wake;
	bool stop;
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UP_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void take_end(void *opaque, const struct up_ended *ended)
{
	struct up_tasks *tasks = opaque;

	up_pools_end(tasks->pools, ended, up_clock_real.mono_ns(NULL));
}

static int make_threads(struct up_tasks *tasks)
{
	struct up_thread *threads;

	if (tasks->records.room > tasks->thread_room) {
		threads = realloc(tasks->threads, tasks->records.room * sizeof(*threads));
		if (!threads)
			return -ENOMEM;
		tasks->threads = threads;
		tasks->thread_room = tasks->records.room;
	}
	for (size_t i = 0; i < tasks->records.count; i++)
		up_thread_of_record(&tasks->records.items[i], &tasks->threads[i]);
	return 0;
}

UP_PRINTF(2, 3) static void add_note(struct up_tasks *tasks, const char *format, ...)
{
	const size_t used = strlen(tasks->note);
	const char *between = used ? "; " : "";
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(tasks->note + used, sizeof(tasks->note) - used, "%s%s", between, text);
}

static void describe_proc(struct up_tasks *tasks, bool full)
{
	add_note(tasks, "no BPF: %s", tasks->no_bpf);
	if (up_proc_walk_hidden(tasks->proc))
		add_note(tasks, "calls of some threads are hidden (CAP_SYS_PTRACE): those asleep count as idle");
	if (full)
		add_note(tasks, "only the first %d threads are looked at", UP_PROC_THREADS_MAX);
}

static void set_period(struct up_tasks *tasks, uint64_t cost_ns)
{
	const double wanted_ns = (double)cost_ns / tasks->walk_share;

	tasks->cost_ns = cost_ns;
	tasks->period_ns = wanted_ns <= (double)SNAPSHOT_NS       ? SNAPSHOT_NS
			   : wanted_ns >= (double)SNAPSHOT_NS_MAX ? SNAPSHOT_NS_MAX
								  : (uint64_t)wanted_ns;
	if (tasks->period_ns > SNAPSHOT_NS)
		add_note(tasks,
			"a snapshot costs %.1f ms of CPU: one is taken every %.0f ms instead of every %.0f, to stay below %g %% of a CPU",
			(double)cost_ns / (double)UP_NS_PER_MS, (double)tasks->period_ns / (double)UP_NS_PER_MS,
			(double)SNAPSHOT_NS / (double)UP_NS_PER_MS, tasks->walk_share * 100);
}

/* FULL: /proc had more threads than are looked at. */
static int walk(struct up_tasks *tasks, bool *ret_full)
{
	int r;

	if (tasks->proc) {
		r = up_proc_walk_read(tasks->proc, &tasks->records);
		*ret_full = r == -ENOSPC;
		return r == -ENOSPC ? 0 : r;
	}
	/* Before the walk: who has been told of is not in it. */
	pthread_mutex_lock(&tasks->lock);
	up_bpf_walk_ends(tasks->bpf, take_end, tasks);
	pthread_mutex_unlock(&tasks->lock);
	return up_bpf_walk_read(tasks->bpf, &tasks->records);
}

static void snapshot(struct up_tasks *tasks)
{
	const uint64_t begun_ns = thread_cpu_ns();
	bool full = false;
	uint64_t mono_ns;
	int r;

	r = walk(tasks, &full);
	if (r == 0)
		r = make_threads(tasks);
	if (r < 0)
		return;
	mono_ns = up_clock_real.mono_ns(NULL);
	pthread_mutex_lock(&tasks->lock);
	if (up_pools_fold(tasks->pools, tasks->threads, tasks->records.count, mono_ns) == 0)
		tasks->snapshots++;
	up_task_sums_fold(&tasks->sums, tasks->members, tasks->threads, tasks->records.count, mono_ns);
	tasks->lost += full;
	tasks->note[0] = '\0';
	if (tasks->proc)
		describe_proc(tasks, full);
	set_period(tasks, thread_cpu_ns() - begun_ns);
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
		due_ns = due_ns + tasks->period_ns > now_ns ? due_ns + tasks->period_ns : now_ns + tasks->period_ns;
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
	int r;

	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&tasks->wake, &cond);
	pthread_condattr_destroy(&cond);
	r = up_thread_start(&tasks->thread, "up-tasks", STACK_BYTES, run, tasks);
	tasks->started = r == 0;
	return r;
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

static double walk_share(void)
{
	const char *text = secure_getenv(WALK_SHARE_VARIABLE);
	double share;

	return text && up_scan_whole_decimal(text, &share) == 0 && share > 0 ? share : WALK_SHARE;
}

/* The BPF iterator, or /proc where it is refused. 0 or -ENOMEM. */
static int walk_new(struct up_tasks *tasks, const struct up_source *source)
{
	const char *only = secure_getenv(NO_BPF_VARIABLE);

	if (only && strcmp(only, "proc") == 0)
		snprintf(tasks->no_bpf, sizeof(tasks->no_bpf), "%s=proc", NO_BPF_VARIABLE);
	else if (up_bpf_walk_new(&tasks->bpf, tasks->no_bpf, sizeof(tasks->no_bpf)) == 0)
		return 0;
	return up_proc_walk_new(source, &tasks->proc);
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
	tasks->walk_share = walk_share();
	tasks->period_ns = SNAPSHOT_NS;
	r = walk_new(tasks, source);
	look_at_psi(tasks);
	if (r == 0)
		r = up_pools_new(&tasks->pools);
	if (r == 0)
		up_tasks_retarget(tasks, targets);
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
	up_bpf_walk_free(tasks->bpf);
	up_proc_walk_free(tasks->proc);
	up_pools_free(tasks->pools);
	up_records_done(&tasks->records);
	free(tasks->threads);
	free(tasks);
}

void up_tasks_retarget(struct up_tasks *tasks, const struct up_targets *targets)
{
	if (tasks->bpf)
		up_bpf_walk_retarget(tasks->bpf, targets);
	else
		up_proc_walk_retarget(tasks->proc, targets);
	pthread_mutex_lock(&tasks->lock);
	up_match_members(targets, tasks->members);
	pthread_mutex_unlock(&tasks->lock);
}

static const char *method_of(const struct up_tasks *tasks)
{
	static const char *const methods[2][2] = {
		{ "iter/task 10 Hz", "iter/task below 10 Hz" },
		{ "/proc/PID/task 10 Hz", "/proc/PID/task below 10 Hz" },
	};

	return methods[tasks->proc != NULL][tasks->period_ns > SNAPSHOT_NS];
}

int up_tasks_read(struct up_tasks *tasks, struct up_arena *arena, struct up_tasks_view *ret)
{
	struct up_tasks_view view = { 0 };
	const struct up_pool *pools;
	int r = 0;

	pthread_mutex_lock(&tasks->lock);
	pools = up_pools_get(tasks->pools, &view.count);
	view.pools = up_arena_alloc(arena, view.count * sizeof(*view.pools) + 1);
	if (view.pools)
		memcpy(view.pools, pools, view.count * sizeof(*view.pools));
	view.mono_ns = up_pools_mono_ns(tasks->pools);
	view.snapshots = (struct up_u64){ tasks->snapshots, true };
	view.lost = (struct up_u64){
		up_pools_dropped(tasks->pools) + tasks->lost + (tasks->bpf ? up_bpf_walk_ends_lost(tasks->bpf) : 0), true
	};
	view.cost_ns = tasks->cost_ns;
	view.method = method_of(tasks);
	view.no_ends = tasks->bpf ? up_bpf_walk_no_ends(tasks->bpf) : "only BPF tells of threads that end between two snapshots";
	view.no_runnable = tasks->proc ? "/proc does not tell running from ready to run" : NULL;
	view.lower_bound = tasks->proc && up_proc_walk_hidden(tasks->proc);
	if (tasks->note[0])
		view.note = up_arena_strdup(arena, tasks->note);
	if (!view.pools || (tasks->note[0] && !view.note))
		r = -ENOSPC;
	pthread_mutex_unlock(&tasks->lock);
	if (r == 0)
		*ret = view;
	return r;
}

/* Why the threads in STALL cannot be told, NULL = they can. */
static const char *no_stall(const struct up_tasks *tasks, enum up_stall stall)
{
	if (!tasks->sums.mono_ns)
		return "no snapshot yet";
	if (stall != UP_STALL_MEMORY)
		return NULL;
	if (tasks->proc)
		return "only BPF sees the mark of threads in a memory stall";
	if (!up_bpf_walk_sees_stalls(tasks->bpf))
		return "the kernel has no mark for threads in a memory stall (task_struct.in_memstall, CONFIG_PSI)";
	return tasks->no_memory_stalls[0] ? tasks->no_memory_stalls : NULL;
}

void up_tasks_stall(struct up_tasks *tasks, size_t target, enum up_stall stall, struct up_stall_sample *ret)
{
	struct up_stall_sum *sum;

	*ret = (struct up_stall_sample){ .reason = "no such target" };
	if (target >= UP_TARGETS_MAX)
		return;
	pthread_mutex_lock(&tasks->lock);
	sum = &tasks->sums.stalls[target][stall];
	ret->method = method_of(tasks);
	ret->mono_ns = (struct up_u64){ tasks->sums.mono_ns, tasks->sums.mono_ns != 0 };
	ret->reason = no_stall(tasks, stall);
	if (!ret->reason) {
		ret->area_ns = (struct up_u64){ sum->area_ns, true };
		ret->running_area_ns = (struct up_u64){ sum->running_area_ns, true };
		ret->most = sum->most;
	}
	sum->most = 0;
	pthread_mutex_unlock(&tasks->lock);
}
