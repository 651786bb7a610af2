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

static __always_inline __u32 state_of(struct task_struct *task)
{
	struct task_struct___state *now = (void *)task;

	if (bpf_core_field_exists(now->__state))
		return BPF_CORE_READ(now, __state);
	return (__u32)BPF_CORE_READ((struct task_struct___old_state *)task, state);
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
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	read_syscall(task, &record);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}
