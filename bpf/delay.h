/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What delay.bpf.c and src/source/delay_bpf.c share. */
#ifndef UP_BPF_DELAY_H
#define UP_BPF_DELAY_H

#include <linux/types.h>

#define UP_CELLS 17 /* a CPU. 0: outside of every target; 1 + i: target i */
#define UP_CELL_BUCKETS 256
#define UP_GROUP_CACHE 128 /* entries a CPU; power of two */
#define UP_PIDS_MAX 16
#define UP_QUOTA_QUEUES 4096 /* group run queues that have been throttled: one a group and CPU */
#define UP_QUOTA_POINTS 16 /* power of two; two a throttle: a wait that outlasts more of them falls short */

/* Families of ids a task can be found by. A task counts once in the primary one (so that its cells add up to the host), and besides in
 * cells of the others. */
#define UP_BY_CPU 1u /* group of the cpu controller: v1, or v2 where the controller is enabled */
#define UP_BY_V2 2u /* group in the v2 hierarchy */
#define UP_BY_PID 4u /* process */

struct up_group_key {
	__u64 id; /* of the cgroup, as name_to_handle_at gives it */
	__u32 family;
	__u32 zero;
};

/* Who had the CPU for which a task of target `cell` waited. */
#define UP_RIVALS 1024
struct up_rival_key {
	__u64 id; /* group in the primary family; 0: an autogroup's, which belongs to the root */
	__u32 cell;
	__u32 zero;
};
/* The last runs of a CPU. */
#define UP_RUNS 8 /* power of two */
struct up_run {
	__u64 id; /* group in the primary family */
	__u64 begin, end; /* rq clock */
	__u32 tgid, cell, secondary_cell, zero;
};
struct up_runs {
	struct up_run run[UP_RUNS];
	__u32 count; /* ever written; newest at (count - 1) % UP_RUNS */
	__u32 zero;
};

/* Counters of one CPU, never reset. */
struct up_cell {
	__u64 bucket[UP_CELL_BUCKETS]; /* waits by the length of their contended part, 8 buckets an octave */
	__u64 waits;
	__u64 wait_ns; /* runnable, not running: contended and throttled */
	__u64 throttled_ns; /* the throttled part of it */
	__u64 on_cpu_ns;
	__u64 runs; /* times a task left the CPU */
	__u64 zero[3];
};
_Static_assert(sizeof(struct up_cell) == 264 * 8, "up_cell");

/* What is still going on at the time of a read, over all CPUs. */
struct up_pending {
	__u64 wait_ns;
	__u64 throttled_ns;
	__u64 on_cpu_ns;
	__u32 waiting; /* tasks */
	__u32 throttled; /* of them, held back by a quota now */
};

/* Throttled time of one group run queue as a function of the clock: corner points, straight lines between them. */
struct up_quota_point {
	__u64 clock;
	__u64 throttled_ns;
};
struct up_quota_queue {
	struct up_quota_point point[UP_QUOTA_POINTS];
	__u64 seen_clock; /* of the last look */
	__u64 throttled_ns; /* then */
	__u32 points; /* ever written; newest at (points - 1) % UP_QUOTA_POINTS */
	__u32 open; /* it was throttled then */
};

/* Set by user space. */
struct up_delay_config {
	__u32 primary; /* UP_BY_CPU or UP_BY_V2 */
	__u32 secondary; /* the other one when some target is known only there, else 0 */
	__u32 generation; /* of the targets: what is cached under another one is void */
	__u32 pid_count;
	__u32 pid[UP_PIDS_MAX];
	__u32 pid_cell[UP_PIDS_MAX];
};

#endif
