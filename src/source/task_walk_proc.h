/* Snapshots of threads from /proc: the fallback of the BPF task iterator. Private to src/source. */
#ifndef UP_SOURCE_TASK_WALK_PROC_H
#define UP_SOURCE_TASK_WALK_PROC_H

#include "task_walk.h"
#include "useprobe/source.h"

/* More threads than these are not looked at in one snapshot: at 20 us each they take 80 ms. */
#define UP_PROC_THREADS_MAX 4096

struct up_proc_walk;

/* 0 or -ENOMEM. SOURCE is borrowed. */
UP_MUST_CHECK int up_proc_walk_new(const struct up_source *source, struct up_proc_walk **ret);
void up_proc_walk_free(struct up_proc_walk *walk);
void up_proc_walk_retarget(struct up_proc_walk *walk, const struct up_targets *targets);
/* 0; -ENOSPC: there are more threads than UP_PROC_THREADS_MAX, and RET holds the first ones; -ENOMEM. */
UP_MUST_CHECK int up_proc_walk_read(struct up_proc_walk *walk, struct up_records *ret);
/* Whether the calls of some threads could not be read in the last snapshot (no right to trace them). */
bool up_proc_walk_hidden(const struct up_proc_walk *walk);

/* The pure parts. RET's comm, state, on_cpu, exec_ns and start_ns from a line of stat: 0; -ESRCH for a thread that has ended; -EBADMSG.
 * Its syscall and arg from a line of syscall: 0, -EBADMSG. */
UP_MUST_CHECK int up_proc_task_stat(const char *text, uint64_t tick_ns, struct up_task_record *ret);
UP_MUST_CHECK int up_proc_task_syscall(const char *text, struct up_task_record *ret);

#endif
