/* Queues of interfaces: recorded rtnetlink answers, every prefix of them, what polls add up to, and the figures of a row. */
#include <errno.h>
#include <stdlib.h>

#include "../../src/collect/network_parts.h"
#include "../../src/source/netspaces_internal.h"
#include "fake_tree.h"

#define SEQUENCE 7

struct seen {
	struct up_qdisc items[8];
	size_t count;
};

static int keep(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	struct seen *seen = ctx;

	assert_int_equal(type, 36);
	assert_true(seen->count < UP_COUNT(seen->items));
	return up_qdisc_parse(payload, payload_bytes, &seen->items[seen->count++]);
}

static void what_the_kernel_sent(void **state)
{
	static const struct {
		uint32_t ifindex, parent;
		const char *kind;
		uint64_t bytes, packets, queued, queued_bytes, drops, overlimits, rate;
	} want[] = {
		{ 1, UP_QDISC_ROOT, "tbf", 17370, 15, 45, 60630, 50, 105, 1000000 },
		{ 2, UP_QDISC_ROOT, "mq", 336, 4, 0, 0, 0, 0, 0 }, { 2, 0x80070001, "pfifo_fast", 336, 4, 0, 0, 0, 0, 0 },
		{ 3, UP_QDISC_ROOT, "tbf", 176, 2, 0, 0, 0, 0, 5000000000 }, /* beyond 32 bits */
	};
	struct seen seen = { 0 };
	size_t len;
	char *data = fake_tree_read(FIXTURES "qdisc", "dump.bin", &len);

	(void)state;
	assert_int_equal(up_netlink_walk(data, len, SEQUENCE, keep, &seen), 1);
	assert_int_equal(seen.count, UP_COUNT(want));
	for (size_t i = 0; i < seen.count; i++) {
		const struct up_qdisc *q = &seen.items[i];

		assert_int_equal(q->ifindex, want[i].ifindex);
		assert_int_equal(q->parent, want[i].parent);
		assert_string_equal(q->kind, want[i].kind);
		assert_int_equal(q->bytes.n, want[i].bytes);
		assert_int_equal(q->packets.n, want[i].packets);
		assert_int_equal(q->queued_packets.n, want[i].queued);
		assert_int_equal(q->queued_bytes.n, want[i].queued_bytes);
		assert_int_equal(q->drops.n, want[i].drops);
		assert_int_equal(q->overlimits.n, want[i].overlimits);
		assert_true(q->drops.has && q->bytes.has && q->queued_packets.has);
		assert_int_equal(q->rate_bytes_per_s, want[i].rate);
	}
	free(data);
}

struct compare {
	const struct seen *whole;
	size_t count;
};

/* A figure of a cut message is the right one or is not there. */
static void same_or_missing(struct up_u64 whole, struct up_u64 cut)
{
	assert_true(!cut.has || (whole.has && whole.n == cut.n));
}

static int cut_short(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	struct compare *compare = ctx;
	const struct up_qdisc *whole = &compare->whole->items[compare->count++];

	(void)type;
	for (size_t n = 0; n < payload_bytes; n++) {
		/* A copy of its own, so that a read beyond its end is seen by the sanitizer. */
		uint8_t *copy = malloc(n + 1);
		struct up_qdisc cut;

		memcpy(copy, payload, n);
		if (up_qdisc_parse(copy, n, &cut) == 0) {
			assert_string_equal(cut.kind, whole->kind);
			same_or_missing(whole->bytes, cut.bytes);
			same_or_missing(whole->packets, cut.packets);
			same_or_missing(whole->drops, cut.drops);
			same_or_missing(whole->queued_packets, cut.queued_packets);
			assert_true(cut.rate_bytes_per_s == 0 || cut.rate_bytes_per_s == whole->rate_bytes_per_s);
		}
		free(copy);
	}
	return 0;
}

static void every_prefix(void **state)
{
	struct seen whole = { 0 };
	struct compare compare = { .whole = &whole };
	size_t len;
	char *data = fake_tree_read(FIXTURES "qdisc", "dump.bin", &len);

	(void)state;
	assert_int_equal(up_netlink_walk(data, len, SEQUENCE, keep, &whole), 1);
	assert_int_equal(up_netlink_walk(data, len, SEQUENCE, cut_short, &compare), 1);
	assert_int_equal(compare.count, whole.count);
	for (size_t n = 0; n < len; n++) {
		struct seen seen = { 0 };
		const int r = up_netlink_walk(data, n, SEQUENCE, keep, &seen);

		assert_true(r == 0 || r == -EBADMSG);
	}
	free(data);
}

static void no_kind(void **state)
{
	uint8_t payload[64] = { 0 };
	struct up_qdisc qdisc;

	(void)state;
	assert_int_equal(up_qdisc_parse(payload, 8, &qdisc), -EBADMSG);
	assert_int_equal(up_qdisc_parse(payload, sizeof(payload), &qdisc), -EBADMSG);
	payload[20] = 10; /* kind of 6 bytes without its NUL */
	payload[22] = 1;
	memset(payload + 24, 'x', 6);
	assert_int_equal(up_qdisc_parse(payload, sizeof(payload), &qdisc), -EBADMSG);
}

static struct up_link_queue queue_of(uint32_t handle, uint64_t packets, uint64_t drops)
{
	return (struct up_link_queue){
		.link = "eth0",
		.qdisc = { .ifindex = 2,
			.handle = handle,
			.kind = "fq_codel",
			.drops = { drops, true },
			.queued_packets = { packets, true },
			.queued_bytes = { packets * 1000, true } },
	};
}

static void poll_once(struct netspaces_space *space, uint64_t now_ms, uint32_t handle, uint64_t packets)
{
	static struct netspaces_round round;

	round.count = 1;
	round.queues[0] = queue_of(handle, packets, 0);
	netspaces_fold_queues(space, &round, now_ms * UP_NS_PER_MS);
}

static void polls_add_up(void **state)
{
	static struct netspaces_space space;

	(void)state;
	poll_once(&space, 1000, 1, 10);
	assert_int_equal(space.queues[0].shared.area_ns.n, 0);
	poll_once(&space, 1050, 1, 30);
	poll_once(&space, 1100, 1, 0);
	assert_int_equal(space.queue_count, 1);
	assert_int_equal(space.queues[0].shared.area_ns.n, (50 * 20 + 50 * 15) * UP_NS_PER_MS);
	assert_int_equal(space.queues[0].window_max, 30);
	/* Another qdisc in its place starts anew. */
	poll_once(&space, 1150, 2, 8);
	assert_int_equal(space.queue_count, 1);
	assert_int_equal(space.queues[0].shared.area_ns.n, 0);
	assert_int_equal(space.queues[0].window_max, 8);
	assert_int_equal(space.queue_polls, 4);
}

static void figures_of_a_row(void **state)
{
	const struct up_value unknown = up_value_state(UP_DENIED, "CAP_SYS_ADMIN is missing");
	struct up_link_queue p = queue_of(1, 0, UINT32_MAX - 1), c = queue_of(1, 5, 3);
	struct up_detail detail = { 0 };
	struct network_queue queue;
	char text[64];

	(void)state;
	p.area_ns.has = c.area_ns.has = true;
	c.area_ns.n = 4 * UP_NS_PER_S;
	c.packets_max = 9;
	network_queue_fill(&p, &c, unknown, UP_NS_PER_S / 2, &queue, &detail);
	assert_near(queue.packets.number, 8, 1e-9, "mean length");
	assert_near(queue.packets_max.number, 9, 0, "longest");
	assert_near(queue.drops.number, 5, 0, "over the wrap");
	assert_int_equal(queue.sent_ratio.state, UP_ABSENT);
	assert_true(up_detail_get(detail.text, "qdisc", text, sizeof(text)));
	assert_string_equal(text, "fq_codel");

	p.qdisc.bytes = (struct up_u64){ 1000, true };
	c.qdisc.bytes = (struct up_u64){ 501000, true };
	c.qdisc.rate_bytes_per_s = 1000000;
	network_queue_fill(&p, &c, unknown, UP_NS_PER_S, &queue, &detail);
	assert_near(queue.sent_ratio.number, 0.5, 1e-9, "half of what the shaper lets through");

	network_queue_fill(NULL, &c, unknown, 0, &queue, &detail);
	assert_int_equal(queue.packets.state, UP_FIRST);
	assert_int_equal(queue.drops.state, UP_FIRST);
	network_queue_fill(NULL, NULL, unknown, 0, &queue, &detail);
	assert_int_equal(queue.packets.state, UP_DENIED);
	assert_int_equal(queue.drops.state, UP_DENIED);
	memcpy(c.qdisc.kind, "noqueue", 8);
	network_queue_fill(&p, &c, unknown, UP_NS_PER_S, &queue, &detail);
	assert_int_equal(queue.packets.state, UP_ABSENT);
	assert_int_equal(queue.drops.state, UP_OK);
}

static void responses_that_wait(void **state)
{
	const struct network_space inside = { .state = UP_OK },
				   denied = { .state = UP_DENIED, .reason = "CAP_SYS_ADMIN is missing" };
	struct network_unsent p = { .has = true, .by_listener = true, .census_ns = UP_NS_PER_S }, c = p;
	struct up_detail detail = { 0 };
	struct up_value waiting, max;
	char hint[128];

	(void)state;
	p.responses_ns = p.nagle_ns = p.window_ns = p.requests_nagle_ns = (struct up_u64){ 7, true };
	c = p;
	c.census_ns += 2 * UP_NS_PER_S;
	c.responses_ns.n += 12 * UP_NS_PER_S;
	c.nagle_ns.n += 4 * UP_NS_PER_S;
	c.responses_max = 9;
	c.connections = 40;
	network_unsent_fill(&p, &c, &inside, &detail, &waiting, &max);
	assert_near(waiting.number, 6, 1e-9, "12 connection seconds in 2 s");
	assert_near(max.number, 9, 0, "most seen");
	assert_true(up_detail_get(detail.text, "hint", hint, sizeof(hint)));
	assert_non_null(strstr(hint, "TCP_NODELAY"));
	/* 2 of 41 connections are less than one in twenty. */
	detail = (struct up_detail){ 0 };
	c.connections = 41;
	network_unsent_fill(&p, &c, &inside, &detail, &waiting, &max);
	assert_false(up_detail_get(detail.text, "hint", hint, sizeof(hint)));
	/* No census in the window; another set of ports; none at all. */
	c.census_ns = p.census_ns;
	network_unsent_fill(&p, &c, &inside, &detail, &waiting, &max);
	assert_int_equal(waiting.state, UP_ABSENT);
	p.by_listener = false;
	network_unsent_fill(&p, &c, &inside, &detail, &waiting, &max);
	assert_int_equal(waiting.state, UP_FIRST);
	c.has = false;
	network_unsent_fill(NULL, &c, &denied, &detail, &waiting, &max);
	assert_int_equal(waiting.state, UP_DENIED);
	network_unsent_fill(NULL, &c, &inside, &detail, &waiting, &max);
	assert_int_equal(waiting.state, UP_ABSENT);
}

static void the_own_namespace(void **state)
{
	struct up_netspaces *spaces;
	struct up_netspace space;
	struct up_source source;
	struct up_arena arena;
	char reason[128];

	(void)state;
	assert_int_equal(up_source_open(&source, NULL), 0);
	assert_int_equal(up_arena_init(&arena), 0);
	assert_int_equal(up_netspaces_new(&source, &spaces), 0);
	assert_int_equal(up_netspaces_look(spaces, 0, 0, &arena, &space, reason, sizeof(reason)), 0);
	assert_true(space.inode != 0);
	assert_true(space.queues_error < 0 || space.queue_polls > 0);
	/* A pid that cannot exist (PID_MAX_LIMIT). */
	assert_int_equal(up_netspaces_look(spaces, 1 << 22, 0, &arena, &space, reason, sizeof(reason)), -ENOENT);
	assert_non_null(strstr(reason, "4194304"));
	up_netspaces_free(spaces);
	up_netspaces_free(NULL);
	up_arena_done(&arena);
	up_source_close(&source);
	assert_int_equal(up_source_open(&source, FIXTURES "network"), 0);
	assert_int_equal(up_netspaces_new(&source, &spaces), -EOPNOTSUPP);
	up_source_close(&source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_sent),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(no_kind),
		cmocka_unit_test(polls_add_up),
		cmocka_unit_test(figures_of_a_row),
		cmocka_unit_test(responses_that_wait),
		cmocka_unit_test(the_own_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
