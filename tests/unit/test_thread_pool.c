/* Folding snapshots into pools, and what "thread_pool" says without threads to look at. */
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
	assert_true(find(pools, "?[100]/job")->exec_ns == S);
	t.start_ns = 777;
	t.exec_ns = 3 * S;
	assert_int_equal(up_pools_fold(pools, &t, 1, 7 * S), 0);
	assert_true(find(pools, "?[100]/job")->exec_ns == S);
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
	assert_int_equal(find(pools, "?[100]/req")->threads, 2000);
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
		cmocka_unit_test(a_recorded_tree_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
