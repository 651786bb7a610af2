/* The lines of /proc that snapshots of threads are made of. */
#include <errno.h>

#include "../../src/source/task_walk_proc.h"
#include "check.h"

#define STAT_TAIL                                                                                                                \
	" 1 4242 4242 0 -1 4194560 100 0 0 0 25 17 0 0 20 0 9 0 123456 1000 200 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 "  \
	"0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static void lines_of_stat(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint32_t kernel_state;
		const char *comm;
		const char *why;
	} cases[] = {
		{ "4242 (java) S" STAT_TAIL, 0, 1, "java", "asleep" },
		{ "4242 (a) R (b) D" STAT_TAIL, 0, 2, "a) R (b", "a name with what looks like the end of it" },
		{ "4242 (pool-1-thread-17) R" STAT_TAIL, 0, 0, "pool-1-thread-1", "a name longer than the kernel's" },
		{ "4242 (sh) Z" STAT_TAIL, -ESRCH, 0, NULL, "ended" },
		{ "4242 (sh S" STAT_TAIL, -EBADMSG, 0, NULL, "no end of the name" },
		{ "4242 (sh) S 1 2\n", -EBADMSG, 0, NULL, "too few fields" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_task_record record = { 0 };
		const int r = up_proc_task_stat(cases[i].text, 10000000, &record);

		if (r != cases[i].result)
			fail_msg("%s: %d, expected %d", cases[i].why, r, cases[i].result);
		if (r < 0)
			continue;
		assert_int_equal(record.state, cases[i].kernel_state);
		assert_string_equal(record.comm, cases[i].comm);
		assert_true(record.exec_ns == 420000000);
		assert_true(record.start_ns == 1234560000000);
	}
}

static void lines_of_syscall(void **state)
{
	static const struct {
		const char *text;
		int result;
		int64_t syscall;
		uint64_t arg;
	} cases[] = {
		{ "running\n", 0, -1, 0 },
		{ "-1 0x7ffc 0x7f00\n", 0, -1, 0 },
		{ "202 0x7f0000001234 0x80 0x0 0x0 0x0 0xffffffff 0x7ffc 0x7f00\n", 0, 202, 0x7f0000001234 },
		{ "202 0x7f00000012", -EBADMSG, 0, 0 },
		{ "202 7f0000001234 \n", -EBADMSG, 0, 0 },
		{ "", -EBADMSG, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_task_record record = { 0 };

		if (up_proc_task_syscall(cases[i].text, &record) != cases[i].result)
			fail_msg("%s", cases[i].text);
		if (cases[i].result == 0) {
			assert_true(record.syscall == cases[i].syscall);
			assert_true(record.arg == cases[i].arg);
		}
	}
}

static void every_prefix_is_an_error(void **state)
{
	static const char stat[] = "4242 (a) R (b) D" STAT_TAIL;
	static const char syscall[] = "202 0x7f0000001234 0x80 0x0 0x0 0x0 0xffffffff 0x7ffc 0x7f00\n";
	char text[512];

	(void)state;
	for (size_t len = 0; len + 1 < sizeof(stat); len++) {
		struct up_task_record record;

		snprintf(text, sizeof(text), "%.*s", (int)len, stat);
		assert_int_equal(up_proc_task_stat(text, 1, &record), -EBADMSG);
	}
	for (size_t len = 0; len + 1 < sizeof(syscall); len++) {
		struct up_task_record record;

		snprintf(text, sizeof(text), "%.*s", (int)len, syscall);
		assert_int_equal(up_proc_task_syscall(text, &record), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_stat),
		cmocka_unit_test(lines_of_syscall),
		cmocka_unit_test(every_prefix_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
