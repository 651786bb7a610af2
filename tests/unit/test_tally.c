/* What tcp_info of one connection tells about a request inside it. */
#include "../../src/source/tally.h"
#include "check.h"

/* sent, received: ages in ms. */
static struct tally_bounds bounds_of(bool server, uint32_t sent, uint32_t received, uint32_t unread, uint32_t unacked)
{
	const struct up_sock sock = {
		.has_info = true,
		.last_data_sent_ms = sent,
		.last_data_received_ms = received,
		.receive_queue = unread,
		.unacked_segments = unacked,
		.data_segments_in = 9,
		.data_segments_out = 9,
	};

	return tally_bounds(&sock, server);
}

static void check(struct tally_bounds bounds, unsigned low, unsigned high, unsigned unread)
{
	assert_int_equal(bounds.low, low);
	assert_int_equal(bounds.high, high);
	assert_int_equal(bounds.unread, unread);
}

static void a_server_answers_who_spoke_last(void **state)
{
	(void)state;
	check(bounds_of(true, 40, 8, 0, 0), 1, 1, 0); /* a request after our last answer */
	check(bounds_of(true, 8, 40, 0, 0), 0, 0, 0); /* answered */
	check(bounds_of(true, 8, 8, 0, 0), 0, 1, 0); /* in one jiffy: who knows */
	check(bounds_of(true, 8, 8, 0, 1), 0, 0, 0); /* the answer is still under way, the next request would acknowledge it */
	check(bounds_of(true, 8, 40, 100, 0), 1, 1, 1); /* nobody has read it yet */
	check(bounds_of(true, 8, 8, 100, 0), 1, 1, 1);
}

static void a_client_asks(void **state)
{
	(void)state;
	check(bounds_of(false, 8, 40, 0, 0), 1, 1, 0); /* asked after the last answer */
	check(bounds_of(false, 40, 8, 0, 0), 0, 0, 0); /* answered */
	check(bounds_of(false, 8, 8, 0, 0), 0, 1, 0);
	check(bounds_of(false, 8, 8, 0, 1), 1, 1, 0); /* an answer would have acknowledged the query */
	check(bounds_of(false, 8, 40, 100, 0), 0, 0, 1); /* the answer is here, unread */
	check(bounds_of(false, 8, 8, 100, 1), 0, 0, 1);
}

static void who_never_spoke_is_idle(void **state)
{
	struct up_sock sock = { .has_info = true };

	(void)state;
	check(tally_bounds(&sock, true), 0, 0, 0);
	check(tally_bounds(&sock, false), 0, 0, 0);
	sock.receive_queue = 1; /* the first request, in the accept queue */
	check(tally_bounds(&sock, true), 1, 1, 1);
	sock.has_info = false; /* a kernel that says nothing */
	check(tally_bounds(&sock, true), 1, 1, 1);
	check(tally_bounds(&sock, false), 0, 1, 1);
}

static void lower_is_never_above_upper(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		const struct up_sock sock = {
			.has_info = bits & 1,
			.receive_queue = bits >> 1 & 1,
			.unacked_segments = bits >> 2 & 1,
			.data_segments_in = bits >> 3 & 1,
			.data_segments_out = bits >> 3 & 1,
			.last_data_sent_ms = bits >> 4 & 1,
			.last_data_received_ms = bits >> 5 & 1,
		};

		for (int server = 0; server < 2; server++) {
			const struct tally_bounds bounds = tally_bounds(&sock, server);

			assert_true(bounds.low <= bounds.high && bounds.high <= 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_answers_who_spoke_last),
		cmocka_unit_test(a_client_asks),
		cmocka_unit_test(who_never_spoke_is_idle),
		cmocka_unit_test(lower_is_never_above_upper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
