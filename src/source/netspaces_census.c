/* The slow part of the service: one dump of all sockets with struct tcp_info (1.1 us a socket, and 1.1 to 1.7 ms for the walk over the
 * kernel's hash table), and the sysctls that bound them. */
#include "netspaces_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES 4096
/* All that may hold a port or bytes; half-open ones (SYN_RECV) do neither. */
#define STATES                                                                                                                   \
	(1u << UP_TCP_ESTABLISHED | 1u << UP_TCP_SYN_SENT | 1u << UP_TCP_FIN_WAIT1 | 1u << UP_TCP_FIN_WAIT2 |                    \
		1u << UP_TCP_TIME_WAIT | 1u << UP_TCP_CLOSE_WAIT | 1u << UP_TCP_LAST_ACK | 1u << UP_TCP_LISTEN |                 \
		1u << UP_TCP_CLOSING)

/* CPU time and not wall time: a busy machine makes a poll late, not expensive. */
uint64_t netspaces_spent_ns(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0 ? 0 : (uint64_t)now.tv_sec * UP_NS_PER_S + (uint64_t)now.tv_nsec;
}

int netspaces_open_census(struct netspaces_space *space)
{
	for (int i = 0; i < UP_NETLIMIT_COUNT; i++) {
		char path[128];

		snprintf(path, sizeof(path), "/%s", up_netlimit_path((enum up_netlimit)i));
		space->limit_fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	return up_netlink_open(&space->diag, NETLINK_SOCK_DIAG);
}

void netspaces_close_census(struct netspaces_space *space)
{
	up_netlink_close(&space->diag);
	for (int i = 0; i < UP_NETLIMIT_COUNT; i++)
		if (space->limit_fds[i] >= 0)
			close(space->limit_fds[i]);
}

void netspaces_read_limits(const struct netspaces_space *space, struct up_netlimits *ret)
{
	char texts[UP_NETLIMIT_COUNT][TEXT_BYTES];
	const char *given[UP_NETLIMIT_COUNT] = { 0 };

	for (int i = 0; i < UP_NETLIMIT_COUNT; i++) {
		const ssize_t len = space->limit_fds[i] >= 0 ? pread(space->limit_fds[i], texts[i], TEXT_BYTES - 1, 0) : -1;

		if (len <= 0)
			continue;
		texts[i][len] = '\0';
		given[i] = texts[i];
	}
	up_netlimits_parse(given, ret);
}

/* Ages in struct tcp_info are counted in ticks of the kernel, the resolution of its coarse clock. */
static uint32_t tick_ms(void)
{
	struct timespec resolution;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) < 0 || resolution.tv_nsec < (long)UP_NS_PER_MS)
		return 1;
	return (uint32_t)((uint64_t)resolution.tv_nsec / UP_NS_PER_MS);
}

static struct netspaces_port *port_of(struct netspaces_space *space, uint16_t port)
{
	for (size_t i = 0; i < space->port_count; i++)
		if (space->ports[i].shared.port == port)
			return &space->ports[i];
	return NULL;
}

static uint64_t mean_area(uint64_t dt_ns, uint32_t a, uint32_t b)
{
	return dt_ns * ((uint64_t)a + b) / 2;
}

/* Between two censuses the number is taken to go straight from one to the other. */
static void fold_port(struct netspaces_port *port, const struct up_unsent *now, uint64_t dt_ns)
{
	struct up_port_use *shared = &port->shared;

	shared->unsent_area_ns.n += mean_area(dt_ns, shared->last.unsent, now->unsent);
	shared->nagle_area_ns.n += mean_area(dt_ns, shared->last.nagle, now->nagle);
	shared->window_area_ns.n += mean_area(dt_ns, shared->last.window, now->window);
	shared->unsent_area_ns.has = shared->nagle_area_ns.has = shared->window_area_ns.has = true;
	shared->last = *now;
	if (now->unsent > port->window_max)
		port->window_max = now->unsent;
}

static bool counted(const struct up_census *census, uint16_t port)
{
	for (size_t i = 0; i < census->port_count; i++)
		if (census->ports[i].port == port)
			return true;
	return false;
}

void netspaces_fold_census(struct netspaces_space *space, const struct up_census *census, uint64_t now_ns)
{
	const uint64_t dt_ns = space->census_ns && now_ns > space->census_ns ? now_ns - space->census_ns : 0;
	size_t kept = 0;

	for (size_t i = 0; i < space->port_count; i++)
		if (counted(census, space->ports[i].shared.port))
			space->ports[kept++] = space->ports[i];
	space->port_count = kept;
	for (size_t i = 0; i < census->port_count; i++) {
		struct netspaces_port *port = port_of(space, census->ports[i].port);

		if (!port) {
			port = &space->ports[space->port_count++];
			*port = (struct netspaces_port){ .shared.port = census->ports[i].port };
			fold_port(port, &census->ports[i].unsent, 0);
		} else {
			fold_port(port, &census->ports[i].unsent, dt_ns);
		}
	}
	space->more_ports = census->more_ports;
	space->top_count = up_census_top(census, space->top);
	space->destination_count = census->destination_count;
	space->more_sockets = census->more_sockets;
	space->sockets = census->sockets;
	space->census_ns = now_ns;
	space->censuses++;
}

void netspaces_take_census(struct netspaces_space *space, struct up_census *census, pthread_mutex_t *lock)
{
	const struct up_sock_query query = { .states = STATES, .info = true };
	const uint64_t spent_ns = netspaces_spent_ns();
	struct up_netlimits limits;
	int r;

	netspaces_read_limits(space, &limits);
	up_census_begin(census, &limits, tick_ms());
	r = up_sock_dump(&space->diag, &query, up_census_add, census);
	pthread_mutex_lock(lock);
	space->limits = limits;
	/* A dump that failed leaves census_ns where it is. */
	space->census_error = r;
	if (r == 0) {
		netspaces_fold_census(space, census, netspaces_now_ns());
		space->census_cost_ns = netspaces_spent_ns() - spent_ns;
	}
	pthread_mutex_unlock(lock);
}
