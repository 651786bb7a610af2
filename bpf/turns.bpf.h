/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * The turns of one connection and how they are counted. A connection has at most one turn at a time: since is not 0 while it lasts.
 * The same connection is seen by an interrupt on one CPU (data comes) and a system call on another (read, write), so every change of
 * since and waiting is one atomic exchange: whoever makes it, counts it. */
#ifndef UP_BPF_TURNS_H
#define UP_BPF_TURNS_H

#include "bucket.bpf.h"
#include "requests.h"
#include "sniff.bpf.h"

/* On loopback the peer's reaction arrives before our own call has returned. */
#define RACE_NS 2000000ull
#define ANSWER_GAP_NS 250000000ull /* a write later than this after the one before is no part of the same answer */
#define STREAM_NS 10000000000ll /* one-way traffic for longer than this is a stream */
#define STREAM_CALLS 3
#define STREAM_PUSHES 3

enum role { ROLE_UNKNOWN, ROLE_SERVER, ROLE_CLIENT, ROLE_NONE };

struct conn {
	__u64 since; /* begin of the turn in ns, its lowest bit: nobody has read the request yet (server); 0 = none */
	__u64 ready_ns; /* data came that was not read yet; 0 = none */
	__u64 waiting; /* client: an answer is unread */
	__u64 answered_ns, asked_ns; /* server: end of the last answer so far, begin of its turn */
	__u64 connect_ns; /* client: the attempt began */
	__u32 slot, generation; /* of the tables its role was decided by */
	__u32 calls; /* server: reads, client: writes of the turn */
	__u32 zero;
	__u32 look_received, look_written; /* rcv_nxt and write_seq at the last look */
	__u8 role, kind, sniffs, pushes;
	__u8 is_open, is_tls, looks, look_busy; /* looks: since anything moved */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UP_REQ_SLOTS);
	__type(key, __u32);
	__type(value, struct up_req_count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UP_REQ_SLOTS);
	__type(key, __u32);
	__type(value, struct up_req_histogram);
} histograms SEC(".maps");

/* An interrupt may count in the middle of another update of the same CPU: add, never store. */
static __always_inline void add(__u64 *counter, __u64 n)
{
	__sync_fetch_and_add(counter, n);
}

static __always_inline struct up_req_count *count_of(const struct conn *conn)
{
	const __u32 index = conn->slot;

	return conn->role == ROLE_SERVER || conn->role == ROLE_CLIENT ? bpf_map_lookup_elem(&counts, &index) : NULL;
}

static __always_inline void count_length(const struct conn *conn, __u64 ns, __u64 n)
{
	const __u32 index = conn->slot;
	struct up_req_histogram *histogram = bpf_map_lookup_elem(&histograms, &index);
	__u64 bucket = bucket_of(ns);

	if (!histogram)
		return;
	barrier_var(bucket);
	bucket &= UP_REQ_BUCKETS - 1;
	add(&histogram->bucket[bucket], n);
}

#define UNREAD 1ull

static __always_inline void count_begin(struct up_req_count *count, __u64 at, bool unread)
{
	add(&count->started, 1);
	add(&count->begun, 1);
	add(&count->begun_at_ns, at);
	if (unread) {
		add(&count->unread, 1);
		add(&count->unread_at_ns, at);
	}
	add(&count->done, 1);
}

static __always_inline void count_seen(struct up_req_count *count, __u64 at)
{
	add(&count->started, 1);
	add(&count->seen, 1);
	add(&count->seen_at_ns, at);
	add(&count->done, 1);
}

static __always_inline void count_answer(const struct conn *conn, struct up_req_count *count, __u64 since, __u64 at)
{
	add(&count->started, 1);
	add(&count->answered, 1);
	add(&count->answered_at_ns, at);
	add(&count->residence_ns, at - since);
	add(&count->done, 1);
	count_length(conn, at - since, 1);
}

/* A client's answer has come, or has been read. */
static __always_inline void answer_comes(struct conn *conn, struct up_req_count *count, __u64 at)
{
	if (__sync_lock_test_and_set(&conn->waiting, 1))
		return;
	add(&count->started, 1);
	add(&count->unread, 1);
	add(&count->unread_at_ns, at);
	add(&count->done, 1);
}

static __always_inline bool answer_read(struct conn *conn, struct up_req_count *count, __u64 at)
{
	if (!__sync_lock_test_and_set(&conn->waiting, 0))
		return false;
	count_seen(count, at);
	return true;
}

/* The connection is not one of turns: what is under way leaves without having ended. */
static __always_inline void turn_moves(struct conn *conn, struct up_req_count *count, __u64 now, __u8 kind)
{
	const __u64 since = __sync_lock_test_and_set(&conn->since, 0);

	if (since) {
		add(&count->started, 1);
		add(&count->moved, 1);
		add(&count->moved_at_ns, now);
		add(&count->done, 1);
	}
	if (since & UNREAD)
		count_seen(count, now);
	answer_read(conn, count, now);
	conn->kind = kind;
	add(kind == KIND_HTTP2 ? &count->http2_opened : &count->stream_opened, 1);
}

/* What the first calls of a connection carry. false: no turns here. */
static __always_inline bool turn_kind(struct conn *conn, struct up_req_count *count, __u64 now)
{
	__u8 kind = conn->kind;

	if (kind == KIND_UNKNOWN && conn->sniffs < SNIFFS_MAX) {
		conn->sniffs++;
		kind = sniff_kind();
		if (kind == KIND_HTTP2) {
			turn_moves(conn, count, now, kind);
		} else if (kind != KIND_UNKNOWN) {
			conn->kind = kind;
			conn->is_tls = kind == KIND_TLS;
			add(&count->tls_opened, conn->is_tls);
		}
	}
	return conn->kind < KIND_HTTP2;
}

static __always_inline void server_ready(struct conn *conn, struct up_req_count *count, __u64 now)
{
	if (__sync_val_compare_and_swap(&conn->since, 0, now | UNREAD) == 0) {
		conn->calls = 0;
		count_begin(count, now, true);
	} else if (!conn->ready_ns) {
		conn->ready_ns = now;
	}
}

static __always_inline void server_recv(struct conn *conn, struct up_req_count *count, __u64 now)
{
	__u64 since;

	if (!turn_kind(conn, count, now))
		return;
	since = conn->since;
	if (!since) {
		/* Its arrival was not seen: it came before us. */
		if (__sync_val_compare_and_swap(&conn->since, 0, now & ~UNREAD) != 0)
			return;
		conn->calls = 0;
		count_begin(count, now, false);
		since = now;
	} else if ((since & UNREAD) && __sync_val_compare_and_swap(&conn->since, since, since & ~UNREAD) == since) {
		count_seen(count, now);
	}
	conn->ready_ns = 0;
	if (++conn->calls >= STREAM_CALLS && (__s64)(now - since) > STREAM_NS)
		turn_moves(conn, count, now, KIND_STREAM);
}

/* One more write after the answer began: the answer ends later than thought. LIMIT: it ended before that time in any case. */
static __always_inline void server_sends_more(struct conn *conn, struct up_req_count *count, __u64 now, __u64 limit)
{
	const __u64 until = conn->answered_ns, asked = conn->asked_ns;

	if (!until || now < until)
		return;
	if (now - until > ANSWER_GAP_NS) {
		if (limit == now && ++conn->pushes >= STREAM_PUSHES && conn->kind < KIND_HTTP2)
			turn_moves(conn, count, now, KIND_STREAM);
		conn->answered_ns = 0;
		return;
	}
	if (conn->kind == KIND_PLAIN && sniff_answer())
		add(&count->pipelined, 1);
	if (limit <= until)
		return;
	conn->answered_ns = limit;
	add(&count->started, 1);
	add(&count->answered_at_ns, limit - until);
	add(&count->residence_ns, limit - until);
	add(&count->done, 1);
	count_length(conn, until - asked, -1);
	count_length(conn, limit - asked, 1);
}

static __always_inline void server_send(struct conn *conn, struct up_req_count *count, __u64 now)
{
	const __u64 since = conn->since;
	__u64 pending, end = now;

	if (!since || (since & UNREAD)) {
		server_sends_more(conn, count, now, since && since < now ? since : now);
		return;
	}
	if (__sync_val_compare_and_swap(&conn->since, since, 0) != since)
		return;
	pending = __sync_lock_test_and_set(&conn->ready_ns, 0);
	/* The next request is here already. Either our call returned late, or it did not wait for this answer. */
	if (pending && pending > since && now - pending < RACE_NS)
		end = pending;
	else if (pending)
		add(&count->piled, 1);
	if (end < since)
		end = since;
	count_answer(conn, count, since, end);
	conn->asked_ns = since;
	conn->answered_ns = end;
	conn->pushes = 0;
	if (pending && __sync_val_compare_and_swap(&conn->since, 0, pending | UNREAD) == 0) {
		conn->calls = 0;
		count_begin(count, pending, true);
	}
}

static __always_inline void client_ready(struct conn *conn, struct up_req_count *count, __u64 now)
{
	const __u64 since = __sync_lock_test_and_set(&conn->since, 0);

	if (since) {
		count_answer(conn, count, since, now > since ? now : since);
		answer_comes(conn, count, now);
	}
	if (since || !conn->ready_ns)
		conn->ready_ns = now;
}

static __always_inline void client_recv(struct conn *conn, struct up_req_count *count, __u64 now)
{
	const __u64 ready = conn->ready_ns;
	__u64 since = conn->since;

	conn->ready_ns = 0;
	if (answer_read(conn, count, now) || !since)
		return;
	/* Data of which we saw no arrival, or which came just before the turn began: it is the answer. What came long before is the rest of
	 * an older one. */
	if (ready && (ready > since || since - ready > RACE_NS))
		return;
	since = __sync_lock_test_and_set(&conn->since, 0);
	if (since)
		count_answer(conn, count, since, ready || now < since ? since : now);
}

/* LEFT_NS: when the last segment of the connection left. */
static __always_inline void client_send(struct conn *conn, struct up_req_count *count, __u64 now, __u64 left_ns)
{
	const __u64 since = conn->since, ready = conn->ready_ns;

	if (!turn_kind(conn, count, now))
		return;
	if (since) {
		if (++conn->calls >= STREAM_CALLS && (__s64)(now - since) > STREAM_NS)
			turn_moves(conn, count, now, KIND_STREAM);
		return;
	}
	/* The answer came while our call was still returning: the turn is over. */
	if (ready && !conn->waiting && now - ready < RACE_NS) {
		const __u64 begin = left_ns && left_ns <= ready && ready - left_ns < RACE_NS ? left_ns : ready;

		count_begin(count, begin, false);
		count_answer(conn, count, begin, ready);
		answer_comes(conn, count, ready);
		return;
	}
	if (__sync_val_compare_and_swap(&conn->since, 0, now & ~UNREAD) == 0) {
		conn->calls = 1;
		count_begin(count, now & ~UNREAD, false);
	}
}

/* The connection is over, or belongs to another address than thought. */
static __always_inline void turn_leaves(struct conn *conn, __u64 now)
{
	struct up_req_count *count = count_of(conn);
	const __u64 since = __sync_lock_test_and_set(&conn->since, 0);

	if (!count)
		return;
	if (since) {
		add(&count->started, 1);
		add(&count->cut, 1);
		add(&count->cut_at_ns, now);
		add(&count->residence_ns, now > since ? now - since : 0);
		add(&count->done, 1);
	}
	if (since & UNREAD)
		count_seen(count, now);
	answer_read(conn, count, now);
	if (!conn->is_open)
		return;
	conn->is_open = 0;
	add(&count->closed, 1);
	add(&count->tls_closed, conn->is_tls);
	add(&count->http2_closed, conn->kind == KIND_HTTP2);
	add(&count->stream_closed, conn->kind == KIND_STREAM);
}

/* The connection carries data, for the address it was found to belong to. */
static __always_inline void turn_enters(struct conn *conn)
{
	struct up_req_count *count = count_of(conn);

	if (!count || conn->is_open)
		return;
	conn->is_open = 1;
	add(&count->opened, 1);
	add(&count->tls_opened, conn->is_tls);
	add(&count->http2_opened, conn->kind == KIND_HTTP2);
	add(&count->stream_opened, conn->kind == KIND_STREAM);
}

#endif
