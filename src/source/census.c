/* Bytes that are not sent. The kernel sends what fits the congestion window and the peer's window at once, with one exception: Nagle's
 * rule keeps the last, not full segment back while another one is not acknowledged (net/ipv4/tcp_output.c, tcp_nagle_check). A peer that
 * delays its acknowledgement (40 ms) then delays the answer. Seen from here:
 *   unsent bytes < one segment, something unacknowledged, both windows open, nothing sent for longer than a round trip.
 * min_rtt is the round trip: the smoothed one holds the delayed acknowledgements. Ages are jiffies, so the first two ticks of a wait are
 * not recognised: counts are a lower bound. */
#include "useprobe/census.h"

#include <string.h>

void up_census_begin(struct up_census *census, const struct up_netlimits *limits, uint32_t tick_ms)
{
	memset(census, 0, sizeof(*census));
	census->limits = limits;
	census->tick_ms = tick_ms;
	census->port_count = 1;
}

static bool is_listening(const struct up_census *census, uint16_t port)
{
	return census->is_listening[port / 64] >> (port % 64) & 1;
}

static void add_listener(struct up_census *census, uint16_t port)
{
	if (is_listening(census, port))
		return;
	census->is_listening[port / 64] |= UINT64_C(1) << (port % 64);
	if (census->port_count == UP_CENSUS_PORTS)
		census->more_ports++;
	else
		census->ports[census->port_count++].port = port;
}

static struct up_unsent *unsent_of(struct up_census *census, uint16_t port)
{
	if (!is_listening(census, port))
		return &census->ports[0].unsent;
	for (size_t i = 1; i < census->port_count; i++)
		if (census->ports[i].port == port)
			return &census->ports[i].unsent;
	return NULL;
}

static void add_unsent(const struct up_census *census, const struct up_sock *sock, struct up_unsent *unsent)
{
	const uint64_t mss = sock->send_mss_bytes ? sock->send_mss_bytes : 1;
	/* The send queue holds both (write_seq - snd_una); segments are no measure, they may be small. */
	const uint64_t in_flight_bytes = sock->send_queue > sock->notsent_bytes ? sock->send_queue - sock->notsent_bytes : 0;
	const bool quiet = sock->last_data_sent_ms > sock->min_rtt_us / 1000 + 2 * census->tick_ms;

	unsent->connections++;
	unsent->unsent_bytes += sock->notsent_bytes;
	if (!sock->notsent_bytes || (!quiet && sock->notsent_bytes <= sock->congestion_window_segments * mss))
		return;
	unsent->unsent++;
	/* A segment that does not fit the peer's window waits for it, whatever else. */
	if (sock->send_window_bytes.has &&
		in_flight_bytes + (sock->notsent_bytes < mss ? sock->notsent_bytes : mss) > sock->send_window_bytes.n)
		unsent->window++;
	else if (quiet && sock->notsent_bytes < mss && sock->unacked_segments &&
		 sock->unacked_segments < sock->congestion_window_segments)
		unsent->nagle++;
}

static uint32_t hash_of(const struct up_destination *key)
{
	uint32_t hash = 2166136261u;
	const uint8_t *parts[] = { key->remote.addr, key->local.addr };

	for (size_t p = 0; p < UP_COUNT(parts); p++)
		for (size_t i = 0; i < sizeof(key->remote.addr); i++)
			hash = (hash ^ parts[p][i]) * 16777619u;
	hash = (hash ^ (key->remote.port & 0xff)) * 16777619u;
	return (hash ^ (uint32_t)(key->remote.port >> 8)) * 16777619u;
}

static void add_destination(struct up_census *census, const struct up_sock *sock)
{
	struct up_destination key = { .remote = sock->remote, .local = sock->local }, *place;
	uint32_t i;

	key.local.port = 0;
	for (i = hash_of(&key) % UP_CENSUS_SLOTS;; i = (i + 1) % UP_CENSUS_SLOTS) {
		place = &census->destinations[i];
		if (!place->ports ||
			(up_endpoint_equal(&place->remote, &key.remote) && up_endpoint_equal(&place->local, &key.local)))
			break;
	}
	if (!place->ports) {
		if (census->destination_count == UP_CENSUS_SLOTS / 4 * 3) {
			census->more_sockets++;
			return;
		}
		census->destination_count++;
		*place = key;
	}
	place->ports++;
	place->time_wait += sock->state == UP_TCP_TIME_WAIT;
}

int up_census_add(void *ctx, const struct up_sock *sock)
{
	struct up_census *census = ctx;

	census->sockets++;
	if (sock->state == UP_TCP_LISTEN) {
		add_listener(census, sock->local.port);
		return 0;
	}
	/* Closing connections still send what they hold. */
	if (sock->has_info && sock->state != UP_TCP_SYN_SENT) {
		struct up_unsent *unsent = unsent_of(census, sock->local.port);

		if (unsent)
			add_unsent(census, sock, unsent);
	}
	if (sock->remote.port && !is_listening(census, sock->local.port) &&
		up_netlimits_is_ephemeral(census->limits, sock->local.port))
		add_destination(census, sock);
	return 0;
}

size_t up_census_top(const struct up_census *census, struct up_destination ret[UP_CENSUS_TOP])
{
	size_t count = 0;

	for (size_t i = 0; i < UP_CENSUS_SLOTS; i++) {
		const struct up_destination *one = &census->destinations[i];
		size_t at = count;

		if (!one->ports)
			continue;
		while (at > 0 && ret[at - 1].ports < one->ports)
			at--;
		if (at == UP_CENSUS_TOP)
			continue;
		if (count < UP_CENSUS_TOP)
			count++;
		memmove(&ret[at + 1], &ret[at], (count - 1 - at) * sizeof(*ret));
		ret[at] = *one;
	}
	return count;
}
