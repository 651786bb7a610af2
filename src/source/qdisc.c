/* RTM_NEWQDISC: struct tcmsg, then attributes; TCA_STATS2 holds the figures as attributes of its own (net/core/gen_stats.c). The root's
 * figures hold those of the queues below it: mq adds its children up when it is asked (net/sched/sch_mq.c), classful ones count their
 * children's packets and drops as their own (qdisc_tree_reduce_backlog). */
#include "useprobe/qdisc.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(UP_QDISC_ROOT == TC_H_ROOT, "the kernel's root");

static struct up_u64 number(uint64_t n)
{
	return (struct up_u64){ .n = n, .has = true };
}

static void take_stats(const struct up_attr *stats, struct up_qdisc *qdisc)
{
	struct gnet_stats_queue queue;
	struct up_attr attr;

	if (up_attr_find(stats->data, stats->len, TCA_STATS_BASIC, 12, &attr)) {
		const struct up_attr packets = { .data = attr.data + 8, .len = 4 };

		qdisc->bytes = number(up_attr_u64(&attr));
		qdisc->packets = number(up_attr_u32(&packets));
	}
	if (up_attr_find(stats->data, stats->len, TCA_STATS_PKT64, 8, &attr))
		qdisc->packets = number(up_attr_u64(&attr));
	if (!up_attr_find(stats->data, stats->len, TCA_STATS_QUEUE, sizeof(queue), &attr))
		return;
	memcpy(&queue, attr.data, sizeof(queue));
	qdisc->queued_packets = number(queue.qlen);
	qdisc->queued_bytes = number(queue.backlog);
	qdisc->drops = number(queue.drops);
	qdisc->requeues = number(queue.requeues);
	qdisc->overlimits = number(queue.overlimits);
}

/* What a token bucket lets through: 32 bits, or all ones and 64 bits beside them (net/sched/sch_tbf.c). */
static void take_tbf(const struct up_attr *options, struct up_qdisc *qdisc)
{
	struct tc_tbf_qopt parms;
	struct up_attr attr;

	if (up_attr_find(options->data, options->len, TCA_TBF_PARMS, sizeof(parms), &attr)) {
		memcpy(&parms, attr.data, sizeof(parms));
		qdisc->rate_bytes_per_s = parms.rate.rate;
	}
	if (up_attr_find(options->data, options->len, TCA_TBF_RATE64, 8, &attr))
		qdisc->rate_bytes_per_s = up_attr_u64(&attr);
}

int up_qdisc_parse(const void *payload, size_t payload_bytes, struct up_qdisc *ret)
{
	struct up_qdisc qdisc = { 0 };
	struct tcmsg msg;
	struct up_attr kind, attr;
	const uint8_t *attrs;
	size_t len;

	if (payload_bytes < sizeof(msg))
		return -EBADMSG;
	memcpy(&msg, payload, sizeof(msg));
	attrs = (const uint8_t *)payload + NLMSG_ALIGN(sizeof(msg));
	len = payload_bytes - NLMSG_ALIGN(sizeof(msg));
	if (!up_attr_find(attrs, len, TCA_KIND, 2, &kind) || kind.len > sizeof(qdisc.kind) || kind.data[kind.len - 1] != '\0')
		return -EBADMSG;
	memcpy(qdisc.kind, kind.data, kind.len);
	qdisc.ifindex = (uint32_t)msg.tcm_ifindex;
	qdisc.handle = msg.tcm_handle;
	qdisc.parent = msg.tcm_parent;
	if (up_attr_find(attrs, len, TCA_STATS2, 0, &attr))
		take_stats(&attr, &qdisc);
	if (strcmp(qdisc.kind, "tbf") == 0 && up_attr_find(attrs, len, TCA_OPTIONS, 0, &attr))
		take_tbf(&attr, &qdisc);
	*ret = qdisc;
	return 0;
}

struct dump {
	up_qdisc_each *each;
	void *ctx;
};

static int parse_and_pass(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	const struct dump *dump = ctx;
	struct up_qdisc qdisc;
	int r;

	if (type != RTM_NEWQDISC)
		return 0;
	r = up_qdisc_parse(payload, payload_bytes, &qdisc);
	return r < 0 ? r : dump->each(dump->ctx, &qdisc);
}

int up_qdisc_dump(struct up_netlink *netlink, up_qdisc_each *each, void *ctx)
{
	struct dump dump = { .each = each, .ctx = ctx };
	const struct tcmsg request = { .tcm_family = AF_UNSPEC };

	return up_netlink_dump(netlink, RTM_GETQDISC, &request, sizeof(request), parse_and_pass, &dump);
}
