/* Thread pools: snapshots of threads folded into pools, with time integrals of what their threads do. Pure part of useprobe/tasks.h.
 *
 * A pool is the threads of one process whose names agree but for trailing digits, divided by the futex word they idle on: the first word
 * that a thread shares with another one of its name while it sleeps (glibc condition variables use two words 4 bytes apart, so words
 * within 48 bytes count as one). A thread keeps its group while it is busy. */
#ifndef UP_THREAD_POOLS_H
#define UP_THREAD_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

#define UP_POOLS_MAX 512
#define UP_POOL_THREADS_MAX 65536
#define UP_POOL_NAME 80

/* What a thread does in a snapshot. */
enum up_doing {
	UP_DOING_RUNNING, /* on a CPU */
	UP_DOING_RUNNABLE, /* waits for one */
	UP_DOING_DISK, /* blocked in I/O */
	UP_DOING_MEMORY, /* waits for memory */
	UP_DOING_BLOCKED, /* another uninterruptible wait: a lock of the kernel, a child of vfork */
	UP_DOING_LOCK, /* on a futex that is not the one it idles on */
	UP_DOING_SOCKET, /* reads, writes or connects */
	UP_DOING_SLEEP, /* nanosleep; in a pool of two and more it is a way to serve, alone it is a timer */
	UP_DOING_IDLE, /* futex of its group, epoll, poll, accept, other waits */
	UP_DOING_COUNT
};
const char *up_doing_name(enum up_doing doing);

/* One thread of a snapshot. */
struct up_thread {
	uint32_t pid, tgid, target;
	uint64_t start_ns; /* tells a reused pid */
	uint64_t exec_ns; /* counter, CPU time */
	uint64_t futex; /* word it sleeps on, 0 = none */
	bool in_memstall; /* whatever it is doing */
	enum up_doing doing; /* UP_DOING_IDLE for a futex sleep: which one it is, is found here */
	char comm[16];
};

/* A thread that has ended. */
struct up_ended {
	uint32_t pid, tgid, target;
	uint64_t start_ns; /* CLOCK_MONOTONIC, as the snapshots' time */
	uint64_t exec_ns; /* counter: all its CPU time */
	char comm[16];
};

struct up_pool {
	char name[UP_POOL_NAME]; /* "java[12]/pool-1-thread-", "node[7]/node#2" */
	uint32_t target;
	uint32_t tgid; /* 0: all processes of one name that were in no snapshot, "sh[*]/sh" */
	char stem[16];
	uint64_t word; /* futex word its threads idle on, 0 = none known */
	uint64_t first_ns; /* of the first snapshot with it */
	uint64_t seen_ns; /* of the last one */
	uint32_t threads; /* in the last snapshot */
	uint64_t area_ns[UP_DOING_COUNT]; /* counter: threads integrated over time */
	uint64_t threads_area_ns; /* counter */
	uint64_t
		exec_ns; /* counter: CPU time of its threads; of those that ended up to their end if up_pools_end is told, else up to
			   * their last snapshot */
	uint64_t ended; /* counter: threads that ended */
	uint64_t unseen; /* counter: those of them that were in no snapshot */
	uint64_t ended_ns; /* when the last one was told of, 0 = none yet */
	uint32_t now[UP_DOING_COUNT];
};

struct up_pools;

UP_MUST_CHECK int up_pools_new(struct up_pools **ret);
void up_pools_free(struct up_pools *pools);
/* Folds a snapshot made at MONO_NS. What the threads did is taken to hold since the snapshot before. 0 or -ENOMEM. */
UP_MUST_CHECK int up_pools_fold(struct up_pools *pools, const struct up_thread *threads, size_t count, uint64_t mono_ns);
/* A thread has ended: its CPU time since its last snapshot is added. Told before the fold of a snapshot it is no longer in. A thread that
 * was in no snapshot goes to the pool of its name in its process, or of its process's name. Once told, threads that are missing from a
 * snapshot are waited for. */
void up_pools_end(struct up_pools *pools, const struct up_ended *ended, uint64_t mono_ns);
/* The pools as of now, [*ret_count], borrowed until the next fold: those with a thread in the last snapshot or one that ended in the last
 * two seconds. */
const struct up_pool *up_pools_get(const struct up_pools *pools, size_t *ret_count);
/* Time up to which areas are integrated. */
uint64_t up_pools_mono_ns(const struct up_pools *pools);
/* Pools and threads that did not fit, since the start. */
uint64_t up_pools_dropped(const struct up_pools *pools);

#endif
