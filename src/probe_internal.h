/* What the files of the probe share: one run, its collectors at work and the events that wait for a row. */
#ifndef UP_PROBE_INTERNAL_H
#define UP_PROBE_INTERNAL_H

#include "useprobe/computed.h"
#include "useprobe/probe.h"
#include "useprobe/services.h"

#define EVENTS_MAX 64

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
	struct up_computed *computed; /* owned; NULL when connection-pool is not wanted */
};

/* probe_instance.c. True when --only and --skip let RESOURCE (or the collector NAME) through. */
bool probe_wants(const struct up_probe_config *config, const char *name, const char *resource);
/* The collectors that are wanted, one instance for each target. 0 or -ENOMEM. */
int probe_add_instances(struct up_probe *probe);
/* Opens (when needed), reads and derives; rows or the row of a failure are in the table afterwards. */
void probe_run_instance(struct up_probe *probe, struct instance *instance, struct up_arena *arena);
void probe_close_instance(struct instance *instance);

/* probe_events.c: the rows of the events since the last tick. */
void probe_add_events(struct up_probe *probe, const struct up_tick *tick);

#endif
