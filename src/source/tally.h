/* The tally: where no BPF program can be loaded, dumps of all connections with their tcp_info (sock_diag), in a thread of its own. What
 * tcp_info tells of a single connection is seldom enough to say whether a request is inside, so levels are bounds. Private to src/source. */
#ifndef UP_TALLY_H
#define UP_TALLY_H

#include "requests_common.h"
#include "sockets_internal.h"
#include "useprobe/requests.h"

/* What is known of one connection: requests inside (server) or queries under way (client) are at least LOW and at most HIGH, both 0 or 1;
 * UNREAD: bytes wait for the target to read them. */
struct tally_bounds {
	uint8_t low, high, unread;
};

/* Pure. Assumes one request at a time. The ages of the last data in and out are jiffies (net/ipv4/tcp.c, tcp_get_info): of the same age
 * means that nobody knows who spoke last, but for data of ours that is not acknowledged, which the peer's next data would have done.
 *   server: inside when data is unread or the peer's is the younger; not inside when ours is
 *   client: under way when ours is the younger; not when an answer is there, read or not */
struct tally_bounds tally_bounds(const struct up_sock *sock, bool server);

struct tally;

/* Starts the thread for TARGETS; SOCKETS knows the namespaces and the listeners. 0, -EOPNOTSUPP without SOCKETS, -ENOMEM, -EAGAIN. */
UP_MUST_CHECK int tally_new(
	const struct up_source *source, const struct up_targets *targets, struct up_sockets *sockets, struct tally **ret);
void tally_free(struct tally *tally);
void tally_retarget(struct tally *tally, const struct up_targets *targets);

/* Levels at KEY, a listening address; as of the last pass. 0; -ENODATA when no pass has seen it (yet, or its namespace cannot be
 * entered). */
UP_MUST_CHECK int tally_server(struct tally *tally, const struct up_req_key *key, struct up_turns *ret);
/* Peers of target number TARGET, borrowed from ARENA. 0 or -ENOSPC. */
UP_MUST_CHECK int tally_peers(
	struct tally *tally, uint16_t target, struct up_arena *arena, struct up_peer **ret, size_t *ret_count);
/* Peers and listeners that found no place, since the start. */
uint64_t tally_dropped(struct tally *tally);

#endif
