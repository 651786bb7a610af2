/* Is what --queue says to be found where it will be looked for? Asked once, before the run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queues_internal.h"

#define WHY (UP_QUEUE_PATH + UP_QUEUE_SYMBOL + 128)

/* 0; -ESRCH when PID has no file of its own (it ended, or is a thread of the kernel); another -errno with a sentence in WHY. */
static int check_process(
	const struct up_source *source, const struct up_queue_spec *spec, pid_t pid, bool of_target, char *why, size_t size)
{
	struct queue_point points[UP_QUEUE_POINTS];
	struct up_elf_function functions[UP_QUEUE_POINTS] = { 0 };
	const size_t count = queue_points(spec, points);
	const bool libuv = spec->kind == UP_QUEUE_LIBUV;
	int fd, r = queue_open_file(source, spec, pid, &fd);

	if (r == -ESRCH || (r == -ENOENT && libuv))
		return -ESRCH;
	if (r < 0) {
		snprintf(why, size, "%s%s: %s", libuv ? "/proc/PID/exe" : spec->binary,
			of_target && !libuv ? " as the target sees it" : "", strerror(-r));
		return r;
	}
	r = queue_find_points(fd, spec, points, count, functions, why, size);
	close(fd);
	return r;
}

int up_queues_check(const struct up_source *source, const struct up_targets *targets, struct up_arena *arena,
	const struct up_queue_spec *spec, char *message, size_t size)
{
	int first = 0;

	if (source->recorded || spec->kind == UP_QUEUE_SELF)
		return 0;
	if (targets->count == 0 && spec->kind == UP_QUEUE_LIBUV) {
		snprintf(message, size, "libuv is looked for in the processes of a target: name one with -c or -p");
		return -EINVAL;
	}
	if (targets->count == 0)
		return check_process(source, spec, 0, false, message, size);
	for (size_t t = 0; t < targets->count; t++) {
		size_t count = 0;
		pid_t *pids;

		if (!targets->items[t].present || up_target_pids(&targets->items[t], source, arena, &pids, &count) < 0)
			continue;
		/* One process that has it will do; else the first complaint is the one to hear. */
		for (size_t i = 0; i < count && i < UP_QUEUE_SEARCH_PIDS; i++) {
			char why[WHY];
			const int r = check_process(source, spec, pids[i], true, why, sizeof(why));

			if (r == 0)
				return 0;
			if (r == -ESRCH || first != 0)
				continue;
			first = r;
			snprintf(message, size, "%s", why);
		}
	}
	return first;
}
