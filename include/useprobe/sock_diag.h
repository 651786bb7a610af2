/* Sock diag: the kernel's table of TCP sockets (net/ipv4/inet_diag.c), IPv4 and IPv6 in one pass. */
#ifndef UP_SOCK_DIAG_H
#define UP_SOCK_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/netlink.h"
#include "useprobe/scan.h"

/* Address and port. An IPv4 address inside IPv6 (::ffff:192.0.2.1, how dual-stack listeners see their peers) becomes IPv4. */
struct up_endpoint {
	uint8_t addr[16]; /* network order; IPv4: the first 4 bytes, rest 0 */
	uint16_t port; /* host order */
	uint8_t is_v6; /* 0 or 1 */
	uint8_t zero;
};

#define UP_ENDPOINT_TEXT 64
/* "192.0.2.1:80", "[2001:db8::1]:80". Returns RET. */
char *up_endpoint_format(const struct up_endpoint *endpoint, char ret[UP_ENDPOINT_TEXT]);
/* Inverse. 0 or -EINVAL. */
UP_MUST_CHECK int up_endpoint_parse(const char *text, struct up_endpoint *ret);
bool up_endpoint_equal(const struct up_endpoint *a, const struct up_endpoint *b);
/* 0.0.0.0 or :: */
bool up_endpoint_is_any(const struct up_endpoint *endpoint);

/* States by their number in the kernel (include/net/tcp_states.h). */
enum up_tcp_state {
	UP_TCP_ESTABLISHED = 1,
	UP_TCP_SYN_SENT = 2,
	UP_TCP_SYN_RECV = 3,
	UP_TCP_FIN_WAIT1 = 4,
	UP_TCP_FIN_WAIT2 = 5,
	UP_TCP_TIME_WAIT = 6,
	UP_TCP_CLOSE = 7,
	UP_TCP_CLOSE_WAIT = 8,
	UP_TCP_LAST_ACK = 9,
	UP_TCP_LISTEN = 10,
	UP_TCP_CLOSING = 11,
	UP_TCP_NEW_SYN_RECV = 12,
};

struct up_sock {
	struct up_endpoint local, remote;
	uint8_t state; /* enum up_tcp_state */
	bool dual; /* an IPv6 socket that also takes IPv4 */
	uint32_t receive_queue; /* LISTEN: connections not yet accepted; else bytes not yet read */
	uint32_t send_queue; /* LISTEN: the backlog after all clamps (capacity is one more); else bytes not yet acknowledged */
	uint32_t inode; /* 0: not accepted yet, or no longer open */
	uint64_t cookie;
	struct up_u64 cgroup_id; /* v2 id at socket() time; accepted sockets have their listener's */
	struct up_u64 drops; /* counter, with memory: packets this socket dropped; LISTEN: connections */
	/* With info, struct tcp_info: ages are jiffies counted in ms. */
	bool has_info;
	uint32_t last_data_sent_ms, last_data_received_ms;
	uint32_t unacked_segments, notsent_bytes, congestion_window_segments;
	uint32_t data_segments_in, data_segments_out, retransmits;
	uint32_t rtt_us, min_rtt_us;
	uint32_t send_mss_bytes;
	struct up_u64 send_window_bytes; /* what the peer still takes (5.4) */
	uint64_t bytes_received, bytes_acked;
};

struct up_sock_query {
	uint32_t states; /* bit set of 1u << enum up_tcp_state */
	bool info; /* fill what stands behind has_info */
	bool memory; /* fill drops */
};

/* 0 to go on, -errno to stop. */
typedef int up_sock_each(void *ctx, const struct up_sock *sock);

/* Hands every TCP socket of the namespace NETLINK (NETLINK_SOCK_DIAG) lives in to EACH. Errors as up_netlink_dump. A dump is not one
 * instant: sockets may change while it runs. */
UP_MUST_CHECK int up_sock_dump(struct up_netlink *netlink, const struct up_sock_query *query, up_sock_each *each, void *ctx);

/* One message of a dump. Pure. 0, or -EBADMSG when it is too short or of an unknown family. */
UP_MUST_CHECK int up_sock_parse(const void *payload, size_t payload_bytes, struct up_sock *ret);

/* Where sock_diag is not to be had: FD is /proc/net/tcp (V6: tcp6), read from its start. EACH gets sockets with a state in STATES; asking
 * for LISTEN alone stops at the first other one, since listeners stand first. Inode and queues only: no backlog (send_queue of a listener
 * is 0), no drops, no info; the cookie is the inode. 0; what EACH returned; -errno of the read; -EBADMSG for a line not understood. */
UP_MUST_CHECK int up_sock_read_proc(int fd, bool v6, uint32_t states, up_sock_each *each, void *ctx);
/* One line of it, up to its newline. Pure. 0 or -EBADMSG. */
UP_MUST_CHECK int up_sock_parse_proc(const char *line, bool v6, struct up_sock *ret);

#endif
