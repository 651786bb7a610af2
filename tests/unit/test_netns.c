/* The helper thread, and the text of a namespace link. Entering another namespace needs rights: tests/live. */
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/netns.h"

static int add_thread_id(void *arg)
{
	*(pid_t *)arg = gettid();
	return 42;
}

static void jobs_run_in_the_helper(void **state)
{
	struct up_netns_helper *helper;
	pid_t first = 0, second = 0;

	(void)state;
	assert_int_equal(up_netns_helper_new(&helper), 0);
	assert_int_equal(up_netns_run(helper, 0, 0, add_thread_id, &first), 42);
	assert_int_equal(up_netns_run(helper, 0, 0, add_thread_id, &second), 42);
	assert_true(first != 0 && first == second && first != gettid());
	/* A pid that cannot exist (PID_MAX_LIMIT). */
	assert_int_equal(up_netns_run(helper, 1 << 22, 0, add_thread_id, &first), -ENOENT);
	/* Another namespace than expected under that pid. */
	assert_int_equal(up_netns_run(helper, getpid(), 1, add_thread_id, &first), -ESTALE);
	up_netns_helper_free(helper);
	up_netns_helper_free(NULL);
}

static void links_are_whole_or_refused(void **state)
{
	static const char *const wrong[] = { "", "net:[", "net:[]", "net:[12", "net:[12]x", "mnt:[12]", "net:[0]", "net:[-1]",
		"net:[1 ]" };
	uint64_t inode = 0;

	(void)state;
	assert_int_equal(up_netns_parse("net:[4026531840]", &inode), 0);
	assert_int_equal(inode, 4026531840);
	for (size_t i = 0; i < UP_COUNT(wrong); i++)
		assert_int_equal(up_netns_parse(wrong[i], &inode), -EBADMSG);
}

static void pids_share_a_namespace(void **state)
{
	struct up_source source;
	struct up_netns_set set = { 0 };
	const pid_t pids[] = { getpid(), 1 << 22, getpid() };
	uint64_t own;

	(void)state;
	assert_int_equal(up_source_open(&source, NULL), 0);
	assert_int_equal(up_netns_of(&source, 0, &own), 0);
	up_netns_collect(&source, pids, UP_COUNT(pids), &set);
	assert_int_equal(set.count, 1);
	assert_int_equal(set.items[0].inode, own);
	assert_int_equal(set.items[0].pid, getpid());
	up_source_close(&source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_in_the_helper),
		cmocka_unit_test(links_are_whole_or_refused),
		cmocka_unit_test(pids_share_a_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
