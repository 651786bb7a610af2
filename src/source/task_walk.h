/* Where snapshots of threads come from: the BPF task iterator, or /proc. Private to src/source. */
#ifndef UP_SOURCE_TASK_WALK_H
#define UP_SOURCE_TASK_WALK_H

#include "tasks.h"
#include "useprobe/target.h"
#include "useprobe/thread_pools.h"

/* A snapshot: one record for each thread. */
struct up_records {
	struct up_task_record *items; /* [room], owned */
	size_t count, room;
};

/* Doubles the room, to at most UP_POOL_THREADS_MAX. 0, -ENOSPC, -ENOMEM. */
UP_MUST_CHECK int up_records_grow(struct up_records *records);
void up_records_done(struct up_records *records);

struct up_bpf_walk;

/* 0; -EACCES, -ENOTSUP, ... with the reason in REASON. The program that tells of ended threads may be refused alone. */
UP_MUST_CHECK int up_bpf_walk_new(struct up_bpf_walk **ret, char *reason, size_t reason_size);
void up_bpf_walk_free(struct up_bpf_walk *walk);
void up_bpf_walk_retarget(struct up_bpf_walk *walk, const struct up_targets *targets);
/* One walk over all threads of the machine. What finds no room is left out of this snapshot. 0, -ENOMEM, -errno. */
UP_MUST_CHECK int up_bpf_walk_read(struct up_bpf_walk *walk, struct up_records *ret);
/* Calls FUNCTION for each thread that has ended since the last call. */
void up_bpf_walk_ends(struct up_bpf_walk *walk, void (*function)(void *opaque, const struct up_ended *ended), void *opaque);
/* Why ended threads are not told of, NULL = they are; how many of them found no room. */
const char *up_bpf_walk_no_ends(const struct up_bpf_walk *walk);
uint64_t up_bpf_walk_ends_lost(const struct up_bpf_walk *walk);
/* Whether this kernel marks threads in a memory stall; known after the first walk. */
bool up_bpf_walk_sees_stalls(const struct up_bpf_walk *walk);

#endif
