/* dependency - the peers a target talks to, by remote address: how many connections, how many of them with a query under way, how long a
 * query takes. A query ends when the first byte of its answer *arrives* (sk_data_ready), not when the application gets round to reading
 * it: the time in between belongs to the target and stands in response_unread_ms. Source: bpf/requests.bpf.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "turns.h"
#include "useprobe/clock.h"
#include "useprobe/collector.h"

struct peer {
	const char *name; /* "192.0.2.1:5432" */
	const char *label; /* --name, NULL = none */
	uint64_t netns;
	struct up_turns turns;
};

struct one_target {
	const char *name; /* NULL for the host */
	const char *method;
	struct peer *peers; /* [count] */
	size_t count;
};

struct raw {
	struct one_target *targets; /* [count] */
	size_t count;
};

/* LABEL of "--name ADDR:PORT=LABEL" for NAME; NULL without one. */
static const char *label_of(const struct up_env *env, const char *name)
{
	const size_t len = strlen(name);
	const char *value;
	size_t index = 0;

	while ((value = up_setting_next(env, "name", &index)))
		if (strncmp(value, name, len) == 0 && value[len] == '=')
			return value + len + 1;
	return NULL;
}

static int read_target(struct up_env *env, struct up_arena *arena, const struct up_target *target, struct one_target *ret)
{
	struct up_peer *peers;
	size_t count;
	int r = up_requests_peers(env->requests, env->targets, target, arena, &peers, &count);

	if (r < 0)
		return up_fail(env, r, "reading the programs' counters: %s", strerror(-r));
	ret->name = target ? up_arena_strdup(arena, target->name) : NULL;
	ret->method = up_requests_method(env->requests);
	ret->peers = up_arena_alloc(arena, count * sizeof(*ret->peers) + 1);
	if (!ret->peers)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		char text[UP_ENDPOINT_TEXT];

		ret->peers[i] = (struct peer){
			.name = up_arena_strdup(arena, up_endpoint_format(&peers[i].endpoint, text)),
			.label = label_of(env, text),
			.netns = peers[i].netns,
			.turns = peers[i].turns,
		};
		if (!ret->peers[i].name)
			return -ENOSPC;
	}
	ret->count = count;
	return 0;
}

static int dependency_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	const size_t count = env->targets->count ? env->targets->count : 1;
	struct raw raw = { .targets = up_arena_alloc(arena, count * sizeof(*raw.targets)) };
	int r = 0;

	(void)state;
	if (!env->requests)
		return up_fail(env, env->requests_error ? env->requests_error : -EOPNOTSUPP, "%s",
			env->requests_reason ? env->requests_reason : "no sockets here");
	if (!raw.targets)
		return -ENOSPC;
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct up_target *target = env->targets->count ? &env->targets->items[i] : NULL;

		if (target && !target->present)
			continue;
		r = read_target(env, arena, target, &raw.targets[raw.count++]);
	}
	if (r == 0)
		*(struct raw *)ret_raw = raw;
	return r;
}

static const struct one_target *find_target(const struct raw *raw, const struct one_target *like)
{
	for (size_t i = 0; raw && i < raw->count; i++) {
		const struct one_target *one = &raw->targets[i];

		if ((!one->name && !like->name) || (one->name && like->name && strcmp(one->name, like->name) == 0))
			return one;
	}
	return NULL;
}

static const struct up_turns *find_turns(const struct one_target *one, const struct peer *like)
{
	for (size_t i = 0; one && i < one->count; i++)
		if (one->peers[i].netns == like->netns && strcmp(one->peers[i].name, like->name) == 0)
			return &one->peers[i].turns;
	return NULL;
}

static bool is_opaque(const struct up_turns *c)
{
	return c->connections && 2 * (c->http2_connections + c->stream_connections) > c->connections;
}

static void describe_queries(
	struct up_detail *detail, const struct up_turns *p, const struct up_turns *c, const struct turn_figures *f)
{
	const struct up_value unread_ns = up_delta(p ? &p->unread_area_ns : NULL, c->unread_area_ns, NULL);

	turn_level(detail, "busy", c, f);
	if (!c->area_high_ns.has)
		up_detail_value(detail, "busy_area_s",
			up_scaled(up_delta(p ? &p->area_ns : NULL, c->area_ns, NULL), 1, (double)UP_NS_PER_S, NULL));
	up_detail_value(detail, "queries", f->ended); /* says why there is none, once */
	if (c->uncounted) {
		up_detail_value(detail, "answers_unread", f->unread);
		return;
	}
	up_detail_value(detail, "queries_per_s", f->ended_per_s);
	up_detail_value(detail, "query_mean_ms", f->mean_ms);
	up_detail_value(detail, "query_p50_ms", f->p50_ms);
	up_detail_value(detail, "query_p95_ms", f->p95_ms);
	up_detail_value(detail, "query_p99_ms", f->p99_ms);
	up_detail_value(detail, "response_unread_ms",
		up_scaled(up_ratio(unread_ns, f->ended, "no answer in the window"), 1, (double)UP_NS_PER_MS, NULL));
	if (f->unsettled)
		up_detail_text(detail, "unsettled", "yes");
	turn_held(detail, p, c, f);
}

static void describe(struct up_detail *detail, const struct peer *peer, const struct up_turns *p, const struct up_turns *c,
	const struct turn_figures *f)
{
	if (peer->label)
		up_detail_text(detail, "label", peer->label);
	up_detail_count(detail, "connections", c->connections);
	if (is_opaque(c))
		up_detail_text(detail, "kind", c->http2_connections >= c->stream_connections ? "http2" : "stream");
	else
		describe_queries(detail, p, c, f);
	if (!c->connects.has)
		return;
	up_detail_value(detail, "connects", up_delta(p ? &p->connects : NULL, c->connects, NULL));
	up_detail_value(detail, "connect_mean_ms",
		up_scaled(up_ratio(up_delta(p ? &p->connect_ns : NULL, c->connect_ns, NULL),
				  up_delta(p ? &p->connected : NULL, c->connected, NULL), "no connect in the window"),
			1, (double)UP_NS_PER_MS, NULL));
	up_detail_value(detail, "connect_failures", up_delta(p ? &p->connect_failures : NULL, c->connect_failures, NULL));
	up_detail_value(detail, "retransmits", up_delta(p ? &p->retransmits : NULL, c->retransmits, NULL));
	if (!c->uncounted)
		up_detail_value(detail, "cut", f->cut);
}

static void add_peer(const struct one_target *before, const struct one_target *one, const struct peer *peer, struct up_rows *out)
{
	const struct up_turns *p = find_turns(before, peer), *c = &peer->turns;
	const struct turn_figures f = turn_figures(p, c);
	const struct up_value failures = up_delta(p ? &p->connect_failures : NULL, c->connect_failures, c->uncounted);
	const struct up_value retransmits = up_delta(p ? &p->retransmits : NULL, c->retransmits, c->uncounted);
	const bool opaque = is_opaque(c) || c->area_high_ns.has;
	const struct up_value several = up_none(
		is_opaque(c) ? "HTTP/2 or a stream: queries share a connection" : "only bounds are known: busy_low to busy_high");
	struct up_detail detail = { 0 };

	/* A peer nobody has a connection to and nobody asked in this window would only fill the screen. */
	if (!c->connections && (c->uncounted || (up_value_ok(f.begun) && f.begun.number == 0)) &&
		(!c->connect_failures.has || (up_value_ok(failures) && failures.number == 0)))
		return;
	describe(&detail, peer, p, c, &f);
	up_rows_add(out,
		&(struct up_row){
			.scope = UP_SCOPE_DEPENDENCY,
			.resource = "dependency",
			.name = peer->name,
			.target = one->name,
			.utilization = opaque ? several : up_scaled(f.level, 1, (double)c->connections, "no connection is open"),
			.saturation = opaque ? several : f.p95_ms,
			.saturation_unit = "ms",
			.waiting = up_none("what waits at the peer is not visible from here"),
			.errors = c->uncounted ? up_plus(failures, retransmits) : up_plus(up_plus(failures, f.cut), retransmits),
			.servers = (double)c->connections,
			.method = one->method,
			.detail = detail.text,
			.state = p ? UP_OK : UP_FIRST,
			.window_ns = up_value_ok(f.window_ns) ? (uint64_t)f.window_ns.number : 0,
		});
}

static int dependency_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	(void)dt_ns;
	for (size_t t = 0; t < c->count; t++)
		for (size_t i = 0; i < c->targets[t].count; i++)
			add_peer(find_target(p, &c->targets[t]), &c->targets[t], &c->targets[t].peers[i], out);
	return 0;
}

const struct up_collector up_collector_dependency = {
	.name = "dependency",
	.summary = "peers the targets talk to: connections, busy ones, query time until the answer arrives",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_DEPENDENCY,
	.resource = "dependency",
	.needs_requests = true,
	.raw_bytes = sizeof(struct raw),
	.read = dependency_read,
	.derive = dependency_derive,
};
