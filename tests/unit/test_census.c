/* The census of sockets: ephemeral ports per destination, bytes that are not sent and why; what censuses add up to. */
#include <stdlib.h>

#include "../../src/source/netspaces_internal.h"
#include "check.h"

static struct up_netlimits limits;
static struct up_census census;

static void begin(void)
{
	const char *texts[UP_NETLIMIT_COUNT] = { "32768\t32867\n", "32800\n" };

	up_netlimits_parse(texts, &limits);
	up_census_begin(&census, &limits, 4);
}

static struct up_sock sock_of(enum up_tcp_state state, const char *local, const char *remote)
{
	struct up_sock sock = { .state = (uint8_t)state };

	assert_int_equal(up_endpoint_parse(local, &sock.local), 0);
	assert_int_equal(up_endpoint_parse(remote, &sock.remote), 0);
	return sock;
}

static void add(struct up_sock sock)
{
	assert_int_equal(up_census_add(&census, &sock), 0);
}

static void add_from(uint16_t port, enum up_tcp_state state, const char *remote)
{
	struct up_sock sock = sock_of(state, "10.0.0.1:0", remote);

	sock.local.port = port;
	add(sock);
}

static void ports_per_destination(void **state)
{
	struct up_destination top[UP_CENSUS_TOP];
	char text[UP_ENDPOINT_TEXT];

	(void)state;
	begin();
	add(sock_of(UP_TCP_LISTEN, "0.0.0.0:32850", "0.0.0.0:0"));
	for (uint16_t i = 0; i < 20; i++)
		add_from((uint16_t)(32768 + i), i < 5 ? UP_TCP_TIME_WAIT : UP_TCP_ESTABLISHED, "10.0.0.2:5432");
	for (uint16_t i = 0; i < 30; i++)
		add_from((uint16_t)(32768 + i), UP_TCP_ESTABLISHED, "10.0.0.3:6379");
	/* Not ephemeral: another range, a reserved port, a port that is listened on. */
	add_from(8080, UP_TCP_ESTABLISHED, "10.0.0.2:5432");
	add_from(32800, UP_TCP_ESTABLISHED, "10.0.0.2:5432");
	add_from(32850, UP_TCP_ESTABLISHED, "10.0.0.2:5432");
	/* Another local address has ports of its own. */
	add(sock_of(UP_TCP_ESTABLISHED, "10.0.0.9:32768", "10.0.0.3:6379"));
	assert_int_equal(census.destination_count, 3);
	assert_int_equal(up_census_top(&census, top), 3);
	assert_string_equal(up_endpoint_format(&top[0].remote, text), "10.0.0.3:6379");
	assert_int_equal(top[0].ports, 30);
	assert_int_equal(top[1].ports, 20);
	assert_int_equal(top[1].time_wait, 5);
	assert_int_equal(top[2].ports, 1);
	assert_int_equal(census.sockets, 55);
}

static void more_destinations_than_fit(void **state)
{
	struct up_destination top[UP_CENSUS_TOP];

	(void)state;
	begin();
	for (unsigned i = 0; i < UP_CENSUS_SLOTS; i++) {
		struct up_sock sock = sock_of(UP_TCP_ESTABLISHED, "10.0.0.1:32768", "10.1.0.0:443");

		sock.remote.addr[2] = (uint8_t)(i >> 8);
		sock.remote.addr[3] = (uint8_t)i;
		add(sock);
	}
	assert_int_equal(census.destination_count, UP_CENSUS_SLOTS / 4 * 3);
	assert_int_equal(census.more_sockets, UP_CENSUS_SLOTS / 4);
	/* A destination that is there still counts. */
	add_from(32769, UP_TCP_ESTABLISHED, "10.1.0.0:443");
	assert_int_equal(up_census_top(&census, top), UP_CENSUS_TOP);
	assert_int_equal(top[0].ports, 2);
}

/* A connection of the listener on 8080. */
static struct up_sock held(uint32_t unacked_bytes, uint32_t notsent, uint32_t age_ms)
{
	struct up_sock sock = sock_of(UP_TCP_ESTABLISHED, "10.0.0.1:8080", "10.0.0.2:50000");

	sock.has_info = true;
	sock.unacked_segments = (unacked_bytes + 1447) / 1448;
	sock.notsent_bytes = notsent;
	sock.send_queue = unacked_bytes + notsent;
	sock.send_mss_bytes = 1448;
	sock.congestion_window_segments = 10;
	sock.send_window_bytes = (struct up_u64){ 65535, true };
	sock.min_rtt_us = 200;
	sock.last_data_sent_ms = age_ms;
	return sock;
}

static void why_bytes_are_not_sent(void **state)
{
	static const struct {
		uint32_t unacked, notsent, age_ms, window, cwnd;
		uint32_t unsent, nagle, closed;
		const char *why;
	} cases[] = {
		{ 200, 0, 30, 65535, 10, 0, 0, 0, "all sent" },
		{ 200, 300, 12, 65535, 10, 1, 1, 0, "the second small write waits for the acknowledgement of the first" },
		{ 200, 300, 8, 65535, 10, 0, 0, 0, "two ticks are no wait yet" },
		{ 14480, 300, 12, 65535, 10, 1, 0, 0, "the congestion window is full" },
		{ 2896, 1448, 12, 65535, 10, 1, 0, 0, "a full segment is not Nagle's" },
		{ 0, 300, 12, 65535, 10, 1, 0, 0, "nothing is unacknowledged" },
		{ 0, 300, 12, 0, 10, 1, 0, 1, "the peer's window is closed" },
		{ 65000, 100000, 12, 65535, 100, 1, 0, 1, "the peer's window is full" },
		{ 14480, 14481, 0, 65535, 10, 1, 0, 0, "more than a round trip can carry" },
		{ 14480, 14480, 0, 65535, 10, 0, 0, 0, "what the next round trip carries" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_sock sock = held(cases[i].unacked, cases[i].notsent, cases[i].age_ms);
		const struct up_unsent *unsent;

		sock.send_window_bytes.n = cases[i].window;
		sock.congestion_window_segments = cases[i].cwnd;
		begin();
		add(sock_of(UP_TCP_LISTEN, "[::]:8080", "[::]:0"));
		add(sock);
		assert_int_equal(census.port_count, 2);
		unsent = &census.ports[1].unsent;
		if (unsent->unsent != cases[i].unsent || unsent->nagle != cases[i].nagle || unsent->window != cases[i].closed)
			fail_msg("%s: unsent %u, nagle %u, window %u", cases[i].why, unsent->unsent, unsent->nagle,
				unsent->window);
		assert_int_equal(unsent->unsent_bytes, cases[i].notsent);
		assert_int_equal(unsent->connections, 1);
	}
	/* Without the listener it is a connection that was opened from here. */
	begin();
	add(held(200, 300, 12));
	assert_int_equal(census.ports[0].unsent.nagle, 1);
}

static void censuses_add_up(void **state)
{
	static struct netspaces_space space;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		begin();
		if (i < 2)
			add(sock_of(UP_TCP_LISTEN, "[::]:8080", "[::]:0"));
		for (uint64_t n = 0; n < 4 * i; n++)
			add(held(200, 300, 12));
		netspaces_fold_census(&space, &census, (1 + i) * UP_NS_PER_S);
		if (i != 1)
			continue;
		assert_int_equal(space.port_count, 2);
		assert_int_equal(space.ports[1].shared.port, 8080);
		assert_int_equal(space.ports[1].shared.nagle_area_ns.n, 2 * UP_NS_PER_S);
		assert_int_equal(space.ports[1].shared.unsent_area_ns.n, 2 * UP_NS_PER_S);
		assert_int_equal(space.ports[1].window_max, 4);
	}
	/* Nobody listens any more. */
	assert_int_equal(space.port_count, 1);
	assert_int_equal(space.ports[0].shared.last.nagle, 8);
	assert_int_equal(space.censuses, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_per_destination),
		cmocka_unit_test(more_destinations_than_fit),
		cmocka_unit_test(why_bytes_are_not_sent),
		cmocka_unit_test(censuses_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
