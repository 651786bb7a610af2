/* Snapshots of the targets' threads from /proc, where the BPF iterator cannot be used. Reads of each thread
 *   /proc/PID/task/TID/stat      "12 (java) S 1 ... utime stime ... starttime ..."; fields 3, 14, 15 and 22 of proc(5)
 *   /proc/PID/task/TID/syscall   "202 0x7f.. 0x80 ..." it sleeps in, "-1 ..." outside of any, "running"; needs the right to trace it
 * Some 20 us a thread, 25 times the iterator's. CPU time comes in clock ticks (10 ms). */
#include "task_walk_proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "task_walk.h"
#include "useprobe/clock.h"
#include "useprobe/scan.h"

#define TEXT_BYTES 1024 /* a line of stat is some 350 bytes */
#define UNKNOWN_CALL (-2)

struct pid_list {
	pid_t *items; /* [count] ascending, in the arena */
	size_t count;
	uint32_t target;
};

struct up_proc_walk {
	const struct up_source *source; /* borrowed */
	struct up_arena arena; /* of the snapshot thread */
	struct up_target *targets; /* [target_count] copies, owned; the innermost first */
	uint32_t numbers[UP_TARGETS_MAX]; /* of the targets in the run */
	size_t target_count;
	pthread_mutex_t lock; /* targets */
	uint64_t tick_ns; /* of a clock tick */
	bool hidden; /* the calls of some threads could not be read in the last snapshot */
};

int up_proc_task_stat(const char *text, uint64_t tick_ns, struct up_task_record *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *cursor;
	uint64_t number[23] = { 0 };
	char state;

	if (!open || !close || close < open || close[1] != ' ' || !close[2] || close[3] != ' ' || !strchr(close, '\n'))
		return -EBADMSG;
	state = close[2];
	cursor = close + 4;
	for (int field = 4; field <= 22; field++) {
		/* Some are signed; none of those is one of ours. */
		(void)up_scan_literal(&cursor, "-");
		if (up_scan_u64(&cursor, &number[field]) < 0 || !up_scan_literal(&cursor, " "))
			return -EBADMSG;
	}
	memset(ret->comm, 0, sizeof(ret->comm));
	memcpy(ret->comm, open + 1, (size_t)(close - open - 1) < 15 ? (size_t)(close - open - 1) : 15);
	ret->exec_ns = (number[14] + number[15]) * tick_ns;
	ret->start_ns = number[22] * tick_ns;
	switch (state) {
	case 'R':
		ret->state = 0;
		ret->on_cpu = 1; /* or ready to run: not told apart here */
		break;
	case 'D':
		ret->state = 2;
		break;
	case 'Z':
	case 'X':
		return -ESRCH;
	default:
		ret->state = 1;
		break;
	}
	return 0;
}

int up_proc_task_syscall(const char *text, struct up_task_record *ret)
{
	uint64_t number, arg = 0;

	ret->syscall = -1;
	if (strcmp(text, "running\n") == 0)
		return 0;
	if (!strchr(text, '\n'))
		return -EBADMSG;
	if (up_scan_literal(&text, "-1 "))
		return 0;
	if (up_scan_u64(&text, &number) < 0 || number > INT32_MAX || !up_scan_literal(&text, " 0x") ||
		up_scan_hex(&text, &arg) < 0 || *text != ' ')
		return -EBADMSG;
	ret->syscall = (int64_t)number;
	ret->arg = arg;
	return 0;
}

int up_proc_walk_new(const struct up_source *source, struct up_proc_walk **ret)
{
	struct up_proc_walk *walk = calloc(1, sizeof(*walk));
	const long ticks = sysconf(_SC_CLK_TCK);

	if (walk)
		walk->targets = calloc(UP_TARGETS_MAX, sizeof(*walk->targets));
	if (!walk || !walk->targets || up_arena_init(&walk->arena) < 0) {
		if (walk)
			free(walk->targets);
		free(walk);
		return -ENOMEM;
	}
	pthread_mutex_init(&walk->lock, NULL);
	walk->source = source;
	walk->tick_ns = UP_NS_PER_S / (uint64_t)(ticks > 0 ? ticks : 100);
	*ret = walk;
	return 0;
}

static void drop_targets(struct up_proc_walk *walk)
{
	for (size_t i = 0; i < walk->target_count; i++)
		for (size_t h = 0; h < UP_HIERARCHIES_MAX; h++)
			free(walk->targets[i].cgroup.path[h]);
	walk->target_count = 0;
}

void up_proc_walk_free(struct up_proc_walk *walk)
{
	if (!walk)
		return;
	drop_targets(walk);
	pthread_mutex_destroy(&walk->lock);
	up_arena_done(&walk->arena);
	free(walk->targets);
	free(walk);
}

/* How deep a target lies; a process is the innermost of all. */
static size_t depth_of(const struct up_target *target)
{
	return target->kind == UP_TARGET_PID                            ? SIZE_MAX
	       : target->main >= 0 && target->cgroup.path[target->main] ? strlen(target->cgroup.path[target->main])
									: 0;
}

static void add_target(struct up_proc_walk *walk, const struct up_target *target, uint32_t number)
{
	size_t place = walk->target_count;
	struct up_target *copy;

	while (place > 0 && depth_of(&walk->targets[place - 1]) < depth_of(target)) {
		walk->targets[place] = walk->targets[place - 1];
		walk->numbers[place] = walk->numbers[place - 1];
		place--;
	}
	copy = &walk->targets[place];
	*copy = *target;
	copy->relookup = NULL;
	/* A path that cannot be copied is a hierarchy the target is not looked for in. */
	for (size_t h = 0; h < UP_HIERARCHIES_MAX; h++)
		copy->cgroup.path[h] = target->cgroup.path[h] ? strdup(target->cgroup.path[h]) : NULL;
	walk->numbers[place] = number;
	walk->target_count++;
}

void up_proc_walk_retarget(struct up_proc_walk *walk, const struct up_targets *targets)
{
	pthread_mutex_lock(&walk->lock);
	drop_targets(walk);
	for (size_t i = 0; i < targets->count; i++)
		if (targets->items[i].present && targets->items[i].kind != UP_TARGET_HOST)
			add_target(walk, &targets->items[i], (uint32_t)i);
	pthread_mutex_unlock(&walk->lock);
}

/* Text of a small file of /proc. Length, or -errno. */
static ssize_t read_text(int dir, const char *name, char text[TEXT_BYTES])
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, TEXT_BYTES - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* A page fault and a call that may not be read are taken for I/O when the thread sleeps uninterruptibly. */
static void look_at_call(struct up_proc_walk *walk, int dir, const char *tid, struct up_task_record *record)
{
	char name[32], text[TEXT_BYTES];

	record->syscall = -1;
	if (record->state == 0)
		return;
	snprintf(name, sizeof(name), "%.16s/syscall", tid);
	if (read_text(dir, name, text) < 0 || up_proc_task_syscall(text, record) < 0) {
		record->syscall = UNKNOWN_CALL;
		walk->hidden = true;
	}
	record->in_iowait = record->state == 2 && record->syscall < 0;
}

static int add_thread(struct up_proc_walk *walk, int dir, const char *tid, pid_t pid, uint32_t target, struct up_records *ret)
{
	struct up_task_record record = { .tgid = (uint32_t)pid, .target = target };
	char name[32], text[TEXT_BYTES];
	uint64_t number;
	int r = 0;

	if (up_scan_whole_u64(tid, &number) < 0)
		return 0;
	record.pid = (uint32_t)number;
	snprintf(name, sizeof(name), "%.16s/stat", tid);
	/* A thread that has just ended is none. */
	if (read_text(dir, name, text) <= 0 || up_proc_task_stat(text, walk->tick_ns, &record) < 0)
		return 0;
	look_at_call(walk, dir, tid, &record);
	if (ret->count == ret->room)
		r = up_records_grow(ret);
	if (r == 0)
		ret->items[ret->count++] = record;
	return r;
}

static int add_process(struct up_proc_walk *walk, pid_t pid, uint32_t target, struct up_records *ret)
{
	const struct dirent *entry;
	char path[48];
	int r = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = up_source_opendir(walk->source, path);
	if (!dir)
		return 0;
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (ret->count == UP_PROC_THREADS_MAX)
			r = -ENOSPC;
		else
			r = add_thread(walk, dirfd(dir), entry->d_name, pid, target, ret);
	}
	closedir(dir);
	return r;
}

static int by_number(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static bool is_taken(const struct pid_list *lists, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (lists[i].count && bsearch(&pid, lists[i].items, lists[i].count, sizeof(pid), by_number))
			return true;
	return false;
}

/* The processes of each target. A target whose group has gone has none. */
static size_t list_pids(struct up_proc_walk *walk, struct pid_list lists[UP_TARGETS_MAX])
{
	size_t count;

	pthread_mutex_lock(&walk->lock);
	count = walk->target_count;
	for (size_t i = 0; i < count; i++) {
		lists[i] = (struct pid_list){ .target = walk->numbers[i] };
		if (up_target_pids(&walk->targets[i], walk->source, &walk->arena, &lists[i].items, &lists[i].count) < 0)
			lists[i].count = 0;
	}
	pthread_mutex_unlock(&walk->lock);
	return count;
}

/* /proc counts the start from boot, sleep of the machine included; snapshots are timed without. */
static void to_monotonic(struct up_records *records)
{
	struct timespec boot, mono;
	int64_t asleep_ns;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	asleep_ns = (int64_t)(boot.tv_sec - mono.tv_sec) * (int64_t)UP_NS_PER_S + boot.tv_nsec - mono.tv_nsec;
	/* To whole seconds: the two clocks are not read at once, and a start must not change from snapshot to snapshot. */
	asleep_ns = (asleep_ns + (int64_t)UP_NS_PER_S / 2) / (int64_t)UP_NS_PER_S * (int64_t)UP_NS_PER_S;
	for (size_t i = 0; i < records->count; i++)
		if ((uint64_t)asleep_ns < records->items[i].start_ns)
			records->items[i].start_ns -= (uint64_t)asleep_ns;
}

int up_proc_walk_read(struct up_proc_walk *walk, struct up_records *ret)
{
	struct pid_list lists[UP_TARGETS_MAX];
	size_t count;
	int r = 0;

	ret->count = 0;
	walk->hidden = false;
	up_arena_reset(&walk->arena);
	count = list_pids(walk, lists);
	for (size_t i = 0; i < count && r == 0; i++)
		for (size_t j = 0; j < lists[i].count && r == 0; j++)
			if (!is_taken(lists, i, lists[i].items[j]))
				r = add_process(walk, lists[i].items[j], lists[i].target, ret);
	to_monotonic(ret);
	return r;
}

bool up_proc_walk_hidden(const struct up_proc_walk *walk)
{
	return walk->hidden;
}
