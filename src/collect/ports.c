/* ports - ephemeral ports and TIME_WAIT of a network namespace. Each pair of a local address and a remote address and port has the whole
 * range of ip_local_port_range to itself (net/ipv4/inet_hashtables.c, __inet_hash_connect), so use is counted per destination, in a census
 * of the sockets (useprobe/census.h). Reads besides
 *   /proc/PID/net/sockstat   TCP: inuse 35 orphan 0 tw 4 alloc 59 mem 22
 *   /proc/PID/net/netstat    TcpExt: ... TCPTimeWaitOverflow ... */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network_parts.h"
#include "useprobe/netfiles.h"

#define SHOWN_FROM 0.01 /* a destination beside the fullest one is shown from this share on */

struct raw {
	const char *label;
	struct network_space inside;
	struct up_u64 time_wait; /* gauge */
	struct up_u64 overflows; /* counter */
};

static int ports_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { 0 };
	const struct up_net_field sockstat[] = { { "TCP", "tw", &raw.time_wait } };
	const struct up_net_field netstat[] = { { "TcpExt", "TCPTimeWaitOverflow", &raw.overflows } };
	char dir[32], path[64], *text;
	pid_t pid;
	int r = network_find(env, arena, &pid, dir);

	(void)state;
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/sockstat", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r < 0)
		return up_fail(env, r, "/%s: %s", path, strerror(-r));
	if (up_net_sockstat(text, sockstat, UP_COUNT(sockstat)) < 0)
		return up_fail(env, -EBADMSG, "/%s: expected lines of names and values", path);
	snprintf(path, sizeof(path), "%s/netstat", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r == 0 && up_net_fields(text, netstat, UP_COUNT(netstat)) < 0)
		return up_fail(env, -EBADMSG, "/%s: lines of names and values do not match", path);
	r = network_look(env, arena, pid, &raw.inside);
	raw.label = up_arena_strdup(arena, env->target ? env->target->label : "host");
	if (r == 0 && !raw.label)
		r = -ENOSPC;
	if (r == 0)
		*(struct raw *)ret_raw = raw;
	return r;
}

static const char *reuse_text(const struct up_netlimits *limits)
{
	if (!limits || !limits->time_wait_reuse.has)
		return NULL;
	return limits->time_wait_reuse.n == 0 ? "never" : limits->time_wait_reuse.n == 1 ? "after 1 s" : "on loopback";
}

/* ONE NULL: no connection was opened from here. */
static void add_destination(const struct raw *c, const struct up_destination *one, struct up_value used, struct up_rows *out)
{
	const struct up_netlimits *limits = c->inside.limits;
	char name[UP_ENDPOINT_TEXT], local[UP_ENDPOINT_TEXT];
	struct up_detail detail = { 0 };

	if (one) {
		up_detail_count(&detail, "ports", one->ports);
		up_detail_count(&detail, "in_time_wait", one->time_wait);
		up_detail_text(&detail, "from", up_endpoint_format(&one->local, local));
	}
	if (limits && limits->ports.has) {
		up_detail_count(&detail, "range_ports", limits->ports.n);
		up_detail_count(&detail, "range_first", limits->port_first.n);
		up_detail_count(&detail, "range_last", limits->port_last.n);
	}
	if (reuse_text(limits))
		up_detail_text(&detail, "time_wait_reuse", reuse_text(limits));
	if (c->inside.space.census_ns) {
		up_detail_count(&detail, "destinations", c->inside.space.destination_count);
		up_detail_count(&detail, "sockets", c->inside.space.sockets);
		up_detail_number(&detail, "census_ms", (double)c->inside.space.census_cost_ns / (double)UP_NS_PER_MS);
	}
	if (c->inside.space.more_sockets)
		up_detail_count(&detail, "not_told_apart", c->inside.space.more_sockets);
	up_detail_text(&detail, "of", c->label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "ports",
				 .name = one ? up_endpoint_format(&one->remote, name) : c->label,
				 .utilization = used,
				 .saturation = up_none("a connect that finds no port fails at once"),
				 .waiting = up_none("a connect that finds no port fails at once"),
				 .errors = up_none("the kernel counts no connect that found no port"),
				 .method = "sock_diag census computed",
				 .detail = detail.text,
				 .state = used.state == UP_DENIED || used.state == UP_ABSENT ? used.state : UP_OK,
				 .reason = used.reason,
			 });
}

static void add_ports(const struct raw *c, struct up_rows *out)
{
	const struct up_netspace *space = &c->inside.space;
	const struct up_u64 range = c->inside.limits ? c->inside.limits->ports : (struct up_u64){ 0 };

	if (c->inside.state != UP_OK || !space->census_ns || !range.has) {
		add_destination(c, NULL,
			network_unknown(&c->inside, space->census_error < 0 ? strerror(-space->census_error)
						    : !space->census_ns     ? "no census yet"
									    : "ip_local_port_range cannot be read"),
			out);
		return;
	}
	if (!space->top_count)
		add_destination(c, NULL, up_value(0), out);
	for (size_t i = 0; i < space->top_count; i++) {
		const struct up_value used =
			up_scaled(up_value(space->top[i].ports), 1, (double)range.n, "every port is reserved");

		if (i == 0 || (up_value_ok(used) && used.number >= SHOWN_FROM))
			add_destination(c, &space->top[i], used, out);
	}
}

static struct up_value time_wait_of(const struct raw *c)
{
	if (!c->time_wait.has)
		return up_none("sockstat has no tw");
	if (!c->inside.limits)
		return network_unknown(&c->inside, "net.ipv4.tcp_max_tw_buckets cannot be read");
	if (!c->inside.limits->time_wait_max.has)
		return up_none("net.ipv4.tcp_max_tw_buckets cannot be read");
	return up_scaled(
		up_value((double)c->time_wait.n), 1, (double)c->inside.limits->time_wait_max.n, "tcp_max_tw_buckets is 0");
}

static int ports_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	struct up_detail detail = { 0 };

	(void)dt_ns;
	add_ports(c, out);
	if (c->time_wait.has)
		up_detail_count(&detail, "time_wait", c->time_wait.n);
	if (c->inside.limits && c->inside.limits->time_wait_max.has)
		up_detail_count(&detail, "time_wait_max", c->inside.limits->time_wait_max.n);
	up_detail_text(&detail, "of", c->label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "time-wait",
				 .name = c->label,
				 .utilization = time_wait_of(c),
				 .saturation = up_none("a connection that finds no room is closed at once"),
				 .waiting = up_none("a connection that finds no room is closed at once"),
				 .errors = network_grown(p ? &p->overflows : NULL, c->overflows),
				 .method = "net/sockstat measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
	return 0;
}

const struct up_collector up_collector_ports = {
	.name = "ports",
	.summary = "ephemeral ports per destination and TIME_WAIT of the target's network namespace",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_NETNS,
	.resource = "ports",
	.needs_netspaces = true,
	.raw_bytes = sizeof(struct raw),
	.read = ports_read,
	.derive = ports_derive,
};

const struct up_collector up_collector_host_ports = {
	.name = "host_ports",
	.summary = "ephemeral ports per destination and TIME_WAIT of the machine",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_NETNS,
	.resource = "ports",
	.needs_netspaces = true,
	.raw_bytes = sizeof(struct raw),
	.read = ports_read,
	.derive = ports_derive,
};
