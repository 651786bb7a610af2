/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Where no event tells of reads and writes: a look at each connection now and then. Who spoke last decides: on the server's side a request
 * is inside while it is the peer, on the client's side a query is under way while it is us. The verdict holds until the next look, so the
 * level is right on average however seldom the looks are; single turns are not seen, hence no rates and no times. */
#ifndef UP_BPF_LOOK_H
#define UP_BPF_LOOK_H

#include "peers.bpf.h"

#define DELAYED_ACK_NS 250000000ll /* longer than any acknowledgement is put off (TCP_DELACK_MAX 200 ms, include/net/tcp.h) */
#define LOOKS_SURE 2 /* looks at an unchanged connection before its verdict stands */

__u64 jiffy_ns = 0; /* set by user space */

/* Did the peer send data after ours? Nothing in the kernel says so, but (net/ipv4/tcp_input.c, tcp_output.c):
 *   data came since our last acknowledgement, which every segment of ours carries: the peer
 *   data of ours is not acknowledged, and the peer's next request would have done that: we
 *   else the times of the last data in and out, if they lie in different jiffies
 *   else, within one jiffy: after the peer's last progress acknowledgement only an acknowledgement of its data has left us: the peer.
 *     A segment that left long after its last data answers a keepalive and tells nothing. */
static __always_inline bool peer_spoke_last(struct tcp_sock *tp, __u64 now)
{
	const __u32 sent = tp->lsndtime, received = tp->inet_conn.icsk_ack.lrcvtime;
	const __u64 left_ns = tp->tcp_wstamp_ns;
	const __u64 age_ns = (__u64)((__u32)bpf_jiffies64() - received) * jiffy_ns;

	if (tp->rcv_nxt != tp->rcv_wup)
		return true;
	if (tp->write_seq != tp->snd_una)
		return false;
	if (sent != received)
		return (__s32)(received - sent) > 0;
	if ((__s64)(age_ns - (now - left_ns)) > DELAYED_ACK_NS)
		return false;
	return left_ns / 1000 >= tp->delivered_mstamp;
}

/* Is a turn under way? Keeps what it has said while nothing moves. */
static __always_inline bool look_is_busy(struct conn *conn, struct tcp_sock *tp, bool queued, __u64 now)
{
	const bool moved = conn->look_received != tp->rcv_nxt || conn->look_written != tp->write_seq;
	bool busy;

	if (moved) {
		conn->look_received = tp->rcv_nxt;
		conn->look_written = tp->write_seq;
		conn->looks = 0;
	}
	if (conn->looks >= LOOKS_SURE)
		return conn->look_busy;
	if (conn->role == ROLE_SERVER)
		busy = queued || (tp->data_segs_in && peer_spoke_last(tp, now));
	else
		busy = !queued && tp->data_segs_out && !peer_spoke_last(tp, now);
	conn->looks++;
	conn->look_busy = busy;
	return busy;
}

/* Data that keeps coming (server) or going (client) without an answer for long is a stream. */
static __always_inline bool look_is_stream(struct conn *conn, bool moved, bool answered, __u64 since, __u64 now)
{
	if (answered)
		conn->calls = 0;
	else if (moved)
		conn->calls++;
	return conn->calls >= STREAM_CALLS && (__s64)(now - since) > STREAM_NS;
}

static __always_inline void look_at(struct conn *conn, struct up_req_count *count, struct tcp_sock *tp, __u64 now)
{
	const bool queued = tp->rcv_nxt != tp->copied_seq;
	const bool in = conn->look_received != tp->rcv_nxt, out = conn->look_written != tp->write_seq;
	const bool asked = conn->role == ROLE_SERVER ? in : out, answered = conn->role == ROLE_SERVER ? out : in;
	const bool busy = look_is_busy(conn, tp, queued, now);
	__u64 since = conn->since;

	if (!busy)
		conn->calls = 0;
	else if (since && look_is_stream(conn, asked, answered, since, now))
		return turn_moves(conn, count, now, KIND_STREAM);
	if (queued)
		answer_comes(conn, count, now);
	else
		answer_read(conn, count, now);
	if (busy && !since) {
		if (__sync_val_compare_and_swap(&conn->since, 0, now & ~UNREAD) == 0)
			count_begin(count, now & ~UNREAD, false);
	} else if (!busy && since) {
		since = __sync_lock_test_and_set(&conn->since, 0);
		if (since) {
			/* Left, without our knowing when: moved, not answered. */
			add(&count->started, 1);
			add(&count->moved, 1);
			add(&count->moved_at_ns, now);
			add(&count->done, 1);
		}
	}
}

#endif
