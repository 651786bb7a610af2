/* Accept queues: integrals and maxima of the polls, rows made of them. */
#include <errno.h>

#include "fake.h"
#include "sockets_helper.h"

extern const struct up_collector up_collector_listen;

static const char netstat[] = "TcpExt: ListenOverflows ListenDrops TCPReqQFullDoCookies TCPReqQFullDrop\nTcpExt: %d %d 0 0\n";

static void put_netstat(struct fake *fake, const char *path, int overflows, int drops)
{
	char text[160];

	snprintf(text, sizeof(text), netstat, overflows, drops);
	fake_put(fake, path, text);
}

static struct up_sockets *start(struct fake *fake)
{
	struct up_sockets *sockets;

	fake_init_copy(fake, &up_collector_listen, "", FAKE_V2, NULL);
	put_netstat(fake, "t0/proc/self/net/netstat", 20, 23);
	put_netstat(fake, "t1/proc/self/net/netstat", 24, 27);
	sockets = fake->env.sockets = sockets_fake_new(&fake->targets);
	return sockets;
}

static void stop(struct fake *fake)
{
	struct up_sockets *sockets = fake->env.sockets;

	fake_done(fake);
	up_sockets_free(sockets);
}

#define POLL(sockets, now_ms, ...)                                                                                               \
	sockets_fake_poll(sockets, now_ms, (const struct sockets_fake_row[]){ __VA_ARGS__ },                                     \
		sizeof((const struct sockets_fake_row[]){ __VA_ARGS__ }) / sizeof(struct sockets_fake_row))

static void mean_max_and_drops_of_a_window(void **state)
{
	struct fake fake;
	struct up_sockets *sockets = start(&fake);
	const struct up_row *row;

	(void)state;
	sockets_fake_listener(sockets, 7, "0.0.0.0:8080", SOCKETS_HOST_BIT);
	POLL(sockets, 1000, { 7, 0, 4, 5 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "listen", "tcp:0.0.0.0:8080");
	fake_value(row->waiting, UP_FIRST, 0, "one sample");
	fake_value(row->errors, UP_FIRST, 0, "drops from before are nobody's");
	assert_int_equal(row->state, UP_FIRST);

	/* 0 to 5 in 500 ms, 5 for 250 ms, 5 to 0 in 250 ms: area 1250 + 1250 + 625 ms. */
	POLL(sockets, 1500, { 7, 5, 4, 5 });
	POLL(sockets, 1750, { 7, 5, 4, 9 });
	POLL(sockets, 2000, { 7, 0, 4, 9 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "listen", "tcp:0.0.0.0:8080");
	fake_value(row->waiting, UP_OK, 3.125, "mean of the window");
	fake_value(row->utilization, UP_OK, 0.625, "of backlog + 1");
	fake_value(row->saturation, UP_OK, 5, "highest of the window");
	fake_value(row->errors, UP_OK, 4, "its own drops");
	assert_true(row->saturated_at == 5); /* full, not "reached the backlog" */
	fake_detail(row, "netns_overflows", 4);
	fake_detail(row, "netns_drops", 4);
	fake_detail(row, "backlog", 4);
	fake_detail_text(row, "owner_by", "fd");
	assert_int_equal(row->window_ns, UP_NS_PER_S);

	/* The maximum belongs to its window; what still waits opens the next one. */
	POLL(sockets, 2500, { 7, 2, 4, 9 });
	POLL(sockets, 3000, { 7, 2, 4, 9 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "listen", "tcp:0.0.0.0:8080")->saturation, UP_OK, 2, "not the old one");
	stop(&fake);
}

static void sockets_of_one_address_are_one_listener(void **state)
{
	struct fake fake;
	struct up_sockets *sockets = start(&fake);
	const struct up_row *row;

	(void)state;
	sockets_fake_listener(sockets, 7, "0.0.0.0:8080", SOCKETS_HOST_BIT);
	sockets_fake_listener(sockets, 8, "0.0.0.0:8080", SOCKETS_HOST_BIT);
	sockets_fake_listener(sockets, 9, "127.0.0.1:8080", SOCKETS_HOST_BIT);
	POLL(sockets, 1000, { 7, 0, 9, 0 }, { 8, 0, 9, 0 }, { 9, 1, 1, 0 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	POLL(sockets, 2000, { 7, 10, 9, 1 }, { 8, 0, 9, 2 }, { 9, 1, 1, 0 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "listen", "tcp:0.0.0.0:8080");
	fake_value(row->utilization, UP_OK, 0.25, "5 of 20");
	fake_value(row->errors, UP_OK, 3, "of both");
	fake_detail(row, "sockets", 2);
	fake_detail(row, "fullest_ratio", 1); /* one of them is full although half of the room is free */
	fake_value(fake_row(&fake, "listen", "tcp:127.0.0.1:8080")->waiting, UP_OK, 1, "another address");

	/* One of the two is closed: its drops stay in the sum, nothing goes backwards. */
	POLL(sockets, 3000, { 8, 0, 9, 4 }, { 9, 1, 1, 0 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "listen", "tcp:0.0.0.0:8080")->errors, UP_OK, 2, "of the one that is left");
	stop(&fake);
}

static void each_target_sees_its_own(void **state)
{
	struct fake fake;
	struct up_sockets *sockets;

	(void)state;
	fake_init_copy(&fake, &up_collector_listen, "", FAKE_V2, "/api");
	fake_put(&fake, "t0/proc/self/net/netstat", "");
	fake_add_target(&fake, "/db");
	sockets = fake.env.sockets = sockets_fake_new(&fake.targets);
	sockets_fake_listener(sockets, 1, "0.0.0.0:80", 1u << 0);
	sockets_fake_listener(sockets, 2, "0.0.0.0:5432", 1u << 1);
	sockets_fake_listener(sockets, 3, "0.0.0.0:22", 0);
	assert_false(POLL(sockets, 1000, { 1, 0, 1, 0 }, { 2, 0, 1, 0 }, { 3, 0, 1, 0 }));
	assert_true(POLL(sockets, 1000, { 4, 0, 1, 0 })); /* nobody has looked at this one yet */
	POLL(sockets, 1020, { 1, 0, 1, 0 }, { 2, 0, 1, 0 }, { 3, 0, 1, 0 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake.rows.count, 2);
	assert_string_equal(fake_row(&fake, "listen", "tcp:0.0.0.0:80")->target, fake.targets.items[0].name);
	assert_string_equal(fake_row(&fake, "listen", "tcp:0.0.0.0:5432")->target, fake.targets.items[1].name);
	stop(&fake);
}

static void denied_is_said_and_late_polls_are_stale(void **state)
{
	struct fake fake;
	struct up_sockets *sockets = start(&fake);
	const struct up_row *row;

	(void)state;
	assert_int_equal(fake_tick(&fake, 1), 0); /* the first search is under way: no rows, no error */
	assert_int_equal(fake.rows.count, 0);
	snprintf(sockets->reasons[UP_TARGETS_MAX], SOCKETS_REASON, "CAP_SYS_ADMIN is missing");
	sockets->found_once = true;
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake.rows.count, 1);
	assert_int_equal(fake.rows.items[0].state, UP_DENIED);
	assert_string_equal(fake.rows.items[0].reason, "CAP_SYS_ADMIN is missing");

	sockets_fake_listener(sockets, 7, "0.0.0.0:8080", SOCKETS_HOST_BIT);
	POLL(sockets, 1000, { 7, 1, 4, 0 });
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0); /* no poll in between */
	row = fake_row(&fake, "listen", "tcp:0.0.0.0:8080");
	assert_int_equal(row->state, UP_STALE);
	fake_absent(row->waiting, "not polled", "no time covered, no mean");
	stop(&fake);
}

static void a_recorded_tree_has_no_sockets(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_listen, "", FAKE_V2, NULL);
	assert_int_equal(fake_tick(&fake, 1), -EOPNOTSUPP);
	fake_done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean_max_and_drops_of_a_window),
		cmocka_unit_test(sockets_of_one_address_are_one_listener),
		cmocka_unit_test(each_target_sees_its_own),
		cmocka_unit_test(denied_is_said_and_late_polls_are_stale),
		cmocka_unit_test(a_recorded_tree_has_no_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
