/* Collectors at work: which are wanted, and what one tick does with each. */
#include "probe_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True when LIST ("cpu,run-queue") holds NAME. */
static bool in_list(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && strncmp(p, name, len) == 0)
			return true;
	return false;
}

bool probe_wants(const struct up_probe_config *config, const char *name, const char *resource)
{
	if (config->only && !in_list(config->only, name) && !in_list(config->only, resource))
		return false;
	return !in_list(config->skip, name) && !in_list(config->skip, resource);
}

static int add_instance(struct up_probe *probe, const struct up_collector *collector, const struct up_target *target)
{
	struct instance *grown = realloc(probe->instances, (probe->instance_count + 1) * sizeof(*grown));
	struct instance *instance;

	if (!grown)
		return -ENOMEM;
	probe->instances = grown;
	instance = &grown[probe->instance_count];
	*instance = (struct instance){
		.collector = collector,
		.target = target,
		/* One byte more keeps calloc from returning NULL for a collector without state. */
		.state = calloc(1, collector->state_bytes + 1),
		.raw = { calloc(1, collector->raw_bytes + 1), calloc(1, collector->raw_bytes + 1) },
	};
	probe->instance_count++;
	return instance->state && instance->raw[0] && instance->raw[1] ? 0 : -ENOMEM;
}

/* A collector that belongs to an option has nothing to say without it. */
static bool asked_for(const struct up_probe *probe, const struct up_collector *collector)
{
	size_t index = 0;

	return !collector->option || up_setting_next(&probe->env, collector->option, &index);
}

int probe_add_instances(struct up_probe *probe)
{
	const struct up_probe_config *config = &probe->config;

	for (size_t i = 0; up_collectors[i]; i++) {
		const struct up_collector *collector = up_collectors[i];
		int r = 0;

		if (!probe_wants(config, collector->name, collector->resource) ||
			(collector->per == UP_PER_HOST && !config->host_rows) || !asked_for(probe, collector))
			continue;
		if (collector->per != UP_PER_TARGET)
			r = add_instance(probe, collector, NULL);
		for (size_t t = 0; collector->per == UP_PER_TARGET && r == 0 && t < probe->env.targets->count; t++)
			r = add_instance(probe, collector, &probe->env.targets->items[t]);
		if (r < 0)
			return r;
	}
	return 0;
}

void probe_close_instance(struct instance *instance)
{
	if (instance->collector->close)
		instance->collector->close(instance->state);
	memset(instance->state, 0, instance->collector->state_bytes);
	instance->open = instance->has[0] = instance->has[1] = false;
}

static enum up_state state_of_error(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENODEV:
	case -ESRCH:
	case -ENOTDIR:
	case -ENODATA:
	case -EOPNOTSUPP:
		return UP_ABSENT;
	case -EACCES:
	case -EPERM:
		return UP_DENIED;
	default:
		return UP_FAILED;
	}
}

/* The row that stands in for a collector that could not read: states and reasons, no numbers. */
static void add_failed_row(struct up_probe *probe, struct instance *instance, int error)
{
	const struct up_collector *collector = instance->collector;
	const struct up_target *target = instance->target;
	struct up_value none;

	instance->row_state = state_of_error(error);
	snprintf(instance->reason, sizeof(instance->reason), "%s", *probe->env.error ? probe->env.error : strerror(-error));
	none = up_value_state(instance->row_state, instance->reason);
	up_rows_add(&probe->table.rows, &(struct up_row){
						.scope = collector->scope,
						.resource = collector->resource,
						.name = target ? target->label : "host",
						.utilization = none,
						.saturation = none,
						.waiting = none,
						.errors = none,
						.state = instance->row_state,
						.reason = instance->reason,
						.method = collector->name,
					});
}

void probe_run_instance(struct up_probe *probe, struct instance *instance, struct up_arena *arena)
{
	const struct up_collector *collector = instance->collector;
	const struct up_clock *clock = probe->config.clock;
	const unsigned cur = probe->tick & 1, prev = !cur;
	struct up_rows *rows = &probe->table.rows;
	uint64_t begin_ns;
	int r = 0;

	instance->has[cur] = false;
	if (instance->target && !instance->target->present) {
		if (instance->open)
			probe_close_instance(instance);
		return;
	}
	if (instance->open && instance->target && instance->generation != instance->target->generation)
		probe_close_instance(instance);
	probe->env.target = instance->target;
	probe->env.error[0] = '\0';
	rows->target = instance->target ? instance->target->name : NULL;
	rows->window_ns = 0;
	begin_ns = clock->mono_ns(clock->self);
	if (!instance->open) {
		r = collector->open ? collector->open(&probe->env, instance->state) : 0;
		instance->open = r == 0;
		instance->generation = instance->target ? instance->target->generation : 0;
		if (r < 0)
			probe_close_instance(instance);
	}
	if (r == 0) {
		memset(instance->raw[cur], 0, collector->raw_bytes);
		r = collector->read(&probe->env, instance->state, arena, instance->raw[cur]);
	}
	instance->mono_ns[cur] = clock->mono_ns(clock->self);
	instance->read_cost_ns = instance->mono_ns[cur] - begin_ns;
	if (r == 0) {
		const uint64_t dt_ns = instance->has[prev] ? instance->mono_ns[cur] - instance->mono_ns[prev] : 0;

		instance->has[cur] = true;
		instance->row_state = UP_OK;
		instance->reason[0] = '\0';
		rows->window_ns = dt_ns;
		r = collector->derive(instance->has[prev] ? instance->raw[prev] : NULL, instance->raw[cur], dt_ns, rows);
	}
	if (r < 0)
		add_failed_row(probe, instance, r);
}
