/* The laboratory's own counters: what other measurements are compared with must be right first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/lab/meter.h"
#include "../../src/lab/net.h"
#include "../../src/lab/number.h"

#define MS 1000000ull

/* One request from 10 to 30 ms, one from 20 to 50 ms: the area is 20 + 30 ms, whoever writes entry and exit. */
static void area_across_tallies(void **state)
{
	struct lab_meter meter;
	struct lab_totals totals;

	(void)state;
	lab_meter_init(&meter);
	struct lab_tally *loop = lab_meter_join(&meter), *worker = lab_meter_join(&meter);

	lab_tally_gauge(loop, LAB_IN_FLIGHT, 1, 10 * MS);
	lab_tally_gauge(loop, LAB_IN_FLIGHT, 1, 20 * MS);
	lab_meter_read(&meter, 25 * MS, &totals);
	assert_int_equal(totals.level[LAB_IN_FLIGHT], 2);
	assert_int_equal(totals.area_ns[LAB_IN_FLIGHT], 15 * MS + 5 * MS);
	lab_tally_gauge(worker, LAB_IN_FLIGHT, -1, 30 * MS);
	lab_tally_gauge(worker, LAB_IN_FLIGHT, -1, 50 * MS);
	lab_meter_read(&meter, 1000 * MS, &totals);
	assert_int_equal(totals.level[LAB_IN_FLIGHT], 0);
	assert_int_equal(totals.area_ns[LAB_IN_FLIGHT], 50 * MS);
	assert_int_equal(totals.area_ns[LAB_QUEUE], 0);
	lab_meter_done(&meter);
}

/* Absolute times near the end of 64 bits wrap, areas do not. */
static void area_survives_wrap(void **state)
{
	struct lab_meter meter;
	struct lab_totals totals;
	const uint64_t start_ns = UINT64_MAX - 100;

	(void)state;
	lab_meter_init(&meter);
	struct lab_tally *tally = lab_meter_join(&meter);

	for (int i = 0; i < 7; i++)
		lab_tally_gauge(tally, LAB_QUEUE, 1, start_ns);
	lab_meter_read(&meter, start_ns + 1000, &totals);
	assert_int_equal(totals.area_ns[LAB_QUEUE], 7000);
	lab_meter_done(&meter);
}

static void left_tally_stays_counted(void **state)
{
	struct lab_meter meter;
	struct lab_totals totals;

	(void)state;
	lab_meter_init(&meter);
	struct lab_tally *first = lab_meter_join(&meter);

	lab_tally_gauge(first, LAB_WORKER_BUSY, 1, 0);
	lab_tally_gauge(first, LAB_WORKER_BUSY, -1, 3 * MS);
	lab_tally_departure(first, 3 * MS);
	lab_meter_leave(&meter, first);
	assert_ptr_equal(lab_meter_join(&meter), first);
	lab_tally_departure(first, 5 * MS);
	lab_meter_read(&meter, 10 * MS, &totals);
	assert_int_equal(totals.area_ns[LAB_WORKER_BUSY], 3 * MS);
	assert_int_equal(totals.count[LAB_DEPARTURES], 2);
	assert_int_equal(totals.count[LAB_RESIDENCE_NS], 8 * MS);
	assert_int_equal(totals.bucket[lab_bucket_index(3 * MS)], 1);
	lab_meter_done(&meter);
}

/* Clock of the test below: far from zero, so that a level read without its moment is off by at least BASE_NS. */
#define BASE_NS 1000000000000000ull

static void *change_level(void *arg)
{
	struct lab_tally *tally = arg;

	for (int i = 0; i < 200000; i++)
		lab_tally_gauge(tally, LAB_QUEUE, i % 2 ? -1 : 1, BASE_NS + lab_now_ns());
	return NULL;
}

/* While two threads raise and lower a level, no reading mixes the level of one moment with the integral of another. A thread that
 * is preempted between looking at the clock and writing moves a reading by that pause: hence the generous second. */
static void readings_never_tear(void **state)
{
	struct lab_meter meter;
	struct lab_totals totals = { .now_ns = 0 };
	pthread_t thread[2];
	const uint64_t start_ns = BASE_NS + lab_now_ns(), second_ns = 1000 * MS;

	(void)state;
	lab_meter_init(&meter);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, change_level, lab_meter_join(&meter)), 0);
	for (int i = 0; i < 2000; i++) {
		const uint64_t now_ns = BASE_NS + lab_now_ns();

		lab_meter_read(&meter, now_ns, &totals);
		assert_true(totals.area_ns[LAB_QUEUE] + second_ns <= 2 * (now_ns - start_ns) + 2 * second_ns);
		assert_true(totals.level[LAB_QUEUE] >= 0 && totals.level[LAB_QUEUE] <= 2);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	lab_meter_read(&meter, BASE_NS + lab_now_ns(), &totals);
	assert_int_equal(totals.level[LAB_QUEUE], 0);
	lab_meter_done(&meter);
}

static void buckets_tile_the_axis(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LAB_BUCKETS; i++) {
		const uint64_t low = lab_bucket_lower_ns(i), high = lab_bucket_lower_ns(i + 1);

		assert_true(high > low);
		assert_int_equal(lab_bucket_index(low), i);
		assert_int_equal(lab_bucket_index(high - 1), i);
		if (i >= 8)
			assert_true((double)(high - low) / (double)low <= 0.1251); /* 8 buckets an octave */
	}
	assert_int_equal(lab_bucket_index(UINT64_MAX), LAB_BUCKETS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(area_across_tallies),
		cmocka_unit_test(area_survives_wrap),
		cmocka_unit_test(left_tally_stays_counted),
		cmocka_unit_test(readings_never_tear),
		cmocka_unit_test(buckets_tile_the_axis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
