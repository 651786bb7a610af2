/* Netlink messages: a header of 16 bytes, a payload, padding to 4; a dump ends with NLMSG_DONE, an error is NLMSG_ERROR with -errno.
 * Every length comes from the other side and is checked before use (net/netlink/af_netlink.c, Documentation/userspace-api/netlink). */
#include "useprobe/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* The kernel builds dump answers of at most 32 KiB. A smaller buffer loses rows without any error. */
#define DATAGRAM_BYTES ((size_t)64 << 10)
#define REQUEST_BYTES 512
#define PATIENCE_S 2

int up_netlink_open(struct up_netlink *netlink, int protocol)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_nl self = { .nl_family = AF_NETLINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&self, sizeof(self)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		r = -errno;
	netlink->buffer = r == 0 ? malloc(DATAGRAM_BYTES) : NULL;
	if (r == 0 && !netlink->buffer)
		r = -ENOMEM;
	if (r < 0) {
		close(fd);
		return r;
	}
	netlink->fd_plus_1 = fd + 1;
	return 0;
}

void up_netlink_close(struct up_netlink *netlink)
{
	if (netlink->fd_plus_1)
		close(netlink->fd_plus_1 - 1);
	free(netlink->buffer);
	*netlink = (struct up_netlink){ 0 };
}

static int send_request(struct up_netlink *netlink, uint16_t type, const void *payload, size_t payload_bytes)
{
	union {
		struct nlmsghdr header;
		uint8_t bytes[REQUEST_BYTES];
	} message = { 0 };
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	const size_t len = NLMSG_LENGTH(payload_bytes);

	if (len > sizeof(message))
		return -EMSGSIZE;
	message.header = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)len,
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.nlmsg_seq = ++netlink->sequence,
	};
	memcpy(message.bytes + NLMSG_HDRLEN, payload, payload_bytes);
	if (sendto(netlink->fd_plus_1 - 1, &message, len, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	return 0;
}

/* The whole message at the front of BYTES, LEN of them left. 0 and *ret, or -EBADMSG. */
static int take_header(const uint8_t *bytes, size_t len, struct nlmsghdr *ret)
{
	struct nlmsghdr header;

	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > len)
		return -EBADMSG;
	*ret = header;
	return 0;
}

/* What an NLMSG_ERROR says: the kernel's -errno, or 1 for its "no error", which ends a dump. */
static int error_of(const uint8_t *bytes, const struct nlmsghdr *header)
{
	int32_t error;

	if (header->nlmsg_len < NLMSG_HDRLEN + sizeof(error))
		return -EBADMSG;
	memcpy(&error, bytes + NLMSG_HDRLEN, sizeof(error));
	return error < 0 ? error : 1;
}

int up_netlink_walk(const void *datagram, size_t len, uint32_t sequence, up_netlink_each *each, void *ctx)
{
	const uint8_t *bytes = datagram;

	while (len > 0) {
		struct nlmsghdr header = { 0 };
		size_t step;
		int r = take_header(bytes, len, &header);

		if (r < 0)
			return r;
		if (header.nlmsg_seq == sequence && (header.nlmsg_flags & NLM_F_DUMP_INTR))
			return -EINTR;
		if (header.nlmsg_seq == sequence && header.nlmsg_type == NLMSG_DONE)
			return 1;
		if (header.nlmsg_seq == sequence && header.nlmsg_type == NLMSG_ERROR)
			return error_of(bytes, &header);
		if (header.nlmsg_seq == sequence && header.nlmsg_type >= NLMSG_MIN_TYPE)
			r = each(ctx, header.nlmsg_type, bytes + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
		if (r < 0)
			return r;
		step = NLMSG_ALIGN(header.nlmsg_len);
		if (step > len)
			step = len;
		bytes += step;
		len -= step;
	}
	return 0;
}

/* What is left of a dump that was given up, so that it is not taken for the answer to the next request. */
static void drain(int fd, void *buffer)
{
	while (recv(fd, buffer, DATAGRAM_BYTES, MSG_DONTWAIT) > 0)
		;
}

int up_netlink_dump(
	struct up_netlink *netlink, uint16_t type, const void *payload, size_t payload_bytes, up_netlink_each *each, void *ctx)
{
	const int fd = netlink->fd_plus_1 - 1;
	int r;

	if (fd < 0)
		return -EBADF;
	r = send_request(netlink, type, payload, payload_bytes);
	while (r == 0) {
		/* MSG_TRUNC: the real length, so that a datagram that did not fit is seen. */
		const ssize_t len = recv(fd, netlink->buffer, DATAGRAM_BYTES, MSG_TRUNC);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			r = errno == EAGAIN ? -ETIMEDOUT : -errno;
		else if (len == 0 || (size_t)len > DATAGRAM_BYTES)
			r = -EBADMSG;
		else
			r = up_netlink_walk(netlink->buffer, (size_t)len, netlink->sequence, each, ctx);
	}
	if (r < 0)
		drain(fd, netlink->buffer);
	return r < 0 ? r : 0;
}

bool up_attr_next(const uint8_t **cursor, size_t *len, struct up_attr *ret)
{
	struct nlattr header;
	size_t step;

	if (*len < sizeof(header))
		return false;
	memcpy(&header, *cursor, sizeof(header));
	if (header.nla_len < sizeof(header) || header.nla_len > *len)
		return false;
	*ret = (struct up_attr){
		.type = header.nla_type & NLA_TYPE_MASK,
		.data = *cursor + sizeof(header),
		.len = header.nla_len - sizeof(header),
	};
	step = NLA_ALIGN(header.nla_len);
	if (step > *len)
		step = *len;
	*cursor += step;
	*len -= step;
	return true;
}

bool up_attr_find(const uint8_t *data, size_t len, uint16_t type, size_t min_len, struct up_attr *ret)
{
	struct up_attr attr;

	while (up_attr_next(&data, &len, &attr)) {
		if (attr.type != type || attr.len < min_len)
			continue;
		*ret = attr;
		return true;
	}
	return false;
}

uint32_t up_attr_u32(const struct up_attr *attr)
{
	uint32_t number = 0;

	if (attr->len >= sizeof(number))
		memcpy(&number, attr->data, sizeof(number));
	return number;
}

uint64_t up_attr_u64(const struct up_attr *attr)
{
	uint64_t number = 0;

	if (attr->len >= sizeof(number))
		memcpy(&number, attr->data, sizeof(number));
	return number;
}
