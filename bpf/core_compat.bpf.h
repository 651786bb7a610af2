/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Kernel differences, each by the name of the field, never by version. A flavour (struct NAME___what) is matched by libbpf as NAME. */
#ifndef UP_BPF_CORE_COMPAT_H
#define UP_BPF_CORE_COMPAT_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define UP_MAX_RT_PRIO 100 /* below it: real-time and deadline tasks, which no CFS quota stops */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Bandwidth control, CONFIG_CFS_BANDWIDTH. throttle_count counts throttled levels above; the _self pair (6.6 and later, commit
 * 677ea015f231) is the queue's own throttled time, inherited throttling included, in rq->clock. The third pair has had two names and
 * another clock; here it only tells "has been throttled". */
struct cfs_rq___quota {
	int throttle_count;
	__u64 throttled_clock_self;
	__u64 throttled_clock_self_time;
	__u64 throttled_clock_pelt_time; /* 5.19 and later */
};
struct cfs_rq___task_time {
	__u64 throttled_clock_task_time; /* to 5.18 */
};

/* on_cpu: int to 7.1, one byte from 7.2; read by its real size. */
struct task_struct___on_cpu {
	int on_cpu;
};

#pragma clang attribute pop

static __always_inline bool up_task_on_cpu(struct task_struct *task)
{
	struct task_struct___on_cpu *t = (void *)task;

	return BPF_CORE_READ_BITFIELD(t, on_cpu);
}

#endif
