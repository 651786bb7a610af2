/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What requests.bpf.c and src/source/requests.c share. */
#ifndef UP_BPF_REQUESTS_H
#define UP_BPF_REQUESTS_H

#include <linux/types.h>

#define UP_REQ_SERVERS 256 /* slots [0, UP_REQ_SERVERS): listening addresses, given out by user space */
#define UP_REQ_CLIENTS 256 /* slots behind them: peers the targets talk to, given out by the program */
#define UP_REQ_SLOTS (UP_REQ_SERVERS + UP_REQ_CLIENTS)
#define UP_REQ_BUCKETS 256
#define UP_REQ_TARGET_HOST 0xffff

/* A listening address (target 0) or a peer of a target. */
struct up_req_key {
	__u64 netns;
	__u8 addr[16]; /* network order, IPv4 in the first 4 bytes; all 0 for "any" */
	__u16 port; /* host order */
	__u16 target;
	__u32 zero;
};
_Static_assert(sizeof(struct up_req_key) == 32, "up_req_key");

/* Levels integrated over time: the area of a window is the difference of two readings, each extended to its own time
 * (area + level * (now - last)). Counters are never reset.
 * Server: a turn lasts from the arrival of a request to the first byte of its answer; unread is its part before the first read.
 * Client: a turn lasts from the first byte of a query to the arrival of its answer; unread is the time until the answer is read. */
struct up_req_slot {
	__u32 lock; /* struct bpf_spin_lock */
	__u32 zero;
	__u64 last_ns; /* CLOCK_MONOTONIC of the last change */
	__u64 level, area_ns;
	__u64 unread_level, unread_area_ns;
	__u64 begun, ended; /* turns; ended: also those cut off */
	__u64 cut; /* turns that ended because the connection did */
	__u64 residence_ns; /* of ended turns, summed */
	__u64 reads, writes; /* calls that moved bytes */
	__u64 streamed; /* turns with three or more reads before a write: uploads, streams, HTTP/2, pipelining */
	__u64 opened, closed; /* connections seen */
	__u64 connects, connect_failures; /* client side: attempts, and those that never got through */
	__u64 piled; /* requests that arrived while another one of their connection was under way */
};

struct up_req_histogram {
	__u64 bucket[UP_REQ_BUCKETS]; /* turns by length, 8 buckets an octave */
};

#endif
