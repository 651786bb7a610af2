/* What a thread does, from its state and the system call it sleeps in. Private to src/source. */
#ifndef UP_SOURCE_TASK_DOING_H
#define UP_SOURCE_TASK_DOING_H

#include "tasks.h"
#include "useprobe/thread_pools.h"

/* RECORD as a thread of a snapshot. A thread blocks in I/O when it sleeps uninterruptibly and either waits for a device (in_iowait, set
 * by io_schedule, kernel/sched/core.c) or is in a call on a file: fsync waits for the journal without that mark (jbd2_log_wait_commit,
 * fs/jbd2/journal.c), and so does whoever waits for the lock of the same file. What sleeps interruptibly is not told from a wait for
 * events: io_getevents, io_uring_enter (which sets in_iowait for sockets too, 6.5). */
void up_thread_of_record(const struct up_task_record *record, struct up_thread *ret);

#endif
