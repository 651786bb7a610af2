/* requests - requests inside the targets, per listening address, counted by the kernel's own socket events (bpf/requests.bpf.c): a request
 * is inside from its arrival in the socket to the last byte of its answer, whether or not anybody has read it yet. The mean number
 * inside is a time average, exact for one request at a time per connection. */
#include <errno.h>
#include <string.h>

#include "turns.h"
#include "useprobe/clock.h"
#include "useprobe/collector.h"

struct server {
	const char *name;
	const char *reason; /* why it is not counted, NULL = it is */
	uint64_t first_ns; /* another one = another listener of this name */
	struct up_turns turns;
};

struct one_target {
	const char *name; /* NULL for the host */
	const char *method;
	const char *why; /* there is no better method; NULL = it is the best */
	struct server *servers; /* [count] */
	size_t count;
	struct up_u64 outside_area_ns; /* counter: time at all peers together */
};

struct raw {
	struct one_target *targets; /* [count] */
	size_t count;
};

/* Time that the target's connections to its peers were busy, summed over the peers. */
static int read_outside(struct up_env *env, struct up_arena *arena, const struct up_target *target, struct one_target *ret)
{
	struct up_peer *peers;
	size_t count;
	int r = up_requests_peers(env->requests, env->targets, target, arena, &peers, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		ret->outside_area_ns.n += peers[i].turns.area_ns.n;
		ret->outside_area_ns.has = true;
	}
	return r;
}

static int read_target(struct up_env *env, struct up_arena *arena, const struct up_target *target, struct one_target *ret)
{
	struct up_listener *listeners;
	size_t count;
	int r = up_sockets_listeners(env->sockets, target, env->tick, arena, &listeners, &count);

	if (r == -EAGAIN || r == -ENOENT) /* the first search is under way, or the target has just gone */
		return 0;
	if (r < 0)
		return up_fail(env, r, "listeners: %s", strerror(-r));
	ret->name = target ? up_arena_strdup(arena, target->name) : NULL;
	ret->method = up_requests_method(env->requests);
	ret->why = env->requests_reason && *env->requests_reason ? up_arena_strdup(arena, env->requests_reason) : NULL;
	ret->servers = up_arena_alloc(arena, count * sizeof(*ret->servers) + 1);
	if (!ret->servers)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		struct server *server = &ret->servers[ret->count];

		server->name = listeners[i].name;
		server->first_ns = listeners[i].first_ns;
		r = up_requests_server(env->requests, &listeners[i], env->tick, arena, &server->turns);
		if (r == -ENOSPC) {
			server->reason = "more listening addresses than the programs have slots for";
			r = 0;
		} else if (r == -ENODATA) {
			server->reason = "the connections of its network namespace were not looked at";
			r = 0;
		}
		if (r < 0 && r != -EEXIST)
			return up_fail(env, r, "reading the programs' counters: %s", strerror(-r));
		ret->count += r == 0;
	}
	return read_outside(env, arena, target, ret);
}

static int requests_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	const size_t count = env->targets->count ? env->targets->count : 1;
	struct raw raw = { .targets = up_arena_alloc(arena, count * sizeof(*raw.targets)) };
	int r = 0;

	(void)state;
	if (!env->requests || !env->sockets)
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

static const struct up_turns *find_turns(const struct one_target *one, const struct server *like)
{
	for (size_t i = 0; one && i < one->count; i++)
		if (!one->servers[i].reason && one->servers[i].first_ns == like->first_ns &&
			strcmp(one->servers[i].name, like->name) == 0)
			return &one->servers[i].turns;
	return NULL;
}

static void describe(struct up_detail *detail, const struct up_turns *p, const struct up_turns *c, const struct turn_figures *f,
	const struct turn_kind *kind)
{
	if (kind->reason) {
		up_detail_value(detail, "in_flight", up_none(kind->reason));
	} else if (c->uncounted) {
		turn_level(detail, "in_flight", c, f);
		up_detail_value(detail, "unread", f->unread);
	} else {
		up_detail_value(detail, "in_flight", f->level);
		up_detail_value(detail, "arrivals_per_s", f->begun_per_s);
		up_detail_value(detail, "departures_per_s", f->ended_per_s);
		up_detail_value(detail, "mean_ms", f->mean_ms);
		up_detail_value(detail, "p50_ms", f->p50_ms);
		up_detail_value(detail, "p95_ms", f->p95_ms);
		up_detail_value(detail, "p99_ms", f->p99_ms);
		up_detail_value(detail, "unread", f->unread);
	}
	up_detail_count(detail, "connections", c->connections);
	if (c->http2_connections)
		up_detail_count(detail, "http2_connections", c->http2_connections);
	if (c->stream_connections)
		up_detail_count(detail, "stream_connections", c->stream_connections);
	if (c->tls_connections)
		up_detail_count(detail, "tls_connections", c->tls_connections);
	if (kind->name)
		up_detail_text(detail, "kind", kind->name);
	if (c->resets.has)
		up_detail_value(detail, "resets", up_delta(p ? &p->resets : NULL, c->resets, NULL));
	if (kind->reason)
		return;
	up_detail_value(detail, "arrivals", f->begun); /* says why there is none, once */
	if (!c->uncounted)
		up_detail_value(detail, "departures", f->ended);
	if (!c->area_high_ns.has)
		up_detail_value(detail, "area_s",
			up_scaled(up_delta(p ? &p->area_ns : NULL, c->area_ns, NULL), 1, (double)UP_NS_PER_S, NULL));
	up_detail_value(detail, "unread_area_s",
		up_scaled(up_delta(p ? &p->unread_area_ns : NULL, c->unread_area_ns, NULL), 1, (double)UP_NS_PER_S, NULL));
	if (f->unsettled)
		up_detail_text(detail, "unsettled", "yes");
	turn_held(detail, p, c, f);
}

/* What is inside the only listener and not at a peer is inside the target itself. */
static void describe_outside(
	struct up_detail *detail, const struct one_target *before, const struct one_target *one, const struct turn_figures *f)
{
	struct up_value outside;

	if (one->count != 1 || !one->outside_area_ns.has || !before || !up_value_ok(f->ended_per_s))
		return;
	outside = up_ratio(up_delta(before->outside_area_ns.has ? &before->outside_area_ns : NULL, one->outside_area_ns, NULL),
		f->window_ns, NULL);
	up_detail_value(detail, "outside_dependencies_ms",
		up_scaled(up_ratio(up_minus(f->level, outside), f->ended_per_s, "no request ended"), 1e3, 1, NULL));
}

static void add_server(const struct one_target *before, const struct one_target *one, size_t index, struct up_rows *out)
{
	const struct server *server = &one->servers[index];
	const struct up_turns *p = find_turns(before, server), *c = &server->turns;
	const struct turn_figures f = turn_figures(p, c);
	const struct turn_kind kind = turn_kind(p, c, &f);
	const struct up_value unread = kind.reason ? up_none(kind.reason) : f.unread;
	struct up_detail detail = { 0 };

	if (server->reason) {
		up_rows_add(out, &(struct up_row){
					 .scope = UP_SCOPE_LISTENER,
					 .resource = "requests",
					 .name = server->name,
					 .target = one->name,
					 .utilization = up_none(server->reason),
					 .method = one->method,
					 .state = UP_ABSENT,
					 .reason = server->reason,
				 });
		return;
	}
	describe(&detail, p, c, &f, &kind);
	if (one->why)
		up_detail_text(&detail, "no_better_because", one->why);
	if (!kind.reason)
		describe_outside(&detail, before, one, &f);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_LISTENER,
				 .resource = "requests",
				 .name = server->name,
				 .target = one->name,
				 .utilization = up_none("the number of workers is not known"),
				 .saturation = unread,
				 .saturation_unit = "unread",
				 .waiting = unread,
				 .errors = kind.reason ? up_none(kind.reason) : f.cut,
				 .method = one->method,
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
				 .window_ns = up_value_ok(f.window_ns) ? (uint64_t)f.window_ns.number : 0,
			 });
}

static int requests_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	(void)dt_ns;
	for (size_t t = 0; t < c->count; t++)
		for (size_t i = 0; i < c->targets[t].count; i++)
			add_server(find_target(p, &c->targets[t]), &c->targets[t], i, out);
	return 0;
}

const struct up_collector up_collector_requests = {
	.name = "requests",
	.summary = "requests inside the targets per listening address: how many, how long, how many unread",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_LISTENER,
	.resource = "requests",
	.needs_sockets = true,
	.needs_requests = true,
	.raw_bytes = sizeof(struct raw),
	.read = requests_read,
	.derive = requests_derive,
};
