/* host_tcp_memory - pages that TCP of the whole machine holds in its buffers, against tcp_mem. Reads
 *   /proc/net/sockstat             TCP: inuse 35 orphan 0 tw 4 alloc 59 mem 22     (mem and alloc are the machine's in every namespace)
 *   /proc/sys/net/ipv4/tcp_mem     "287898\t383866\t575796": low, pressure, high, in pages (networking/ip-sysctl)
 *   /proc/net/netstat              TcpExt: ... PruneCalled RcvPruned TCPAbortOnMemory TCPMemoryPressures ... of the probe's namespace
 * From the middle mark on the kernel shrinks buffers; at the last one it drops. */
#include <errno.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/netfiles.h"

struct state {
	struct up_file sockstat, tcp_mem, netstat;
};

struct raw {
	struct up_u64 pages, sockets, orphans; /* gauges */
	struct up_u64 pressure_pages, max_pages;
	struct up_u64 aborts, pressures, pruned, receive_dropped; /* counters */
};

static int tcp_memory_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;

	(void)env;
	state->sockstat.path = "proc/net/sockstat";
	state->tcp_mem.path = "proc/sys/net/ipv4/tcp_mem";
	state->netstat.path = "proc/net/netstat";
	return 0;
}

static void tcp_memory_close(void *opaque)
{
	struct state *state = opaque;

	up_file_close(&state->sockstat);
	up_file_close(&state->tcp_mem);
	up_file_close(&state->netstat);
}

static int scan_tcp_mem(const char *text, struct raw *raw)
{
	const char *cursor = text;
	uint64_t n[3];

	for (size_t i = 0; i < UP_COUNT(n); i++) {
		up_scan_blanks(&cursor);
		if (up_scan_u64(&cursor, &n[i]) < 0 || *cursor != (i == 2 ? '\n' : '\t'))
			return -EBADMSG;
	}
	raw->pressure_pages = (struct up_u64){ n[1], true };
	raw->max_pages = (struct up_u64){ n[2], true };
	return 0;
}

static int tcp_memory_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { 0 };
	const struct up_net_field sockstat[] = {
		{ "TCP", "mem", &raw.pages },
		{ "TCP", "alloc", &raw.sockets },
		{ "TCP", "orphan", &raw.orphans },
	};
	const struct up_net_field netstat[] = {
		{ "TcpExt", "TCPAbortOnMemory", &raw.aborts },
		{ "TcpExt", "TCPMemoryPressures", &raw.pressures },
		{ "TcpExt", "PruneCalled", &raw.pruned },
		{ "TcpExt", "RcvPruned", &raw.receive_dropped },
	};
	char *text;
	int r;

	r = up_file_read(env->source, &state->sockstat, arena, &text, NULL);
	if (r < 0)
		return up_fail(env, r, "/%s: %s", state->sockstat.path, strerror(-r));
	if (up_net_sockstat(text, sockstat, UP_COUNT(sockstat)) < 0)
		return up_fail(env, -EBADMSG, "/%s: expected lines of names and values", state->sockstat.path);
	/* Inside a container that has a network of its own this file is not there. */
	if (up_file_read(env->source, &state->tcp_mem, arena, &text, NULL) == 0 && scan_tcp_mem(text, &raw) < 0)
		return up_fail(env, -EBADMSG, "/%s: expected three numbers, found \"%.40s\"", state->tcp_mem.path, text);
	if (up_file_read(env->source, &state->netstat, arena, &text, NULL) == 0 &&
		up_net_fields(text, netstat, UP_COUNT(netstat)) < 0)
		return up_fail(env, -EBADMSG, "/%s: lines of names and values do not match", state->netstat.path);
	*(struct raw *)ret_raw = raw;
	return 0;
}

static struct up_value share_of(struct up_u64 pages, struct up_u64 of)
{
	if (!pages.has)
		return up_none("sockstat has no mem");
	if (!of.has)
		return up_none("net.ipv4.tcp_mem cannot be read");
	return up_scaled(up_value((double)pages.n), 1, (double)of.n, "tcp_mem is 0");
}

static struct up_value grown(const struct up_u64 *prev, struct up_u64 cur)
{
	return up_delta(prev, cur, "not counted by this kernel");
}

static int tcp_memory_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	struct up_detail detail = { 0 };

	(void)dt_ns;
	if (c->pages.has)
		up_detail_count(&detail, "pages", c->pages.n);
	if (c->max_pages.has) {
		up_detail_count(&detail, "pressure_pages", c->pressure_pages.n);
		up_detail_count(&detail, "max_pages", c->max_pages.n);
	}
	if (c->sockets.has)
		up_detail_count(&detail, "sockets", c->sockets.n);
	if (c->orphans.has)
		up_detail_count(&detail, "orphans", c->orphans.n);
	up_detail_value(&detail, "pressures", grown(p ? &p->pressures : NULL, c->pressures));
	up_detail_value(&detail, "pruned", grown(p ? &p->pruned : NULL, c->pruned));
	up_detail_value(&detail, "receive_dropped", grown(p ? &p->receive_dropped : NULL, c->receive_dropped));
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_HOST,
				 .resource = "tcp-memory",
				 .name = "host",
				 .utilization = share_of(c->pages, c->max_pages),
				 .saturation = share_of(c->pages, c->pressure_pages),
				 .saturation_unit = "ratio",
				 .saturated_at = 1,
				 .waiting = up_none("pages are not requests"),
				 .errors = grown(p ? &p->aborts : NULL, c->aborts),
				 .method = "net/sockstat, tcp_mem measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
	return 0;
}

const struct up_collector up_collector_host_tcp_memory = {
	.name = "host_tcp_memory",
	.summary = "pages in TCP buffers of the machine against tcp_mem",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "tcp-memory",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = tcp_memory_open,
	.read = tcp_memory_read,
	.derive = tcp_memory_derive,
	.close = tcp_memory_close,
};
