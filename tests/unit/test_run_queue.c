/* Run-queue rows from samples: what is subtracted, what is absent, and what the method claims. */
#include <stdlib.h>

#include "../../src/collect/run_queue_row.h"
#include "check.h"

#define HAS(x) ((struct up_u64){ .n = (x), .has = true })
#define S 1000000000ull

extern const struct up_collector up_collector_run_queue;

static struct run_queue_raw raw_of(enum up_delay_method method, uint64_t wait_ns)
{
	return (struct run_queue_raw){
		.scope = UP_SCOPE_CGROUP,
		.label = "/api",
		.no_histogram = "single waits are seen only by eBPF: refused",
		.sample = { .method = method,
			.wait_ns = HAS(wait_ns),
			.on_cpu_ns = HAS(0),
			.waits = HAS(wait_ns / (10 * S / 1000)),
			.source = method == UP_DELAY_BPF ? "tp_btf/sched_switch" : "taskstats" },
	};
}

static const struct up_row *derive(struct up_rows *rows, const struct run_queue_raw *prev, const struct run_queue_raw *cur)
{
	up_rows_clear(rows);
	assert_int_equal(up_collector_run_queue.derive(prev, cur, 2 * S, rows), 0);
	assert_int_equal(rows->count, 1);
	return &rows->items[0];
}

static void waiting_without_throttled(void **state)
{
	uint64_t buckets[2][UP_DELAY_BUCKETS] = { { 0 } };
	struct run_queue_raw p = raw_of(UP_DELAY_BPF, 10 * S), c = raw_of(UP_DELAY_BPF, 17 * S);
	const struct up_row *row;
	struct up_rows rows;
	double number;

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	p.sample.throttled_ns = HAS(4 * S);
	c.sample.throttled_ns = HAS(10 * S);
	p.sample.buckets = buckets[0];
	c.sample.buckets = buckets[1];
	buckets[1][up_delay_bucket(20000000)] = 100;
	row = derive(&rows, &p, &c);
	assert_near(row->waiting.number, 0.5, 1e-9, "7 s of wait, 6 s of them quota, over 2 s");
	assert_near(row->saturation.number, 20, 1.3, "p95");
	assert_string_equal(row->method, "tp_btf/sched_switch measured");
	assert_true(up_detail_get_number(row->detail, "run_delay_s_per_s", &number) && number == 3.5);
	assert_true(up_detail_get_number(row->detail, "throttled_tasks", &number) && number == 3);
	assert_true(up_detail_get_number(row->detail, "wait_mean_ms", &number));
	assert_near(number, 10, 0.001, "7 s over 700 waits");
	up_rows_done(&rows);
}

static void fallback_says_so(void **state)
{
	struct run_queue_raw p = raw_of(UP_DELAY_TASKSTATS, 10 * S), c = raw_of(UP_DELAY_TASKSTATS, 17 * S);
	const struct up_row *row;
	struct up_rows rows;
	char text[96];
	double number;

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	row = derive(&rows, NULL, &c);
	assert_int_equal(row->state, UP_FIRST);
	assert_int_equal(row->waiting.state, UP_FIRST);
	row = derive(&rows, &p, &c);
	assert_near(row->waiting.number, 3.5, 1e-9, "no quota is counted, so nothing is taken off");
	assert_int_equal(row->saturation.state, UP_ABSENT);
	assert_true(up_detail_get(row->detail, "saturation_state", text, sizeof(text)));
	assert_string_equal(text, "absent:single waits are seen only by eBPF: refused");
	assert_string_equal(row->method, "taskstats computed");
	p.sample.throttled_bound_ns = HAS(S);
	c.sample.throttled_bound_ns = HAS(3 * S);
	row = derive(&rows, &p, &c);
	assert_near(row->waiting.number, 2.5, 1e-9, "at least one of the 3.5 waits for the quota");
	assert_true(up_detail_get_number(row->detail, "throttled_tasks_min", &number) && number == 1);
	c.sample.lower_bound = true;
	assert_string_equal(derive(&rows, &p, &c)->method, "taskstats lower bound");
	c.generation = 1;
	row = derive(&rows, &p, &c);
	assert_int_equal(row->state, UP_RESET);
	c = raw_of(UP_DELAY_SCHEDSTAT, 5);
	assert_int_equal(derive(&rows, &p, &c)->waiting.state, UP_FIRST);
	up_rows_done(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_without_throttled),
		cmocka_unit_test(fallback_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
