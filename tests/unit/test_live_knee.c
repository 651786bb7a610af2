/* The knee while the test goes on: a service that follows 100/s and 200/s and no more, tick by tick. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cli/live_knee.h"
#include "check.h"
#include "useprobe/clock.h"

struct run {
	struct up_table table;
	struct up_live *live;
	struct live_knee knee;
	uint64_t second;
};

static void add(struct up_table *table, enum up_scope scope, const char *resource, const char *name, double utilization,
	double servers, const char *detail)
{
	assert_int_equal(
		up_rows_add(&table->rows, &(struct up_row){ .scope = scope,
						  .resource = resource,
						  .name = name,
						  .target = "api",
						  .utilization = utilization >= 0 ? up_value(utilization) : up_none(NULL),
						  .waiting = scope == UP_SCOPE_PROCESS ? up_none(NULL) : up_value(0),
						  .servers = servers,
						  .detail = detail,
						  .state = UP_OK }),
		0);
}

/* ARRIVALS a second, of which DONE are completed; the rest waits in front of the one worker, which a request holds for 5 ms. */
static void second(struct run *run, double arrivals, double done, double inside)
{
	const double busy = done * 0.005;
	const uint64_t now_ns = ++run->second * UP_NS_PER_S;
	const struct up_tick tick = { .number = run->second,
		.wall_ns = 1800000000 * UP_NS_PER_S + now_ns,
		.mono_ns = now_ns,
		.elapsed_ns = now_ns,
		.interval_ns = UP_NS_PER_S };
	char text[256];

	up_rows_clear(&run->table.rows);
	snprintf(text, sizeof(text), "in_flight=%g;arrivals=%g;departures=%g;area_s=%g;unread_area_s=0;connections=40", inside,
		arrivals, done, inside);
	add(&run->table, UP_SCOPE_LISTENER, "requests", "tcp:0.0.0.0:80", -1, 0, text);
	snprintf(text, sizeof(text), "busy=%g", busy);
	add(&run->table, UP_SCOPE_PROCESS, "thread-pool", "api[7]/worker-", busy, 1, text);
	snprintf(text, sizeof(text), "used_cpus=%g", done * 0.001);
	add(&run->table, UP_SCOPE_CGROUP, "cpu", "/api", done * 0.001 / 2, 2, text);
	add(&run->table, UP_SCOPE_CGROUP, "run-queue", "/api", -1, 0, NULL);
	assert_int_equal(up_table_commit(&run->table, &tick), 0);
	live_knee_tick(&run->knee, &run->table, run->live);
}

static void the_knee_appears(void **state)
{
	struct run run = { 0 };
	int seconds = 0;

	(void)state;
	assert_int_equal(up_table_init(&run.table), 0);
	run.live = calloc(1, sizeof(*run.live));
	assert_non_null(run.live);
	for (int i = 0; i < 12; i++)
		second(&run, 50, 50, 0.26);
	for (int i = 0; i < 12; i++)
		second(&run, 100, 100, 0.6);
	for (int i = 0; i < 12; i++)
		second(&run, 150, 150, 1);
	assert_non_null(strstr(run.live->curve, "50.0>0.26"));
	assert_null(strchr(run.live->curve, '!'));
	assert_string_equal(run.live->knee, "");
	while (!*run.live->knee && seconds++ < 30)
		second(&run, 300, 200, 4 + 5.0 * seconds);
	assert_true(seconds <= 20);
	assert_non_null(strstr(run.live->knee, "KNEE at +"));
	assert_non_null(strstr(run.live->knee, "thread-pool api[7]/worker-"));
	assert_non_null(strchr(run.live->curve, '!'));
	/* A replay that goes back begins anew. */
	run.second = 0;
	second(&run, 50, 50, 0.26);
	assert_string_equal(run.live->knee, "");
	live_knee_done(&run.knee);
	up_table_done(&run.table);
	free(run.live);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_knee_appears) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
