/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Kernel types of sockets, with only the fields we read (see kernel.h). Fields that stand in anonymous unions in the kernel are found by
 * their name. */
#ifndef UP_BPF_KERNEL_NET_H
#define UP_BPF_KERNEL_NET_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__u32 skc_daddr; /* network order */
	__u32 skc_rcv_saddr;
	__u16 skc_dport; /* network order */
	__u16 skc_num; /* local port, host order */
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	int sk_err;
	__u8 sk_shutdown;
	__u16 sk_protocol; /* a bit field before 5.6: read as one */
};

struct socket {
	struct sock *sk;
};

struct inet_bind_bucket {
	signed char fastreuse;
};

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
	struct {
		__u32 lrcvtime; /* jiffies of the last data */
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 rcv_wup; /* rcv_nxt as of our last acknowledgement */
	__u32 snd_una; /* first byte not acknowledged */
	__u32 lsndtime; /* jiffies of our last data */
	__u32 data_segs_in, data_segs_out;
	__u32 write_seq, snd_nxt; /* end of what was written, of what was sent */
	__u32 packets_out, mss_cache;
	__u8 nonagle : 4;
	__u64 tcp_wstamp_ns; /* when our last segment left, ktime_get_ns() */
	__u64 delivered_mstamp; /* us: when the peer last acknowledged more */
};

struct file;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

#endif
