/* descriptors - open files of the target's processes against their limit. Reads
 *   /proc/PID/fd: st_size is the number of descriptors since 6.2 (fs/proc/fd.c), before that the entries are counted
 *   /proc/PID/limits: "Max open files            1024                 1048576              files" (soft limit first)
 * The processes nearest to their limit are shown. A refused open (EMFILE) leaves no counter in the kernel, so errors stay empty. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "useprobe/collector.h"

#define ROWS_MAX 8
#define PROCESSES_MAX 512 /* asked per tick; beyond it the rest is said to be left out */

struct process {
	const char *name; /* "comm[pid]" */
	uint64_t used, limit;
};

struct raw {
	const char *label;
	struct process *top; /* [top_count], nearest to its limit first */
	size_t top_count;
	size_t processes, denied, left_out;
	size_t hidden; /* listed in the cgroup, but /proc does not show them */
};

/* Number of descriptors of a process; -errno. */
static int count_descriptors(const struct up_source *source, const char *path, uint64_t *ret)
{
	struct dirent *entry;
	struct stat st;
	uint64_t n = 0;
	DIR *dir;

	/* 0 means an older kernel or a process without any; counting tells which. */
	if (!source->recorded && fstatat(source->root_fd, path, &st, 0) == 0 && st.st_size > 0) {
		*ret = (uint64_t)st.st_size;
		return 0;
	}
	dir = up_source_opendir(source, path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
	closedir(dir);
	*ret = n;
	return 0;
}

static int scan_limit(const char *text, uint64_t *ret)
{
	const char *line;
	size_t len;

	while (up_scan_line(&text, &line, &len, NULL)) {
		if (!up_scan_literal(&line, "Max open files"))
			continue;
		up_scan_blanks(&line);
		if (up_scan_literal(&line, "unlimited ")) {
			*ret = 0;
			return 0;
		}
		return up_scan_u64(&line, ret) < 0 || *line != ' ' ? -EBADMSG : 0;
	}
	return -EBADMSG;
}

static int read_process(struct up_env *env, struct up_arena *arena, pid_t pid, struct process *ret)
{
	char path[64], *text, *comm;
	int r;

	snprintf(path, sizeof(path), "proc/%d/fd", (int)pid);
	r = count_descriptors(env->source, path, &ret->used);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "proc/%d/limits", (int)pid);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r < 0)
		return r;
	r = scan_limit(text, &ret->limit);
	if (r < 0)
		return up_fail(env, r, "/%s: no line \"Max open files\"", path);
	snprintf(path, sizeof(path), "proc/%d/comm", (int)pid);
	r = up_source_read(env->source, arena, path, &comm, NULL);
	if (r < 0)
		return r;
	ret->name = up_arena_printf(arena, "%.*s[%d]", (int)strcspn(comm, "\n"), comm, (int)pid);
	return ret->name ? 0 : -ENOSPC;
}

static double nearness(const struct process *process)
{
	return process->limit ? (double)process->used / (double)process->limit : 0;
}

/* Keeps the ROWS_MAX processes that are nearest to their limit, in order. */
static void keep(struct raw *raw, struct process process)
{
	size_t at = raw->top_count;

	while (at > 0 && nearness(&raw->top[at - 1]) < nearness(&process))
		at--;
	if (at == ROWS_MAX)
		return;
	if (raw->top_count < ROWS_MAX)
		raw->top_count++;
	memmove(&raw->top[at + 1], &raw->top[at], (raw->top_count - at - 1) * sizeof(process));
	raw->top[at] = process;
}

static int descriptors_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .top = up_arena_alloc(arena, ROWS_MAX * sizeof(*raw.top)) };
	char hidepid[32];
	pid_t *pids;
	size_t count;
	int r;

	(void)opaque;
	if (!raw.top)
		return -ENOSPC;
	r = up_target_pids(env->target, env->source, arena, &pids, &count);
	if (r < 0)
		return up_fail(env, r, "%s: its processes cannot be listed: %s", env->target->label, strerror(-r));
	for (size_t i = 0; i < count; i++) {
		struct process process = { 0 };

		if (i == PROCESSES_MAX) {
			raw.left_out = count - i;
			break;
		}
		r = read_process(env, arena, pids[i], &process);
		if (r == -EBADMSG || r == -ENOSPC)
			return r;
		raw.denied += r == -EACCES || r == -EPERM;
		raw.hidden += r == -ENOENT;
		if (r < 0)
			continue; /* ended between the list and the look, unless /proc hides them */
		raw.processes++;
		keep(&raw, process);
	}
	if (!raw.hidden || !up_source_hidepid(env->source, arena, hidepid, sizeof(hidepid)))
		raw.hidden = 0;
	if (raw.hidden && !raw.processes)
		return up_fail(env, -EACCES, "hidden (/proc is mounted with hidepid=%s): CAP_SYS_PTRACE is missing", hidepid);
	if (raw.denied && !raw.processes)
		return up_fail(env, -EACCES, "/proc/PID/fd of another user: CAP_SYS_PTRACE is missing");
	raw.label = up_arena_strdup(arena, env->target->label);
	if (!raw.label)
		return -ENOSPC;
	*(struct raw *)ret_raw = raw;
	return 0;
}

static int descriptors_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *c = cur;

	(void)prev;
	(void)dt_ns;
	for (size_t i = 0; i < c->top_count; i++) {
		const struct process *process = &c->top[i];
		struct up_detail detail = { 0 };

		up_detail_count(&detail, "used", process->used);
		if (process->limit)
			up_detail_count(&detail, "limit", process->limit);
		up_detail_text(&detail, "cgroup", c->label);
		if (c->denied)
			up_detail_count(&detail, "denied_processes", c->denied);
		if (c->hidden)
			up_detail_count(&detail, "hidden_processes", c->hidden);
		if (c->left_out)
			up_detail_count(&detail, "processes_left_out", c->left_out);
		up_rows_add(out, &(struct up_row){
					 .scope = UP_SCOPE_PROCESS,
					 .resource = "descriptors",
					 .name = process->name,
					 .utilization = process->limit ? up_value(nearness(process)) : up_none("no limit"),
					 .saturation = up_none("an open beyond the limit fails, it does not wait"),
					 .waiting = up_none("an open beyond the limit fails, it does not wait"),
					 .errors = up_none("the kernel does not count EMFILE"),
					 .servers = (double)process->limit,
					 .method = "/proc/PID/fd, limits measured",
					 .detail = detail.text,
					 .state = UP_OK,
				 });
	}
	return 0;
}

const struct up_collector up_collector_descriptors = {
	.name = "descriptors",
	.summary = "open files of the target's processes against their limit",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_PROCESS,
	.resource = "descriptors",
	.raw_bytes = sizeof(struct raw),
	.read = descriptors_read,
	.derive = descriptors_derive,
};
