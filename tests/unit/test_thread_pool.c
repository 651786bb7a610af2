/* Folding snapshots into pools, and what "thread_pool" says without threads to look at. */
#include <time.h>

#include "check.h"
#include "rig.h"
#include "useprobe/thread_pools.h"

#define S 1000000000ull

static struct up_thread thread(uint32_t pid, const char *comm, enum up_doing doing, uint64_t futex)
{
	struct up_thread t = { .pid = pid, .tgid = 100, .start_ns = pid, .doing = doing, .futex = futex };

	snprintf(t.comm, sizeof(t.comm), "%s", comm);
	return t;
}

static const struct up_pool *find(const struct up_pools *pools, const char *name)
{
	size_t count;
	const struct up_pool *items = up_pools_get(pools, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(items[i].name, name) == 0)
			return &items[i];
	return NULL;
}

static void a_busy_thread_keeps_its_group(void **state)
{
	struct up_pools *pools;
	struct up_thread idle[] = { thread(100, "app", UP_DOING_IDLE, 0), thread(101, "worker-1", UP_DOING_IDLE, 0x1000),
		thread(102, "worker-2", UP_DOING_IDLE, 0x1004), thread(103, "worker-3", UP_DOING_IDLE, 0x1000) };
	struct up_thread busy[] = { idle[0], thread(101, "worker-1", UP_DOING_RUNNING, 0),
		thread(102, "worker-2", UP_DOING_IDLE, 0x9000), thread(103, "worker-3", UP_DOING_IDLE, 0x1000) };
	const struct up_pool *pool;

	(void)state;
	assert_int_equal(up_pools_new(&pools), 0);
	assert_int_equal(up_pools_fold(pools, idle, 4, 5 * S), 0);
	assert_int_equal(up_pools_fold(pools, busy, 4, 6 * S), 0);
	pool = find(pools, "app[100]/worker-");
	assert_non_null(pool);
	assert_int_equal(pool->threads, 3);
	assert_int_equal(pool->now[UP_DOING_RUNNING], 1);
	assert_int_equal(pool->now[UP_DOING_LOCK], 1);
	assert_int_equal(pool->now[UP_DOING_IDLE], 1);
	assert_true(pool->area_ns[UP_DOING_LOCK] == S);
	assert_true(pool->threads_area_ns == 3 * S);
	assert_non_null(find(pools, "app[100]/app"));
	up_pools_free(pools);
}

static void threads_of_one_name_divide_by_their_word(void **state)
{
	struct up_pools *pools;
	struct up_thread threads[] = { thread(100, "node", UP_DOING_IDLE, 0), thread(101, "node", UP_DOING_IDLE, 0x1000),
		thread(102, "node", UP_DOING_IDLE, 0x1000), thread(103, "node", UP_DOING_IDLE, 0x8000),
		thread(104, "node", UP_DOING_IDLE, 0x8004) };

	(void)state;
	assert_int_equal(up_pools_new(&pools), 0);
	assert_int_equal(up_pools_fold(pools, threads, 5, 5 * S), 0);
	assert_non_null(find(pools, "node[100]/node"));
	assert_non_null(find(pools, "node[100]/node#2"));
	assert_int_equal(find(pools, "node[100]/node#2")->threads, 2);
	up_pools_free(pools);
}

static void a_reused_pid_is_another_thread(void **state)
{
	struct up_pools *pools;
	struct up_thread t = thread(101, "job", UP_DOING_RUNNING, 0);

	(void)state;
	assert_int_equal(up_pools_new(&pools), 0);
	t.exec_ns = 50 * S;
	assert_int_equal(up_pools_fold(pools, &t, 1, 5 * S), 0);
	t.exec_ns = 51 * S;
	assert_int_equal(up_pools_fold(pools, &t, 1, 6 * S), 0);
	assert_true(find(pools, "job[100]/job")->exec_ns == S);
	t.start_ns = 777;
	t.exec_ns = 3 * S;
	assert_int_equal(up_pools_fold(pools, &t, 1, 7 * S), 0);
	assert_true(find(pools, "job[100]/job")->exec_ns == S);
	up_pools_free(pools);
}

static void ten_thousand_threads_come_and_go(void **state)
{
	static struct up_thread threads[2000];
	struct up_pools *pools;

	(void)state;
	assert_int_equal(up_pools_new(&pools), 0);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < UP_COUNT(threads); i++) {
			threads[i] = thread(1000 + round * 2000 + i, "req", UP_DOING_SOCKET, 0);
			threads[i].start_ns = round + 1;
		}
		assert_int_equal(up_pools_fold(pools, threads, UP_COUNT(threads), (round + 1) * S), 0);
	}
	assert_int_equal(up_pools_dropped(pools), 0);
	assert_int_equal(find(pools, "req[100]/req")->threads, 2000);
	up_pools_free(pools);
}

static void ten_thousand_words_take_no_time(void **state)
{
	static struct up_thread threads[10000];
	struct timespec from, to;
	struct up_pools *pools;

	(void)state;
	assert_int_equal(up_pools_new(&pools), 0);
	for (uint32_t i = 0; i < UP_COUNT(threads); i++)
		threads[i] = thread(1000 + i, "park", UP_DOING_IDLE, 0x10000 + 64 * i);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t round = 1; round <= 5; round++)
		assert_int_equal(up_pools_fold(pools, threads, UP_COUNT(threads), round * S), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	/* All pairs would be 250 million comparisons, a second and more; this is some 10 ms, 200 under a sanitizer. */
	assert_true(((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9) < 0.7);
	assert_true(find(pools, "park[100]/park")->word == 0);
	up_pools_free(pools);
}

static struct up_ended ended(uint32_t pid, uint32_t tgid, const char *comm, uint64_t start_ns, uint64_t exec_ns)
{
	struct up_ended e = { .pid = pid, .tgid = tgid, .start_ns = start_ns, .exec_ns = exec_ns };

	snprintf(e.comm, sizeof(e.comm), "%s", comm);
	return e;
}

static void threads_that_end_between_snapshots_are_counted(void **state)
{
	struct up_thread alive[] = { thread(100, "app", UP_DOING_IDLE, 0), thread(101, "req-1", UP_DOING_RUNNING, 0) };
	const struct up_pool *pool;
	struct up_pools *pools;
	struct up_ended e;

	(void)state;
	alive[0].start_ns = 1;
	alive[1].start_ns = 1;
	alive[1].exec_ns = 10 * S;
	assert_int_equal(up_pools_new(&pools), 0);
	assert_int_equal(up_pools_fold(pools, alive, 2, 100 * S), 0);
	/* Seen once, with 10 s before we came; it ended with 10.25 s. */
	e = ended(101, 100, "req-1", 1, 10 * S + S / 4);
	up_pools_end(pools, &e, 101 * S);
	/* Never seen: came after the first snapshot. */
	e = ended(102, 100, "req-2", 100 * S + 1, S / 8);
	up_pools_end(pools, &e, 101 * S);
	/* Told twice, or older than the first snapshot and not known: nothing of ours. */
	e = ended(103, 100, "req-3", 99 * S, 50 * S);
	up_pools_end(pools, &e, 101 * S);
	/* A new name in a process we know; a process that was in no snapshot. */
	e = ended(104, 100, "flush", 100 * S + 2, S / 16);
	up_pools_end(pools, &e, 101 * S);
	e = ended(200, 200, "sh", 100 * S + 3, S / 32);
	up_pools_end(pools, &e, 101 * S);
	e = ended(201, 201, "sh", 100 * S + 4, S / 32);
	up_pools_end(pools, &e, 101 * S);
	assert_int_equal(up_pools_fold(pools, alive, 1, 101 * S), 0);
	pool = find(pools, "app[100]/req-");
	assert_non_null(pool);
	assert_int_equal(pool->threads, 0);
	assert_int_equal(pool->ended, 2);
	assert_int_equal(pool->unseen, 1);
	assert_true(pool->exec_ns == S / 4 + S / 8);
	assert_true(find(pools, "app[100]/flush")->exec_ns == S / 16);
	pool = find(pools, "sh[*]/sh");
	assert_non_null(pool);
	assert_int_equal(pool->ended, 2);
	assert_true(pool->exec_ns == S / 16);
	/* Shown for two seconds, then no more. */
	assert_int_equal(up_pools_fold(pools, alive, 1, 104 * S), 0);
	assert_null(find(pools, "sh[*]/sh"));
	assert_non_null(find(pools, "app[100]/app"));
	assert_int_equal(up_pools_dropped(pools), 0);
	up_pools_free(pools);
}

/* Ten thousand processes one after the other, each seen in one snapshot: places are given again. */
static void a_fork_storm_fills_nothing(void **state)
{
	struct up_pools *pools;
	size_t count;

	(void)state;
	assert_int_equal(up_pools_new(&pools), 0);
	for (uint32_t round = 1; round <= 1000; round++) {
		struct up_thread threads[10];

		for (uint32_t i = 0; i < UP_COUNT(threads); i++) {
			const uint32_t pid = 1000 + round * 10 + i;

			threads[i] = thread(pid, "sh", UP_DOING_RUNNING, 0);
			threads[i].tgid = pid;
			threads[i].start_ns = round * S / 10;
			threads[i].exec_ns = S / 100;
			if (round > 1) {
				const struct up_ended e = ended(pid - 10, pid - 10, "sh", (round - 1) * S / 10, S / 50);

				up_pools_end(pools, &e, round * S / 10);
			}
		}
		assert_int_equal(up_pools_fold(pools, threads, UP_COUNT(threads), round * S / 10), 0);
	}
	assert_int_equal(up_pools_dropped(pools), 0);
	(void)up_pools_get(pools, &count);
	assert_true(count >= 10 && count <= 10 + 10 * 21);
	up_pools_free(pools);
}

static void a_recorded_tree_says_why(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "cpu_v2_own", "api", UP_NS_PER_S, "thread_pool");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "thread-pool", NULL)->state, UP_ABSENT);
	assert_non_null(strstr(rig_row(&rig, "thread-pool", NULL)->reason, "recorded tree"));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_thread_keeps_its_group),
		cmocka_unit_test(threads_of_one_name_divide_by_their_word),
		cmocka_unit_test(a_reused_pid_is_another_thread),
		cmocka_unit_test(ten_thousand_threads_come_and_go),
		cmocka_unit_test(ten_thousand_words_take_no_time),
		cmocka_unit_test(threads_that_end_between_snapshots_are_counted),
		cmocka_unit_test(a_fork_storm_fills_nothing),
		cmocka_unit_test(a_recorded_tree_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
