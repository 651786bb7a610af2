/* The host's run-queue row: /proc/schedstat where the kernel has it, a reason where nothing tells. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../src/source/delay_internal.h"
#include "check.h"
#include "useprobe/collector.h"

extern const struct up_collector up_collector_host_run_queue;

static void recorded_tree_says_why(void **state)
{
	struct up_env env = { 0 };
	max_align_t raw[256];

	(void)state;
	assert_true(up_collector_host_run_queue.raw_bytes <= sizeof(raw));
	assert_int_equal(up_collector_host_run_queue.read(&env, NULL, NULL, raw), -ENOENT);
	assert_string_equal(env.error, "a recorded tree holds no run-queue wait");
	assert_int_equal(up_collector_host_run_queue.per, UP_PER_HOST);
}

static void host_file(void **state)
{
	char top[] = "/tmp/up-host-XXXXXX", command[256];
	struct up_delay_account account = { 0 };
	struct up_source source;
	struct up_arena arena;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(up_source_open(&source, top), 0);
	assert_int_equal(up_arena_init(&arena), 0);
	assert_int_equal(up_delay_read_host_file(&account, &source, &arena), -ENOENT);
	snprintf(command, sizeof(command),
		"mkdir %s/proc; printf 'version 17\\ntimestamp 1\\ncpu0 0 0 0 0 0 0 70 11 3\\n' >%s/proc/schedstat", top, top);
	assert_int_equal(system(command), 0);
	assert_int_equal(up_delay_read_host_file(&account, &source, &arena), 0);
	assert_true(account.sample.wait_ns.n == 11 && account.sample.on_cpu_ns.n == 70 && account.sample.waits.n == 3);
	assert_false(account.sample.lower_bound);
	up_arena_done(&arena);
	up_source_close(&source);
	snprintf(command, sizeof(command), "rm -r %s", top);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_tree_says_why),
		cmocka_unit_test(host_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
