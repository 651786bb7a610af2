/* Delay by BPF (bpf/delay.bpf.c): one session for all targets and the host. */
#ifndef UP_SOURCE_DELAY_BPF_H
#define UP_SOURCE_DELAY_BPF_H

#include "useprobe/delay.h"

struct up_delay_bpf;

/* Loads and attaches. QUOTA_QUEUES: room for throttled group queues, 0 = the default. 0 with an object to free; -errno with REASON. */
UP_MUST_CHECK int up_delay_bpf_new(unsigned quota_queues, struct up_delay_bpf **ret, char *reason, size_t reason_size);
void up_delay_bpf_free(struct up_delay_bpf *bpf);

/* Tells the program which groups and processes the targets are. 0 or -errno of the map. */
UP_MUST_CHECK int up_delay_bpf_retarget(struct up_delay_bpf *bpf, const struct up_targets *targets);
/* Can target INDEX be told apart by the program? Not without an id, nor a process seen from another pid namespace. */
bool up_delay_bpf_serves(const struct up_delay_bpf *bpf, size_t index);

/* Looks at waits and runs that have not ended yet. Once a tick, before the reads of that tick. */
void up_delay_bpf_refresh(struct up_delay_bpf *bpf);
/* Counters of target INDEX (UP_TARGETS_MAX = host); BUCKETS is filled and stands behind ret->buckets. */
void up_delay_bpf_read(struct up_delay_bpf *bpf, size_t index, uint64_t buckets[UP_DELAY_BUCKETS], struct up_delay_sample *ret);
/* Program descriptor, for its run time. */
int up_delay_bpf_fd(const struct up_delay_bpf *bpf);

#endif
