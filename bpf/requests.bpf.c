/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Requests inside the targets' listeners and queries at their peers, from the moments at which a socket got data, was read and was
 * written. The moments come from the tracepoints sk_data_ready (6.1), sock_recv_length and sock_send_length (6.3), or on older kernels
 * from the functions behind them (fentry and fexit, sk_storage from 5.11); user space loads one set. Connections come and go with
 * inet_sock_set_state (4.16). */
#include "look.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RCV_SHUTDOWN 1
#define MSG_PEEK 2

static __always_inline void on_ready(struct sock *sk)
{
	const __u64 now = bpf_ktime_get_ns();
	struct up_req_count *count;
	struct tcp_sock *tp;
	struct conn *conn;
	__u32 waiting;

	if (!is_tcp(sk) || is_over(sk))
		return;
	conn = conn_get(sk, NULL, false, now);
	count = conn ? count_of(conn) : NULL;
	if (!count || conn->kind >= KIND_HTTP2)
		return;
	/* The end of a connection wakes its reader too; it takes one sequence number and is no request. */
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	waiting = tp ? tp->rcv_nxt - tp->copied_seq : 2;
	if ((sk->sk_shutdown & RCV_SHUTDOWN) && waiting <= 1)
		return;
	if (conn->role == ROLE_SERVER)
		server_ready(conn, count, now);
	else
		client_ready(conn, count, now);
}

static __always_inline void on_recv(struct sock *sk, int ret, int flags)
{
	const __u64 now = bpf_ktime_get_ns();
	struct up_req_count *count;
	struct conn *conn;

	if (ret <= 0 || (flags & MSG_PEEK) || !is_tcp(sk) || is_over(sk))
		return;
	conn = conn_get(sk, bpf_get_current_task_btf(), false, now);
	count = conn ? count_of(conn) : NULL;
	if (!count)
		return;
	add(&count->reads, 1);
	if (conn->kind >= KIND_HTTP2)
		return;
	if (conn->role == ROLE_SERVER)
		server_recv(conn, count, now);
	else
		client_recv(conn, count, now);
}

/* The write just made is not all sent: less than a segment is left, and it waits for the acknowledgement of what is under way, which the
 * other side may delay by 40 ms. Without TCP_NODELAY (nonagle bit 0). */
static __always_inline bool is_held(struct tcp_sock *tp)
{
	const __u32 unsent = tp->write_seq - tp->snd_nxt;

	return unsent && unsent < tp->mss_cache && tp->packets_out && !(BPF_CORE_READ_BITFIELD(tp, nonagle) & 1);
}

static __always_inline void on_send(struct sock *sk, int ret)
{
	const __u64 now = bpf_ktime_get_ns();
	struct up_req_count *count;
	struct tcp_sock *tp;
	struct conn *conn;

	if (ret <= 0 || !is_tcp(sk) || is_over(sk))
		return;
	conn = conn_get(sk, bpf_get_current_task_btf(), false, now);
	count = conn ? count_of(conn) : NULL;
	if (!count)
		return;
	add(&count->writes, 1);
	if (conn->kind >= KIND_HTTP2)
		return;
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	add(&count->held, is_held(tp));
	if (conn->role == ROLE_SERVER)
		server_send(conn, count, now);
	else
		client_send(conn, count, now, tp->tcp_wstamp_ns);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(up_req_ready, struct sock *sk)
{
	on_ready(sk);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(up_req_recv, struct sock *sk, int ret, int flags)
{
	on_recv(sk, ret, flags);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(up_req_send, struct sock *sk, int ret, int flags)
{
	on_send(sk, ret);
	return 0;
}

SEC("fentry/sock_def_readable")
int BPF_PROG(up_req_ready_old, struct sock *sk)
{
	on_ready(sk);
	return 0;
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(up_req_recv4_old, struct socket *socket, void *msg, unsigned long size, int flags, int ret)
{
	on_recv(socket->sk, ret, flags);
	return 0;
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(up_req_recv6_old, struct socket *socket, void *msg, unsigned long size, int flags, int ret)
{
	on_recv(socket->sk, ret, flags);
	return 0;
}

SEC("fexit/inet_sendmsg")
int BPF_PROG(up_req_send4_old, struct socket *socket, void *msg, unsigned long size, int ret)
{
	on_send(socket->sk, ret);
	return 0;
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(up_req_send6_old, struct socket *socket, void *msg, unsigned long size, int ret)
{
	on_send(socket->sk, ret);
	return 0;
}

/* sendfile and splice, until 6.4 */
SEC("fexit/inet_sendpage")
int BPF_PROG(up_req_sendpage_old, struct socket *socket, void *page, int offset, unsigned long size, int flags, long ret)
{
	on_send(socket->sk, ret > 0);
	return 0;
}

/* A connection is over for us when one side has closed it or it has failed; a half that the peer closed may still be answered. */
static __always_inline void on_close(struct sock *sk, int newstate, __u64 now)
{
	struct conn *conn = bpf_sk_storage_get(&conns, sk, NULL, 0);
	struct up_req_count *count = conn ? count_of(conn) : NULL;

	if (!count)
		return;
	if (newstate == TCP_CLOSE && sk->sk_err && conn->is_open)
		add(&count->resets, 1);
	turn_leaves(conn, now);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(up_req_state, struct sock *sk, int oldstate, int newstate)
{
	const __u64 now = bpf_ktime_get_ns();
	struct up_req_count *count;
	struct conn *conn;

	if (newstate == TCP_SYN_SENT) {
		/* In the context of who calls connect(): the peer's address is set. */
		if (!is_tcp(sk))
			return 0;
		conn = conn_get(sk, bpf_get_current_task_btf(), true, now);
		count = conn && conn->role == ROLE_CLIENT ? count_of(conn) : NULL;
		if (!count)
			return 0;
		conn->connect_ns = now;
		add(&count->connects, 1);
		return 0;
	}
	if (oldstate == TCP_SYN_SENT) {
		conn = bpf_sk_storage_get(&conns, sk, NULL, 0);
		count = conn && conn->role == ROLE_CLIENT ? count_of(conn) : NULL;
		if (!count || !conn->connect_ns)
			return 0;
		if (newstate == TCP_ESTABLISHED) {
			add(&count->connected, 1);
			add(&count->connect_ns, now - conn->connect_ns);
			turn_enters(conn);
		} else {
			add(&count->connect_failures, 1);
		}
		conn->connect_ns = 0;
		return 0;
	}
	if (newstate != TCP_ESTABLISHED && newstate != TCP_CLOSE_WAIT && newstate != TCP_LISTEN &&
		(oldstate == TCP_ESTABLISHED || oldstate == TCP_CLOSE_WAIT))
		on_close(sk, newstate, now);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(up_req_retransmit, struct sock *sk)
{
	struct conn *conn = bpf_sk_storage_get(&conns, sk, NULL, 0);
	struct up_req_count *count = conn ? count_of(conn) : NULL;

	if (count)
		add(&count->retransmits, 1);
	return 0;
}

/* Connections that are there already, of all tasks that a target has: a pool that sits idle is open all the same. */
SEC("iter/task_file")
int up_req_adopt(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;
	struct sock *sk;
	int state;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || !is_tcp(sk))
		return 0;
	state = sk->__sk_common.skc_state;
	if (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT)
		return 0;
	if (find_server(sk) || target_of(sk, task) >= 0)
		conn_get(sk, task, false, bpf_ktime_get_ns());
	return 0;
}

/* Every connection of the namespace of who made the iterator; the kernel holds each one's lock meanwhile (5.16). */
SEC("iter/tcp")
int up_req_look(struct bpf_iter__tcp *ctx)
{
	const __u64 now = bpf_ktime_get_ns();
	struct sock_common *common = ctx->sk_common;
	struct up_req_count *count;
	struct tcp_sock *tp;
	struct conn *conn;

	if (!common || (common->skc_state != TCP_ESTABLISHED && common->skc_state != TCP_CLOSE_WAIT))
		return 0;
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	conn = conn_get((struct sock *)tp, NULL, false, now);
	count = conn ? count_of(conn) : NULL;
	if (count && conn->kind < KIND_HTTP2)
		look_at(conn, count, tp, now);
	return 0;
}
