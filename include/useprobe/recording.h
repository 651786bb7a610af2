/* Recording: the rows of a run as plain arrays over time, for the analysis. It is filled tick by tick, from the probe's table or from a
 * CSV read back, so that the live view and the report work on the same numbers. Only resources the analysis knows are kept. */
#ifndef UP_RECORDING_H
#define UP_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/row.h"

struct up_tick; /* useprobe/table.h */

enum up_resource {
	UP_RES_CPU,
	UP_RES_CPU_OUTSIDE,
	UP_RES_RUN_QUEUE,
	UP_RES_MEMORY,
	UP_RES_DISK,
	UP_RES_NETWORK,
	UP_RES_LISTEN,
	UP_RES_REQUESTS,
	UP_RES_DEPENDENCY,
	UP_RES_THREAD_POOL,
	UP_RES_CONNECTION_POOL,
	UP_RES_LOCK,
	UP_RES_DESCRIPTORS,
	UP_RES_TASKS,
	UP_RES_PORTS,
	UP_RES_CONNTRACK,
	UP_RES_SQL,
	UP_RES_FROZEN,
	UP_RES_LOAD,
	UP_RES_PROBE,
	UP_RES_PRESSURE_CPU,
	UP_RES_PRESSURE_MEMORY,
	UP_RES_PRESSURE_IO,
	UP_RES_PRESSURE_IRQ,
	UP_RES_COUNT
};

/* Figures taken out of the detail column: counts of the window are summed over a stretch of time, levels are averaged. */
enum up_row_figure {
	UP_FIG_ARRIVALS, /* count */
	UP_FIG_DEPARTURES, /* count */
	UP_FIG_AREA_S, /* count: requests in flight integrated */
	UP_FIG_UNREAD_AREA_S, /* count: of these, bytes nobody has read yet */
	UP_FIG_IN_FLIGHT, /* level */
	UP_FIG_CONNECTIONS, /* level, open ones */
	UP_FIG_BUSY, /* level: connections with a query under way, threads at work */
	UP_FIG_BUSY_AREA_S, /* count */
	UP_FIG_QUERIES, /* count */
	UP_FIG_RESPONSE_UNREAD_MS, /* level: from the arrival of an answer to its being read */
	UP_FIG_USED_CPUS, /* level */
	UP_FIG_SLEEP, /* level: busy threads of a pool that sleep for a time */
	UP_FIG_RUNNABLE, /* level: busy threads of a pool that wait for a CPU, a quota's too */
	UP_FIGURES
};

struct up_sample {
	uint32_t tick; /* index into up_recording.tick */
	uint32_t text; /* index into up_recording.text: the word the resource's rows carry (competitor, kind), 0 = none */
	float window_s;
	float utilization, saturation, waiting, errors, servers; /* NAN = not known */
};

/* One row over time. Strings are owned. */
struct up_track {
	enum up_scope scope;
	enum up_resource resource;
	char *name, *target; /* target NULL for rows that belong to none */
	struct up_sample *at; /* [n] owned, in the order of time */
	float *figure; /* [n * UP_FIGURES] owned, NAN = not known; NULL while no sample had one */
	size_t n, room;
	uint32_t unit,
		method; /* of its first sample: what saturation counts, where the figures are from; indices into up_recording.text */
};

struct up_recorded_tick {
	int64_t wall_us; /* end of the window, unix time */
	double elapsed_s;
};

/* A mark, a target that went or came back, a limit that changed. Strings are owned and hold raw bytes. */
struct up_recorded_event {
	int64_t wall_us; /* when it happened, unix time */
	char *kind; /* "mark", "target-gone", ... */
	char *name; /* of what; "" for a mark */
	char *text; /* "" without */
};

#define UP_RECORDING_EVENTS_MAX ((size_t)1000)
#define UP_RECORDING_SAMPLES_MAX ((size_t)8 << 20)
#define UP_RECORDING_TRACKS_MAX 4096
#define UP_RECORDING_TEXTS_MAX 4096

struct up_recording {
	struct up_recorded_tick *tick; /* [n_ticks] owned, wall_us never falls (a clock set back is held) */
	size_t n_ticks, tick_room;
	struct up_track *track; /* [n_tracks] owned, in the order of their first appearance */
	size_t n_tracks, track_room;
	char **text; /* [n_texts] owned strings; text[0] is "" */
	size_t n_texts, text_room;
	struct up_recorded_event *event; /* [n_events] owned, in the order of the rows */
	size_t n_events, event_room, events_left_out;
	size_t samples; /* of all tracks */
	size_t left_out; /* samples beyond the maxima */
};

UP_MUST_CHECK int up_recording_init(struct up_recording *recording);
void up_recording_done(struct up_recording *recording);
/* Adds the rows of one tick; unknown resources are passed over. 0, -ENOMEM. */
UP_MUST_CHECK int up_recording_add(struct up_recording *recording, const struct up_tick *tick, const struct up_rows *rows);

/* One track over the time [from_us, to_us): samples whose window's middle lies in it. */
struct up_reading {
	size_t samples;
	double covered_s; /* time the samples cover */
	double utilization, saturation, waiting, servers; /* means over the time where known, NAN without */
	double utilization_max, saturation_max;
	double errors; /* sum, NAN when never known */
	double figure[UP_FIGURES]; /* sums of counts, means of levels, NAN without */
	double figure_min[UP_FIGURES], figure_max[UP_FIGURES];
	uint32_t text; /* of the last sample that had one */
};
void up_track_read(const struct up_recording *recording, const struct up_track *track, int64_t from_us, int64_t to_us,
	struct up_reading *ret);

/* "cpu", "run-queue", ... as in the CSV. */
const char *up_resource_name(enum up_resource resource);
/* true for UP_FIG_ARRIVALS and the other sums. */
bool up_figure_is_count(enum up_row_figure figure);

#endif
