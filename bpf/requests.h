/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What requests.bpf.c and src/source/requests.c share. */
#ifndef UP_BPF_REQUESTS_H
#define UP_BPF_REQUESTS_H

#include <linux/types.h>

#define UP_REQ_SERVERS 64 /* slots [0, UP_REQ_SERVERS): listening addresses, given out by user space */
#define UP_REQ_CLIENTS 128 /* slots behind them: peers the targets talk to, given out by the program */
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

/* Counters of one address on one CPU, never reset; the CPUs' sums are what counts. Levels are not kept but follow from counts and sums of
 * times (modulo 2^64): of turns that began at b1, b2, ... and ended at e1, e2, ..., n = begun - ended are under way, and the level
 * integrated up to the time T is n * T - sum(b) + sum(e), whatever CPU saw which end.
 * Server: a turn lasts from the arrival of a request in the socket to the last byte of its answer; its first part is unread.
 * Client: a turn lasts from the first byte of a query to the arrival of the first byte of its answer; then the answer is unread. */
struct up_req_count {
	__u64 done; /* updates finished; first, so that a copy reads it first */
	__u64 begun, begun_at_ns;
	__u64 answered, answered_at_ns;
	__u64 cut, cut_at_ns; /* the connection ended in the middle of a turn */
	__u64 moved, moved_at_ns; /* the connection turned out to carry a stream or HTTP/2 */
	__u64 residence_ns; /* of answered and cut turns */
	__u64 unread, unread_at_ns; /* began to wait for a read */
	__u64 seen, seen_at_ns; /* were read */
	__u64 reads, writes; /* calls that moved bytes */
	__u64 piled; /* requests that arrived well before the end of the one before: multiplexing */
	__u64 pipelined; /* answers beyond the first to one read */
	__u64 opened, closed; /* connections */
	__u64 http2_opened, http2_closed; /* of them: HTTP/2, no turns are counted */
	__u64 stream_opened, stream_closed; /* of them: do not alternate, no turns are counted */
	__u64 tls_opened, tls_closed; /* of them: encrypted */
	__u64 connects, connect_failures; /* client side: attempts, and those that never got through */
	__u64 connected, connect_ns; /* client side: attempts that got through, time they took */
	__u64 retransmits; /* segments sent again on these connections */
	__u64 resets; /* connections that ended with an error */
	__u64 held; /* writes whose end waits for an acknowledgement (Nagle's algorithm) */
	__u64 started; /* updates begun; last */
};

struct up_req_histogram {
	__u64 bucket[UP_REQ_BUCKETS]; /* answered turns by length, 8 buckets an octave */
};

#endif
