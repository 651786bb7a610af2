/* network, the queue in front of an interface: the root qdisc as rtnetlink shows it (useprobe/qdisc.h).
 *   queued packets and bytes   wait for the link or for a shaper
 *   drops                      the queue was full (or its policy, CoDel or RED, wanted the senders to slow down)
 *   overlimits                 times a shaper had to wait; requeues: times the driver was busy
 * "noqueue" (lo, bridges, most veth) never queues: its link's queue is at the other end or at the host. */
#include <string.h>

#include "network_parts.h"

#define BITS 32

static struct up_value wrapped(const struct up_u64 *prev, struct up_u64 cur)
{
	return up_delta_wrap(prev, cur, BITS, "not counted by this kernel");
}

void network_queue_fill(const struct up_link_queue *p, const struct up_link_queue *c, struct up_value unknown, uint64_t window_ns,
	struct network_queue *ret, struct up_detail *detail)
{
	const struct up_qdisc *q = c ? &c->qdisc : NULL, *before = p ? &p->qdisc : NULL;

	*ret = (struct network_queue){
		.packets = unknown, .packets_max = unknown, .drops = unknown, .sent_ratio = up_none("no shaper")
	};
	if (!q)
		return;
	up_detail_text(detail, "qdisc", q->kind);
	ret->drops = wrapped(before ? &before->drops : NULL, q->drops);
	if (strcmp(q->kind, "noqueue") == 0) {
		ret->packets = ret->packets_max = up_none("the interface has no queue (noqueue)");
		return;
	}
	ret->packets =
		up_scaled(network_grown(p ? &p->area_ns : NULL, c->area_ns), 1, (double)window_ns, "not polled in this window");
	ret->packets_max = p ? up_value(c->packets_max) : up_value_state(UP_FIRST, NULL);
	up_detail_value(detail, "queue_packets_max", ret->packets_max);
	if (q->queued_bytes.has)
		up_detail_count(detail, "queue_bytes", q->queued_bytes.n);
	up_detail_value(detail, "queue_drops", ret->drops);
	up_detail_value(detail, "overlimits", wrapped(before ? &before->overlimits : NULL, q->overlimits));
	up_detail_value(detail, "requeues", wrapped(before ? &before->requeues : NULL, q->requeues));
	if (!q->rate_bytes_per_s)
		return;
	up_detail_number(detail, "shaper_bytes_per_s", (double)q->rate_bytes_per_s);
	ret->sent_ratio = up_scaled(network_per_second(network_grown(before ? &before->bytes : NULL, q->bytes), window_ns), 1,
		(double)q->rate_bytes_per_s, NULL);
}
