/* Computed rows: the wait for a connection, from rows as the collectors make them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/computed.h"

struct bench {
	struct up_computed *computed;
	struct up_rows rows;
	struct up_env env;
	struct up_tick tick;
	struct up_setting setting;
};

static void open_bench(struct bench *b, const char *conn_max)
{
	*b = (struct bench){ .tick = { .interval_ns = UP_NS_PER_S, .wall_ns = 1800000000 * UP_NS_PER_S } };
	assert_int_equal(up_computed_new(&b->computed), 0);
	assert_int_equal(up_rows_init(&b->rows), 0);
	if (conn_max) {
		b->setting = (struct up_setting){ "conn-max", conn_max };
		b->env.settings = &b->setting;
		b->env.setting_count = 1;
	}
}

static void close_bench(struct bench *b)
{
	up_computed_free(b->computed);
	up_rows_done(&b->rows);
}

static void add(struct bench *b, enum up_scope scope, const char *resource, const char *name, double utilization, double waiting,
	double servers, const char *detail)
{
	assert_int_equal(up_rows_add(&b->rows,
				 &(struct up_row){
					 .scope = scope,
					 .resource = resource,
					 .name = name,
					 .target = "api",
					 .utilization = isnan(utilization) ? up_none(NULL) : up_value(utilization),
					 .waiting = isnan(waiting) ? up_none(NULL) : up_value(waiting),
					 .servers = servers,
					 .detail = detail,
					 .state = UP_OK,
				 }),
		0);
}

/* One second: INSIDE requests, BUSY of OPEN connections with a query under way, RUNNING threads on a CPU. */
static void second(struct bench *b, double inside, double busy, double open, double running)
{
	char text[256];

	up_rows_clear(&b->rows);
	b->tick.number++;
	b->tick.wall_ns += UP_NS_PER_S;
	b->tick.mono_ns += UP_NS_PER_S;
	snprintf(text, sizeof(text), "in_flight=%g;arrivals=400;departures=400;area_s=%g;unread_area_s=0;connections=40", inside,
		inside);
	add(b, UP_SCOPE_LISTENER, "requests", "tcp:0.0.0.0:80", NAN, 0, 0, text);
	snprintf(text, sizeof(text),
		"label=orders;connections=%g;busy=%g;busy_area_s=%g;queries=400;queries_per_s=400;response_unread_ms=0", open,
		busy, busy);
	add(b, UP_SCOPE_DEPENDENCY, "dependency", "10.0.0.5:5432", busy / open, NAN, open, text);
	snprintf(text, sizeof(text), "used_cpus=%g", running);
	add(b, UP_SCOPE_CGROUP, "cpu", "/api", running / 4, 0, 4, text);
	add(b, UP_SCOPE_CGROUP, "run-queue", "/api", NAN, 0, 0, NULL);
	assert_int_equal(up_computed_add(b->computed, &b->env, &b->tick, &b->rows), 0);
}

static const struct up_row *pool(const struct bench *b)
{
	for (size_t i = 0; i < b->rows.count; i++)
		if (strcmp(b->rows.items[i].resource, "connection-pool") == 0)
			return &b->rows.items[i];
	return NULL;
}

static void a_full_pool(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b, NULL);
	for (int i = 0; i < 300; i++)
		second(&b, 20, 3.9, 4, 0.4);
	assert_non_null(pool(&b));
	assert_string_equal(pool(&b)->name, "10.0.0.5:5432");
	assert_string_equal(pool(&b)->target, "api");
	assert_near(pool(&b)->waiting.number, 20 - 3.9 - 0.4, 1e-3, "what is left of the requests inside");
	assert_near(pool(&b)->utilization.number, 3.9 / 4, 1e-6, "busy of open");
	/* Connections are added: the pool is not at its end, whoever waits. */
	second(&b, 20, 5.9, 6, 0.4);
	second(&b, 20, 7.9, 8, 0.4);
	assert_null(pool(&b));
	close_bench(&b);
}

static void no_pool(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b, NULL);
	for (int i = 0; i < 10; i++)
		second(&b, 20, 2, 16, 4);
	assert_null(pool(&b));
	/* As many threads as connections: all taken, nobody waits for one. */
	for (int i = 0; i < 10; i++)
		second(&b, 4.1, 3.9, 4, 0.1);
	assert_null(pool(&b));
	close_bench(&b);
}

static void a_told_size(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b, "orders=16");
	for (int i = 0; i < 5; i++)
		second(&b, 5, 4, 8, 0.5);
	assert_non_null(pool(&b));
	assert_near(pool(&b)->utilization.number, 0.25, 1e-6, "4 of 16");
	assert_near(pool(&b)->waiting.number, 0, 1e-6, "a pool that is not full has no queue");
	close_bench(&b);
	open_bench(&b, "10.0.0.6:5432=16");
	for (int i = 0; i < 5; i++)
		second(&b, 5, 4, 8, 0.5);
	assert_null(pool(&b));
	close_bench(&b);
	open_bench(&b, "16");
	for (int i = 0; i < 5; i++)
		second(&b, 5, 4, 8, 0.5);
	assert_non_null(pool(&b));
	close_bench(&b);
}

static void what_an_option_may_say(void **state)
{
	char peer[UP_CONN_MAX_PEER];
	double n;

	(void)state;
	assert_int_equal(up_conn_max_parse("100", peer, &n), 0);
	assert_string_equal(peer, "");
	assert_near(n, 100, 0, "size");
	assert_int_equal(up_conn_max_parse("[::1]:5432=8", peer, &n), 0);
	assert_string_equal(peer, "[::1]:5432");
	for (size_t i = 0; i < 7; i++) {
		static const char *const wrong[] = { "", "0", "-1", "=5", "db=", "db=x", "1.5" };

		assert_true(up_conn_max_parse(wrong[i], peer, &n) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_pool),
		cmocka_unit_test(no_pool),
		cmocka_unit_test(a_told_size),
		cmocka_unit_test(what_an_option_may_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
