#include "fake.h"

#include <errno.h>
#include <stdlib.h>

#include "fake_tree.h"

/* Mount points of the layouts; NULL ends them. */
struct mount {
	const char *name;
	unsigned controllers;
};
static const struct mount v1_mounts[] = {
	{ "cpu", 1u << UP_CTL_CPU },
	{ "cpuacct", 1u << UP_CTL_CPUACCT },
	{ "cpuset", 1u << UP_CTL_CPUSET },
	{ "memory", 1u << UP_CTL_MEMORY },
	{ "pids", 1u << UP_CTL_PIDS },
	{ "blkio", 1u << UP_CTL_IO },
	{ "freezer", 1u << UP_CTL_FREEZER },
};

static void add_hierarchy(struct up_hierarchies *hierarchies, const char *mount, bool v2, unsigned controllers)
{
	struct up_hierarchy *hierarchy = &hierarchies->items[hierarchies->count];

	*hierarchy = (struct up_hierarchy){ .v2 = v2, .controllers = controllers, .root = "/" };
	snprintf(hierarchy->mount, sizeof(hierarchy->mount), "/sys/fs/cgroup%s", mount);
	for (int i = 0; i < UP_CTL_COUNT; i++)
		if (controllers & 1u << i)
			hierarchies->owner[i] = (int)hierarchies->count;
	if (v2)
		hierarchies->v2 = (int)hierarchies->count;
	hierarchies->count++;
}

static void add_hierarchies(struct up_hierarchies *hierarchies, enum fake_layout layout)
{
	char mount[32];

	hierarchies->v2 = -1;
	for (int i = 0; i < UP_CTL_COUNT; i++)
		hierarchies->owner[i] = -1;
	if (layout == FAKE_V2) {
		add_hierarchy(hierarchies, "", true, (1u << UP_CTL_COUNT) - 1);
		return;
	}
	for (size_t i = 0; i < UP_COUNT(v1_mounts); i++) {
		snprintf(mount, sizeof(mount), "/%s", v1_mounts[i].name);
		add_hierarchy(hierarchies, mount, false, v1_mounts[i].controllers);
	}
	if (layout == FAKE_HYBRID)
		add_hierarchy(hierarchies, "/unified", true, 0);
}

struct up_target *fake_add_target(struct fake *fake, const char *cgroup)
{
	struct up_target *target = &fake->targets.items[fake->targets.count++];

	target->kind = UP_TARGET_CGROUP;
	target->present = true;
	target->how = "fixture";
	target->hierarchies = &fake->targets.hierarchies;
	snprintf(target->name, sizeof(target->name), "%s", cgroup + (*cgroup == '/'));
	snprintf(target->label, sizeof(target->label), "%s", cgroup);
	for (size_t i = 0; i < fake->targets.hierarchies.count; i++)
		target->cgroup.path[i] = strdup(cgroup);
	return target;
}

void fake_make_pid(struct fake *fake, int pid, const char *label)
{
	struct up_target *target = &fake->targets.items[0];

	target->kind = UP_TARGET_PID;
	target->pid = pid;
	snprintf(target->label, sizeof(target->label), "%s", label);
}

static void start(struct fake *fake)
{
	if (up_source_open(&fake->source, fake->dir) < 0)
		fail_msg("no tree %s", fake->dir);
	add_hierarchies(&fake->targets.hierarchies, fake->layout);
	if (*fake->cgroup)
		fake_add_target(fake, fake->cgroup);
	fake->env = (struct up_env){
		.source = &fake->source,
		.targets = &fake->targets,
		.target = fake->collector->per == UP_PER_TARGET ? &fake->targets.items[0] : NULL,
		.interval_ns = 1000000000,
	};
	assert_int_equal(up_rows_init(&fake->rows), 0);
	/* One byte more: a read past the end of a collector without state is caught by the sanitizer, calloc(1, 0) is not. */
	fake->state = calloc(1, fake->collector->state_bytes + 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(up_arena_init(&fake->arenas[i]), 0);
		fake->raw[i] = calloc(1, fake->collector->raw_bytes + 1);
	}
}

static void prepare(struct fake *fake, const struct up_collector *collector, enum fake_layout layout, const char *cgroup)
{
	*fake = (struct fake){ .collector = collector, .layout = layout };
	snprintf(fake->cgroup, sizeof(fake->cgroup), "%s", cgroup ? cgroup : "");
}

void fake_init(
	struct fake *fake, const struct up_collector *collector, const char *fixture, enum fake_layout layout, const char *cgroup)
{
	prepare(fake, collector, layout, cgroup);
	snprintf(fake->dir, sizeof(fake->dir), FIXTURES "%s", fixture);
	start(fake);
}

void fake_init_copy(
	struct fake *fake, const struct up_collector *collector, const char *fixture, enum fake_layout layout, const char *cgroup)
{
	char from[256];

	prepare(fake, collector, layout, cgroup);
	fake->copied = true;
	snprintf(from, sizeof(from), FIXTURES "%s", fixture);
	fake_tree_temporary(fake->dir, sizeof(fake->dir));
	if (*fixture)
		fake_tree_copy(from, fake->dir);
	else
		fake_tree_write(fake->dir, "t0/proc/README", "", 0);
	start(fake);
}

void fake_done(struct fake *fake)
{
	if (fake->collector->close)
		fake->collector->close(fake->state);
	free(fake->state);
	for (int i = 0; i < 2; i++) {
		free(fake->raw[i]);
		up_arena_done(&fake->arenas[i]);
	}
	for (size_t t = 0; t < fake->targets.count; t++)
		for (size_t i = 0; i < UP_HIERARCHIES_MAX; i++)
			free(fake->targets.items[t].cgroup.path[i]);
	up_rows_done(&fake->rows);
	up_source_close(&fake->source);
	if (fake->copied)
		fake_tree_remove(fake->dir);
}

void fake_put(struct fake *fake, const char *path, const char *text)
{
	assert_true(fake->copied);
	fake_tree_write(fake->dir, path, text, strlen(text));
	/* A tree that began empty has its first frame only now. */
	if (fake->source.frame < 0) {
		up_source_close(&fake->source);
		assert_int_equal(up_source_open(&fake->source, fake->dir), 0);
	}
}

void fake_remove(struct fake *fake, const char *path)
{
	char full[512];

	assert_true(fake->copied);
	snprintf(full, sizeof(full), "%s/%s", fake->dir, path);
	fake_tree_remove(full);
}

void fake_reopen(struct fake *fake)
{
	if (fake->collector->close)
		fake->collector->close(fake->state);
	memset(fake->state, 0, fake->collector->state_bytes);
	fake->open = fake->has[0] = fake->has[1] = false;
}

int fake_tick(struct fake *fake, double dt_s)
{
	const struct up_collector *collector = fake->collector;
	const unsigned cur = fake->ticks & 1, prev = !cur;
	uint64_t dt_ns = (uint64_t)(dt_s * 1e9 + 0.5);
	int r = 0;

	if (fake->ticks > 0)
		up_source_next_frame(&fake->source);
	up_arena_reset(&fake->arenas[cur]);
	up_rows_clear(&fake->rows);
	fake->env.tick = fake->ticks++;
	fake->env.error[0] = '\0';
	fake->has[cur] = false;
	if (!fake->open) {
		r = collector->open ? collector->open(&fake->env, fake->state) : 0;
		fake->open = r == 0;
		if (r < 0)
			fake_reopen(fake);
	}
	if (r == 0) {
		memset(fake->raw[cur], 0, collector->raw_bytes);
		r = collector->read(&fake->env, fake->state, &fake->arenas[cur], fake->raw[cur]);
	}
	if (r < 0)
		return r;
	fake->has[cur] = true;
	fake->rows.window_ns = dt_ns = fake->has[prev] ? dt_ns : 0;
	fake->rows.target = fake->env.target ? fake->env.target->name : NULL;
	return collector->derive(fake->has[prev] ? fake->raw[prev] : NULL, fake->raw[cur], dt_ns, &fake->rows);
}

const struct up_row *fake_find(const struct fake *fake, const char *resource, const char *name)
{
	for (size_t i = 0; i < fake->rows.count; i++)
		if (strcmp(fake->rows.items[i].resource, resource) == 0 && strcmp(fake->rows.items[i].name, name) == 0)
			return &fake->rows.items[i];
	return NULL;
}

const struct up_row *fake_row(const struct fake *fake, const char *resource, const char *name)
{
	const struct up_row *row = fake_find(fake, resource, name);
	char list[512] = "";
	size_t len = 0;

	for (size_t i = 0; !row && i < fake->rows.count && len < sizeof(list) - 64; i++)
		len += (size_t)snprintf(
			list + len, sizeof(list) - len, " %.20s:%.30s", fake->rows.items[i].resource, fake->rows.items[i].name);
	if (!row)
		fail_msg("no row %s:%s among%s (%s)", resource, name, list, fake->env.error);
	return row;
}

void fake_value(struct up_value value, enum up_state state, double number, const char *why)
{
	if (value.state != state)
		fail_msg("%s: state %s (%s), not %s", why, up_state_name(value.state), value.reason ? value.reason : "",
			up_state_name(state));
	if (state == UP_OK)
		assert_near(value.number, number, 1e-6 * fmax(fabs(number), 1e-3), why);
}

void fake_absent(struct up_value value, const char *part, const char *why)
{
	if (value.state == UP_OK || !value.reason || !strstr(value.reason, part))
		fail_msg("%s: state %s, number %g, reason \"%s\" lacks \"%s\"", why, up_state_name(value.state), value.number,
			value.reason ? value.reason : "", part);
}

void fake_detail(const struct up_row *row, const char *key, double number)
{
	double got;

	if (!up_detail_get_number(row->detail, key, &got))
		fail_msg("%s:%s has no number %s in \"%s\"", row->resource, row->name, key, row->detail ? row->detail : "");
	assert_near(got, number, 1e-5 * fmax(fabs(number), 1e-3), key);
}

void fake_detail_text(const struct up_row *row, const char *key, const char *text)
{
	char got[1024];

	if (!up_detail_get(row->detail, key, got, sizeof(got)))
		fail_msg("%s:%s has no %s in \"%s\"", row->resource, row->name, key, row->detail ? row->detail : "");
	assert_string_equal(got, text);
}

void fake_no_detail(const struct up_row *row, const char *key)
{
	char got[1024];

	if (up_detail_get(row->detail, key, got, sizeof(got)))
		fail_msg("%s:%s has %s=%s", row->resource, row->name, key, got);
}
