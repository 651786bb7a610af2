/* pressure - share of time in which tasks stalled for want of CPU, memory, I/O or because of interrupts, from PSI:
 *     some avg10=0.00 avg60=0.00 avg300=0.00 total=157656722        microseconds, since 4.20; cgroups (v2 only) too
 * One row a kind. A share is not a number of tasks, so `waiting` stays empty. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "psi.h"

enum { KINDS = 4 };

static const struct {
	const char *resource, *host_path, *cgroup_file;
} kinds[KINDS] = {
	{ "pressure-cpu", "proc/pressure/cpu", "cpu.pressure" },
	{ "pressure-memory", "proc/pressure/memory", "memory.pressure" },
	{ "pressure-io", "proc/pressure/io", "io.pressure" },
	{ "pressure-irq", "proc/pressure/irq", "irq.pressure" },
};

struct state {
	char path[KINDS][UP_PATH_MAX + 32];
	struct up_file files[KINDS];
};

struct raw {
	struct psi psi[KINDS];
	const char *label;
	enum up_scope scope;
};

static int host_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;

	(void)env;
	for (int i = 0; i < KINDS; i++)
		state->files[i].path = kinds[i].host_path;
	return 0;
}

static int cgroup_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;
	char dir[UP_PATH_MAX];

	if (env->target->kind != UP_TARGET_CGROUP)
		return up_fail(env, -ENOENT, "PSI is counted per cgroup, not per process");
	if (!up_target_v2_dir(env->target, 0, dir, sizeof(dir)))
		return up_fail(env, -ENOENT, "%s is not in the v2 hierarchy; PSI of cgroups needs it", env->target->label);
	for (int i = 0; i < KINDS; i++) {
		snprintf(state->path[i], sizeof(state->path[i]), "%s/%s", dir, kinds[i].cgroup_file);
		state->files[i].path = state->path[i];
	}
	return 0;
}

static void pressure_close(void *opaque)
{
	struct state *state = opaque;

	for (int i = 0; i < KINDS; i++)
		up_file_close(&state->files[i]);
}

/* One kind that fails leaves the others; only when none can be read is the collector without a sample. */
static int read_kinds(struct up_env *env, struct state *state, struct up_arena *arena, struct raw *raw)
{
	char first_reason[sizeof(env->error)] = "";
	int first_error = 0;
	bool found = false;

	for (int i = 0; i < KINDS; i++) {
		const int r = psi_read(env, &state->files[i], arena, &raw->psi[i]);

		found |= r == 0;
		if (r < 0 && !first_error) {
			first_error = r;
			memcpy(first_reason, env->error, sizeof(first_reason));
		}
	}
	return found ? 0 : up_fail(env, first_error, "%s", first_reason);
}

static int host_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .label = "host", .scope = UP_SCOPE_HOST };
	const int r = read_kinds(env, opaque, arena, &raw);

	if (r == 0)
		*(struct raw *)ret_raw = raw;
	return r;
}

static int cgroup_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .scope = UP_SCOPE_CGROUP };
	const int r = read_kinds(env, opaque, arena, &raw);

	if (r < 0)
		return r;
	raw.label = up_arena_strdup(arena, env->target->label);
	if (!raw.label)
		return -ENOSPC;
	*(struct raw *)ret_raw = raw;
	return 0;
}

static void add_kind(const struct raw *p, const struct raw *c, int kind, uint64_t dt_ns, struct up_rows *out)
{
	const struct psi *cur = &c->psi[kind], *prev = p ? &p->psi[kind] : NULL;
	const struct up_value some = psi_some_share(prev, cur, dt_ns, "irq pressure has only a full line");
	const struct up_value full = psi_full_share(prev, cur, dt_ns, "no full line before 5.13");
	/* Interrupts stall whoever is there, so the kernel counts them as full only: that is then the row's number. */
	const bool only_full = cur->full_us.has && !cur->some_us.has;
	const struct up_value *shown = only_full ? &full : &some;
	struct up_detail detail = { 0 };

	up_detail_value(&detail, "full_ratio", full);
	up_rows_add(out, &(struct up_row){
				 .scope = c->scope,
				 .resource = kinds[kind].resource,
				 .name = c->label,
				 .utilization = up_none("a share of stalled time is no utilization"),
				 .saturation = *shown,
				 .saturation_unit = "ratio",
				 .waiting = up_none("a share is not tasks"),
				 .errors = up_none("PSI counts no errors"),
				 .method = only_full ? "PSI full total measured" : "PSI some total measured",
				 .detail = detail.text,
				 .state = cur->error < 0 ? some.state
					  : p            ? UP_OK
							 : UP_FIRST,
				 .reason = cur->error < 0 ? some.reason : NULL,
			 });
}

static int pressure_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *c = cur;

	/* Kernels before 6.1, and those without CONFIG_IRQ_TIME_ACCOUNTING, have no irq file: no row for it. */
	for (int i = 0; i < KINDS; i++)
		if (c->psi[i].error != -ENOENT)
			add_kind(prev, c, i, dt_ns, out);
	return 0;
}

const struct up_collector up_collector_pressure = {
	.name = "pressure",
	.summary = "stall shares (PSI) of a target's cgroup",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_CGROUP,
	.resource = "pressure",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = cgroup_open,
	.read = cgroup_read,
	.derive = pressure_derive,
	.close = pressure_close,
};

const struct up_collector up_collector_host_pressure = {
	.name = "host_pressure",
	.summary = "stall shares (PSI) of the whole machine",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "pressure",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = host_open,
	.read = host_read,
	.derive = pressure_derive,
	.close = pressure_close,
};
