#include "useprobe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/services.h"

#define EVENTS_MAX 64
#define CLOCK_STEP_NS (UP_NS_PER_S / 2)

/* One collector at work on one target (or the host, or the run). */
struct instance {
	const struct up_collector *collector;
	const struct up_target *target;
	void *state; /* owned */
	void *raw[2]; /* owned; this tick's and the one before */
	uint64_t mono_ns[2]; /* right after each read */
	bool has[2]; /* the raw of that side is a sample */
	bool open;
	unsigned generation; /* of the target when it was opened */
	enum up_state row_state;
	char reason[256];
	uint64_t read_cost_ns;
};

struct event {
	uint64_t wall_ns; /* when it happened; its row is written by the next tick */
	const char *resource;
	char name[UP_PATH_MAX / 4];
	char text[512];
	char target[512];
};

struct up_probe {
	struct up_probe_config config;
	struct up_targets no_targets;
	struct up_env env;
	struct up_arena arenas[2];
	struct instance *instances; /* [instance_count], owned */
	size_t instance_count;
	struct up_table table;
	struct up_sink sinks[UP_SINKS_MAX];
	size_t sink_count;
	struct event events[EVENTS_MAX];
	size_t event_count;
	uint64_t tick;
	uint64_t start_ns;
	uint64_t deadline_ns;
	uint64_t last_mono_ns, last_wall_ns;
	uint64_t late_ticks, dropped_rows;
	struct up_services services;
};

/* True when LIST ("cpu,run-queue") holds NAME. */
static bool in_list(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && strncmp(p, name, len) == 0)
			return true;
	return false;
}

static bool wanted(const struct up_probe_config *config, const struct up_collector *collector)
{
	if (config->only && !in_list(config->only, collector->name) && !in_list(config->only, collector->resource))
		return false;
	return !in_list(config->skip, collector->name) && !in_list(config->skip, collector->resource);
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

static int add_instances(struct up_probe *probe)
{
	const struct up_probe_config *config = &probe->config;

	for (size_t i = 0; up_collectors[i]; i++) {
		const struct up_collector *collector = up_collectors[i];
		int r = 0;

		if (!wanted(config, collector) || (collector->per == UP_PER_HOST && !config->host_rows) ||
			!asked_for(probe, collector))
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
		r = add_instances(probe);
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

static void close_instance(struct instance *instance)
{
	if (instance->collector->close)
		instance->collector->close(instance->state);
	memset(instance->state, 0, instance->collector->state_bytes);
	instance->open = instance->has[0] = instance->has[1] = false;
}

void up_probe_free(struct up_probe *probe)
{
	if (!probe)
		return;
	up_probe_close_sinks(probe);
	for (size_t i = 0; i < probe->instance_count; i++) {
		struct instance *instance = &probe->instances[i];

		if (instance->state)
			close_instance(instance);
		free(instance->state);
		free(instance->raw[0]);
		free(instance->raw[1]);
	}
	free(probe->instances);
	up_services_stop(&probe->env);
	up_arena_done(&probe->arenas[0]);
	up_arena_done(&probe->arenas[1]);
	up_table_done(&probe->table);
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

void up_probe_event(struct up_probe *probe, const char *resource, const char *name, const char *text, const char *target)
{
	struct event *event;

	if (probe->event_count == EVENTS_MAX) {
		probe->dropped_rows++;
		return;
	}
	event = &probe->events[probe->event_count++];
	event->wall_ns = probe->config.clock->wall_ns(probe->config.clock->self);
	event->resource = resource;
	snprintf(event->name, sizeof(event->name), "%s", name ? name : "");
	snprintf(event->text, sizeof(event->text), "%s", text ? text : "");
	snprintf(event->target, sizeof(event->target), "%s", target ? target : "");
}

size_t up_probe_pending_events(const struct up_probe *probe)
{
	return probe->event_count;
}

static void add_events(struct up_probe *probe, const struct up_tick *tick)
{
	for (size_t i = 0; i < probe->event_count; i++) {
		const struct event *event = &probe->events[i];
		struct up_detail detail = { 0 };

		if (*event->text)
			up_detail_text(&detail, "text", event->text);
		/* A mark that was set between two ticks keeps its own time. */
		if (event->wall_ns + UP_NS_PER_MS <= tick->wall_ns) {
			char time[UP_TIME_TEXT];

			up_time_format(event->wall_ns, time);
			up_detail_text(&detail, "at", time);
		}
		up_rows_add(&probe->table.rows, &(struct up_row){
							.scope = UP_SCOPE_EVENT,
							.resource = event->resource,
							.name = event->name,
							.target = *event->target ? event->target : NULL,
							.detail = detail.text,
							.state = UP_OK,
						});
	}
	probe->event_count = 0;
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

static void run_instance(struct up_probe *probe, struct instance *instance, struct up_arena *arena)
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
			close_instance(instance);
		return;
	}
	if (instance->open && instance->target && instance->generation != instance->target->generation)
		close_instance(instance);
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
			close_instance(instance);
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
		run_instance(probe, &probe->instances[i], arena);
	probe->table.rows.target = NULL;
	probe->table.rows.window_ns = 0;
	add_events(probe, &tick);
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
