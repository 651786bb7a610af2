/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Run-queue wait of up to 16 targets and the host from one hook, without any state per task.
 *
 * The kernel's own sched_info holds when a task was queued and when it got its CPU. At tp_btf/sched_switch, which fires before
 * sched_info_switch() updates them, the wait of the incoming task and the run of the outgoing one can be read off (Linux 5.10 to 7.2
 * tested). Sums therefore equal run_delay of /proc/PID/schedstat, waits that began before we came included. No wake-up hook. */
#include "delay.h"

#include "bucket.bpf.h"
#include "core_compat.bpf.h"
#include "quota.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define DEPTH_MAX 24 /* levels of cgroups looked at above a task */

/* Index: CPU * UP_CELLS + cell. max_entries is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UP_CELLS);
	__type(key, __u32);
	__type(value, struct up_cell);
} cells SEC(".maps");

/* Targets: id of a group to its cell. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct up_group_key);
	__type(value, __u32);
} groups SEC(".maps");

/* Direct-mapped cache of resolved groups. Index: CPU * UP_GROUP_CACHE + hash; one part more for the walk, which may move between CPUs. */
struct known_group {
	__u64 id;
	__u32 generation;
	__u16 family;
	__u16 cell;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UP_GROUP_CACHE);
	__type(key, __u32);
	__type(value, struct known_group);
} known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UP_CELLS);
	__type(key, __u32);
	__type(value, struct up_pending);
} pending SEC(".maps");

/* Waits by who ran meanwhile, in ns; user space empties it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_RIVALS);
	__type(key, struct up_rival_key);
	__type(value, __u64);
} rivals SEC(".maps");

/* Index: CPU. max_entries is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct up_runs);
} runs SEC(".maps");

struct up_delay_config config = {};
const volatile __u32 quota_known = 1;
const volatile __u32 walk_part = 0; /* of the cache: behind the last CPU's */
/* rq->clock less bpf_ktime_get_ns(), taken at the next switch after user space took clock_known back: a queue's own clock stands still while its CPU
 * idles, and then the length of a wait that is still going on has no other measure. */
__u32 clock_known = 0;
__s64 clock_offset = 0;

/* Cell of the innermost target that GROUP is in, 0 outside of all. */
static __always_inline __u32 group_resolve(struct cgroup *group, __u32 family)
{
	for (int i = 0; i < DEPTH_MAX; i++) {
		struct up_group_key key = { .id = group->kn->id, .family = family };
		__u32 *cell;

		cell = bpf_map_lookup_elem(&groups, &key);
		if (cell)
			return *cell;
		if (group->level <= 0)
			break;
		group = group->self.parent->cgroup;
	}
	return 0;
}

static __always_inline struct cgroup *group_of(struct task_struct *task, __u32 family)
{
	return family == UP_BY_CPU ? task->sched_task_group->css.cgroup : task->cgroups->dfl_cgrp;
}

static __always_inline __u32 cell_of(struct task_struct *task, __u32 family, __u32 cpu)
{
	struct cgroup *group = group_of(task, family);
	const __u64 id = group->kn->id; /* an autogroup has no cgroup; loads through NULL give 0 */
	const __u32 index = cpu * UP_GROUP_CACHE + ((__u32)(id ^ (id >> 7)) & (UP_GROUP_CACHE - 1));
	struct known_group *entry = bpf_map_lookup_elem(&known, &index);
	__u32 cell;

	if (!entry)
		return 0;
	if (entry->id == id && entry->generation == config.generation && entry->family == family)
		return entry->cell;
	cell = id ? group_resolve(group, family) : 0;
	entry->id = id;
	entry->generation = config.generation;
	entry->family = (__u16)family;
	entry->cell = (__u16)cell;
	return cell;
}

static __always_inline __u32 pid_cell_of(__u32 tgid)
{
	const __u32 count = config.pid_count;

	for (int i = 0; i < UP_PIDS_MAX; i++) {
		if (i >= count)
			break;
		if (config.pid[i] == tgid)
			return config.pid_cell[i];
	}
	return 0;
}

static __always_inline struct up_cell *cell_get(__u32 cpu, __u32 cell)
{
	const __u32 index = cpu * UP_CELLS + cell;

	return bpf_map_lookup_elem(&cells, &index);
}

static __always_inline void count_wait(struct up_cell *cell, __u64 wait_ns, __u64 throttled_ns, __u64 bucket)
{
	if (!cell)
		return;
	cell->bucket[bucket]++;
	cell->waits++;
	cell->wait_ns += wait_ns;
	cell->throttled_ns += throttled_ns;
}

static __always_inline void add_rival(const struct up_run *run, __u32 cell, __u64 ns)
{
	struct up_rival_key key = { .id = run->id, .cell = cell };
	__u64 *sum;

	sum = bpf_map_lookup_elem(&rivals, &key);
	if (sum)
		__sync_fetch_and_add(sum, ns);
	else
		bpf_map_update_elem(&rivals, &key, &ns, BPF_NOEXIST); /* full: the smaller part of many is lost */
}

/* Who ran on this CPU while a task of target CELL waited, as far back as the last runs reach. */
static __always_inline void count_rivals(struct task_struct *task, __u32 cell, __u32 family, __u32 cpu, __u64 queued)
{
	struct up_runs *last = bpf_map_lookup_elem(&runs, &cpu);

	if (!last)
		return;
	for (__u32 i = 1; i <= UP_RUNS; i++) {
		const struct up_run *run = &last->run[(last->count - i) & (UP_RUNS - 1)];
		const __u64 begin = run->begin > queued ? run->begin : queued;
		bool own;

		if (run->end <= begin)
			break;
		own = family == UP_BY_PID ? run->tgid == (__u32)task->tgid
					  : (family == config.primary ? run->cell : run->secondary_cell) == cell;
		if (!own)
			add_rival(run, cell, run->end - begin);
	}
}

static __always_inline void task_arrives(struct task_struct *task, __u32 cpu, __u64 now)
{
	const __u64 queued = task->sched_info.last_queued;
	__u64 wait, throttled, bucket;
	__u32 mine;

	if (!queued || now < queued)
		return;
	wait = now - queued;
	throttled = quota_known ? quota_part(task, queued, now) : 0;
	bucket = bucket_of(wait - throttled);
	barrier_var(bucket); /* verifiers before 6.3 lose the bound through the 32-bit copy: mask a full register */
	bucket &= UP_CELL_BUCKETS - 1;
	mine = cell_of(task, config.primary, cpu);
	count_wait(cell_get(cpu, mine), wait, throttled, bucket);
	if (mine && wait > throttled)
		count_rivals(task, mine, config.primary, cpu, queued);
	if (config.secondary) {
		const __u32 cell = cell_of(task, config.secondary, cpu);

		if (cell) {
			count_wait(cell_get(cpu, cell), wait, throttled, bucket);
			if (wait > throttled)
				count_rivals(task, cell, config.secondary, cpu, queued);
		}
	}
	if (config.pid_count) {
		const __u32 cell = pid_cell_of(task->tgid);

		if (cell) {
			count_wait(cell_get(cpu, cell), wait, throttled, bucket);
			if (wait > throttled)
				count_rivals(task, cell, UP_BY_PID, cpu, queued);
		}
	}
}

static __always_inline void count_run(struct up_cell *cell, __u64 run_ns)
{
	if (!cell)
		return;
	cell->on_cpu_ns += run_ns;
	cell->runs++;
}

static __always_inline void note_run(
	struct task_struct *task, __u32 cell, __u32 secondary_cell, __u32 cpu, __u64 begin, __u64 end)
{
	struct up_runs *last = bpf_map_lookup_elem(&runs, &cpu);
	struct up_run *run;

	if (!last)
		return;
	run = &last->run[last->count & (UP_RUNS - 1)];
	run->id = group_of(task, config.primary)->kn->id;
	run->begin = begin;
	run->end = end;
	run->tgid = task->tgid;
	run->cell = cell;
	run->secondary_cell = secondary_cell;
	last->count++;
}

static __always_inline void task_departs(struct task_struct *task, __u32 cpu, __u64 now)
{
	const __u64 arrived = task->sched_info.last_arrival, run = now > arrived ? now - arrived : 0;
	const __u32 mine = cell_of(task, config.primary, cpu);
	__u32 secondary = 0;

	if (quota_known)
		quota_note(task, now);
	count_run(cell_get(cpu, mine), run);
	if (config.secondary) {
		secondary = cell_of(task, config.secondary, cpu);
		if (secondary)
			count_run(cell_get(cpu, secondary), run);
	}
	if (config.pid_count) {
		const __u32 cell = pid_cell_of(task->tgid);

		if (cell)
			count_run(cell_get(cpu, cell), run);
	}
	if (run)
		note_run(task, mine, secondary, cpu, arrived, now);
}

/* (preempt, prev, next) stand first on every kernel; later ones append. */
SEC("tp_btf/sched_switch")
int BPF_PROG(up_delay_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	/* The run queue through the task: `extern struct rq runqueues __ksym` needs CONFIG_KALLSYMS_ALL. */
	const __u64 now = next->se.cfs_rq->rq->clock;
	const __u32 cpu = bpf_get_smp_processor_id();

	if (!clock_known) {
		clock_offset = (__s64)(now - bpf_ktime_get_ns());
		clock_known = 1;
	}
	if (prev->pid)
		task_departs(prev, cpu, now);
	if (next->pid)
		task_arrives(next, cpu, now);
	return 0;
}

static __always_inline void count_pending(__u32 cell, const struct up_pending *more)
{
	struct up_pending *sum;

	sum = bpf_map_lookup_elem(&pending, &cell);
	if (!sum)
		return;
	sum->wait_ns += more->wait_ns;
	sum->throttled_ns += more->throttled_ns;
	sum->on_cpu_ns += more->on_cpu_ns;
	sum->waiting += more->waiting;
	sum->throttled += more->throttled;
}

/* Waits and runs that have not ended, once a read: without them a long wait would show up only when it is over. */
SEC("iter/task")
int up_delay_pending(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct up_pending one = {};
	__u64 now, queued;
	__u32 cell;

	if (!task || !task->pid)
		return 0;
	queued = task->sched_info.last_queued;
	now = bpf_ktime_get_ns() + clock_offset;
	if (up_task_on_cpu(task)) {
		if (now > task->sched_info.last_arrival)
			one.on_cpu_ns = now - task->sched_info.last_arrival;
	} else if (queued) {
		if (now < queued)
			now = queued;
		one.wait_ns = now - queued;
		one.waiting = 1;
		if (quota_known) {
			one.throttled_ns = quota_part_seen(task, queued, now);
			one.throttled = quota_held(task);
		}
	} else {
		return 0;
	}
	count_pending(cell_of(task, config.primary, walk_part), &one);
	if (config.secondary) {
		cell = cell_of(task, config.secondary, walk_part);
		if (cell)
			count_pending(cell, &one);
	}
	if (config.pid_count) {
		cell = pid_cell_of(task->tgid);
		if (cell)
			count_pending(cell, &one);
	}
	return 0;
}
