/* Generic netlink by hand: one request, one answer, no library. The struct grows by version, so only what arrived is looked at. */
#include "taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES 4096 /* the largest answer holds one struct taskstats, some 500 bytes */
#define REQUEST_BYTES 64

/* Attribute of TYPE among LEN bytes of attributes, its payload length in *RET_LEN. NULL when it is not there or cut. */
static const uint8_t *attribute_find(const uint8_t *attributes, size_t len, unsigned type, size_t *ret_len)
{
	while (len >= NLA_HDRLEN) {
		struct nlattr head;

		memcpy(&head, attributes, sizeof(head));
		if (head.nla_len < NLA_HDRLEN || head.nla_len > len)
			return NULL;
		if ((head.nla_type & NLA_TYPE_MASK) == type) {
			*ret_len = head.nla_len - (size_t)NLA_HDRLEN;
			return attributes + NLA_HDRLEN;
		}
		const size_t step = NLA_ALIGN((size_t)head.nla_len);

		if (step >= len)
			return NULL;
		attributes += step;
		len -= step;
	}
	return NULL;
}

/* Attributes of the one message in ANSWER. 0; the kernel's own error; -EBADMSG. */
static int message_open(const void *answer, size_t len, const uint8_t **ret_attributes, size_t *ret_len)
{
	const size_t head_bytes = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlmsghdr head;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, answer, sizeof(head));
	if (head.nlmsg_len > len)
		return -EBADMSG;
	if (head.nlmsg_type == NLMSG_ERROR) {
		int error;

		if (head.nlmsg_len < NLMSG_HDRLEN + sizeof(error))
			return -EBADMSG;
		memcpy(&error, (const uint8_t *)answer + NLMSG_HDRLEN, sizeof(error));
		return error < 0 ? error : -EBADMSG;
	}
	if (head.nlmsg_len < head_bytes)
		return -EBADMSG;
	*ret_attributes = (const uint8_t *)answer + head_bytes;
	*ret_len = head.nlmsg_len - head_bytes;
	return 0;
}

int up_taskstats_parse(const void *answer, size_t len, struct up_taskstats *ret)
{
	const uint8_t *attributes, *group, *stats;
	size_t attributes_len, group_len, stats_len;
	const size_t need = offsetof(struct taskstats, cpu_run_virtual_total) + sizeof(uint64_t); /* all of version 1 */
	struct taskstats all;
	const int r = message_open(answer, len, &attributes, &attributes_len);

	if (r < 0)
		return r;
	group = attribute_find(attributes, attributes_len, TASKSTATS_TYPE_AGGR_TGID, &group_len);
	if (!group)
		return -EBADMSG;
	stats = attribute_find(group, group_len, TASKSTATS_TYPE_STATS, &stats_len);
	if (!stats || stats_len < need)
		return -EBADMSG;
	memset(&all, 0, sizeof(all));
	memcpy(&all, stats, stats_len < sizeof(all) ? stats_len : sizeof(all));
	*ret = (struct up_taskstats){
		.cpu_count = all.cpu_count,
		.cpu_delay_ns = all.cpu_delay_total,
		.cpu_run_ns = all.cpu_run_virtual_total,
	};
	return 0;
}

int up_taskstats_parse_family(const void *answer, size_t len, uint16_t *ret)
{
	const uint8_t *attributes, *id;
	size_t attributes_len, id_len;
	const int r = message_open(answer, len, &attributes, &attributes_len);

	if (r < 0)
		return r;
	id = attribute_find(attributes, attributes_len, CTRL_ATTR_FAMILY_ID, &id_len);
	if (!id || id_len != sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, id, sizeof(*ret));
	return 0;
}

/* Sends one request with one attribute. 0 or -errno. */
static int request_send(
	struct up_taskstats_link *link, uint16_t type, uint8_t command, uint16_t attribute, const void *data, size_t len)
{
	_Alignas(struct nlmsghdr) uint8_t request[REQUEST_BYTES] = { 0 };
	const size_t head_bytes = NLMSG_HDRLEN + GENL_HDRLEN, total = head_bytes + NLA_ALIGN(NLA_HDRLEN + len);
	const struct nlattr head = { .nla_type = attribute, .nla_len = (uint16_t)(NLA_HDRLEN + len) };
	const struct genlmsghdr generic = { .cmd = command, .version = 1 };
	const struct nlmsghdr message = {
		.nlmsg_len = (uint32_t)total, .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++link->sequence
	};
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (total > sizeof(request))
		return -EMSGSIZE;
	memcpy(request, &message, sizeof(message));
	memcpy(request + NLMSG_HDRLEN, &generic, sizeof(generic));
	memcpy(request + head_bytes, &head, sizeof(head));
	memcpy(request + head_bytes + NLA_HDRLEN, data, len);
	if (sendto(link->fd_plus_1 - 1, request, total, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	return 0;
}

/* Receives the answer to the last request; one left over from an earlier, interrupted query is passed by. Its length or -errno. */
static ssize_t answer_receive(const struct up_taskstats_link *link, void *answer, size_t size)
{
	for (;;) {
		struct nlmsghdr head;
		const ssize_t n = recv(link->fd_plus_1 - 1, answer, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if ((size_t)n < sizeof(head))
			return -EBADMSG;
		memcpy(&head, answer, sizeof(head));
		if (head.nlmsg_seq == link->sequence)
			return n;
	}
}

int up_taskstats_query(struct up_taskstats_link *link, pid_t tgid, struct up_taskstats *ret)
{
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
	const uint32_t id = (uint32_t)tgid;
	const int r = request_send(link, link->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_TGID, &id, sizeof(id));

	if (r < 0)
		return r;
	const ssize_t n = answer_receive(link, answer, sizeof(answer));

	return n < 0 ? (int)n : up_taskstats_parse(answer, (size_t)n, ret);
}

static int family_find(struct up_taskstats_link *link)
{
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
	int r = request_send(
		link, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME));

	if (r < 0)
		return r;
	const ssize_t n = answer_receive(link, answer, sizeof(answer));

	return n < 0 ? (int)n : up_taskstats_parse_family(answer, (size_t)n, &link->family);
}

int up_taskstats_open(struct up_taskstats_link *link)
{
	/* The kernel answers inside sendto; the limit only keeps a tick from hanging on a broken netlink. */
	const struct timeval limit = { .tv_usec = 200000 };
	struct up_taskstats own;
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int r;

	if (fd < 0)
		return -errno;
	*link = (struct up_taskstats_link){ .fd_plus_1 = fd + 1 };
	r = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ? -errno : 0;
	if (r == 0)
		r = family_find(link);
	if (r == 0)
		r = up_taskstats_query(link, getpid(), &own);
	if (r < 0)
		up_taskstats_close(link);
	return r;
}

void up_taskstats_close(struct up_taskstats_link *link)
{
	if (link->fd_plus_1)
		close(link->fd_plus_1 - 1);
	*link = (struct up_taskstats_link){ 0 };
}
