/* disk - block I/O of a target. Reads
 *   v2: io.stat "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0", io.pressure
 *   v1: blkio.throttle.io_service_bytes "8:0 Read 28672", blkio.throttle.io_serviced
 * On v1 blkio.throttle counts only once a limit of blkio.throttle was set on the device, by any group (seen on 6.18; older kernels always
 * count): before, the file holds "Total 0" whatever the group wrote. That is the same text as that of a group without I/O, so it says nothing.
 * Kernels up to 5.x print devices without counters with no newline behind them ("7:7 7:6 8:0 rbytes=..."): the last name counts.
 * Threads of the target that block in I/O come from snapshots of its threads (useprobe/tasks.h).
 * Buffered writes are charged to whoever writes them back; on v1 that is the kernel, not the target. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "psi.h"
#include "stalled.h"
#include "useprobe/clock.h"

enum { BYTES, COUNTS, PRESSURE, FILES };

struct state {
	char path[FILES][UP_PATH_MAX + 48];
	struct up_file files[FILES];
	const char *no_files; /* why nothing is counted of this target, static; NULL = it is */
	bool v2;
};

struct raw {
	const char *label;
	enum up_scope scope;
	const char *no_files; /* of the state */
	struct up_u64 read_bytes, write_bytes, reads, writes; /* counter, all devices summed */
	size_t devices;
	bool counted; /* the figures are the group's; false on v1 without a line of a device */
	struct psi psi;
	struct stalled blocked; /* threads that wait for I/O */
};

static void set_file(struct state *state, int which, const char *dir, const char *name)
{
	snprintf(state->path[which], sizeof(state->path[which]), "%s/%s", dir, name);
	state->files[which].path = state->path[which];
}

static int disk_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;
	char dir[UP_PATH_MAX];

	/* Its threads are seen all the same. */
	if (env->target->kind != UP_TARGET_CGROUP) {
		state->no_files = "block I/O is counted per cgroup, not per process";
		return 0;
	}
	if (!up_target_dir(env->target, UP_CTL_IO, 0, dir, sizeof(dir), &state->v2)) {
		state->no_files = "the io or blkio controller has no group of this target";
	} else if (state->v2) {
		set_file(state, BYTES, dir, "io.stat");
	} else {
		set_file(state, BYTES, dir, "blkio.throttle.io_service_bytes");
		set_file(state, COUNTS, dir, "blkio.throttle.io_serviced");
	}
	if (up_target_v2_dir(env->target, 0, dir, sizeof(dir)))
		set_file(state, PRESSURE, dir, "io.pressure");
	return 0;
}

static void disk_close(void *opaque)
{
	struct state *state = opaque;

	for (int i = 0; i < FILES; i++)
		up_file_close(&state->files[i]);
}

static void add(struct up_u64 *sum, uint64_t n)
{
	sum->n += n;
	sum->has = true;
}

/* One line of io.stat behind its last device number. */
static int scan_v2_line(const char *line, size_t len, struct raw *raw)
{
	static const struct {
		const char *key;
		size_t offset;
	} keys[] = {
		{ "rbytes=", offsetof(struct raw, read_bytes) },
		{ "wbytes=", offsetof(struct raw, write_bytes) },
		{ "rios=", offsetof(struct raw, reads) },
		{ "wios=", offsetof(struct raw, writes) },
	};
	const char *p = line, *end = line + len;
	bool counted = false;

	while (p < end) {
		for (size_t i = 0; i < UP_COUNT(keys); i++) {
			const char *q = p;
			uint64_t n;

			if (!up_scan_literal(&q, keys[i].key))
				continue;
			if (up_scan_u64(&q, &n) < 0 || (*q != ' ' && *q != '\n'))
				return -EBADMSG;
			add((struct up_u64 *)((char *)raw + keys[i].offset), n);
			counted = true;
		}
		p += strcspn(p, " \n");
		up_scan_blanks(&p);
	}
	raw->devices += counted;
	return 0;
}

/* "8:0 Read 28672"; the line "Total 43008" has no device and is left out. */
static int scan_v1_line(const char *line, struct up_u64 *reads, struct up_u64 *writes)
{
	uint64_t major, minor, n;
	struct up_u64 *sum;

	if (up_scan_u64(&line, &major) < 0 || !up_scan_literal(&line, ":") || up_scan_u64(&line, &minor) < 0)
		return 0;
	sum = up_scan_literal(&line, " Read ") ? reads : up_scan_literal(&line, " Write ") ? writes : NULL;
	if (!sum)
		return 0;
	if (up_scan_u64(&line, &n) < 0 || *line != '\n')
		return -EBADMSG;
	add(sum, n);
	return 0;
}

static int scan_file(struct up_env *env, const struct state *state, int which, const char *text, struct raw *raw)
{
	const char *line;
	bool cut = false;
	size_t len;
	int r = 0;

	while (r == 0 && up_scan_line(&text, &line, &len, &cut)) {
		if (state->v2)
			r = scan_v2_line(line, len, raw);
		else if (which == BYTES)
			r = scan_v1_line(line, &raw->read_bytes, &raw->write_bytes);
		else
			r = scan_v1_line(line, &raw->reads, &raw->writes);
	}
	if (r < 0 || cut)
		return up_fail(env, -EBADMSG, "%s is cut off or not understood", state->path[which]);
	return 0;
}

static int read_counts(struct up_env *env, struct state *state, struct up_arena *arena, struct raw *raw)
{
	for (int which = BYTES; which <= COUNTS; which++) {
		char *text;
		int r;

		if (!state->files[which].path)
			continue;
		r = up_file_read(env->source, &state->files[which], arena, &text, NULL);
		if (r < 0)
			return up_fail(env, r, "%s: %s", state->path[which], strerror(-r));
		r = scan_file(env, state, which, text, raw);
		if (r < 0)
			return r;
	}
	/* On v2 a group that did no I/O yet has an empty file: that is a measured zero. */
	raw->counted = !state->no_files && (state->v2 || raw->read_bytes.has || raw->write_bytes.has);
	/* On v1 no line is no figure, but when one appears it has been counted from 0 since. */
	raw->read_bytes.has = raw->write_bytes.has = raw->reads.has = raw->writes.has = true;
	return 0;
}

static int disk_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = {
		.scope = env->target->kind == UP_TARGET_PID ? UP_SCOPE_PROCESS : UP_SCOPE_CGROUP,
		.no_files = state->no_files,
	};
	const int r = read_counts(env, state, arena, &raw);

	if (r < 0)
		return r;
	(void)psi_read(env, &state->files[PRESSURE], arena, &raw.psi);
	stalled_read(env, UP_STALL_DISK, &raw.blocked);
	raw.label = up_arena_strdup(arena, env->target->label);
	if (!raw.label)
		return -ENOSPC;
	*(struct raw *)ret_raw = raw;
	return 0;
}

static const char not_counted[] = "no I/O of this group yet, or v1 without a blkio.throttle limit, which does not count";

static void detail_rate(struct up_detail *detail, const char *key, const struct up_u64 *prev, struct up_u64 cur,
	const char *uncounted, uint64_t dt_ns)
{
	const struct up_value growth = uncounted ? up_none(uncounted) : up_delta(prev, cur, NULL);

	up_detail_value(detail, key, up_scaled(growth, (double)UP_NS_PER_S, (double)dt_ns, "no time passed"));
}

static int disk_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	const struct up_value stalled = psi_some_share(p ? &p->psi : NULL, &c->psi, dt_ns, NULL);
	const struct stalled *blocked = p ? &p->blocked : NULL;
	const char *uncounted = c->counted ? NULL : c->no_files ? c->no_files : not_counted;
	/* With neither counts nor stalls nor threads the row has nothing to say. */
	const bool empty = uncounted && stalled.state == UP_ABSENT && !c->blocked.sample.area_ns.has;
	struct up_detail detail = { 0 };
	char method[80];

	detail_rate(&detail, "reads_per_s", p ? &p->reads : NULL, c->reads, uncounted, dt_ns);
	detail_rate(&detail, "writes_per_s", p ? &p->writes : NULL, c->writes, uncounted, dt_ns);
	detail_rate(&detail, "read_bytes_per_s", p ? &p->read_bytes : NULL, c->read_bytes, uncounted, dt_ns);
	detail_rate(&detail, "write_bytes_per_s", p ? &p->write_bytes : NULL, c->write_bytes, uncounted, dt_ns);
	return up_rows_add(out,
		&(struct up_row){
			.scope = c->scope,
			.resource = "disk",
			.name = c->label,
			.utilization = up_none("the share of a device's time is not counted per cgroup"),
			.saturation = stalled,
			.saturation_unit = "ratio",
			.waiting = stalled_tasks(blocked, &c->blocked),
			.waiting_max = stalled_most(blocked, &c->blocked),
			.errors = up_none("not counted per cgroup"),
			.method = stalled_method(&c->blocked, c->no_files ? NULL : "io files measured", method, sizeof(method)),
			.detail = detail.text,
			.state = empty ? UP_ABSENT
				 : p   ? UP_OK
				       : UP_FIRST,
			.reason = empty ? uncounted : NULL,
		});
}

const struct up_collector up_collector_disk = {
	.name = "disk",
	.summary = "block I/O of a target and its stalls",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "disk",
	.needs_tasks = true,
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = disk_open,
	.read = disk_read,
	.derive = disk_derive,
	.close = disk_close,
};
