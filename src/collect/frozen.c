/* frozen - whether a target is stopped as a whole: by the freezer (docker pause) or because every process got SIGSTOP. Reads
 *   v2: cgroup.stat.local "frozen_usec 5000123" (there in 6.18): the time frozen, by itself or an ancestor, up to now
 *       cgroup.events "frozen 1" (since 5.2)
 *   v1: freezer.state "FROZEN\n" (FREEZING counts: its tasks run no more)
 *   and /proc/PID/stat field 3 (T) of the target's processes.
 * Where the kernel keeps no clock of it, the share of a window is taken from its two ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"

#define STOPPED_PIDS_MAX 256 /* beyond it, asking each process costs more than it tells */

struct state {
	char path[UP_PATH_MAX + 32], clock_path[UP_PATH_MAX + 32];
	struct up_file file; /* path NULL: no freezer */
	struct up_file clock; /* path NULL: this hierarchy has none */
	bool v2;
};

struct raw {
	const char *label;
	enum up_scope scope;
	bool freezer_known, frozen; /* gauge */
	struct up_u64 frozen_us; /* counter; not there before 6.18 and on v1 */
	bool stopped_known, stopped; /* gauge, every process in state T */
	size_t processes;
};

static int frozen_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;
	char dir[UP_PATH_MAX];

	if (env->target->kind != UP_TARGET_CGROUP)
		return 0;
	/* On v2 the freezer is part of the core, not a controller. */
	if (up_target_dir(env->target, UP_CTL_FREEZER, 0, dir, sizeof(dir), &state->v2) && !state->v2)
		snprintf(state->path, sizeof(state->path), "%s/freezer.state", dir);
	else if (up_target_v2_dir(env->target, 0, dir, sizeof(dir))) {
		state->v2 = true;
		snprintf(state->path, sizeof(state->path), "%s/cgroup.events", dir);
		snprintf(state->clock_path, sizeof(state->clock_path), "%s/cgroup.stat.local", dir);
		state->clock.path = state->clock_path;
	}
	state->file.path = *state->path ? state->path : NULL;
	return 0;
}

static void frozen_close(void *opaque)
{
	up_file_close(&((struct state *)opaque)->file);
	up_file_close(&((struct state *)opaque)->clock);
}

static int read_clock(struct up_env *env, struct state *state, struct up_arena *arena, struct raw *raw)
{
	char *text;
	const int r = state->clock.path ? up_file_read(env->source, &state->clock, arena, &text, NULL) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return up_fail(env, r, "%s: %s", state->clock_path, strerror(-r));
	if (up_scan_key(text, "frozen_usec", &raw->frozen_us) < 0)
		return up_fail(env, -EBADMSG, "%s: not understood: \"%.40s\"", state->clock_path, text);
	return 0;
}

static int read_freezer(struct up_env *env, struct state *state, struct up_arena *arena, struct raw *raw)
{
	struct up_u64 frozen;
	char *text;
	int r = state->file.path ? up_file_read(env->source, &state->file, arena, &text, NULL) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return up_fail(env, r, "%s: %s", state->path, strerror(-r));
	if (state->v2) {
		if (up_scan_key(text, "frozen", &frozen) < 0)
			return up_fail(env, -EBADMSG, "%s: not understood: \"%.40s\"", state->path, text);
		raw->freezer_known = frozen.has;
		raw->frozen = frozen.has && frozen.n == 1;
		return 0;
	}
	raw->frozen = strcmp(text, "FROZEN\n") == 0 || strcmp(text, "FREEZING\n") == 0;
	raw->freezer_known = raw->frozen || strcmp(text, "THAWED\n") == 0;
	return raw->freezer_known ? 0 : up_fail(env, -EBADMSG, "%s: not understood: \"%.40s\"", state->path, text);
}

/* State letter of a process; '\0' when it cannot be read. The comm may hold anything, so the field behind the last ')' counts. */
static char process_state(struct up_env *env, struct up_arena *arena, pid_t pid)
{
	const size_t mark = arena->used_bytes;
	char path[64], letter = '\0';
	char *text, *end;

	snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
	if (up_source_read(env->source, arena, path, &text, NULL) == 0) {
		end = strrchr(text, ')');
		if (end && end[1] == ' ')
			letter = end[2];
	}
	arena->used_bytes = mark;
	return letter;
}

static void read_stopped(struct up_env *env, struct up_arena *arena, struct raw *raw)
{
	pid_t *pids;
	size_t count;

	if (up_target_pids(env->target, env->source, arena, &pids, &count) < 0)
		return;
	raw->processes = count;
	if (count == 0 || count > STOPPED_PIDS_MAX)
		return;
	for (size_t i = 0; i < count; i++) {
		const char letter = process_state(env, arena, pids[i]);

		if (!letter)
			continue;
		raw->stopped_known = true;
		/* One that is not stopped decides: nobody else needs to be asked. */
		if (letter != 'T' && letter != 't')
			return;
	}
	raw->stopped = raw->stopped_known;
}

static int frozen_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .scope = env->target->kind == UP_TARGET_PID ? UP_SCOPE_PROCESS : UP_SCOPE_CGROUP };
	/* The clock first: a freeze that begins between the two reads then shows as `now` before it shows in the share. */
	int r = read_clock(env, opaque, arena, &raw);

	if (r == 0)
		r = read_freezer(env, opaque, arena, &raw);
	if (r < 0)
		return r;
	read_stopped(env, arena, &raw);
	raw.label = up_arena_strdup(arena, env->target->label);
	if (!raw.label)
		return -ENOSPC;
	if (!raw.freezer_known && !raw.stopped_known)
		return up_fail(env, -ENOENT, "%s has no freezer and no process that can be read", raw.label);
	*(struct raw *)ret_raw = raw;
	return 0;
}

/* Share of a window at whose ends the state was there or not: exact only when it did not change between. */
static double share_of_ends(bool before, bool after)
{
	return ((before ? 1 : 0) + (after ? 1 : 0)) / 2.0;
}

static struct up_value share_of(const struct raw *p, const struct raw *c, uint64_t dt_ns)
{
	struct up_value frozen, stopped;

	if (!p)
		return up_value_state(UP_FIRST, NULL);
	if (!c->frozen_us.has)
		return up_value(share_of_ends(p->frozen || p->stopped, c->frozen || c->stopped));
	frozen = up_scaled(up_delta(&p->frozen_us, c->frozen_us, NULL), (double)UP_NS_PER_US, (double)dt_ns, "no time passed");
	stopped = up_value(share_of_ends(p->stopped, c->stopped));
	if (up_value_ok(frozen) && frozen.number > 1)
		frozen.number = 1; /* the two clocks are read a few microseconds apart */
	return up_value_ok(frozen) && frozen.number < stopped.number ? stopped : frozen;
}

static const char *method_of(const struct raw *c)
{
	if (c->frozen_us.has)
		return c->stopped_known ? "cgroup.stat.local measured, process states at both ends"
					: "cgroup.stat.local measured";
	if (!c->freezer_known)
		return "process states at both ends, computed";
	return c->stopped_known ? "freezer and process states at both ends, computed" : "freezer at both ends, computed";
}

static int frozen_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	struct up_detail detail = { 0 };

	up_detail_text(&detail, "now", c->frozen ? "frozen" : c->stopped ? "stopped" : "running");
	up_detail_count(&detail, "processes", c->processes);
	return up_rows_add(out, &(struct up_row){
					.scope = c->scope,
					.resource = "frozen",
					.name = c->label,
					.utilization = up_none("a state, not a server"),
					.saturation = share_of(p, c, dt_ns),
					.saturation_unit = "ratio",
					.saturated_at = 0.5,
					.waiting = up_none("a state, not a queue"),
					.errors = up_none("a state, not an error"),
					.method = method_of(c),
					.detail = detail.text,
					.state = p ? UP_OK : UP_FIRST,
				});
}

const struct up_collector up_collector_frozen = {
	.name = "frozen",
	.summary = "whether the target is paused by the freezer or stopped by a signal",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "frozen",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = frozen_open,
	.read = frozen_read,
	.derive = frozen_derive,
	.close = frozen_close,
};
