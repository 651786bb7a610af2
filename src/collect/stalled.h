/* Threads of a target that block in I/O or stall on memory, as the rows of disk and memory show them: `waiting` and its details.
 * From the snapshots of useprobe/tasks.h. Private to src/collect. */
#ifndef UP_COLLECT_STALLED_H
#define UP_COLLECT_STALLED_H

#include "useprobe/collector.h"
#include "useprobe/tasks.h"

struct stalled {
	struct up_stall_sample sample;
	const char *source; /* static; NULL = no snapshots here */
};

/* Sample of env->target. Never fails: what is not known has its reason in it, borrowed from the services. */
void stalled_read(struct up_env *env, enum up_stall stall, struct stalled *ret);
/* Mean number of threads between PREV (NULL: none) and CUR; and of those that are on a CPU or ready to run. */
struct up_value stalled_tasks(const struct stalled *prev, const struct stalled *cur);
struct up_value stalled_running(const struct stalled *prev, const struct stalled *cur);
/* Most threads in one snapshot of the window. */
struct up_value stalled_most(const struct stalled *prev, const struct stalled *cur);
/* METHOD (may be NULL), and where `waiting` comes from when it is known; written to RET [SIZE]. */
const char *stalled_method(const struct stalled *cur, const char *method, char *ret, size_t size);

#endif
