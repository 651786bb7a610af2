/* Delay: how long the tasks of each target waited for a CPU, from the best source this machine allows:
 *   UP_DELAY_BPF        one tp_btf/sched_switch program: exact, with histogram, throttled and contended waits apart
 *   UP_DELAY_TASKSTATS  generic netlink per process, exited threads included (kernel/taskstats.c; needs CAP_NET_ADMIN)
 *   UP_DELAY_SCHEDSTAT  /proc/PID/task/TID/schedstat field 2; threads that came and went between two reads are missed (lower bound)
 * One service for the whole run: the cpu row needs the throttled part, the run-queue row the rest. Read once a tick, then cached. */
#ifndef UP_DELAY_H
#define UP_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "useprobe/arena.h"
#include "useprobe/scan.h"
#include "useprobe/source.h"
#include "useprobe/target.h"

/* 8 buckets of equal width per octave: a bucket is at most 12.5 % wide, so its middle is within 6.3 % of any wait in it. */
#define UP_DELAY_BUCKETS 256

enum up_delay_method { UP_DELAY_NONE, UP_DELAY_BPF, UP_DELAY_TASKSTATS, UP_DELAY_SCHEDSTAT };

struct up_delay_sample {
	enum up_delay_method method;
	bool lower_bound; /* some waits are not in the sums */
	const char *left_out; /* static: which waits, and why; NULL = none or a method that always leaves some out */
	struct up_u64 wait_ns; /* counter: all time spent runnable but not running */
	struct up_u64 throttled_ns; /* counter: the part of wait_ns because of a CPU quota; BPF only */
	/* counter: lower bound of the same without BPF, from cpu.stat.local or the group's own cpu.stat: a throttled CPU counts once there,
	 * however many tasks wait on it */
	struct up_u64 throttled_bound_ns;
	struct up_u64 on_cpu_ns; /* counter */
	struct up_u64 waits; /* counter: times a task was put on a CPU */
	const uint64_t *buckets; /* [UP_DELAY_BUCKETS] counter of waits by length, borrowed; NULL without histogram */
	struct up_u64 dropped; /* counter: map updates that failed */
	/* Group whose tasks had the CPU for most of what the target's tasks waited for one since the last tick, and how long that was; BPF only.
	 * NULL: nobody's. Borrowed until the next tick. */
	const char *competitor;
	uint64_t competitor_ns;
	struct up_u64 bpf_run_ns; /* counter: CPU the programs cost, when BPF statistics are on */
	const char *source; /* for the method column: "tp_btf/sched_switch", "taskstats", "schedstat" */
};

struct up_delay;

/* Chooses the best method that works here. 0 with an object to free; *ret NULL never happens on success. Reasons why better
 * methods were refused are kept for doctor (up_delay_reason). */
int up_delay_new(const struct up_source *source, const struct up_targets *targets, struct up_delay **ret);
void up_delay_free(struct up_delay *delay);

/* Tells the service that targets appeared or came back. Called by the tick, before any read. */
void up_delay_retarget(struct up_delay *delay, const struct up_targets *targets);

/* Cumulative sample of TARGET (NULL = host) at this TICK. Repeated calls in one tick give the same sample. 0, -ENOENT, -EACCES. */
int up_delay_read(struct up_delay *delay, const struct up_source *source, struct up_arena *arena, const struct up_target *target,
	uint64_t tick, struct up_delay_sample *ret);

/* Why METHOD is not in use ("CAP_NET_ADMIN is missing"), NULL when it is. */
const char *up_delay_reason(const struct up_delay *delay, enum up_delay_method method);

/* Length in ns at which P percent of the waits of CUR - PREV are no longer, nearest rank over buckets. */
double up_delay_percentile_ns(const uint64_t *prev, const uint64_t *cur, double p);
/* Bucket of a wait; lower edge of a bucket. */
unsigned up_delay_bucket(uint64_t ns);
double up_delay_bucket_ns(unsigned bucket);

#endif
