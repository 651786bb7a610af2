#include "probe_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_STEP_NS (UP_NS_PER_S / 2)

static struct up_needs needs_of(const struct up_probe *probe)
{
	struct up_needs needs = { 0 };

	for (size_t i = 0; i < probe->instance_count; i++) {
		const struct up_collector *collector = probe->instances[i].collector;

		needs.sockets |= collector->needs_sockets;
		needs.netspaces |= collector->needs_netspaces;
		needs.requests |= collector->needs_requests;
		needs.tasks |= collector->needs_tasks;
		needs.queues |= collector->needs_queues;
		needs.blocks |= collector->needs_blocks;
	}
	return needs;
}

int up_probe_new(const struct up_probe_config *config, struct up_probe **ret)
{
	struct up_probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return -ENOMEM;
	probe->config = *config;
	probe->env = (struct up_env){
		.source = config->source,
		.targets = config->targets ? config->targets : &probe->no_targets,
		.settings = config->settings,
		.setting_count = config->setting_count,
		.interval_ns = config->interval_ns,
	};
	r = up_table_init(&probe->table);
	for (int i = 0; i < 2 && r == 0; i++)
		r = up_arena_init(&probe->arenas[i]);
	if (r == 0)
		r = probe_add_instances(probe);
	if (r == 0 && probe_wants(config, "connection-pool", "connection-pool"))
		r = up_computed_new(&probe->computed);
	if (r == 0)
		r = up_services_start(&probe->services, &probe->env, needs_of(probe));
	if (r < 0) {
		up_probe_free(probe);
		return r;
	}
	probe->start_ns = config->clock->mono_ns(config->clock->self);
	probe->deadline_ns = probe->start_ns;
	*ret = probe;
	return 0;
}

void up_probe_free(struct up_probe *probe)
{
	if (!probe)
		return;
	up_probe_close_sinks(probe);
	for (size_t i = 0; i < probe->instance_count; i++) {
		struct instance *instance = &probe->instances[i];

		if (instance->state)
			probe_close_instance(instance);
		free(instance->state);
		free(instance->raw[0]);
		free(instance->raw[1]);
	}
	free(probe->instances);
	up_services_stop(&probe->env);
	up_arena_done(&probe->arenas[0]);
	up_arena_done(&probe->arenas[1]);
	up_table_done(&probe->table);
	up_computed_free(probe->computed);
	free(probe);
}

int up_probe_add_sink(struct up_probe *probe, struct up_sink sink)
{
	if (probe->sink_count == UP_SINKS_MAX)
		return -ENOSPC;
	probe->sinks[probe->sink_count++] = sink;
	return 0;
}

int up_probe_close_sinks(struct up_probe *probe)
{
	int first = 0;

	for (size_t i = 0; i < probe->sink_count; i++) {
		const int r = probe->sinks[i].close ? probe->sinks[i].close(probe->sinks[i].self) : 0;

		if (r < 0 && first == 0)
			first = r;
	}
	probe->sink_count = 0;
	return first;
}

static void refresh_targets(struct up_probe *probe, struct up_arena *arena)
{
	struct up_targets *targets = probe->env.targets;
	bool changed = probe->tick == 0;

	for (size_t i = 0; i < targets->count && probe->tick > 0; i++) {
		struct up_target *target = &targets->items[i];

		switch (up_target_refresh(target, probe->config.source, arena)) {
		case UP_TARGET_SAME:
			break;
		case UP_TARGET_GONE:
			up_probe_event(probe, "target-gone", target->label, "the next ticks look for it again", target->name);
			changed = true;
			break;
		case UP_TARGET_BACK:
			up_probe_event(probe, "target-back", target->label, "counters start anew", target->name);
			changed = true;
			break;
		}
	}
	if (changed)
		up_services_retarget(&probe->env);
}

static void notice_clock_step(struct up_probe *probe, const struct up_tick *tick)
{
	const int64_t step_ns = (int64_t)(tick->wall_ns - probe->last_wall_ns) - (int64_t)(tick->mono_ns - probe->last_mono_ns);
	char text[64];

	if (probe->tick == 0 || (step_ns < (int64_t)CLOCK_STEP_NS && step_ns > -(int64_t)CLOCK_STEP_NS))
		return;
	snprintf(text, sizeof(text), "the wall clock stepped by %+.3f s", (double)step_ns / 1e9);
	up_probe_event(probe, "clock-step", "host", text, NULL);
}

static struct up_tick begin_tick(struct up_probe *probe)
{
	const struct up_clock *clock = probe->config.clock;
	struct up_tick tick = {
		.number = probe->tick,
		.wall_ns = clock->wall_ns(clock->self),
		.mono_ns = clock->mono_ns(clock->self),
		.interval_ns = probe->config.interval_ns,
	};

	tick.elapsed_ns = tick.mono_ns - probe->start_ns;
	tick.late_ns = tick.mono_ns > probe->deadline_ns ? tick.mono_ns - probe->deadline_ns : 0;
	if (tick.late_ns > tick.interval_ns / 10)
		probe->late_ticks++;
	return tick;
}

/* The next deadline on the grid of the interval: a tick that overran its interval skips deadlines, it does not shift them. */
static void end_tick(struct up_probe *probe, const struct up_tick *tick)
{
	const struct up_clock *clock = probe->config.clock;
	const uint64_t now_ns = clock->mono_ns(clock->self);

	probe->deadline_ns += probe->config.interval_ns;
	if (probe->deadline_ns <= now_ns) {
		const uint64_t behind = (now_ns - probe->deadline_ns) / probe->config.interval_ns + 1;

		probe->deadline_ns += behind * probe->config.interval_ns;
		probe->late_ticks += behind;
	}
	probe->last_mono_ns = tick->mono_ns;
	probe->last_wall_ns = tick->wall_ns;
	probe->dropped_rows += probe->table.rows.dropped;
	probe->tick++;
}

int up_probe_tick(struct up_probe *probe, const char **ret_sink)
{
	struct up_arena *arena = &probe->arenas[probe->tick & 1];
	const struct up_tick tick = begin_tick(probe);
	int r;

	up_arena_reset(arena);
	up_rows_clear(&probe->table.rows);
	probe->env.tick = probe->tick;
	probe->env.late_ticks = probe->late_ticks;
	probe->env.dropped_rows = probe->dropped_rows;
	refresh_targets(probe, arena);
	notice_clock_step(probe, &tick);
	for (size_t i = 0; i < probe->instance_count; i++)
		probe_run_instance(probe, &probe->instances[i], arena);
	probe->table.rows.target = NULL;
	probe->table.rows.window_ns = 0;
	if (probe->computed && up_computed_add(probe->computed, &probe->env, &tick, &probe->table.rows) < 0)
		probe->dropped_rows++;
	probe_add_events(probe, &tick);
	r = up_table_commit(&probe->table, &tick);
	for (size_t i = 0; i < probe->sink_count && r == 0; i++) {
		r = probe->sinks[i].tick(probe->sinks[i].self, &probe->table);
		if (r < 0)
			*ret_sink = probe->sinks[i].name;
	}
	end_tick(probe, &tick);
	return r;
}

uint64_t up_probe_deadline_ns(const struct up_probe *probe)
{
	return probe->deadline_ns;
}

void up_probe_set_interval(struct up_probe *probe, uint64_t interval_ns)
{
	probe->deadline_ns = probe->deadline_ns - probe->config.interval_ns + interval_ns;
	probe->config.interval_ns = interval_ns;
	probe->env.interval_ns = interval_ns;
}

const struct up_delay *up_probe_delay(const struct up_probe *probe)
{
	return probe->env.delay;
}

const char *up_probe_blocks_reason(const struct up_probe *probe)
{
	return probe->env.blocks ? NULL : probe->env.blocks_reason ? probe->env.blocks_reason : "not asked for";
}

uint64_t up_probe_late_ticks(const struct up_probe *probe)
{
	return probe->late_ticks;
}

const struct up_table *up_probe_table(const struct up_probe *probe)
{
	return &probe->table;
}

bool up_probe_instance(const struct up_probe *probe, size_t index, struct up_probe_instance *ret)
{
	const struct instance *instance;

	if (index >= probe->instance_count)
		return false;
	instance = &probe->instances[index];
	*ret = (struct up_probe_instance){
		.collector = instance->collector,
		.target = instance->target,
		.state = instance->row_state,
		.reason = *instance->reason ? instance->reason : NULL,
		.read_cost_ns = instance->read_cost_ns,
	};
	return true;
}
