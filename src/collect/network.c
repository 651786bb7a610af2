/* network - interfaces and TCP errors of a network namespace: that of the target's first process, and the host's. Reads
 *   /proc/PID/net/dev: "  eth0: 1234 5 0 0 0 0 0 0 6789 10 ..." bytes packets errs drop fifo frame compressed multicast, then the same sent
 *   /proc/PID/net/snmp, /proc/PID/net/netstat: a line of names above a line of numbers, matched by name
 *   /sys/class/net/IF/speed: Mbit/s, own namespace only; -1 or unreadable (veth, lo) = not known
 * A veth pair or a bridge has no speed: its utilization is not known, which is not 0. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/netfiles.h"

#define LINKS_MAX 32

struct link {
	const char *name;
	struct up_u64 rx_bytes, rx_packets, rx_errors, rx_dropped; /* counters */
	struct up_u64 tx_bytes, tx_packets, tx_errors, tx_dropped; /* counters */
	struct up_u64 speed_mbit; /* gauge */
};

struct tcp {
	struct up_u64 retransmits, sent, timeouts, connect_failures, resets, out_resets, listen_drops, backlog_drops,
		memory_aborts;
};

struct raw {
	const char *label;
	struct link *links; /* [link_count] */
	size_t link_count, more;
	struct tcp tcp;
	bool host;
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
		/* An interface nobody ever used would only fill the screen. */
		if (r < 0 || link.rx_packets.n + link.tx_packets.n == 0)
			continue;
		if (raw->link_count == LINKS_MAX) {
			raw->more++;
			continue;
		}
		if (raw->host)
			read_speed(env, arena, &link);
		raw->links[raw->link_count++] = link;
	}
	return cut ? up_fail(env, -EBADMSG, "/%s is cut off", path) : 0;
}

static int read_tcp(struct up_env *env, struct up_arena *arena, const char *dir, struct tcp *ret)
{
	const struct up_net_field snmp[] = {
		{ "Tcp", "RetransSegs", &ret->retransmits },
		{ "Tcp", "OutSegs", &ret->sent },
		{ "Tcp", "AttemptFails", &ret->connect_failures },
		{ "Tcp", "EstabResets", &ret->resets },
		{ "Tcp", "OutRsts", &ret->out_resets },
	};
	const struct up_net_field netstat[] = {
		{ "TcpExt", "TCPTimeouts", &ret->timeouts },
		{ "TcpExt", "ListenDrops", &ret->listen_drops },
		{ "TcpExt", "TCPBacklogDrop", &ret->backlog_drops },
		{ "TcpExt", "TCPAbortOnMemory", &ret->memory_aborts },
	};
	char path[64], *text;
	int r;

	snprintf(path, sizeof(path), "%s/snmp", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r == 0 && up_net_fields(text, snmp, UP_COUNT(snmp)) < 0)
		return up_fail(env, -EBADMSG, "/%s: lines of names and values do not match", path);
	snprintf(path, sizeof(path), "%s/netstat", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r == 0 && up_net_fields(text, netstat, UP_COUNT(netstat)) < 0)
		return up_fail(env, -EBADMSG, "/%s: lines of names and values do not match", path);
	return 0;
}

static int network_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .host = !env->target };
	char dir[32] = "proc/self/net";
	pid_t *pids;
	size_t count;
	int r;

	(void)state;
	if (env->target) {
		r = up_target_pids(env->target, env->source, arena, &pids, &count);
		if (r < 0 || count == 0)
			return up_fail(env, -ENOENT, "%s has no process whose network could be looked at", env->target->label);
		snprintf(dir, sizeof(dir), "proc/%d/net", (int)pids[0]);
	}
	r = read_links(env, arena, dir, &raw);
	if (r == 0)
		r = read_tcp(env, arena, dir, &raw.tcp);
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

static struct up_value grown(const struct up_u64 *prev, struct up_u64 cur)
{
	return up_delta(prev, cur, "not counted by this kernel");
}

static struct up_value per_second(struct up_value value, uint64_t dt_ns)
{
	return up_scaled(value, (double)UP_NS_PER_S, (double)dt_ns, "no time passed");
}

static void add_link(const struct raw *c, const struct link *p, const struct link *l, uint64_t dt_ns, struct up_rows *out)
{
	const struct up_value rx = per_second(grown(p ? &p->rx_bytes : NULL, l->rx_bytes), dt_ns);
	const struct up_value tx = per_second(grown(p ? &p->tx_bytes : NULL, l->tx_bytes), dt_ns);
	const struct up_value rx_bad =
		up_plus(grown(p ? &p->rx_errors : NULL, l->rx_errors), grown(p ? &p->rx_dropped : NULL, l->rx_dropped));
	const struct up_value tx_bad =
		up_plus(grown(p ? &p->tx_errors : NULL, l->tx_errors), grown(p ? &p->tx_dropped : NULL, l->tx_dropped));
	struct up_value busier = up_value_ok(rx) && up_value_ok(tx) && tx.number > rx.number ? tx : rx;
	struct up_detail detail = { 0 };

	up_detail_value(&detail, "rx_bytes_per_s", rx);
	up_detail_value(&detail, "tx_bytes_per_s", tx);
	up_detail_value(&detail, "rx_errors_and_drops", rx_bad);
	up_detail_value(&detail, "tx_errors_and_drops", tx_bad);
	if (l->speed_mbit.has)
		up_detail_count(&detail, "speed_mbit", l->speed_mbit.n);
	up_detail_text(&detail, "of", c->label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "network",
				 .name = l->name,
				 /* Full duplex: the busier direction is the one that fills. */
				 .utilization = l->speed_mbit.has ? up_scaled(busier, 8, (double)l->speed_mbit.n * 1e6, "speed 0")
								  : up_none("the link has no known speed"),
				 .saturation = up_none("the queue of the qdisc is not read"),
				 .waiting = up_none("the queue of the qdisc is not read"),
				 .errors = up_plus(rx_bad, tx_bad),
				 .method = "net/dev measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static void add_tcp(const struct raw *p, const struct raw *c, uint64_t dt_ns, struct up_rows *out)
{
	const struct tcp *t = &c->tcp, *b = p ? &p->tcp : NULL;
	const struct up_value retransmits = grown(b ? &b->retransmits : NULL, t->retransmits);
	const struct up_value sent = grown(b ? &b->sent : NULL, t->sent);
	struct up_detail detail = { 0 };

	up_detail_value(&detail, "retransmits", retransmits);
	up_detail_value(&detail, "segments_per_s", per_second(sent, dt_ns));
	up_detail_value(&detail, "timeouts", grown(b ? &b->timeouts : NULL, t->timeouts));
	up_detail_value(&detail, "connect_failures", grown(b ? &b->connect_failures : NULL, t->connect_failures));
	up_detail_value(&detail, "resets", grown(b ? &b->resets : NULL, t->resets));
	up_detail_value(&detail, "resets_sent", grown(b ? &b->out_resets : NULL, t->out_resets));
	up_detail_value(&detail, "listen_drops", grown(b ? &b->listen_drops : NULL, t->listen_drops));
	up_detail_value(&detail, "backlog_drops", grown(b ? &b->backlog_drops : NULL, t->backlog_drops));
	up_detail_value(&detail, "memory_aborts", grown(b ? &b->memory_aborts : NULL, t->memory_aborts));
	up_detail_text(&detail, "of", c->label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "network",
				 .name = "tcp",
				 .utilization = up_none("TCP as a whole has no capacity"),
				 .saturation = up_ratio(retransmits, sent, "no segment was sent"),
				 .saturation_unit = "ratio",
				 .waiting = up_none("see listen and requests"),
				 .errors = up_plus(retransmits, grown(b ? &b->listen_drops : NULL, t->listen_drops)),
				 .method = "net/snmp, net/netstat measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static int network_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	for (size_t i = 0; i < c->link_count; i++)
		add_link(c, find_link(p, c->links[i].name), &c->links[i], dt_ns, out);
	add_tcp(p, c, dt_ns, out);
	return 0;
}

const struct up_collector up_collector_network = {
	.name = "network",
	.summary = "interfaces and TCP errors of the target's network namespace",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_NETNS,
	.resource = "network",
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
	.raw_bytes = sizeof(struct raw),
	.read = network_read,
	.derive = network_derive,
};
