/* Run-queue wait without BPF: taskstats per process, or the schedstat file of each thread:
 *     /proc/PID/task/TID/schedstat   "9873542 118432 57"    on CPU ns, waited ns, times put on a CPU (CONFIG_SCHED_INFO) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delay_internal.h"

#define USER_HZ 100u /* of /proc/PID/stat on every architecture we build for */

enum { WAIT, RUN, WAITS }; /* order of the counters in a ledger */

int up_delay_parse_task(const char *text, uint64_t ret[UP_LEDGER_COUNTERS])
{
	const char *cursor = text;
	uint64_t run, wait, waits;

	if (up_scan_u64(&cursor, &run) < 0 || !up_scan_literal(&cursor, " ") || up_scan_u64(&cursor, &wait) < 0 ||
		!up_scan_literal(&cursor, " ") || up_scan_u64(&cursor, &waits) < 0 || *cursor != '\n')
		return -EBADMSG;
	ret[WAIT] = wait;
	ret[RUN] = run;
	ret[WAITS] = waits;
	return 0;
}

int up_delay_parse_start(const char *text, uint64_t *ret_ticks)
{
	const char *cursor = strrchr(text, ')');

	if (!cursor)
		return -EBADMSG;
	for (unsigned field = 3; field <= 22; field++) {
		cursor = strchr(cursor, ' ');
		if (!cursor)
			return -EBADMSG;
		cursor++;
	}
	if (up_scan_u64(&cursor, ret_ticks) < 0 || *cursor != ' ')
		return -EBADMSG;
	return 0;
}

int up_delay_parse_host(const char *text, uint64_t ret[UP_LEDGER_COUNTERS])
{
	uint64_t sum[UP_LEDGER_COUNTERS] = { 0 };
	const char *cursor = text, *line;
	size_t len, cpus = 0;
	bool cut = false;

	while (up_scan_line(&cursor, &line, &len, &cut)) {
		uint64_t field[9];
		const char *at = line;

		if (strncmp(line, "cpu", 3) != 0)
			continue;
		at += strcspn(at, " \n");
		for (size_t i = 0; i < UP_COUNT(field); i++)
			if (!up_scan_literal(&at, " ") || up_scan_u64(&at, &field[i]) < 0)
				return -EBADMSG;
		sum[RUN] += field[6];
		sum[WAIT] += field[7];
		sum[WAITS] += field[8];
		cpus++;
	}
	if (cut || cpus == 0)
		return -EBADMSG;
	memcpy(ret, sum, sizeof(sum));
	return 0;
}

/* Now, in ticks since boot; 0 when the tree has no uptime file. */
static uint64_t uptime_ticks(const struct up_source *source, struct up_arena *arena)
{
	const char *cursor;
	char *text;
	double seconds;

	if (up_source_read(source, arena, "proc/uptime", &text, NULL) < 0)
		return 0;
	cursor = text;
	return up_scan_decimal(&cursor, &seconds) < 0 ? 0 : (uint64_t)(seconds * USER_HZ);
}

/* Was the owner whose stat file is PATH born after the account's last update? Then all it counted is new. */
static bool born_since(
	const struct up_delay_account *account, const struct up_source *source, struct up_arena *arena, const char *path)
{
	uint64_t start;
	char *text;

	if (account->read_at_ticks == 0 || up_source_read(source, arena, path, &text, NULL) < 0 ||
		up_delay_parse_start(text, &start) < 0)
		return false;
	return start >= account->read_at_ticks;
}

static int account_store(
	struct up_delay_account *account, struct up_ledger_item *items, size_t count, enum up_delay_method method)
{
	uint64_t sum[UP_LEDGER_COUNTERS];
	const int r = up_ledger_update(&account->ledger, items, count, sum);

	if (r < 0)
		return r;
	account->sample = (struct up_delay_sample){
		.method = method,
		/* What an owner waited between our last look and its end is not in the sums. */
		.lower_bound = method == UP_DELAY_SCHEDSTAT || account->ledger.left > 0,
		.wait_ns = { sum[WAIT], true },
		.on_cpu_ns = { sum[RUN], true },
		.waits = { sum[WAITS], true },
		.source = method == UP_DELAY_TASKSTATS ? "taskstats" : "schedstat",
	};
	return 0;
}

int up_delay_read_taskstats(struct up_delay *delay, struct up_delay_account *account, const struct up_source *source,
	struct up_arena *arena, const pid_t *pids, size_t count)
{
	struct up_ledger_item *items = up_arena_alloc(arena, (count + 1) * sizeof(*items));
	const uint64_t now_ticks = uptime_ticks(source, arena);
	size_t n = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct up_taskstats stats;
		char path[64];
		int r = up_taskstats_query(&delay->taskstats, pids[i], &stats);

		if (r == -ESRCH)
			continue; /* ended since the list was read */
		if (r < 0)
			return r;
		items[n] = (struct up_ledger_item){ .id = pids[i],
			.counter = { stats.cpu_delay_ns, stats.cpu_run_ns, stats.cpu_count } };
		snprintf(path, sizeof(path), "proc/%d/stat", pids[i]);
		if (account->ledger.started && !up_ledger_knows(&account->ledger, pids[i]))
			items[n].born_since = born_since(account, source, arena, path);
		n++;
	}
	const int r = account_store(account, items, n, UP_DELAY_TASKSTATS);

	if (r == 0)
		account->read_at_ticks = now_ticks;
	return r;
}

/* Items of all threads of the processes, growing in the heap since their number is not known before. */
struct threads {
	struct up_ledger_item *items; /* owned */
	size_t count, capacity;
	bool any; /* some thread has ever been put on a CPU: the kernel does count */
};

static struct up_ledger_item *threads_next(struct threads *threads)
{
	if (threads->count == threads->capacity) {
		const size_t capacity = threads->capacity ? threads->capacity * 2 : 256;
		struct up_ledger_item *grown =
			capacity > UP_LEDGER_MAX ? NULL : realloc(threads->items, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		threads->items = grown;
		threads->capacity = capacity;
	}
	return &threads->items[threads->count];
}

/* Adds the threads of PID. 0, also when it is gone; -ENOMEM; -EBADMSG; -ENOENT without CONFIG_SCHED_INFO. */
static int threads_add(struct threads *threads, const struct up_delay_account *account, const struct up_source *source,
	struct up_arena *arena, pid_t pid)
{
	char path[96];
	int r = 0;

	snprintf(path, sizeof(path), "proc/%d/task", pid);
	DIR *dir = up_source_opendir(source, path);

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (const struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		struct up_ledger_item *item;
		uint64_t tid;
		char *text;

		if (up_scan_whole_u64(entry->d_name, &tid) < 0 || tid > INT32_MAX)
			continue;
		snprintf(path, sizeof(path), "proc/%d/task/%u/schedstat", pid, (unsigned)tid);
		r = up_source_read(source, arena, path, &text, NULL);
		if (r == -ENOENT || r == -ESRCH) {
			r = 0;
			continue;
		}
		item = threads_next(threads);
		if (r < 0 || !item) {
			r = r < 0 ? r : -ENOMEM;
			break;
		}
		*item = (struct up_ledger_item){ .id = (int32_t)tid };
		r = up_delay_parse_task(text, item->counter);
		threads->any |= item->counter[WAITS] > 0;
		snprintf(path, sizeof(path), "proc/%d/task/%u/stat", pid, (unsigned)tid);
		if (account->ledger.started && !up_ledger_knows(&account->ledger, item->id))
			item->born_since = born_since(account, source, arena, path);
		threads->count++;
	}
	closedir(dir);
	return r;
}

int up_delay_read_schedstat(
	struct up_delay_account *account, const struct up_source *source, struct up_arena *arena, const pid_t *pids, size_t count)
{
	struct threads threads = { 0 };
	const uint64_t now_ticks = uptime_ticks(source, arena);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = threads_add(&threads, account, source, arena, pids[i]);
	/* Every thread that lives has been on a CPU, so all zeros (or no file at all) means that this kernel does not count. */
	if (r == 0 && count > 0 && !threads.any)
		r = -ENOENT;
	if (r == 0)
		r = account_store(account, threads.items, threads.count, UP_DELAY_SCHEDSTAT);
	if (r == 0)
		account->read_at_ticks = now_ticks;
	free(threads.items);
	return r;
}

int up_delay_read_host_file(struct up_delay_account *account, const struct up_source *source, struct up_arena *arena)
{
	uint64_t sum[UP_LEDGER_COUNTERS];
	char *text;
	int r = up_source_read(source, arena, "proc/schedstat", &text, NULL);

	if (r == 0)
		r = up_delay_parse_host(text, sum);
	if (r < 0)
		return r;
	account->sample = (struct up_delay_sample){
		.method = UP_DELAY_SCHEDSTAT,
		.wait_ns = { sum[WAIT], true },
		.on_cpu_ns = { sum[RUN], true },
		.waits = { sum[WAITS], true },
		.source = "/proc/schedstat",
	};
	return 0;
}

void up_delay_read_throttled(
	struct up_delay_sample *sample, const struct up_source *source, struct up_arena *arena, const struct up_target *target)
{
	/* cpu.stat.local (6.6 and later) has what ancestors took too; cpu.stat only the group's own quota: still a lower bound. */
	static const char *const files[] = { "cpu.stat.local", "cpu.stat" };
	char dir[UP_PATH_MAX], path[UP_PATH_MAX + 32];
	bool v2;

	if (target->kind != UP_TARGET_CGROUP || !up_target_dir(target, UP_CTL_CPU, 0, dir, sizeof(dir), &v2))
		return;
	for (size_t i = 0; i < UP_COUNT(files); i++) {
		struct up_u64 throttled;
		char *text;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		if (up_source_read(source, arena, path, &text, NULL) < 0)
			continue;
		if (up_scan_key(text, v2 ? "throttled_usec" : "throttled_time", &throttled) < 0 || !throttled.has)
			continue;
		sample->throttled_bound_ns = (struct up_u64){ v2 ? throttled.n * 1000 : throttled.n, true };
		return;
	}
}
