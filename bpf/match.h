/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What match.bpf.h and src/source/bpf_match.c share: how a task is told to be a target's. */
#ifndef UP_BPF_MATCH_H
#define UP_BPF_MATCH_H

#include <linux/types.h>

#define UP_MATCH_CPU 1 /* group of the cpu controller (v1) */
#define UP_MATCH_V2 2 /* group in the v2 hierarchy */
#define UP_MATCH_PIDS 16

struct up_match_key {
	__u64 id; /* of the cgroup, as name_to_handle_at gives it */
	__u32 family;
	__u32 zero;
};

/* Set by user space. */
struct up_match_config {
	__u32 families; /* bit set of the families in the map of groups */
	__u32 pid_count; /* --pid targets */
	__u32 pid[UP_MATCH_PIDS];
	__u32 pid_target[UP_MATCH_PIDS];
};

#endif
