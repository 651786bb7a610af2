/* Tasks: a thread of its own takes snapshots of the targets' threads ten times a second through a BPF task iterator and folds them into
 * pools and sums; a tick copies those. Needs BTF, CAP_BPF, CAP_PERFMON, Linux 5.15 (bpf_task_pt_regs). Threads that begin and end
 * between two snapshots are told of by the kernel (tp_btf/sched_process_free).
 * Where the BPF programs are refused, /proc/PID/task is read instead: 25 times as dear, and poorer (struct up_tasks_view says how).
 * Snapshots are taken less often when they would cost more than 5 % of a CPU. */
#ifndef UP_TASKS_H
#define UP_TASKS_H

#include "useprobe/arena.h"
#include "useprobe/scan.h"
#include "useprobe/source.h"
#include "useprobe/target.h"
#include "useprobe/task_sums.h"
#include "useprobe/thread_pools.h"

struct up_tasks;

/* 0; -EOPNOTSUPP (a recorded tree), -ENOMEM, -EAGAIN with the reason in REASON. */
UP_MUST_CHECK int up_tasks_new(const struct up_source *source, const struct up_targets *targets, struct up_tasks **ret,
	char *reason, size_t reason_size);
void up_tasks_free(struct up_tasks *tasks);
void up_tasks_retarget(struct up_tasks *tasks, const struct up_targets *targets);

struct up_tasks_view {
	struct up_pool *pools; /* [count] of all targets */
	size_t count;
	uint64_t mono_ns; /* integrated up to, 0 = no snapshot yet */
	struct up_u64 snapshots; /* counter */
	struct up_u64 lost; /* counter: threads, and ends of threads, that found no room */
	uint64_t cost_ns; /* CPU time of the last snapshot */
	const char *method; /* static: "iter/task 10 Hz" */
	const char *note; /* what makes these snapshots poorer than they might be; NULL = nothing */
	const char *no_runnable; /* why threads ready to run are among the running ones; NULL = they are not */
	bool lower_bound; /* some threads that are busy may be taken for idle */
	const char *no_ends; /* why ended threads are not counted; NULL = they are */
};
/* The state of now, copied into ARENA. 0 or -ENOSPC. */
UP_MUST_CHECK int up_tasks_read(struct up_tasks *tasks, struct up_arena *arena, struct up_tasks_view *ret);

/* Threads of target number TARGET in a stall, its own and those of targets inside it. */
struct up_stall_sample {
	struct up_u64 area_ns, running_area_ns; /* counter: threads integrated over time; has not: reason says why */
	struct up_u64 mono_ns; /* integrated up to */
	uint32_t most; /* in one snapshot since the last call for this target and stall */
	const char *reason; /* static or of the object */
	const char *method; /* static */
};
void up_tasks_stall(struct up_tasks *tasks, size_t target, enum up_stall stall, struct up_stall_sample *ret);

#endif
