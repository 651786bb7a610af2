/* Qdisc: the queues that packets wait in before they are sent, over rtnetlink (RTM_GETQDISC, net/sched/sch_api.c). A dump takes 0.05 to
 * 0.09 ms. Everybody may ask, for the network namespace the socket was opened in. */
#ifndef UP_QDISC_H
#define UP_QDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/netlink.h"
#include "useprobe/scan.h"

#define UP_QDISC_KIND 16 /* IFNAMSIZ, with its NUL */
#define UP_QDISC_ROOT 0xffffffffu /* parent of the queue that stands for the whole interface (TC_H_ROOT) */

struct up_qdisc {
	uint32_t ifindex;
	uint32_t handle, parent;
	char kind[UP_QDISC_KIND]; /* "fq_codel", "tbf", "noqueue" */
	struct up_u64 bytes, packets; /* counters; 32 bits of packets on older kernels */
	struct up_u64 drops, overlimits, requeues; /* counters, 32 bits */
	struct up_u64 queued_packets, queued_bytes; /* gauges */
	uint64_t rate_bytes_per_s; /* tbf: what it lets through; 0: not known */
};

/* 0 to go on, -errno to stop. */
typedef int up_qdisc_each(void *ctx, const struct up_qdisc *qdisc);
/* Hands every qdisc of the namespace NETLINK (NETLINK_ROUTE) lives in to EACH. Errors as up_netlink_dump. */
UP_MUST_CHECK int up_qdisc_dump(struct up_netlink *netlink, up_qdisc_each *each, void *ctx);
/* One RTM_NEWQDISC message. Pure. 0, or -EBADMSG when it is too short or has no kind. Figures that are not in it stay without "has". */
UP_MUST_CHECK int up_qdisc_parse(const void *payload, size_t payload_bytes, struct up_qdisc *ret);

#endif
