/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What tasks.bpf.c and src/source/tasks.c share: one record for each thread of the targets. */
#ifndef UP_BPF_TASKS_H
#define UP_BPF_TASKS_H

#include <linux/types.h>

struct up_task_record {
	__u32 pid, tgid; /* thread, process; of the initial pid namespace */
	__u32 target;
	__u32 state; /* task_struct.__state: 0 runnable, 1 interruptible, 2 uninterruptible */
	__s64 syscall; /* it sleeps in, -1 outside of any; meaningful only when state is not 0 */
	__u64 arg; /* its first argument */
	__u64 exec_ns; /* counter: CPU time */
	__u64 start_ns; /* tells a reused pid */
	__u8 on_cpu, in_iowait;
	__u8 zero[6];
	char comm[16];
};
_Static_assert(sizeof(struct up_task_record) == 72, "up_task_record");

#endif
