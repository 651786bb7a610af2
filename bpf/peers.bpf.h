/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Which address of which target a connection counts for. */
#ifndef UP_BPF_PEERS_H
#define UP_BPF_PEERS_H

#include "match.bpf.h"
#include "turns.bpf.h"

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8
#define TCP_LISTEN 10

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

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

/* Data goes both ways or may still: a write can run into the peer's reset, and is then told of after the connection's end (sock_send_length
 * fires when sendmsg is done, 6.3). A turn that began there would never end. */
static __always_inline bool is_over(struct sock *sk)
{
	const __u8 state = sk->__sk_common.skc_state;

	return state != TCP_ESTABLISHED && state != TCP_SYN_SENT && state != TCP_SYN_RECV && state != TCP_CLOSE_WAIT;
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

/* connect() has chosen the port: a bucket that nobody bound (net/ipv4/inet_hashtables.c, __inet_hash_connect sets fastreuse to -1). An
 * accepted connection shares the bucket of its listener, which bound it. */
static __always_inline bool has_connected(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	struct inet_bind_bucket *bucket = tp ? tp->inet_conn.icsk_bind_hash : NULL;

	return bucket && bucket->fastreuse < 0;
}

/* Number of the target that TASK belongs to, UP_REQ_TARGET_HOST without targets, -1 when it is nobody's. */
static __always_inline int target_of(struct sock *sk, struct task_struct *task)
{
	if (host_netns)
		return sk->__sk_common.skc_net.net->ns.inum == host_netns ? UP_REQ_TARGET_HOST : -1;
	return target_of_task(task);
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

/* Role and slot of SK by the tables of now. TASK: who uses it, NULL in an interrupt, where only servers can be told. CONNECTS: it is about
 * to. false: not decided. */
static __always_inline bool decide(struct sock *sk, struct task_struct *task, bool connects, struct conn *ret)
{
	__u32 *server = connects ? NULL : find_server(sk);
	int target, index;

	ret->generation = generation;
	if (server) {
		ret->role = ROLE_SERVER;
		ret->slot = *server;
		return true;
	}
	if (!task)
		return false;
	/* Served on an address that is not ours (or that we do not know yet): no dependency. */
	target = connects || has_connected(sk) ? target_of(sk, task) : -1;
	index = target < 0 ? -1 : client_slot(sk, target);
	if (target >= 0 && index < 0)
		__sync_fetch_and_add(&dropped, 1);
	ret->role = index < 0 ? ROLE_NONE : ROLE_CLIENT;
	ret->slot = index < 0 ? 0 : index;
	return true;
}

/* The tables have changed since SK was decided. */
static __always_inline void decide_again(struct conn *conn, struct sock *sk, struct task_struct *task, __u64 now)
{
	struct conn fresh = {};

	/* Who connects stays a client of its target. */
	if (conn->role != ROLE_CLIENT && decide(sk, task, false, &fresh) &&
		(fresh.role != conn->role || fresh.slot != conn->slot)) {
		turn_leaves(conn, now);
		conn->role = fresh.role;
		conn->slot = fresh.slot;
		turn_enters(conn);
	}
	if (task)
		conn->generation = generation;
}

/* State of SK with its role decided; NULL for sockets that are not ours. */
static __always_inline struct conn *conn_get(struct sock *sk, struct task_struct *task, bool connects, __u64 now)
{
	struct conn *conn = bpf_sk_storage_get(&conns, sk, NULL, 0);

	if (!conn) {
		struct conn fresh = {};

		if (!decide(sk, task, connects, &fresh))
			return NULL;
		conn = bpf_sk_storage_get(&conns, sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
		if (!conn) {
			__sync_fetch_and_add(&dropped, 1);
			return NULL;
		}
		if (!connects)
			turn_enters(conn);
	} else if (conn->generation != generation) {
		decide_again(conn, sk, task, now);
	}
	return conn->role == ROLE_NONE ? NULL : conn;
}

#endif
