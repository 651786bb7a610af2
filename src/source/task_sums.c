#include "useprobe/task_sums.h"

struct counts {
	uint32_t threads, running; /* of one target in one snapshot */
};

static void add_thread(const struct up_thread *thread, struct counts ret[UP_STALL_COUNT])
{
	const bool running = thread->doing == UP_DOING_RUNNING || thread->doing == UP_DOING_RUNNABLE;

	if (thread->doing == UP_DOING_DISK)
		ret[UP_STALL_DISK].threads++;
	if (thread->in_memstall) {
		ret[UP_STALL_MEMORY].threads++;
		ret[UP_STALL_MEMORY].running += running;
	}
}

void up_task_sums_fold(struct up_task_sums *sums, const uint32_t members[UP_TARGETS_MAX], const struct up_thread *threads,
	size_t count, uint64_t mono_ns)
{
	const uint64_t dt_ns = sums->mono_ns && mono_ns > sums->mono_ns ? mono_ns - sums->mono_ns : 0;
	struct counts own[UP_TARGETS_MAX][UP_STALL_COUNT] = { 0 };

	for (size_t i = 0; i < count; i++)
		if (threads[i].target < UP_TARGETS_MAX)
			add_thread(&threads[i], own[threads[i].target]);
	for (size_t i = 0; i < UP_TARGETS_MAX; i++) {
		for (int s = 0; s < UP_STALL_COUNT; s++) {
			struct up_stall_sum *sum = &sums->stalls[i][s];
			struct counts all = { 0 };

			for (size_t j = 0; j < UP_TARGETS_MAX; j++) {
				if (!(members[i] >> j & 1))
					continue;
				all.threads += own[j][s].threads;
				all.running += own[j][s].running;
			}
			sum->area_ns += dt_ns * all.threads;
			sum->running_area_ns += dt_ns * all.running;
			if (all.threads > sum->most)
				sum->most = all.threads;
		}
	}
	sums->mono_ns = mono_ns;
}
