/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Requests inside the targets' listeners and queries at their peers, from the moments at which a socket got data, was read and was
 * written: tp_btf sk_data_ready, sock_recv_length, sock_send_length (6.3 and later), tcp_destroy_sock, inet_sock_set_state.
 * Each connection holds at most one turn at a time; what breaks that rule (HTTP/2, pipelining, streams) is counted, so that user space
 * can say so instead of showing a wrong number. */
#include "requests.h"

#include "bucket.bpf.h"
#include "kernel_net.h"
#include "match.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define TCP_SYN_SENT 2
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define RCV_SHUTDOWN 1
#define MSG_PEEK 2
#define STREAM_READS 3

enum role { ROLE_UNKNOWN, ROLE_SERVER, ROLE_CLIENT, ROLE_NONE };
enum phase {
	IDLE,
	ARRIVED, /* server: a request nobody has read; client: an answer nobody has read */
	BUSY, /* server: being worked on; client: waiting for the answer */
};

struct conn {
	__u64 since_ns; /* begin of the turn */
	__u64 pending_ns; /* data that came during a turn and was not read yet; 0 = none */
	__u32 slot;
	__u32 generation; /* of the tables its role was decided by */
	__u16 reads; /* of the turn */
	__u8 role;
	__u8 phase;
	__u32 zero;
};

struct slot {
	struct bpf_spin_lock lock;
	__u32 zero;
	__u64 last_ns;
	__u64 level, area_ns;
	__u64 unread_level, unread_area_ns;
	__u64 begun, ended, cut, residence_ns;
	__u64 reads, writes, streamed;
	__u64 opened, closed, connects, connect_failures, piled;
};
_Static_assert(sizeof(struct slot) == sizeof(struct up_req_slot), "one layout for both sides");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UP_REQ_SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UP_REQ_SLOTS);
	__type(key, __u32);
	__type(value, struct up_req_histogram);
} histograms SEC(".maps");

/* Listening addresses to their slot; peers of targets to theirs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_REQ_SERVERS);
	__type(key, struct up_req_key);
	__type(value, __u32);
} servers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_REQ_CLIENTS);
	__type(key, struct up_req_key);
	__type(value, __u32);
} clients SEC(".maps");

__u64 ports[1024] = {}; /* bit set of the ports in servers: what everybody else's sockets pay */
__u64 host_netns = 0; /* without targets: every client in this namespace counts */
__u32 generation = 0; /* of servers and groups: user space adds one with each change */
__u32 client_next = 0; /* slots given out */
__u64 dropped = 0; /* peers and connections that found no place */

static __always_inline bool is_tcp(struct sock *sk)
{
	const __u16 family = sk->__sk_common.skc_family;

	return (family == AF_INET || family == AF_INET6) && BPF_CORE_READ_BITFIELD(sk, sk_protocol) == IPPROTO_TCP;
}

/* IPv4, also inside ::ffff:0:0/96, as 4 bytes and zeros. */
static __always_inline void copy_addr(__u8 *to, struct sock *sk, bool local)
{
	__u32 words[4] = {};

	if (sk->__sk_common.skc_family == AF_INET) {
		words[0] = local ? sk->__sk_common.skc_rcv_saddr : sk->__sk_common.skc_daddr;
	} else {
		const struct in6_addr *from = local ? &sk->__sk_common.skc_v6_rcv_saddr : &sk->__sk_common.skc_v6_daddr;

		bpf_probe_read_kernel(words, sizeof(words), from);
		if (words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff)) {
			words[0] = words[3];
			words[2] = words[3] = 0;
		}
	}
	__builtin_memcpy(to, words, sizeof(words));
}

static __always_inline __u32 *find_server(struct sock *sk)
{
	const __u16 port = sk->__sk_common.skc_num;
	struct up_req_key key = { .netns = sk->__sk_common.skc_net.net->ns.inum, .port = port };
	__u32 *slot;

	if (!(ports[port >> 6 & 1023] & 1ull << (port & 63)))
		return NULL;
	slot = bpf_map_lookup_elem(&servers, &key);
	if (slot)
		return slot;
	copy_addr(key.addr, sk, true);
	return bpf_map_lookup_elem(&servers, &key);
}

/* Number of the target that the running task belongs to, UP_REQ_TARGET_HOST without targets, -1 when it is nobody's. */
static __always_inline int target_of_current(struct sock *sk)
{
	if (host_netns)
		return sk->__sk_common.skc_net.net->ns.inum == host_netns ? UP_REQ_TARGET_HOST : -1;
	return target_of_task(bpf_get_current_task_btf());
}

/* Slot of the peer of SK for TARGET; made when it is new. -1: no place left. */
static __always_inline int client_slot(struct sock *sk, __u16 target)
{
	struct up_req_key key = {
		.netns = sk->__sk_common.skc_net.net->ns.inum,
		.port = bpf_ntohs(sk->__sk_common.skc_dport),
		.target = target,
	};
	__u32 *known, index;

	copy_addr(key.addr, sk, false);
	known = bpf_map_lookup_elem(&clients, &key);
	if (known)
		return *known;
	if (client_next >= UP_REQ_CLIENTS)
		return -1;
	index = UP_REQ_SERVERS + __sync_fetch_and_add(&client_next, 1);
	if (index >= UP_REQ_SLOTS || bpf_map_update_elem(&clients, &key, &index, BPF_NOEXIST) < 0) {
		known = bpf_map_lookup_elem(&clients, &key);
		return known ? *known : -1;
	}
	return index;
}

static __always_inline struct slot *slot_get(__u32 index)
{
	return bpf_map_lookup_elem(&slots, &index);
}

/* Call with the lock held. */
static __always_inline void integrate(struct slot *slot, __u64 now)
{
	if (now > slot->last_ns) {
		slot->area_ns += slot->level * (now - slot->last_ns);
		slot->unread_area_ns += slot->unread_level * (now - slot->last_ns);
		slot->last_ns = now;
	}
}

static __always_inline void count_turn(__u32 index, __u64 ns)
{
	struct up_req_histogram *histogram = bpf_map_lookup_elem(&histograms, &index);
	__u64 bucket = bucket_of(ns);

	if (histogram) {
		barrier_var(bucket);
		bucket &= UP_REQ_BUCKETS - 1;
		__sync_fetch_and_add(&histogram->bucket[bucket], 1);
	}
}

/* Role and slot of SK by the tables of now. false: not decided, since nobody is there to ask (IN_TASK: the running task is its user). */
static __always_inline bool decide(struct sock *sk, bool in_task, struct conn *ret)
{
	__u32 *server = find_server(sk);
	int target, index;

	ret->generation = generation;
	if (server) {
		ret->role = ROLE_SERVER;
		ret->slot = *server;
		return true;
	}
	if (!in_task)
		return false;
	target = target_of_current(sk);
	index = target < 0 ? -1 : client_slot(sk, target);
	if (target >= 0 && index < 0)
		__sync_fetch_and_add(&dropped, 1);
	ret->role = index < 0 ? ROLE_NONE : ROLE_CLIENT;
	ret->slot = index < 0 ? 0 : index;
	return true;
}

/* Takes the connection out of its slot: it is closed, or the listener that made it became known only now. */
static __always_inline void conn_leave(struct conn *conn, __u64 now)
{
	struct slot *slot = conn->role == ROLE_NONE ? NULL : slot_get(conn->slot);
	const bool unread = conn->phase == ARRIVED;
	const bool in_turn = conn->phase == BUSY || (unread && conn->role == ROLE_SERVER);

	conn->phase = IDLE;
	if (!slot)
		return;
	bpf_spin_lock(&slot->lock);
	integrate(slot, now);
	slot->level -= in_turn;
	slot->unread_level -= unread;
	slot->ended += in_turn;
	slot->cut += in_turn;
	slot->closed++;
	bpf_spin_unlock(&slot->lock);
}

static __always_inline void conn_enter(struct conn *conn)
{
	struct slot *slot = conn->role == ROLE_NONE ? NULL : slot_get(conn->slot);

	if (slot)
		__sync_fetch_and_add(&slot->opened, 1);
}

/* Storage of SK with its role decided; NULL for sockets that are not ours. */
static __always_inline struct conn *conn_get(struct sock *sk, bool in_task, __u64 now)
{
	struct conn fresh = {}, *conn = bpf_sk_storage_get(&conns, sk, NULL, 0);

	if (conn && conn->generation != generation) {
		if (decide(sk, in_task, &fresh) && (fresh.role != conn->role || fresh.slot != conn->slot)) {
			conn_leave(conn, now);
			conn->role = fresh.role;
			conn->slot = fresh.slot;
			conn_enter(conn);
		}
		if (in_task)
			conn->generation = generation;
	} else if (!conn) {
		if (!decide(sk, in_task, &fresh))
			return NULL;
		conn = bpf_sk_storage_get(&conns, sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
		if (!conn) {
			__sync_fetch_and_add(&dropped, 1);
			return NULL;
		}
		conn_enter(conn);
	}
	return conn->role == ROLE_NONE ? NULL : conn;
}

/* A turn of a server connection begins; AT lies before NOW when its data waited behind another turn. */
static __always_inline void server_arrival(struct conn *conn, struct slot *slot, __u64 now, __u64 at, bool unread)
{
	conn->phase = unread ? ARRIVED : BUSY;
	conn->since_ns = at;
	conn->pending_ns = 0;
	conn->reads = 0;
	bpf_spin_lock(&slot->lock);
	integrate(slot, now);
	slot->level++;
	slot->unread_level += unread;
	slot->area_ns += now - at;
	slot->unread_area_ns += unread ? now - at : 0;
	slot->begun++;
	bpf_spin_unlock(&slot->lock);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(up_req_ready, struct sock *sk)
{
	const __u64 now = bpf_ktime_get_ns();
	struct conn *conn;
	struct slot *slot;
	struct tcp_sock *tp;
	__u32 waiting;

	if (!is_tcp(sk) || sk->__sk_common.skc_state == TCP_LISTEN)
		return 0;
	conn = conn_get(sk, false, now);
	slot = conn ? slot_get(conn->slot) : NULL;
	if (!slot)
		return 0;
	/* The end of a connection wakes its reader too; it takes one sequence number and is no request. */
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	waiting = tp ? tp->rcv_nxt - tp->copied_seq : 2;
	if ((sk->sk_shutdown & RCV_SHUTDOWN) && waiting <= 1)
		return 0;
	if (conn->role == ROLE_SERVER) {
		if (conn->phase == IDLE)
			server_arrival(conn, slot, now, now, true);
		else if (conn->phase == BUSY && !conn->pending_ns)
			conn->pending_ns = now;
		return 0;
	}
	if (conn->phase != BUSY)
		return 0;
	conn->phase = ARRIVED;
	bpf_spin_lock(&slot->lock);
	integrate(slot, now);
	slot->level--;
	slot->unread_level++;
	slot->ended++;
	slot->residence_ns += now - conn->since_ns;
	bpf_spin_unlock(&slot->lock);
	count_turn(conn->slot, now - conn->since_ns);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(up_req_recv, struct sock *sk, int ret, int flags)
{
	const __u64 now = bpf_ktime_get_ns();
	struct conn *conn;
	struct slot *slot;

	if (ret <= 0 || (flags & MSG_PEEK) || !is_tcp(sk))
		return 0;
	conn = conn_get(sk, true, now);
	slot = conn ? slot_get(conn->slot) : NULL;
	if (!slot)
		return 0;
	__sync_fetch_and_add(&slot->reads, 1);
	if (conn->role == ROLE_SERVER && conn->phase == IDLE) {
		server_arrival(conn, slot, now, now, false);
	} else if (conn->phase == ARRIVED) {
		conn->phase = conn->role == ROLE_SERVER ? BUSY : IDLE;
		bpf_spin_lock(&slot->lock);
		integrate(slot, now);
		slot->unread_level--;
		bpf_spin_unlock(&slot->lock);
	} else if (conn->role == ROLE_SERVER) {
		conn->pending_ns = 0;
	}
	if (conn->role == ROLE_SERVER && ++conn->reads == STREAM_READS)
		__sync_fetch_and_add(&slot->streamed, 1);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(up_req_send, struct sock *sk, int ret, int flags)
{
	const __u64 now = bpf_ktime_get_ns();
	struct conn *conn;
	struct slot *slot;
	__u64 pending_ns;
	bool unread;

	if (ret <= 0 || !is_tcp(sk))
		return 0;
	conn = conn_get(sk, true, now);
	slot = conn ? slot_get(conn->slot) : NULL;
	if (!slot)
		return 0;
	__sync_fetch_and_add(&slot->writes, 1);
	if (conn->role == ROLE_CLIENT) {
		if (conn->phase == BUSY)
			return 0;
		unread = conn->phase == ARRIVED;
		conn->phase = BUSY;
		conn->since_ns = now;
		bpf_spin_lock(&slot->lock);
		integrate(slot, now);
		slot->unread_level -= unread;
		slot->level++;
		slot->begun++;
		bpf_spin_unlock(&slot->lock);
		return 0;
	}
	if (conn->phase != BUSY)
		return 0;
	conn->phase = IDLE;
	pending_ns = conn->pending_ns;
	bpf_spin_lock(&slot->lock);
	integrate(slot, now);
	slot->level--;
	slot->ended++;
	slot->residence_ns += now - conn->since_ns;
	slot->piled += pending_ns != 0;
	bpf_spin_unlock(&slot->lock);
	count_turn(conn->slot, now - conn->since_ns);
	/* The next request came while this one was under way: it has been waiting since then. */
	if (pending_ns)
		server_arrival(conn, slot, now, pending_ns, true);
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(up_req_destroy, struct sock *sk)
{
	struct conn *conn = bpf_sk_storage_get(&conns, sk, NULL, 0);

	if (conn)
		conn_leave(conn, bpf_ktime_get_ns());
	return 0;
}

/* Connects of the targets: begun in the task's own context, so the peer is known before the first byte. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(up_req_state, struct sock *sk, int oldstate, int newstate)
{
	const __u64 now = bpf_ktime_get_ns();
	struct conn *conn;
	struct slot *slot;

	if (newstate == TCP_SYN_SENT && oldstate == TCP_CLOSE) {
		if (!is_tcp(sk))
			return 0;
		conn = conn_get(sk, true, now);
		slot = conn && conn->role == ROLE_CLIENT ? slot_get(conn->slot) : NULL;
		if (slot)
			__sync_fetch_and_add(&slot->connects, 1);
		return 0;
	}
	if (oldstate != TCP_SYN_SENT || newstate != TCP_CLOSE)
		return 0;
	conn = bpf_sk_storage_get(&conns, sk, NULL, 0);
	slot = conn && conn->role == ROLE_CLIENT ? slot_get(conn->slot) : NULL;
	if (slot)
		__sync_fetch_and_add(&slot->connect_failures, 1);
	return 0;
}
