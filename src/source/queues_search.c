/* Which files the probes of --queue have to be on: those of the targets' processes, looked for again while the run goes on. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queues_internal.h"
#include "useprobe/clock.h"

#define SEARCH_NS (2 * UP_NS_PER_S)

static bool have_file(const struct up_queues *queues, size_t spec, const struct stat *of)
{
	for (size_t i = 0; i < queues->file_count; i++)
		if (queues->files[i].spec == spec && queues->files[i].device == of->st_dev &&
			queues->files[i].inode == of->st_ino)
			return true;
	return false;
}

static int try_process(struct up_queues *queues, size_t spec, pid_t pid)
{
	char message[UP_QUEUE_REASON] = "";
	struct stat stat_buffer;
	int fd, r = queue_open_file(queues->source, &queues->specs[spec], pid, &fd);

	if (r < 0) {
		snprintf(message, sizeof(message), "%s: %s",
			queues->specs[spec].kind == UP_QUEUE_LIBUV ? "/proc/PID/exe" : queues->specs[spec].binary, strerror(-r));
	} else {
		if (fstat(fd, &stat_buffer) == 0 && have_file(queues, spec, &stat_buffer)) {
			r = 0;
		} else if (queues->file_count == UP_QUEUE_FILES) {
			r = -ENOSPC;
			snprintf(message, sizeof(message), "more than %d files", UP_QUEUE_FILES);
		} else {
			r = queue_attach(queues->skeleton, &queues->specs[spec], spec, fd, &queues->costs,
				&queues->files[queues->file_count], message, sizeof(message));
			if (r == 0) {
				queues->file_count++;
				queues->probed_ns[spec] = up_clock_real.mono_ns(NULL);
			}
		}
		close(fd);
	}
	if (r < 0 && !queues->errors[spec]) {
		queues->errors[spec] = r;
		snprintf(queues->reasons[spec], UP_QUEUE_REASON, "%s", message);
	}
	return r;
}

static void search(struct up_queues *queues, const struct up_targets *targets, struct up_arena *arena)
{
	memset(queues->errors, 0, sizeof(queues->errors));
	for (size_t s = 0; targets->count == 0 && s < queues->spec_count; s++) {
		if (queues->specs[s].kind == UP_QUEUE_FUNCTIONS)
			(void)try_process(queues, s, 0);
	}
	for (size_t t = 0; t < targets->count; t++) {
		pid_t *pids;
		size_t count;

		if (!targets->items[t].present || up_target_pids(&targets->items[t], queues->source, arena, &pids, &count) < 0)
			continue;
		for (size_t s = 0; s < queues->spec_count; s++)
			for (size_t i = 0; i < count && i < UP_QUEUE_SEARCH_PIDS; i++)
				(void)try_process(queues, s, pids[i]);
	}
}

/* Changes when a target comes, goes or comes back. */
static uint64_t signature_of(const struct up_targets *targets)
{
	uint64_t signature = targets->count + 1;

	for (size_t i = 0; i < targets->count; i++)
		signature = signature * 31 + 2 * targets->items[i].generation + targets->items[i].present;
	return signature;
}

void queue_keep_up(struct up_queues *queues, const struct up_targets *targets, struct up_arena *arena)
{
	const uint64_t now_ns = up_clock_real.mono_ns(NULL), signature = signature_of(targets);
	const bool changed = signature != queues->signature;

	if (changed)
		up_match_write(
			&queues->match, bpf_map__fd(queues->skeleton->maps.groups), &queues->skeleton->bss->match, targets);
	queues->signature = signature;
	if (changed || now_ns - queues->searched_ns >= SEARCH_NS) {
		search(queues, targets, arena);
		queues->searched_ns = now_ns;
	}
}
