/* Figures of turns between two readings, and what "requests" and "dependency" say where there is nothing to read. The programs behind
 * them are tested live (tests/live/sockets_requests.sh). */
#include <errno.h>

#include "../../src/collect/turns.h"
#include "check.h"
#include "rig.h"
#include "useprobe/delay.h"

#define S 1000000000ull
#define KNOWN(x) ((struct up_u64){ .n = (x), .has = true })

static uint64_t before[UP_REQUESTS_BUCKETS], after[UP_REQUESTS_BUCKETS];

static struct up_turns reading(
	uint64_t mono_ns, uint64_t area_ns, uint64_t begun, uint64_t ended, uint64_t residence_ns, const uint64_t *buckets)
{
	return (struct up_turns){
		.mono_ns = KNOWN(mono_ns),
		.area_ns = KNOWN(area_ns),
		.unread_area_ns = KNOWN(area_ns / 4),
		.begun = KNOWN(begun),
		.ended = KNOWN(ended),
		.cut = KNOWN(0),
		.residence_ns = KNOWN(residence_ns),
		.buckets = buckets,
	};
}

static void littles_law_holds_by_construction(void **state)
{
	/* 100 turns of 20 ms in 2 s: one inside on average. */
	struct up_turns p = reading(5 * S, 7 * S, 1000, 1000, 3 * S, before), c = reading(7 * S, 9 * S, 1100, 1100, 5 * S, after);
	struct turn_figures f;

	(void)state;
	after[up_delay_bucket(20000000)] = 100;
	f = turn_figures(&p, &c);
	assert_near(f.level.number, 1.0, 1e-12, "2 s of turns in 2 s");
	assert_near(f.unread.number, 0.25, 1e-12, "a quarter of it unread");
	assert_near(f.ended_per_s.number, 50, 1e-12, "100 in 2 s");
	assert_near(f.mean_ms.number, 20, 1e-12, "2 s over 100 turns");
	assert_near(f.p95_ms.number, 20, 20 * 0.09, "one bucket");
	assert_false(f.unsettled);
}

static void states_of_the_first_and_of_thin_windows(void **state)
{
	struct up_turns p = reading(5 * S, 0, 0, 0, 0, before), c = reading(6 * S, S, 10, 9, S, after);
	struct turn_figures f = turn_figures(NULL, &c);

	(void)state;
	assert_int_equal(f.level.state, UP_FIRST);
	assert_int_equal(f.p99_ms.state, UP_FIRST);
	f = turn_figures(&p, &c);
	assert_true(f.unsettled);
	assert_int_equal(f.p99_ms.state, UP_ABSENT);
	c = reading(6 * S, 0, 0, 0, 0, after);
	f = turn_figures(&p, &c);
	assert_near(f.level.number, 0, 0, "nothing inside is a measured zero");
	assert_int_equal(f.mean_ms.state, UP_ABSENT);
}

static const char *kind_of(
	uint64_t connections, uint64_t http2, uint64_t streams, uint64_t ended, uint64_t pipelined, uint64_t piled)
{
	struct up_turns p = reading(5 * S, 0, 0, 0, 0, before), c = reading(6 * S, S, ended, ended, S, after);
	struct turn_figures f;

	p.pipelined = p.piled = KNOWN(0);
	c.pipelined = KNOWN(pipelined);
	c.piled = KNOWN(piled);
	c.connections = connections;
	c.http2_connections = http2;
	c.stream_connections = streams;
	f = turn_figures(&p, &c);
	return turn_kind(&p, &c, &f).name;
}

static void connections_that_carry_several_requests_are_named(void **state)
{
	(void)state;
	assert_null(kind_of(16, 0, 0, 1000, 0, 0));
	assert_string_equal(kind_of(4, 4, 0, 0, 0, 0), "http2"); /* no turn is counted then */
	assert_null(kind_of(16, 8, 0, 1000, 0, 0)); /* half of them are still HTTP/1 */
	assert_string_equal(kind_of(16, 0, 9, 1000, 0, 0), "stream");
	assert_string_equal(kind_of(8, 0, 0, 100, 700, 0), "pipelining");
	assert_string_equal(kind_of(8, 0, 0, 100, 0, 50), "multiplexed");
	assert_null(kind_of(8, 0, 0, 100, 10, 10)); /* a tenth may be chance */
	assert_null(kind_of(8, 0, 0, 10, 10, 10)); /* too few to tell */
	assert_null(kind_of(0, 0, 0, 0, 0, 0));
}

static void held_answers_are_said(void **state)
{
	struct up_turns p = reading(5 * S, 0, 0, 0, 0, before), c = reading(6 * S, S, 100, 100, S, after);
	struct up_detail none = { 0 }, some = { 0 };
	struct turn_figures f = turn_figures(&p, &c);
	double share;

	(void)state;
	p.held = c.held = KNOWN(3);
	turn_held(&none, &p, &c, &f);
	assert_int_equal(none.len, 0);
	c.held = KNOWN(98);
	turn_held(&some, &p, &c, &f);
	assert_true(up_detail_get_number(some.text, "held_by_nagle", &share));
	assert_near(share, 0.95, 1e-9, "95 of 100 answers");
}

static void looks_have_levels_only(void **state)
{
	const struct up_turns p = {
		.uncounted = "why", .mono_ns = KNOWN(5 * S), .area_ns = KNOWN(S), .unread_area_ns = KNOWN(0)
	};
	struct up_turns c = p;
	struct turn_figures f;

	(void)state;
	c.mono_ns = KNOWN(7 * S);
	c.area_ns = KNOWN(4 * S);
	f = turn_figures(&p, &c);
	assert_near(f.level.number, 1.5, 1e-12, "3 s of turns in 2 s");
	assert_int_equal(f.ended.state, UP_ABSENT);
	assert_string_equal(f.ended.reason, "why");
	assert_int_equal(f.ended_per_s.state, UP_ABSENT);
	assert_int_equal(f.p99_ms.state, UP_ABSENT);
	assert_int_equal(f.mean_ms.state, UP_ABSENT);
	assert_false(f.unsettled);
	assert_null(turn_kind(&p, &c, &f).name);
}

static void words_for_the_source(void **state)
{
	enum up_requests_by by;

	(void)state;
	assert_int_equal(up_requests_by_parse(NULL, &by), 0);
	assert_int_equal(by, UP_REQUESTS_BEST);
	assert_int_equal(up_requests_by_parse("looks", &by), 0);
	assert_int_equal(by, UP_REQUESTS_LOOKS);
	assert_int_equal(up_requests_by_parse("look", &by), -EINVAL);
	assert_int_equal(by, UP_REQUESTS_LOOKS);
}

static void a_recorded_tree_says_why(void **state)
{
	static const char *const resources[] = { "requests", "dependency" };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(resources); i++) {
		struct rig rig;

		rig_open(&rig, FIXTURES "cpu_v2_own", "api", UP_NS_PER_S, resources[i]);
		rig_tick(&rig);
		assert_int_equal(rig_row(&rig, resources[i], NULL)->state, UP_ABSENT);
		assert_non_null(strstr(rig_row(&rig, resources[i], NULL)->reason, "recorded tree"));
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(littles_law_holds_by_construction),
		cmocka_unit_test(states_of_the_first_and_of_thin_windows),
		cmocka_unit_test(connections_that_carry_several_requests_are_named),
		cmocka_unit_test(held_answers_are_said),
		cmocka_unit_test(looks_have_levels_only),
		cmocka_unit_test(words_for_the_source),
		cmocka_unit_test(a_recorded_tree_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
