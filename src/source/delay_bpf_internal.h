/* Private to the two files of the BPF delay: its session. */
#ifndef UP_SOURCE_DELAY_BPF_INTERNAL_H
#define UP_SOURCE_DELAY_BPF_INTERNAL_H

#include "delay.h"
#include "delay.skel.h"
#include "delay_bpf.h"
#include "delay_rivals.h"

/* How the program finds a target. */
struct place {
	unsigned family; /* UP_BY_*, 0 = not at all */
	unsigned cell; /* where it is counted */
	uint32_t members; /* bit set of cells that add up to it: its own and those of targets inside it */
	struct up_group_key key; /* in the groups map when family is one of groups */
	const char *path; /* borrowed from the target until the next retarget */
};

/* Counters never fall; what was read last, since waits that end during the walk may be seen twice. */
struct last {
	__u64 wait_ns, throttled_ns, on_cpu_ns;
};

struct up_delay_bpf {
	struct delay *skeleton; /* owned */
	struct bpf_link *attached, *walk; /* owned */
	const struct up_cell *cells; /* [cpus * UP_CELLS], mapped */
	struct up_pending *pending; /* [UP_CELLS], mapped */
	size_t cells_bytes, pending_bytes;
	unsigned cpus, quota_queues;
	struct place places[UP_TARGETS_MAX];
	size_t count;
	uint32_t host_members;
	bool pids_global;
	double walk_share; /* of the time between two ticks the walk may cost */
	unsigned strikes;
	uint64_t walked_at_ns;
	struct last last[UP_TARGETS_MAX + 1];
	struct up_delay_rivals rivals;
	const struct up_hierarchy *primary; /* whose groups the rivals are; NULL = none mounted; borrowed */
};

#endif
