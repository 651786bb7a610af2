/* Partition of the requests inside a target: what each row gives, what follows from what is left, and that it always adds up. */
#include "check.h"

#include <stdlib.h>

#include "tape.h"
#include "useprobe/states.h"

#define LISTENER "tcp:0.0.0.0:8080"
#define PEER "10.0.0.2:5433"

/* N requests inside for four seconds, 100 requests/s, the rows that ADD puts beside them. */
static struct up_states states_with(double n, void (*add)(struct tape *tape, int second))
{
	static struct up_states states;
	struct up_subject subject;
	struct tape tape;

	tape_init(&tape);
	for (int second = 0; second < 4; second++) {
		/* The load moves, so that a pool of threads can be seen to follow it. */
		tape_requests(&tape, LISTENER, n * (0.7 + 0.2 * second), 100, 100, n / 10);
		add(&tape, second);
		tape_tick(&tape);
	}
	assert_int_equal(up_subjects(&tape.recording, &subject, 1), 1);
	up_states_compute(&tape.recording, &subject, tape_us(0), tape_us(4), &states);
	tape_done(&tape);
	assert_true(states.known);
	assert_near(states.x_per_s, 100, 1e-3, "departures per second");
	return states;
}

static double sum_of(const struct up_states *states)
{
	double sum = 0;

	for (int i = 0; i < UP_REQUEST_STATES; i++) {
		assert_true(states->state[i] >= 0);
		sum += states->state[i];
	}
	return sum;
}

static void add_nothing(struct tape *tape, int second)
{
	(void)tape;
	(void)second;
}

static void test_unexplained_is_the_rest(void **state)
{
	const struct up_states s = states_with(20, add_nothing);

	(void)state;
	assert_near(s.n, 20, 1e-3, "in flight");
	assert_near(s.residence_ms, 200, 0.1, "20 requests at 100/s");
	assert_near(s.state[UP_IN_SOCKET], 2, 1e-3, "unread");
	assert_near(s.state[UP_IN_UNEXPLAINED], 18, 1e-3, "nothing else was measured");
}

static void add_accept_queue(struct tape *tape, int second)
{
	(void)second;
	tape_row(tape, UP_SCOPE_LISTENER, "listen", LISTENER, 0.1, 60, 6);
}

/* Six wait to be accepted with their request behind them: the kernel's count of unread requests has them too. */
static void test_nobody_waits_twice(void **state)
{
	const struct up_states s = states_with(80, add_accept_queue);

	(void)state;
	assert_near(s.n, 80, 1e-3, "in flight");
	assert_near(s.state[UP_IN_ACCEPT_QUEUE], 6, 1e-3, "not accepted");
	assert_near(s.state[UP_IN_SOCKET], 2, 1e-3, "of eight unread ones");
}

static void add_full_pool(struct tape *tape, int second)
{
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/worker-", 0.97 + 0.01 * second, 8, NAN);
	tape_row(tape, UP_SCOPE_CGROUP, "cpu", "/api", 0.25, 2, 0.5);
	tape_row(tape, UP_SCOPE_CGROUP, "run-queue", "/api", NAN, NAN, 0.25);
	tape_row(tape, UP_SCOPE_PROCESS, "lock", "api[7]", NAN, NAN, 1);
	tape_dependency(tape, PEER, 16, 4, 100);
}

static void test_full_pool_has_the_rest_in_front(void **state)
{
	const struct up_states s = states_with(20, add_full_pool);

	(void)state;
	assert_true(s.owner != SIZE_MAX);
	assert_near(
		s.state[UP_IN_WORKER_QUEUE], 20 - 2 - 8 * 0.985, 0.01, "what the threads do not hold and the socket does not");
	assert_near(s.state[UP_IN_THROTTLED], 0.5, 1e-3, "throttled");
	assert_near(s.state[UP_IN_RUNNABLE], 0.25, 1e-3, "runnable");
	assert_near(s.state[UP_IN_RUNNING], 0.5, 1e-3, "a quarter of two CPUs");
	assert_near(s.state[UP_IN_LOCK], 1, 1e-3, "lock");
	assert_near(s.state[UP_IN_DEPENDENCY], 4, 1e-3, "queries under way");
	assert_near(s.state[UP_IN_POOL_WAIT], 0, 1e-9, "connections are free: nobody waits for one");
	assert_near(s.state[UP_IN_UNEXPLAINED], 8 * 0.985 - 6.25, 0.01, "threads that hold a request and are nowhere");
}

static void add_half_pool(struct tape *tape, int second)
{
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/worker-", 0.5 + 0.02 * second, 8, NAN);
}

static void test_half_full_pool_has_no_queue(void **state)
{
	const struct up_states s = states_with(20, add_half_pool);

	(void)state;
	assert_near(s.state[UP_IN_WORKER_QUEUE], 0, 1e-9, "threads are free: nothing waits for them");
}

static void add_full_connections(struct tape *tape, int second)
{
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/worker-", 0.1 + 0.05 * second, 100, NAN);
	tape_row(tape, UP_SCOPE_CGROUP, "cpu", "/api", 0.25, 2, 0);
	/* Those that wait for a connection are seen asleep on a futex. */
	tape_row(tape, UP_SCOPE_PROCESS, "lock", "api[7]", NAN, NAN, 13);
	tape_dependency(tape, PEER, 4, 4, 100);
}

static void test_pool_wait_takes_from_lock(void **state)
{
	const struct up_states s = states_with(20, add_full_connections);

	(void)state;
	assert_near(s.state[UP_IN_DEPENDENCY], 4, 1e-3, "all connections in use");
	assert_near(s.state[UP_IN_POOL_WAIT], 17.5 - 4.5, 0.01,
		"the threads' requests without those at the dependency and on the CPU");
	assert_near(s.state[UP_IN_LOCK], 0, 1e-3, "the same threads are not counted twice");
}

static void add_growing_connections(struct tape *tape, int second)
{
	tape_dependency(tape, PEER, 4 + second, 4 + second, 100);
}

static void test_growing_connections_are_no_pool(void **state)
{
	const struct up_states s = states_with(20, add_growing_connections);

	(void)state;
	assert_near(s.state[UP_IN_POOL_WAIT], 0, 1e-9, "a connection for each request is no pool that is full");
}

static void add_event_loop(struct tape *tape, int second)
{
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "node[7]/node", 0.2 + 0.05 * second, 1, NAN);
	tape_dependency(tape, PEER, 10, 10, 100);
}

static void test_event_loop(void **state)
{
	const struct up_states s = states_with(20, add_event_loop);
	bool service = false;

	(void)state;
	assert_near(
		s.state[UP_IN_POOL_WAIT], 8, 0.01, "no thread holds a request while that waits: N - unread - at the dependency");
	for (size_t i = 0; i < s.n_stations; i++)
		service = service || s.at[i].kind == UP_STATION_SERVICE;
	assert_true(service);
}

static void add_decoys(struct tape *tape, int second)
{
	(void)second;
	tape_row(tape, UP_SCOPE_CGROUP, "cpu", "/api", 0.9, 32, 8);
	tape_dependency(tape, PEER, 8, 4, 100);
}

static void test_threads_are_scaled(void **state)
{
	const struct up_states s = states_with(20, add_decoys);

	(void)state;
	assert_near(s.thread_scale, 14 / 36.8, 1e-3, "36.8 threads for 14 requests");
	assert_near(s.state[UP_IN_DEPENDENCY], 4, 1e-3, "counted by events: not scaled");
	assert_near(s.state[UP_IN_UNEXPLAINED], 0, 1e-6, "nothing left");
	assert_near(sum_of(&s), s.n, 1e-6, "sum");
}

static void add_frozen(struct tape *tape, int second)
{
	add_full_pool(tape, second);
	tape_full_row(tape, &(struct up_row){ .scope = UP_SCOPE_CGROUP,
				    .resource = "frozen",
				    .name = "/api",
				    .saturation = up_value(second < 2 ? 1 : 0),
				    .saturation_unit = "ratio" });
}

static void test_frozen_comes_first(void **state)
{
	const struct up_states s = states_with(20, add_frozen);

	(void)state;
	assert_near(s.state[UP_IN_FROZEN], 10, 1e-3, "half of the time");
	assert_near(sum_of(&s), s.n, 1e-6, "sum");
}

static void add_prefork(struct tape *tape, int second)
{
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "py[7]/py", 0.5 + 0.15 * second, 1, NAN);
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "py[8]/py", 0.5 + 0.15 * second, 1, NAN);
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "helper[9]/py", 0.1, 1, NAN);
}

static void test_processes_of_one_name_are_one_pool(void **state)
{
	const struct up_states s = states_with(20, add_prefork);

	(void)state;
	assert_true(s.owner != SIZE_MAX);
	assert_near(s.at[s.owner].servers, 2, 1e-6, "two processes");
	assert_near(s.at[s.owner].busy, 1.45, 1e-3, "busy of both");
}

static void test_unsettled(void **state)
{
	struct up_subject subject;
	struct up_states s;
	struct tape tape;

	(void)state;
	tape_init(&tape);
	for (int second = 0; second < 5; second++) {
		tape_requests(&tape, LISTENER, 50, 200, 100, 0);
		tape_tick(&tape);
	}
	assert_int_equal(up_subjects(&tape.recording, &subject, 1), 1);
	up_states_compute(&tape.recording, &subject, tape_us(0), tape_us(5), &s);
	tape_done(&tape);
	assert_false(s.settled);
	assert_near(s.residence_lo_ms, 250, 0.01, "area by the larger count");
	assert_near(s.residence_hi_ms, 500, 0.01, "area by the smaller count");
}

static void test_accept_queue_is_inside(void **state)
{
	struct up_subject subject;
	struct up_states s;
	struct tape tape;

	(void)state;
	tape_init(&tape);
	for (int second = 0; second < 5; second++) {
		tape_requests(&tape, LISTENER, 10, 100, 100, 0);
		tape_row(&tape, UP_SCOPE_LISTENER, "listen", LISTENER, 0.9, 6, 5);
		tape_tick(&tape);
	}
	assert_int_equal(up_subjects(&tape.recording, &subject, 1), 1);
	up_states_compute(&tape.recording, &subject, tape_us(0), tape_us(5), &s);
	tape_done(&tape);
	assert_near(s.n, 15, 1e-3, "accepted and not accepted");
	assert_near(s.state[UP_IN_ACCEPT_QUEUE], 5, 1e-3, "not accepted");
}

/* Whatever the rows say, the parts are not negative and add up to N. */
static void test_always_adds_up(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct up_subject subject;
		struct up_states s;
		struct tape tape;
		double r[12];

		tape_init(&tape);
		for (int second = 0; second < 3; second++) {
			for (size_t i = 0; i < UP_COUNT(r); i++)
				r[i] = (rand_r(&seed) % 5 == 0)
					       ? 0
					       : (double)(rand_r(&seed) % 1000) / (rand_r(&seed) % 2 ? 10 : 1000);
			tape_requests(&tape, LISTENER, r[0], r[1], r[2], r[3]);
			tape_row(
				&tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/w", r[4] / 50, 8, rand_r(&seed) % 2 ? NAN : r[5]);
			tape_row(&tape, UP_SCOPE_CGROUP, "cpu", "/api", r[6] / 50, 2, r[7]);
			tape_row(&tape, UP_SCOPE_CGROUP, "run-queue", "/api", NAN, NAN, r[8]);
			tape_row(&tape, UP_SCOPE_PROCESS, "lock", "api[7]", NAN, NAN, r[9]);
			tape_row(&tape, UP_SCOPE_LISTENER, "listen", LISTENER, 0.9, 6, r[5]);
			tape_dependency(&tape, PEER, r[10], r[10] * (rand_r(&seed) % 2 ? 1 : 0.5), r[11]);
			if (rand_r(&seed) % 2)
				tape_row(&tape, UP_SCOPE_PROCESS, "connection-pool", "api[7]/" PEER, 1, 8, r[9]);
			tape_tick(&tape);
		}
		assert_int_equal(up_subjects(&tape.recording, &subject, 1), 1);
		up_states_compute(&tape.recording, &subject, tape_us(0), tape_us(3), &s);
		assert_near(sum_of(&s), s.n, 1e-6 * (1 + s.n), "sum of the states");
		tape_done(&tape);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unexplained_is_the_rest),
		cmocka_unit_test(test_nobody_waits_twice),
		cmocka_unit_test(test_full_pool_has_the_rest_in_front),
		cmocka_unit_test(test_half_full_pool_has_no_queue),
		cmocka_unit_test(test_pool_wait_takes_from_lock),
		cmocka_unit_test(test_growing_connections_are_no_pool),
		cmocka_unit_test(test_event_loop),
		cmocka_unit_test(test_threads_are_scaled),
		cmocka_unit_test(test_frozen_comes_first),
		cmocka_unit_test(test_processes_of_one_name_are_one_pool),
		cmocka_unit_test(test_unsettled),
		cmocka_unit_test(test_accept_queue_is_inside),
		cmocka_unit_test(test_always_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
