/* Tasks: a thread of its own takes snapshots of the targets' threads ten times a second through a BPF task iterator and folds them into
 * pools; a tick copies the pools. Needs BTF, CAP_BPF, CAP_PERFMON, Linux 5.15 (bpf_task_pt_regs). */
#ifndef UP_TASKS_H
#define UP_TASKS_H

#include "useprobe/arena.h"
#include "useprobe/scan.h"
#include "useprobe/source.h"
#include "useprobe/target.h"
#include "useprobe/task_sums.h"
#include "useprobe/thread_pools.h"

struct up_tasks;

/* 0; -EACCES, -ENOTSUP, ... with the reason in REASON. */
UP_MUST_CHECK int up_tasks_new(const struct up_source *source, const struct up_targets *targets, struct up_tasks **ret,
	char *reason, size_t reason_size);
void up_tasks_free(struct up_tasks *tasks);
void up_tasks_retarget(struct up_tasks *tasks, const struct up_targets *targets);
/* Copies the pools of all targets into ARENA. 0 with *ret, *ret_count and the time they are integrated to (0: no snapshot yet); -ENOSPC. */
UP_MUST_CHECK int up_tasks_pools(
	struct up_tasks *tasks, struct up_arena *arena, struct up_pool **ret, size_t *ret_count, uint64_t *ret_mono_ns);

/* Threads of target number TARGET in a stall, itself and what lies in it. */
struct up_stall_sample {
	struct up_u64 area_ns, running_area_ns; /* counter: threads integrated over time; has not: reason says why */
	struct up_u64 mono_ns; /* integrated up to */
	uint32_t most; /* in one snapshot since the last call for this target and stall */
	const char *reason; /* static or of the object */
};
void up_tasks_stall(struct up_tasks *tasks, size_t target, enum up_stall stall, struct up_stall_sample *ret);
/* Where the snapshots come from and how often, for the method column: "iter/task 10 Hz". */
const char *up_tasks_method(const struct up_tasks *tasks);

#endif
