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
	__u8 sk_shutdown;
	__u16 sk_protocol; /* a bit field before 5.6: read as one */
};

struct tcp_sock {
	__u32 rcv_nxt;
	__u32 copied_seq;
};

#pragma clang attribute pop

#endif
