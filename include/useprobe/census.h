/* Census: what one pass over all TCP sockets of a network namespace says about ephemeral ports and about bytes that are not sent. Pure:
 * sockets are handed in one by one (up_sock_dump with info; listeners come first there). */
#ifndef UP_CENSUS_H
#define UP_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/netlimits.h"
#include "useprobe/sock_diag.h"

#define UP_CENSUS_PORTS 256 /* listening ports told apart */
#define UP_CENSUS_SLOTS 4096 /* places for destinations; three quarters are used at most */
#define UP_CENSUS_TOP 4 /* fullest destinations shown */

/* Connections with bytes they have not sent although a round trip has passed. */
struct up_unsent {
	uint32_t connections; /* established, all */
	uint32_t
		unsent; /* bytes wait, and nothing has been sent for longer than a round trip, or more waits than one can carry */
	uint32_t nagle; /* of these: a last small segment waits for the acknowledgement of the one before */
	uint32_t window; /* of these: the peer takes no more (its receive window is full) */
	uint64_t unsent_bytes;
};

struct up_census_port {
	uint16_t port; /* listening; 0: the connections that were opened from here */
	struct up_unsent unsent;
};

/* Ephemeral ports in use from one local address to one remote address and port: each can be used only once there. */
struct up_destination {
	struct up_endpoint remote;
	struct up_endpoint local; /* port 0 */
	uint32_t ports; /* 0: empty place */
	uint32_t time_wait; /* of these */
};

struct up_census {
	const struct up_netlimits *limits; /* borrowed */
	uint32_t tick_ms; /* resolution of the ages in struct tcp_info */
	uint64_t is_listening[UP_PORT_WORDS];
	struct up_census_port ports[UP_CENSUS_PORTS]; /* [port_count]; the first one is port 0 */
	size_t port_count;
	uint32_t more_ports; /* listening ports that did not fit */
	struct up_destination destinations[UP_CENSUS_SLOTS];
	size_t destination_count;
	uint32_t more_sockets; /* whose destination did not fit */
	uint32_t sockets; /* all that were handed in */
};

/* Empties CENSUS. LIMITS tells which ports are ephemeral. */
void up_census_begin(struct up_census *census, const struct up_netlimits *limits, uint32_t tick_ms);
/* Takes one socket; fits up_sock_each, CTX is the census. Returns 0. */
int up_census_add(void *ctx, const struct up_sock *sock);
/* The fullest destinations, fullest first. Returns their number. */
size_t up_census_top(const struct up_census *census, struct up_destination ret[UP_CENSUS_TOP]);

#endif
