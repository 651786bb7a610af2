/* What a thread does by its state and call; threads in block I/O and memory stalls summed by target. */
#include <sys/syscall.h>

#include "../../src/source/bpf_match.h"
#include "../../src/source/task_doing.h"
#include "check.h"
#include "useprobe/task_sums.h"

#define S 1000000000ull

static void what_a_thread_does(void **state)
{
	static const struct {
		uint32_t kernel_state;
		bool on_cpu, in_iowait, in_memstall;
		long syscall;
		enum up_doing doing;
		const char *why;
		unsigned held_up;
	} cases[] = {
		{ 0, true, false, false, SYS_fsync, UP_DOING_RUNNING, "on a CPU, whatever call it is in", 0 },
		{ 0, false, false, false, SYS_fsync, UP_DOING_RUNNABLE, "the device has answered, a CPU has not", 0 },
		{ 2, false, true, false, SYS_fsync, UP_DOING_DISK, "waits for pages of the file", 0 },
		{ 2, false, false, false, SYS_fsync, UP_DOING_DISK, "fsync waits for the journal without in_iowait", 0 },
		{ 2, false, false, false, SYS_pwrite64, UP_DOING_DISK, "waits for the lock of the file", 0 },
		{ 2, false, true, false, -1, UP_DOING_DISK, "a page fault that reads a mapped file", 0 },
		{ 2, false, false, false, -1, UP_DOING_BLOCKED, "a page fault that waits for the lock of the mapping", 0 },
		{ 0x102, false, false, false, SYS_mmap, UP_DOING_BLOCKED, "killable: the lock of the mapping", 0 },
		{ 0x102, false, false, false, SYS_clone, UP_DOING_BLOCKED, "vfork waits for its child", 0 },
		{ 0x402, false, false, false, -1, UP_DOING_IDLE, "an idle kernel thread is no load", 0 },
		{ 1, false, true, false, SYS_io_uring_enter, UP_DOING_IDLE, "io_uring marks waits for sockets too", 0 },
		{ 1, false, false, false, SYS_recvfrom, UP_DOING_SOCKET, "", 0 },
		{ 1, false, false, false, SYS_futex, UP_DOING_IDLE, "which futex it is, is found later", 0 },
		{ 1, false, false, false, SYS_clock_nanosleep, UP_DOING_SLEEP, "", 0 },
		{ 2, false, true, true, SYS_pread64, UP_DOING_MEMORY, "a page that was dropped is read again", 0 },
		{ 0x102, false, false, true, SYS_brk, UP_DOING_MEMORY, "made to sleep by memory.high", 0 },
		{ 0, true, false, true, SYS_brk, UP_DOING_RUNNING, "takes memory back itself", 0 },
		{ 0, false, false, false, SYS_futex, UP_DOING_RUNNING, "ran until the walk took its CPU", UP_TASK_PREEMPTED },
		{ 0, false, true, false, SYS_pread64, UP_DOING_DISK, "its I/O ended during the walk", UP_TASK_WOKEN },
		{ 0, false, false, false, SYS_fsync, UP_DOING_DISK, "so did its journal commit", UP_TASK_WOKEN },
		{ 0, false, false, false, SYS_read, UP_DOING_SOCKET, "its peer wrote during the walk", UP_TASK_WOKEN },
		{ 0, false, true, true, SYS_pread64, UP_DOING_MEMORY, "its page came during the walk", UP_TASK_WOKEN },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_task_record record = {
			.state = cases[i].kernel_state,
			.on_cpu = cases[i].on_cpu,
			.in_iowait = cases[i].in_iowait,
			.in_memstall = cases[i].in_memstall,
			.syscall = cases[i].syscall,
			.held_up = (uint8_t)cases[i].held_up,
			.arg = 0x7000,
		};
		struct up_thread thread;

		up_thread_of_record(&record, &thread);
		if (thread.doing != cases[i].doing)
			fail_msg("case %zu (%s): %s, expected %s", i, cases[i].why, up_doing_name(thread.doing),
				up_doing_name(cases[i].doing));
		assert_int_equal(thread.in_memstall, cases[i].in_memstall);
		assert_true(thread.futex == (cases[i].doing == UP_DOING_IDLE && cases[i].syscall == SYS_futex ? 0x7000 : 0));
	}
}

static void threads_are_summed_by_target(void **state)
{
	const uint32_t members[UP_TARGETS_MAX] = { [0] = 1u << 0, [1] = 1u << 1 | 1u << 2, [2] = 1u << 2 };
	const struct up_thread threads[] = {
		{ .pid = 1, .target = 1, .doing = UP_DOING_DISK },
		{ .pid = 2, .target = 2, .doing = UP_DOING_DISK },
		{ .pid = 3, .target = 2, .doing = UP_DOING_MEMORY, .in_memstall = true },
		{ .pid = 4, .target = 2, .doing = UP_DOING_RUNNING, .in_memstall = true },
		{ .pid = 5, .target = 2, .doing = UP_DOING_RUNNING },
		{ .pid = 6, .target = 99, .doing = UP_DOING_DISK },
	};
	struct up_task_sums sums = { 0 };

	(void)state;
	up_task_sums_fold(&sums, members, threads, UP_COUNT(threads), 5 * S);
	assert_true(sums.stalls[1][UP_STALL_DISK].area_ns == 0);
	assert_int_equal(sums.stalls[1][UP_STALL_DISK].most, 2);
	up_task_sums_fold(&sums, members, threads, UP_COUNT(threads), 7 * S);
	assert_true(sums.stalls[0][UP_STALL_DISK].area_ns == 0);
	assert_true(sums.stalls[1][UP_STALL_DISK].area_ns == 4 * S);
	assert_true(sums.stalls[2][UP_STALL_DISK].area_ns == 2 * S);
	assert_true(sums.stalls[2][UP_STALL_MEMORY].area_ns == 4 * S);
	assert_true(sums.stalls[2][UP_STALL_MEMORY].running_area_ns == 2 * S);
	/* Nobody left: the level falls, the integral stays. */
	up_task_sums_fold(&sums, members, threads, 0, 8 * S);
	assert_true(sums.stalls[1][UP_STALL_DISK].area_ns == 4 * S);
}

static void a_target_has_what_lies_inside_it(void **state)
{
	static const struct {
		enum up_target_kind kind;
		const char *path;
		bool present;
		uint32_t members;
	} cases[] = {
		{ UP_TARGET_CGROUP, "/a", true, 1u << 0 | 1u << 1 | 1u << 4 },
		{ UP_TARGET_CGROUP, "/a/b", true, 1u << 1 | 1u << 4 },
		{ UP_TARGET_CGROUP, "/ab", true, 1u << 2 },
		{ UP_TARGET_CGROUP, "/a/gone", false, 1u << 3 },
		{ UP_TARGET_PID, "/a/b", true, 1u << 4 },
		{ UP_TARGET_CGROUP, "/", true, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 },
	};
	static struct up_targets targets;
	uint32_t members[UP_TARGETS_MAX];

	(void)state;
	targets.count = UP_COUNT(cases);
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		targets.items[i].kind = cases[i].kind;
		targets.items[i].cgroup.path[0] = (char *)(uintptr_t)cases[i].path;
		targets.items[i].present = cases[i].present;
	}
	up_match_members(&targets, members);
	for (size_t i = 0; i < UP_COUNT(cases); i++)
		if (members[i] != cases[i].members)
			fail_msg("%s: members 0x%x, expected 0x%x", cases[i].path, members[i], cases[i].members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_thread_does),
		cmocka_unit_test(threads_are_summed_by_target),
		cmocka_unit_test(a_target_has_what_lies_inside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
