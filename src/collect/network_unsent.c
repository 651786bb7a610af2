/* network, bytes that are not sent: the census of the namespace (useprobe/census.h), for the ports the target listens on. */
#include <errno.h>

#include "network_parts.h"
#include "useprobe/sockets.h"

/* From here on it is said: one connection in twenty, or half of what waits. */
#define TELL_SHARE 0.05
#define TELL_MIN 0.5

static bool is_listener(const struct up_listener *listeners, size_t count, uint64_t netns, uint16_t port)
{
	for (size_t i = 0; i < count; i++)
		if (listeners[i].netns == netns && listeners[i].endpoint.port == port)
			return true;
	return false;
}

static void add_port(struct network_unsent *unsent, const struct up_port_use *port)
{
	unsent->responses_ns.n += port->unsent_area_ns.n;
	unsent->nagle_ns.n += port->nagle_area_ns.n;
	unsent->window_ns.n += port->window_area_ns.n;
	unsent->responses_max += port->unsent_max;
	unsent->bytes += port->last.unsent_bytes;
	unsent->connections += port->last.connections;
}

int network_unsent_read(struct up_env *env, struct up_arena *arena, const struct network_space *space, struct network_unsent *ret)
{
	const struct up_netspace *in = &space->space;
	struct network_unsent unsent = { .has = space->state == UP_OK && in->census_ns, .census_ns = in->census_ns };
	struct up_listener *listeners = NULL;
	size_t count = 0;

	*ret = unsent;
	if (!unsent.has)
		return 0;
	/* Whose connections they are follows from the listener; a search that is not done leaves the namespace as a whole. */
	if (env->target && env->sockets) {
		const int r = up_sockets_listeners(env->sockets, env->target, env->tick, arena, &listeners, &count);

		if (r == -ENOSPC)
			return r;
		unsent.by_listener = r == 0;
	}
	unsent.responses_ns.has = unsent.nagle_ns.has = unsent.window_ns.has = true;
	for (size_t i = 0; i < in->port_count; i++) {
		const struct up_port_use *port = &in->ports[i];

		if (port->port == 0)
			unsent.requests_nagle_ns = port->nagle_area_ns;
		else if (!unsent.by_listener || is_listener(listeners, count, in->inode, port->port))
			add_port(&unsent, port);
	}
	*ret = unsent;
	return 0;
}

static struct up_value mean_of(const struct up_u64 *p, struct up_u64 c, uint64_t window_ns)
{
	return up_scaled(network_grown(p, c), 1, (double)window_ns, "no census in this window");
}

static bool worth_telling(struct up_value held, double connections)
{
	return up_value_ok(held) && held.number >= TELL_MIN && held.number >= TELL_SHARE * connections;
}

void network_unsent_fill(const struct network_unsent *p, const struct network_unsent *c, const struct network_space *space,
	struct up_detail *detail, struct up_value *ret_waiting, struct up_value *ret_max)
{
	uint64_t window_ns;
	struct up_value nagle, requests;

	/* Another set of ports is another counter. */
	if (p && (!p->has || p->by_listener != c->by_listener))
		p = NULL;
	if (!c->has) {
		*ret_waiting = *ret_max = network_unknown(space, "no census yet");
		return;
	}
	window_ns = p && c->census_ns > p->census_ns ? c->census_ns - p->census_ns : 0;
	*ret_waiting = mean_of(p ? &p->responses_ns : NULL, c->responses_ns, window_ns);
	*ret_max = p ? up_value(c->responses_max) : up_value_state(UP_FIRST, NULL);
	nagle = mean_of(p ? &p->nagle_ns : NULL, c->nagle_ns, window_ns);
	requests = mean_of(p ? &p->requests_nagle_ns : NULL, c->requests_nagle_ns, window_ns);
	up_detail_count(detail, "connections", c->connections);
	up_detail_count(detail, "unsent_bytes", c->bytes);
	up_detail_value(detail, "held_by_nagle", nagle);
	up_detail_value(detail, "held_by_peer_window", mean_of(p ? &p->window_ns : NULL, c->window_ns, window_ns));
	up_detail_value(detail, "requests_held_by_nagle", requests);
	up_detail_text(detail, "responses_of", c->by_listener ? "listeners" : "namespace");
	if (worth_telling(nagle, c->connections))
		up_detail_text(detail, "hint",
			"responses wait for an acknowledgement (Nagle and delayed ACK): set TCP_NODELAY or write once");
	else if (worth_telling(requests, 0))
		up_detail_text(detail, "hint",
			"requests to others wait for an acknowledgement (Nagle and delayed ACK): set TCP_NODELAY or write once");
}
