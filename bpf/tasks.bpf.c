/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * A snapshot of the targets' threads: who runs, who waits for a CPU, and in which system call the others sleep. The iterator walks all
 * threads of the machine at 0.4 us each and writes a record of those that match (iter/task: Linux 5.8, bpf_task_pt_regs: 5.15). */
#include "tasks.h"

#include "core_compat.bpf.h"
#include "match.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* `state` became `__state` in 5.14 (commit 2f064a59a11f). */
struct task_struct___state {
	unsigned int __state;
};
struct task_struct___old_state {
	long state;
};
struct task_struct___iowait {
	unsigned in_iowait : 1;
};
/* CONFIG_PSI, commit 1066d1b6974e (5.7); before, it was a flag of another word. */
struct task_struct___memstall {
	unsigned in_memstall : 1;
};
/* x86 and arm64 name the registers of a system call differently; both are looked at by name. */
struct pt_regs___x86 {
	long orig_ax;
	long di;
};
struct pt_regs___arm64 {
	__u64 orig_x0;
	__s32 syscallno;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, UP_TASK_ENDS_BYTES);
} ends SEC(".maps");

/* Ends that found no room in the ring. */
__u64 ends_lost = 0;

/* Set by a walk: whether this kernel marks the threads in a memory stall. */
__u32 memstall_known = 0;

static __always_inline __u32 state_of(struct task_struct *task)
{
	struct task_struct___state *now = (void *)task;

	if (bpf_core_field_exists(now->__state))
		return BPF_CORE_READ(now, __state);
	return (__u32)BPF_CORE_READ((struct task_struct___old_state *)task, state);
}

static __always_inline bool in_memstall(struct task_struct *task)
{
	struct task_struct___memstall *stalled = (void *)task;

	if (!bpf_core_field_exists(stalled->in_memstall))
		return false;
	return BPF_CORE_READ_BITFIELD(stalled, in_memstall);
}

/* The walk has a CPU, and whoever ran there or is woken there meanwhile has to wait for it: on a machine without a free CPU the walk would
 * never see a thread run, and only the end of each short I/O. So those threads are taken as they were when the walk got the CPU. */
static __always_inline __u8 held_up(struct task_struct *task)
{
	struct task_struct *walker = (void *)bpf_get_current_task();
	__u64 since, queued;

	if (!bpf_core_field_exists(task->sched_info.last_queued) || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	if (BPF_CORE_READ(task, se.cfs_rq, rq) != BPF_CORE_READ(walker, se.cfs_rq, rq))
		return 0;
	since = BPF_CORE_READ(walker, sched_info.last_arrival);
	queued = task->sched_info.last_queued;
	/* Both are the same reading of the run queue's clock for the task that was switched out for the walker. */
	return !since || queued < since ? 0 : queued == since ? UP_TASK_PREEMPTED : UP_TASK_WOKEN;
}

static __always_inline void read_syscall(struct task_struct *task, struct up_task_record *record)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct pt_regs___x86 *x86 = (void *)regs;
	struct pt_regs___arm64 *arm = (void *)regs;

	record->syscall = -1;
	if (!regs)
		return;
	if (bpf_core_field_exists(x86->orig_ax)) {
		record->syscall = BPF_CORE_READ(x86, orig_ax);
		record->arg = BPF_CORE_READ(x86, di);
	} else if (bpf_core_field_exists(arm->syscallno)) {
		record->syscall = BPF_CORE_READ(arm, syscallno);
		record->arg = BPF_CORE_READ(arm, orig_x0);
	}
}

SEC("iter/task")
int up_tasks_snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___iowait *waiter = (void *)task;
	struct up_task_record record = {};
	int target;

	if (!task)
		return 0;
	memstall_known = bpf_core_field_exists(((struct task_struct___memstall *)task)->in_memstall);
	/* A process that has ended keeps its place until somebody asks for its status: it is no thread of a pool. */
	if (task->exit_state)
		return 0;
	target = target_of_task(task);
	if (target < 0)
		return 0;
	record.pid = task->pid;
	record.tgid = task->tgid;
	record.target = target;
	record.state = state_of(task);
	record.exec_ns = task->se.sum_exec_runtime;
	record.start_ns = task->start_time;
	record.on_cpu = up_task_on_cpu(task);
	record.in_iowait = BPF_CORE_READ_BITFIELD(waiter, in_iowait);
	record.in_memstall = in_memstall(task);
	if (record.state == 0 && !record.on_cpu)
		record.held_up = held_up(task);
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	read_syscall(task, &record);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

/* Here and not at sched_process_exit, since what a thread used of its last time slice is added when it leaves the CPU for good. A process
 * comes here when its parent has asked for its status. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(up_tasks_end, struct task_struct *task)
{
	const int target = target_of_task(task);
	struct up_task_end *end;

	if (target < 0)
		return 0;
	end = bpf_ringbuf_reserve(&ends, sizeof(*end), 0);
	if (!end) {
		__sync_fetch_and_add(&ends_lost, 1);
		return 0;
	}
	end->pid = task->pid;
	end->tgid = task->tgid;
	end->target = target;
	end->zero = 0;
	end->start_ns = task->start_time;
	end->exec_ns = task->se.sum_exec_runtime;
	bpf_probe_read_kernel(end->comm, sizeof(end->comm), task->comm);
	/* Nobody waits for it: the next snapshot looks. */
	bpf_ringbuf_submit(end, BPF_RB_NO_WAKEUP);
	return 0;
}
