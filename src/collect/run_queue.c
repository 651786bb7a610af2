/* run_queue - tasks of a target that are ready to run and have no CPU, without those that its quota holds back (they are the cpu row's).
 * Saturation is the 95th percentile of the waits that ended in the window; "did not queue" is 0. Sources: useprobe/delay.h. */
#include "run_queue_row.h"

const struct up_collector up_collector_run_queue = {
	.name = "run_queue",
	.summary = "tasks of a target that wait for a CPU, and for how long",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "run-queue",
	.raw_bytes = sizeof(struct run_queue_raw),
	.read = run_queue_read,
	.derive = run_queue_derive,
};
