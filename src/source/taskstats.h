/* Taskstats: delays of a whole process in one netlink query, its exited threads included.
 * Kernel: kernel/taskstats.c (fill_stats_for_tgid), kernel/delayacct.c (delayacct_add_tsk); Documentation/accounting/taskstats.rst.
 * The CPU figures come from sched_info, so they are right with kernel.task_delayacct=0. Needs CAP_NET_ADMIN. */
#ifndef UP_SOURCE_TASKSTATS_H
#define UP_SOURCE_TASKSTATS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "useprobe/compiler.h"

struct up_taskstats {
	uint64_t cpu_count; /* counter: times a thread was put on a CPU */
	uint64_t cpu_delay_ns; /* counter: runnable but not running */
	uint64_t cpu_run_ns; /* counter: on a CPU (cpu_run_virtual_total: sum_exec_runtime, not tick samples) */
};

struct up_taskstats_link {
	int fd_plus_1; /* owned; 0 = not open */
	uint16_t family; /* generic netlink id of TASKSTATS, given out at boot */
	uint32_t sequence;
};

/* Opens the socket, finds the family and tries one query on ourselves. 0; -EPERM without CAP_NET_ADMIN; -ENOENT on a kernel without
 * CONFIG_TASKSTATS; other -errno of the socket. Ends with up_taskstats_close, which accepts a zeroed link. */
UP_MUST_CHECK int up_taskstats_open(struct up_taskstats_link *link);
void up_taskstats_close(struct up_taskstats_link *link);

/* Sums over the living and the exited threads of process TGID (in our pid namespace). 0; -ESRCH when it is gone; -EPERM; -EBADMSG. */
UP_MUST_CHECK int up_taskstats_query(struct up_taskstats_link *link, pid_t tgid, struct up_taskstats *ret);

/* Parsers of one answer of LEN bytes, on their own so that tests reach every prefix. 0; the negative error the kernel sent; -EBADMSG. */
UP_MUST_CHECK int up_taskstats_parse(const void *answer, size_t len, struct up_taskstats *ret);
UP_MUST_CHECK int up_taskstats_parse_family(const void *answer, size_t len, uint16_t *ret);

#endif
