/* Netlink: one request, many answers, each checked against the bytes that really came. */
#ifndef UP_NETLINK_H
#define UP_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

struct up_netlink {
	int fd_plus_1; /* owned; 0: not open */
	uint32_t sequence; /* of the last request */
	void *buffer; /* owned; one answer datagram */
};

/* Opens a socket of PROTOCOL (NETLINK_SOCK_DIAG, NETLINK_ROUTE) in the network namespace of the calling thread, where it stays. 0 or
 * -errno. Ends with up_netlink_close, which accepts a zeroed struct. */
UP_MUST_CHECK int up_netlink_open(struct up_netlink *netlink, int protocol);
void up_netlink_close(struct up_netlink *netlink);

/* One answer message; its payload is PAYLOAD_BYTES long. 0 to go on, -errno to stop. */
typedef int up_netlink_each(void *ctx, uint16_t type, const void *payload, size_t payload_bytes);

/* Sends the dump request PAYLOAD of TYPE and hands every answer to EACH until the kernel says done.
 * 0; what EACH returned; the kernel's -errno (-ENOENT: no such family or module); -EBADMSG for a broken answer; -ETIMEDOUT after 2 s;
 * -EINTR when the dump is inconsistent (NLM_F_DUMP_INTR: objects came or went; what was handed out is a mixture). */
UP_MUST_CHECK int up_netlink_dump(
	struct up_netlink *netlink, uint16_t type, const void *payload, size_t payload_bytes, up_netlink_each *each, void *ctx);

/* Walks one datagram of LEN bytes. 1 when it ends the dump, 0 when more is to come, else as above. Pure; messages of another
 * sequence number are left out. */
UP_MUST_CHECK int up_netlink_walk(const void *datagram, size_t len, uint32_t sequence, up_netlink_each *each, void *ctx);

struct up_attr {
	uint16_t type; /* without the flag bits */
	const uint8_t *data;
	size_t len;
};
/* Next attribute of the *LEN bytes at *CURSOR, which both move on. false at the end or when the rest is no whole attribute. */
bool up_attr_next(const uint8_t **cursor, size_t *len, struct up_attr *ret);
/* First attribute of TYPE in LEN bytes at DATA that has at least MIN_LEN bytes; false when there is none. */
bool up_attr_find(const uint8_t *data, size_t len, uint16_t type, size_t min_len, struct up_attr *ret);
/* Number at the start of the attribute, 0 when it is too short. */
uint32_t up_attr_u32(const struct up_attr *attr);
uint64_t up_attr_u64(const struct up_attr *attr);

#endif
