/* listen - accept queues of the targets' listeners. The socket service polls them 50 times a second in their own namespaces (sock_diag,
 * net/ipv4/inet_diag.c: idiag_rqueue is the queue, idiag_wqueue the backlog); here only its sums are read.
 * A queue holds backlog + 1 connections: the kernel refuses the next one when it is *longer than* the backlog (sk_acceptq_is_full).
 * The drops are the listener's own counter; /proc/PID/net/netstat counts them for the whole namespace:
 *     TcpExt: ... ListenOverflows ListenDrops ... TCPReqQFullDoCookies TCPReqQFullDrop ... */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/netfiles.h"
#include "useprobe/sockets.h"

#define STALE_NS UP_NS_PER_S

/* Counters of a whole namespace. */
struct space {
	uint64_t inode;
	struct up_u64 overflows, drops; /* counters */
	struct up_u64 syn_cookies, syn_drops; /* counters: SYN queue full, answered with a cookie or dropped */
};

struct one_target {
	const char *name; /* NULL for the host */
	const char *label;
	const char *reason; /* what could not be seen, NULL when nothing */
	struct up_listener *items; /* [count] */
	size_t count;
	struct space *spaces; /* [space_count] */
	size_t space_count;
};

struct raw {
	uint64_t now_ns; /* of the newest poll */
	struct one_target *targets; /* [count] */
	size_t count;
};

static int read_space(struct up_env *env, struct up_arena *arena, const struct up_space *from, struct space *ret)
{
	struct space space = { .inode = from->inode };
	const struct up_net_field fields[] = {
		{ "TcpExt", "ListenOverflows", &space.overflows },
		{ "TcpExt", "ListenDrops", &space.drops },
		{ "TcpExt", "TCPReqQFullDoCookies", &space.syn_cookies },
		{ "TcpExt", "TCPReqQFullDrop", &space.syn_drops },
	};
	char path[64], *text;
	int r;

	snprintf(path, sizeof(path), from->pid ? "/proc/%d/net/netstat" : "/proc/self/net/netstat", (int)from->pid);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r == 0 && up_net_fields(text, fields, UP_COUNT(fields)) < 0)
		return up_fail(env, -EBADMSG, "%s: lines of names and values do not match", path);
	/* Without the file (its process has just ended) the listener's own figures stand alone. */
	*ret = space;
	return 0;
}

static int read_target(struct up_env *env, struct up_arena *arena, const struct up_target *target, struct one_target *ret)
{
	char reason[192];
	struct up_space *spaces = NULL;
	size_t space_count = 0;
	int r = up_sockets_listeners(env->sockets, target, env->tick, arena, &ret->items, &ret->count);

	ret->name = target ? up_arena_strdup(arena, target->name) : NULL;
	ret->label = up_arena_strdup(arena, target ? target->label : "host");
	if (up_sockets_reason(env->sockets, target, reason, sizeof(reason)))
		ret->reason = up_arena_strdup(arena, reason);
	if (r == -EAGAIN) /* the first search is under way: nothing is known, and nothing is wrong */
		return 0;
	if (r == 0)
		r = up_sockets_spaces(env->sockets, target, arena, &spaces, &space_count);
	if (r < 0)
		return up_fail(env, r, "listeners: %s", strerror(-r));
	ret->spaces = up_arena_alloc(arena, (space_count + 1) * sizeof(*ret->spaces));
	if (!ret->spaces)
		return -ENOSPC;
	for (size_t i = 0; i < space_count && r == 0; i++)
		r = read_space(env, arena, &spaces[i], &ret->spaces[ret->space_count++]);
	return r;
}

static int listen_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	const size_t count = env->targets->count ? env->targets->count : 1;
	struct raw raw = { .targets = up_arena_alloc(arena, count * sizeof(*raw.targets)) };
	int r = 0;

	(void)state;
	if (!env->sockets)
		return up_fail(env, -EOPNOTSUPP, "a recorded tree has no sockets");
	if (!raw.targets)
		return -ENOSPC;
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct up_target *target = env->targets->count ? &env->targets->items[i] : NULL;

		if (target && !target->present)
			continue;
		r = read_target(env, arena, target, &raw.targets[raw.count++]);
	}
	if (r < 0)
		return r;
	for (size_t t = 0; t < raw.count; t++)
		for (size_t i = 0; i < raw.targets[t].count; i++)
			if (raw.targets[t].items[i].mono_ns > raw.now_ns)
				raw.now_ns = raw.targets[t].items[i].mono_ns;
	*(struct raw *)ret_raw = raw;
	return 0;
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

/* The same listener in the sample before; a service that came back under the same address is another one. */
static const struct up_listener *find_listener(const struct one_target *one, const struct up_listener *like)
{
	for (size_t i = 0; one && i < one->count; i++)
		if (one->items[i].first_ns == like->first_ns && strcmp(one->items[i].name, like->name) == 0)
			return &one->items[i];
	return NULL;
}

static const struct space *find_space(const struct one_target *one, uint64_t inode)
{
	for (size_t i = 0; one && i < one->space_count; i++)
		if (one->spaces[i].inode == inode)
			return &one->spaces[i];
	return NULL;
}

static void describe_space(struct up_detail *detail, const struct space *p, const struct space *c)
{
	if (!c)
		return;
	if (c->overflows.has)
		up_detail_value(detail, "netns_overflows", up_delta(p ? &p->overflows : NULL, c->overflows, NULL));
	if (c->drops.has)
		up_detail_value(detail, "netns_drops", up_delta(p ? &p->drops : NULL, c->drops, NULL));
	if (c->syn_cookies.has)
		up_detail_value(detail, "netns_syn_cookies", up_delta(p ? &p->syn_cookies : NULL, c->syn_cookies, NULL));
	if (c->syn_drops.has)
		up_detail_value(detail, "netns_syn_drops", up_delta(p ? &p->syn_drops : NULL, c->syn_drops, NULL));
}

static void describe(struct up_detail *detail, const struct up_listener *c)
{
	const uint32_t backlog = c->sockets && c->capacity ? c->capacity / c->sockets - 1 : 0;

	up_detail_count(detail, "queue", c->queue);
	if (c->capacity)
		up_detail_count(detail, "backlog", backlog);
	if (c->capacity && c->somaxconn.has)
		up_detail_text(detail, "backlog_by", backlog >= c->somaxconn.n ? "somaxconn" : "application");
	if (c->sockets > 1) {
		up_detail_count(detail, "sockets", c->sockets);
		up_detail_number(detail, "fullest_ratio", c->fullest_ratio);
	}
	if (c->syn_queue.has)
		up_detail_count(detail, "syn_queue", c->syn_queue.n);
	up_detail_text(detail, "owner_by", up_owner_name(c->owner));
}

static int add_listener(const struct raw *raw, const struct one_target *p_target, const struct one_target *c_target,
	const struct up_listener *c, struct up_rows *out)
{
	const struct up_listener *p = find_listener(p_target, c);
	const uint64_t window_ns = p && c->mono_ns > p->mono_ns ? c->mono_ns - p->mono_ns : 0;
	const bool stale = c->mono_ns + STALE_NS < raw->now_ns || (p && !window_ns);
	struct up_value mean = up_scaled(up_delta(p ? &p->queue_area_ns : NULL, c->queue_area_ns, "not polled yet"), 1,
		(double)window_ns, "not polled in this window");
	struct up_detail detail = { 0 };

	describe(&detail, c);
	up_detail_value(&detail, "polls", up_delta(p ? &p->polls : NULL, c->polls, NULL));
	describe_space(&detail, find_space(p_target, c->netns), find_space(c_target, c->netns));
	return up_rows_add(out, &(struct up_row){
					.scope = UP_SCOPE_LISTENER,
					.resource = "listen",
					.name = c->name,
					.target = c_target->name,
					.utilization = up_scaled(mean, 1, c->capacity, "the backlog is not in /proc/net/tcp"),
					.saturation = p ? up_value(c->queue_max) : up_value_state(UP_FIRST, NULL),
					.saturation_unit = "conns",
					.saturated_at = c->capacity,
					.waiting = mean,
					.waiting_max = p ? up_value(c->queue_max) : up_value_state(UP_FIRST, NULL),
					.errors = up_delta(p ? &p->drops : NULL, c->drops, "drops are not in /proc/net/tcp"),
					.method = c->capacity ? "sock_diag 50 Hz measured" : "/proc/net/tcp 50 Hz measured",
					.detail = detail.text,
					.state = stale ? UP_STALE
						 : p   ? UP_OK
						       : UP_FIRST,
					.reason = stale ? "no poll for a second" : NULL,
					.window_ns = window_ns,
				});
}

static int listen_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	(void)dt_ns;
	for (size_t t = 0; t < c->count; t++) {
		const struct one_target *one = &c->targets[t], *before = find_target(p, one);

		for (size_t i = 0; i < one->count; i++)
			add_listener(c, before, one, &one->items[i], out);
		/* Nothing seen because nothing may be seen: that has to be told apart from a target that listens nowhere. */
		if (!one->count && one->reason)
			up_rows_add(out, &(struct up_row){
						 .scope = UP_SCOPE_LISTENER,
						 .resource = "listen",
						 .name = one->label,
						 .target = one->name,
						 .utilization = up_value_state(UP_DENIED, one->reason),
						 .method = "sock_diag",
						 .state = UP_DENIED,
						 .reason = one->reason,
					 });
	}
	return 0;
}

const struct up_collector up_collector_listen = {
	.name = "listen",
	.summary = "accept queues of the targets' listeners, 50 times a second, and what they dropped",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_LISTENER,
	.resource = "listen",
	.needs_sockets = true,
	.raw_bytes = sizeof(struct raw),
	.read = listen_read,
	.derive = listen_derive,
};
