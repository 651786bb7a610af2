/* Queues: how many items wait inside a program's own queue, by uprobes on the functions that put items in and take them out
 * (bpf/queues.bpf.c). Needs BTF, CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN (perf_event_open of a uprobe), Linux 5.15, and the initial pid
 * namespace. A process that starts while the probe runs is counted from its first call on. */
#ifndef UP_QUEUES_H
#define UP_QUEUES_H

#include "useprobe/arena.h"
#include "useprobe/queue_spec.h"
#include "useprobe/scan.h"
#include "useprobe/source.h"
#include "useprobe/target.h"

struct up_queues;

/* Why the number of items is known, which were in the queue before the probe came. */
enum up_queue_zero {
	UP_ZERO_UNKNOWN, /* it is not: the level above its lowest is a lower bound */
	UP_ZERO_AMBIGUOUS, /* nor is that: DEQUEUE may wait inside */
	UP_ZERO_START, /* the process is younger than the probe */
	UP_ZERO_ORDER, /* first in, first out: an item that was seen to be put has come out */
	UP_ZERO_BROKEN, /* more items came out than were in: the functions do not do what --queue says */
};
const char *up_queue_zero_name(enum up_queue_zero zero);

/* One queue of one process, or (name without a process) why there is none. */
struct up_queue_sample {
	const char *name; /* "app[12]/jobs"; "jobs" with a reason */
	const char *reason; /* NULL = counted; borrowed from the arena like NAME */
	int error; /* -errno behind the reason */
	uint32_t target; /* index; 0 without targets */
	uint64_t first_ns; /* start of the process: another one is another instance */
	enum up_queue_zero zero;
	int64_t base; /* level that means empty, or its lowest */
	int64_t level, highest; /* highest: since the sample before; both above base */
	struct up_u64 mono_ns;
	uint64_t area_ns; /* integral of the level (above 0, not base) over the time since boot, modulo 2^64 */
	struct up_u64 put, taken; /* counters */
	struct up_u64 waited_ns; /* counter: of taken items; only where items are followed by address */
	struct up_u64 earlier; /* counter: taken items that were put before the probe came; likewise */
	struct up_u64 cancelled; /* counter, part of taken; likewise */
	struct up_u64 lost; /* counter: events that could not be counted */
	double put_cost_ns, take_cost_ns; /* of a probe here, charged to the caller; NAN = not known */
	const char *slow; /* function whose first instruction is single-stepped, NULL = none; borrowed from the arena */
};

/* Loads the program and measures on ourselves what a probe costs here. SPECS [count] are copied. 0 with an object to free; -EACCES,
 * -EPERM, -EOPNOTSUPP, ... with the reason in REASON. */
UP_MUST_CHECK int up_queues_new(const struct up_source *source, const struct up_targets *targets,
	const struct up_queue_spec *specs, size_t count, struct up_queues **ret, char *reason, size_t reason_size);
void up_queues_free(struct up_queues *queues);

/* Looks for new processes and files, then reads. 0 with samples borrowed from ARENA, -ENOSPC. */
UP_MUST_CHECK int up_queues_read(struct up_queues *queues, const struct up_targets *targets, struct up_arena *arena,
	struct up_queue_sample **ret, size_t *ret_count);

/* Whether SPEC can be found in the processes of TARGETS that are there now. 0, also when there is no process yet; -ENOENT, -ENOEXEC, ...
 * with what is wrong in MESSAGE. */
UP_MUST_CHECK int up_queues_check(const struct up_source *source, const struct up_targets *targets, struct up_arena *arena,
	const struct up_queue_spec *spec, char *message, size_t size);

#endif
