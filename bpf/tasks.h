/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What tasks.bpf.c and src/source/tasks.c share: one record for each thread of the targets. */
#ifndef UP_BPF_TASKS_H
#define UP_BPF_TASKS_H

#include <linux/types.h>

#define UP_TASK_PREEMPTED 1 /* ran until the walk came */
#define UP_TASK_WOKEN 2 /* slept until then; what it slept in is still to be seen */

struct up_task_record {
	__u32 pid, tgid; /* thread, process; of the initial pid namespace */
	__u32 target;
	__u32 state; /* task_struct.__state: 0 runnable, 1 interruptible, 2 uninterruptible, 0x400 no load */
	__s64 syscall; /* it sleeps in, -1 outside of any; meaningful only when state is not 0 */
	__u64 arg; /* its first argument */
	__u64 exec_ns; /* counter: CPU time */
	__u64 start_ns; /* tells a reused pid */
	__u8 on_cpu, in_iowait;
	__u8 in_memstall; /* waits for memory or takes it back itself; 0 where the kernel has no such bit */
	__u8 held_up; /* by the walk itself, which has the CPU this thread is queued on: UP_TASK_* */
	__u8 zero[4];
	char comm[16];
};
_Static_assert(sizeof(struct up_task_record) == 72, "up_task_record");

/* A thread that has ended, told when the kernel gives it up: its CPU time is complete then. */
struct up_task_end {
	__u32 pid, tgid;
	__u32 target;
	__u32 zero;
	__u64 start_ns;
	__u64 exec_ns;
	char comm[16];
};
_Static_assert(sizeof(struct up_task_end) == 48, "up_task_end");

#define UP_TASK_ENDS_BYTES (256 << 10) /* some 4,600 ends between two snapshots */

#endif
