/* network - interfaces and TCP errors of a network namespace: that of the target's first process, and the host's. Reads
 *   /proc/PID/net/dev: "  eth0: 1234 5 0 0 0 0 0 0 6789 10 ..." bytes packets errs drop fifo frame compressed multicast, then the same sent
 *   rtnetlink: the queue in front of each interface (network_queue.c)
 *   /proc/PID/net/snmp, /proc/PID/net/netstat: TCP as a whole (network_tcp.c)
 *   /sys/class/net/IF/speed: Mbit/s, own namespace only; -1 or unreadable (veth, lo) = not known
 * A veth pair or a bridge has no speed: its utilization is not known, which is not 0. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network_parts.h"

#define LINKS_MAX 48

struct link {
	const char *name;
	struct up_u64 rx_bytes, rx_packets, rx_errors, rx_dropped; /* counters */
	struct up_u64 tx_bytes, tx_packets, tx_errors, tx_dropped; /* counters */
	struct up_u64 speed_mbit; /* gauge */
};

struct raw {
	const char *label;
	struct link *links; /* [link_count] */
	size_t link_count, more;
	struct network_tcp tcp;
	struct network_unsent unsent;
	bool host;
	struct network_space inside;
};

/* One line of /proc/PID/net/dev; -ENOENT for the two lines of headings. */
static int scan_link(struct up_arena *arena, const char *line, size_t len, struct link *ret)
{
	const char *colon = memchr(line, ':', len), *p;
	uint64_t n[16];

	if (!colon)
		return -ENOENT;
	up_scan_blanks(&line);
	p = colon + 1;
	for (size_t i = 0; i < UP_COUNT(n); i++) {
		up_scan_blanks(&p);
		if (up_scan_u64(&p, &n[i]) < 0 || (*p != ' ' && *p != '\n'))
			return -EBADMSG;
	}
	*ret = (struct link){
		.name = up_arena_strndup(arena, line, (size_t)(colon - line)),
		.rx_bytes = { n[0], true },
		.rx_packets = { n[1], true },
		.rx_errors = { n[2], true },
		.rx_dropped = { n[3], true },
		.tx_bytes = { n[8], true },
		.tx_packets = { n[9], true },
		.tx_errors = { n[10], true },
		.tx_dropped = { n[11], true },
	};
	return ret->name ? 0 : -ENOSPC;
}

/* An interface nobody ever used would only fill the screen. It is still read: its zeros are what its first packets are counted from. */
static bool was_used(const struct link *link)
{
	return link->rx_packets.n + link->tx_packets.n > 0;
}

static void read_speed(struct up_env *env, struct up_arena *arena, struct link *link)
{
	char path[128], *text;
	bool unlimited;

	/* An interface without a carrier answers EINVAL. */
	if ((size_t)snprintf(path, sizeof(path), "sys/class/net/%s/speed", link->name) >= sizeof(path) ||
		up_source_read(env->source, arena, path, &text, NULL) < 0 ||
		up_scan_single(text, &link->speed_mbit, &unlimited) < 0 || link->speed_mbit.n == 0)
		link->speed_mbit.has = false;
}

static int read_links(struct up_env *env, struct up_arena *arena, const char *dir, struct raw *raw)
{
	const char *cursor, *line;
	char path[64], *text;
	bool cut = false;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/dev", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r < 0)
		return up_fail(env, r, "/%s: %s", path, strerror(-r));
	raw->links = up_arena_alloc(arena, LINKS_MAX * sizeof(*raw->links));
	if (!raw->links)
		return -ENOSPC;
	for (cursor = text; up_scan_line(&cursor, &line, &len, &cut);) {
		struct link link;

		r = scan_link(arena, line, len, &link);
		if (r == -EBADMSG)
			return up_fail(env, r, "/%s: not understood: \"%.*s\"", path, (int)(len < 60 ? len : 60), line);
		if (r < 0)
			continue;
		if (raw->link_count == LINKS_MAX) {
			raw->more += was_used(&link);
			continue;
		}
		if (raw->host && was_used(&link))
			read_speed(env, arena, &link);
		raw->links[raw->link_count++] = link;
	}
	return cut ? up_fail(env, -EBADMSG, "/%s is cut off", path) : 0;
}

static int network_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .host = !env->target };
	char dir[32];
	pid_t pid;
	int r = network_find(env, arena, &pid, dir);

	(void)state;
	if (r == 0)
		r = read_links(env, arena, dir, &raw);
	if (r == 0)
		r = network_tcp_read(env, arena, dir, &raw.tcp);
	if (r == 0)
		r = network_look(env, arena, pid, &raw.inside);
	if (r == 0)
		r = network_unsent_read(env, arena, &raw.inside, &raw.unsent);
	raw.label = up_arena_strdup(arena, env->target ? env->target->label : "host");
	if (r == 0 && !raw.label)
		r = -ENOSPC;
	if (r == 0)
		*(struct raw *)ret_raw = raw;
	return r;
}

static const struct link *find_link(const struct raw *raw, const char *name)
{
	for (size_t i = 0; raw && i < raw->link_count; i++)
		if (strcmp(raw->links[i].name, name) == 0)
			return &raw->links[i];
	return NULL;
}

/* The queue of interface NAME; NULL when it is not known. */
static const struct up_link_queue *find_queue(const struct raw *raw, const char *name)
{
	for (size_t i = 0; raw && i < raw->inside.space.queue_count; i++)
		if (strcmp(raw->inside.space.queues[i].link, name) == 0)
			return &raw->inside.space.queues[i];
	return NULL;
}

/* The same queue in the sample before: one that was replaced counts anew. */
static const struct up_link_queue *queue_before(const struct raw *p, const struct up_link_queue *like)
{
	for (size_t i = 0; p && like && i < p->inside.space.queue_count; i++) {
		const struct up_qdisc *a = &p->inside.space.queues[i].qdisc, *b = &like->qdisc;

		if (a->ifindex == b->ifindex && a->handle == b->handle && strcmp(a->kind, b->kind) == 0)
			return &p->inside.space.queues[i];
	}
	return NULL;
}

static void fill_queue(
	const struct raw *p, const struct raw *c, const char *name, struct network_queue *ret, struct up_detail *detail)
{
	const struct up_link_queue *queue = find_queue(c, name);
	const uint64_t window_ns = p && c->inside.space.queues_ns > p->inside.space.queues_ns
					   ? c->inside.space.queues_ns - p->inside.space.queues_ns
					   : 0;
	const struct up_value unknown = network_unknown(&c->inside,
		c->inside.space.queues_error < 0 ? strerror(-c->inside.space.queues_error) : "the interface shows no qdisc");

	network_queue_fill(queue_before(p, queue), queue, unknown, window_ns, ret, detail);
}

/* Full duplex: the busier direction is the one that fills. A shaper is a narrower link. */
static struct up_value utilization_of(const struct link *l, struct up_value rx, struct up_value tx, struct up_value shaped)
{
	const struct up_value busier = up_value_ok(rx) && up_value_ok(tx) && tx.number > rx.number ? tx : rx;
	const struct up_value used = l->speed_mbit.has ? up_scaled(busier, 8, (double)l->speed_mbit.n * 1e6, "speed 0")
						       : up_none("the link has no known speed");

	if (up_value_ok(shaped) && up_value_ok(used))
		return used.number > shaped.number ? used : shaped;
	return l->speed_mbit.has || shaped.state == UP_ABSENT ? used : shaped;
}

static void add_link(const struct raw *before, const struct raw *c, const struct link *p, const struct link *l, uint64_t dt_ns,
	struct up_rows *out)
{
	const struct up_value rx = network_per_second(network_grown(p ? &p->rx_bytes : NULL, l->rx_bytes), dt_ns);
	const struct up_value tx = network_per_second(network_grown(p ? &p->tx_bytes : NULL, l->tx_bytes), dt_ns);
	const struct up_value rx_bad = up_plus(
		network_grown(p ? &p->rx_errors : NULL, l->rx_errors), network_grown(p ? &p->rx_dropped : NULL, l->rx_dropped));
	const struct up_value tx_bad = up_plus(
		network_grown(p ? &p->tx_errors : NULL, l->tx_errors), network_grown(p ? &p->tx_dropped : NULL, l->tx_dropped));
	const struct up_value bad = up_plus(rx_bad, tx_bad);
	struct up_detail detail = { 0 };
	struct network_queue queue;

	up_detail_value(&detail, "rx_bytes_per_s", rx);
	up_detail_value(&detail, "tx_bytes_per_s", tx);
	up_detail_value(&detail, "rx_errors_and_drops", rx_bad);
	up_detail_value(&detail, "tx_errors_and_drops", tx_bad);
	if (l->speed_mbit.has)
		up_detail_count(&detail, "speed_mbit", l->speed_mbit.n);
	fill_queue(before, c, l->name, &queue, &detail);
	up_detail_text(&detail, "of", c->label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "network",
				 .name = l->name,
				 .utilization = utilization_of(l, rx, tx, queue.sent_ratio),
				 .saturation = queue.packets,
				 .saturation_unit = "packets",
				 .waiting = up_none("packets are not requests"),
				 .errors = up_value_ok(queue.drops) ? up_plus(bad, queue.drops) : bad,
				 .method = c->inside.state == UP_OK ? "net/dev, rtnetlink 20 Hz measured" : "net/dev measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static int network_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	const struct network_tcp_sample before = { p ? &p->tcp : NULL, p ? &p->unsent : NULL }, now = { &c->tcp, &c->unsent };

	for (size_t i = 0; i < c->link_count; i++)
		if (was_used(&c->links[i]))
			add_link(p, c, find_link(p, c->links[i].name), &c->links[i], dt_ns, out);
	network_tcp_add(p ? &before : NULL, &now, &c->inside, c->label, dt_ns, out);
	return 0;
}

const struct up_collector up_collector_network = {
	.name = "network",
	.summary = "interfaces and TCP errors of the target's network namespace",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_NETNS,
	.resource = "network",
	.needs_sockets = true, /* whose response it is follows from the listener */
	.needs_netspaces = true,
	.raw_bytes = sizeof(struct raw),
	.read = network_read,
	.derive = network_derive,
};

const struct up_collector up_collector_host_network = {
	.name = "host_network",
	.summary = "interfaces and TCP errors of the machine",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_NETNS,
	.resource = "network",
	.needs_netspaces = true,
	.raw_bytes = sizeof(struct raw),
	.read = network_read,
	.derive = network_derive,
};
