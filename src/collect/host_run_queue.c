/* host_run_queue - the same for all tasks of the machine: eBPF, else /proc/schedstat, else the sum of taskstats over all processes. */
#include "run_queue_row.h"

const struct up_collector up_collector_host_run_queue = {
	.name = "host_run_queue",
	.summary = "tasks of the whole machine that wait for a CPU, and for how long",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "run-queue",
	.raw_bytes = sizeof(struct run_queue_raw),
	.read = run_queue_read,
	.derive = run_queue_derive,
};
