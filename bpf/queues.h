/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What queues.bpf.c and src/source/queues.c share: one slot for each queue in each process. */
#ifndef UP_BPF_QUEUES_H
#define UP_BPF_QUEUES_H

#include <linux/types.h>

#define UP_QUEUE_SLOTS 128 /* a power of two: the program masks the index */
#define UP_QUEUE_SLOT_SELF (UP_QUEUE_SLOTS - 1) /* never free: the probe on ourselves that tells what one costs */
#define UP_QUEUE_SELF_QUEUE 0xff
#define UP_QUEUE_ITEMS 65536 /* waiting items whose address is followed */
#define UP_QUEUE_CALLS 4096 /* threads inside DEQUEUE */

/* What a probe point means. */
enum up_queue_role {
	UP_QUEUE_PUT, /* an item goes in */
	UP_QUEUE_TAKE, /* an item comes out */
	UP_QUEUE_CANCEL, /* an item that still waits is taken back (items followed by address only) */
	UP_QUEUE_ENTER, /* a thread goes into DEQUEUE, from where it may return much later */
};

/* The cookie of an attached probe. */
#define UP_QUEUE_COOKIE(queue, role) ((__u64)(queue) | (__u64)(role) << 8)
#define UP_QUEUE_COOKIE_NONNULL (1ull << 16) /* counts only when the function returns something else than NULL */
#define UP_QUEUE_COOKIE_ITEM(argument, offset) ((__u64)(argument) << 24 | (__u64)(offset) << 32) /* address of the item */

/* Everything is added up by atomic operations of programs that may interrupt each other. A reader takes `ended`, the fields, then `begun`:
 * when the two agree no program was at work in between. Sums of times make the level's integral without a lock: at time T it is
 * (put - taken) * T - (put_ns - taken_ns), all modulo 2^64. */
struct up_queue_slot {
	__u64 ended;
	__u64 put, put_ns; /* counters: items, their times summed (CLOCK_MONOTONIC) */
	__u64 taken, taken_ns;
	__s64 level; /* put - taken */
	__s64 lowest; /* level at its lowest, never above 0 */
	__s64 highest; /* since user space last looked */
	__u64 earlier; /* counter: items taken that were put before the probe came (items followed by address) */
	__u64 cancelled; /* counter, part of taken */
	__u64 waited_ns; /* counter: of taken items followed by address */
	__u64 lost; /* counter: items that could not be followed */
	__s64 inside; /* threads that were seen to go into DEQUEUE and not to return */
	__u64 longest_ns; /* that one stayed inside */
	__u64 process_ns; /* CLOCK_MONOTONIC of the start of the process */
	__u32 pid;
	__u32 queue;
	__u32 target;
	__u32 zero;
	__u64 begun;
};
_Static_assert(sizeof(struct up_queue_slot) == 18 * 8, "up_queue_slot");

struct up_queue_process {
	__u32 pid;
	__u32 queue;
};

struct up_queue_item {
	__u64 address;
	__u32 pid;
	__u32 queue;
};

#endif
