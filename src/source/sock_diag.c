/* inet_diag: struct inet_diag_msg, then attributes. The first request type, TCPDIAG_GETSOCK, takes AF_UNSPEC and walks the hash table
 * once for both families; SOCK_DIAG_BY_FAMILY would walk it twice (net/ipv4/inet_diag.c, inet_diag_rcv_msg_compat). */
#include "useprobe/sock_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void set_endpoint(struct up_endpoint *ret, uint8_t family, const __be32 addr[4], __be16 port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t bytes[16];

	memcpy(bytes, addr, sizeof(bytes));
	*ret = (struct up_endpoint){ .port = ntohs(port) };
	if (family == AF_INET) {
		memcpy(ret->addr, bytes, 4);
	} else if (memcmp(bytes, mapped, sizeof(mapped)) == 0) {
		memcpy(ret->addr, bytes + 12, 4);
	} else {
		memcpy(ret->addr, bytes, 16);
		ret->is_v6 = 1;
	}
}

char *up_endpoint_format(const struct up_endpoint *endpoint, char ret[UP_ENDPOINT_TEXT])
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(endpoint->is_v6 ? AF_INET6 : AF_INET, endpoint->addr, text, sizeof(text));
	snprintf(ret, UP_ENDPOINT_TEXT, endpoint->is_v6 ? "[%s]:%u" : "%s:%u", text, endpoint->port);
	return ret;
}

int up_endpoint_parse(const char *text, struct up_endpoint *ret)
{
	struct up_endpoint endpoint = { .is_v6 = *text == '[' };
	const char *begin = text + endpoint.is_v6, *end = strchr(begin, endpoint.is_v6 ? ']' : ':'), *port;
	char addr[INET6_ADDRSTRLEN];
	uint64_t number;

	if (!end || (size_t)(end - begin) >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, begin, (size_t)(end - begin));
	addr[end - begin] = '\0';
	port = end + endpoint.is_v6;
	if (*port++ != ':' || up_scan_whole_u64(port, &number) < 0 || number > UINT16_MAX)
		return -EINVAL;
	if (inet_pton(endpoint.is_v6 ? AF_INET6 : AF_INET, addr, endpoint.addr) != 1)
		return -EINVAL;
	endpoint.port = (uint16_t)number;
	*ret = endpoint;
	return 0;
}

bool up_endpoint_equal(const struct up_endpoint *a, const struct up_endpoint *b)
{
	return a->port == b->port && a->is_v6 == b->is_v6 && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

bool up_endpoint_is_any(const struct up_endpoint *endpoint)
{
	static const uint8_t any[16];

	return memcmp(endpoint->addr, any, sizeof(any)) == 0;
}

/* The kernel sends as much of struct tcp_info as it knows; what is behind its end reads as 0. */
static void take_info(const struct up_attr *attr, struct up_sock *sock)
{
	struct tcp_info info = { 0 };

	memcpy(&info, attr->data, attr->len < sizeof(info) ? attr->len : sizeof(info));
	sock->has_info = true;
	sock->last_data_sent_ms = info.tcpi_last_data_sent;
	sock->last_data_received_ms = info.tcpi_last_data_recv;
	sock->unacked_segments = info.tcpi_unacked;
	sock->notsent_bytes = info.tcpi_notsent_bytes;
	sock->congestion_window_segments = info.tcpi_snd_cwnd;
	sock->data_segments_in = info.tcpi_data_segs_in;
	sock->data_segments_out = info.tcpi_data_segs_out;
	sock->retransmits = info.tcpi_total_retrans;
	sock->send_mss_bytes = info.tcpi_snd_mss;
	if (attr->len >= offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd))
		sock->send_window_bytes = (struct up_u64){ .n = info.tcpi_snd_wnd, .has = true };
	sock->rtt_us = info.tcpi_rtt;
	sock->min_rtt_us = info.tcpi_min_rtt;
	sock->bytes_received = info.tcpi_bytes_received;
	sock->bytes_acked = info.tcpi_bytes_acked;
}

static void take_attr(const struct up_attr *attr, struct up_sock *sock)
{
	uint32_t drops;

	switch (attr->type) {
	case INET_DIAG_INFO:
		/* A listener's tcp_info repeats the queue lengths, nothing else in it means anything. */
		if (sock->state != UP_TCP_LISTEN)
			take_info(attr, sock);
		break;
	case INET_DIAG_SKMEMINFO:
		if (attr->len < (SK_MEMINFO_DROPS + 1) * sizeof(drops))
			break;
		memcpy(&drops, attr->data + SK_MEMINFO_DROPS * sizeof(drops), sizeof(drops));
		sock->drops = (struct up_u64){ .n = drops, .has = true };
		break;
	case INET_DIAG_CGROUP_ID:
		if (attr->len >= sizeof(uint64_t))
			sock->cgroup_id = (struct up_u64){ .n = up_attr_u64(attr), .has = true };
		break;
	case INET_DIAG_SKV6ONLY:
		if (attr->len >= 1)
			sock->dual = attr->data[0] == 0;
		break;
	default:
		break;
	}
}

int up_sock_parse(const void *payload, size_t payload_bytes, struct up_sock *ret)
{
	const uint8_t *cursor = payload;
	struct inet_diag_msg msg;
	struct up_sock sock = { 0 };
	struct up_attr attr;
	size_t rest;

	if (payload_bytes < sizeof(msg))
		return -EBADMSG;
	memcpy(&msg, payload, sizeof(msg));
	if (msg.idiag_family != AF_INET && msg.idiag_family != AF_INET6)
		return -EBADMSG;
	set_endpoint(&sock.local, msg.idiag_family, msg.id.idiag_src, msg.id.idiag_sport);
	set_endpoint(&sock.remote, msg.idiag_family, msg.id.idiag_dst, msg.id.idiag_dport);
	sock.state = msg.idiag_state;
	sock.receive_queue = msg.idiag_rqueue;
	sock.send_queue = msg.idiag_wqueue;
	sock.inode = msg.idiag_inode;
	sock.cookie = msg.id.idiag_cookie[0] | (uint64_t)msg.id.idiag_cookie[1] << 32;
	cursor += NLMSG_ALIGN(sizeof(msg));
	rest = payload_bytes > NLMSG_ALIGN(sizeof(msg)) ? payload_bytes - NLMSG_ALIGN(sizeof(msg)) : 0;
	while (up_attr_next(&cursor, &rest, &attr))
		take_attr(&attr, &sock);
	*ret = sock;
	return 0;
}

struct dump {
	up_sock_each *each;
	void *ctx;
};

static int parse_and_pass(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	const struct dump *dump = ctx;
	struct up_sock sock;
	int r;

	if (type != TCPDIAG_GETSOCK)
		return 0;
	r = up_sock_parse(payload, payload_bytes, &sock);
	return r < 0 ? r : dump->each(dump->ctx, &sock);
}

int up_sock_dump(struct up_netlink *netlink, const struct up_sock_query *query, up_sock_each *each, void *ctx)
{
	struct dump dump = { .each = each, .ctx = ctx };
	struct inet_diag_req request = {
		.idiag_family = AF_UNSPEC,
		.idiag_states = query->states,
	};

	if (query->info)
		request.idiag_ext |= 1u << (INET_DIAG_INFO - 1);
	if (query->memory)
		request.idiag_ext |= 1u << (INET_DIAG_SKMEMINFO - 1);
	return up_netlink_dump(netlink, TCPDIAG_GETSOCK, &request, sizeof(request), parse_and_pass, &dump);
}
