/* Threads of a target in block I/O or in a memory stall, integrated over snapshots. Pure part of useprobe/tasks.h. */
#ifndef UP_TASK_SUMS_H
#define UP_TASK_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "useprobe/target.h"
#include "useprobe/thread_pools.h"

enum up_stall {
	UP_STALL_DISK, /* blocked in I/O */
	UP_STALL_MEMORY, /* in a memory stall (PSI's mark): asleep, ready to run, or on a CPU taking pages back */
	UP_STALL_COUNT
};

struct up_stall_sum {
	uint64_t area_ns; /* counter: threads integrated over time */
	uint64_t running_area_ns; /* counter: those of them that are on a CPU or ready to run */
	uint32_t most; /* most threads in one snapshot since the last take */
};

struct up_task_sums {
	struct up_stall_sum stalls[UP_TARGETS_MAX][UP_STALL_COUNT]; /* by target */
	uint64_t mono_ns; /* integrated up to, 0 = no snapshot yet */
};

/* Folds a snapshot made at MONO_NS. MEMBERS [UP_TARGETS_MAX]: bit set of the targets that lie inside each, itself included. What a
 * thread does is taken to hold since the snapshot before. */
void up_task_sums_fold(struct up_task_sums *sums, const uint32_t members[UP_TARGETS_MAX], const struct up_thread *threads,
	size_t count, uint64_t mono_ns);

#endif
