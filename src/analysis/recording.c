#include "useprobe/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_events.h"
#include "useprobe/clock.h"
#include "useprobe/table.h"

/* The CSV's word for each resource, and the key of detail whose text is worth keeping. */
static const struct {
	const char *name, *text_key;
} resources[UP_RES_COUNT] = {
	[UP_RES_CPU] = { "cpu", "limited_by" },
	[UP_RES_CPU_OUTSIDE] = { "cpu-outside", NULL },
	[UP_RES_RUN_QUEUE] = { "run-queue", "competitor" },
	[UP_RES_MEMORY] = { "memory", "limited_by" },
	[UP_RES_DISK] = { "disk", "device" },
	[UP_RES_NETWORK] = { "network", NULL },
	[UP_RES_LISTEN] = { "listen", NULL },
	[UP_RES_REQUESTS] = { "requests", "kind" },
	[UP_RES_DEPENDENCY] = { "dependency", "label" },
	[UP_RES_THREAD_POOL] = { "thread-pool", NULL },
	[UP_RES_CONNECTION_POOL] = { "connection-pool", NULL },
	[UP_RES_LOCK] = { "lock", NULL },
	[UP_RES_DESCRIPTORS] = { "descriptors", NULL },
	[UP_RES_TASKS] = { "tasks", NULL },
	[UP_RES_PORTS] = { "ports", NULL },
	[UP_RES_CONNTRACK] = { "conntrack", NULL },
	[UP_RES_SQL] = { "sql", NULL },
	[UP_RES_FROZEN] = { "frozen", NULL },
	[UP_RES_LOAD] = { "load", NULL },
	[UP_RES_PROBE] = { "probe", NULL },
	[UP_RES_PRESSURE_CPU] = { "pressure-cpu", NULL },
	[UP_RES_PRESSURE_MEMORY] = { "pressure-memory", NULL },
	[UP_RES_PRESSURE_IO] = { "pressure-io", NULL },
	[UP_RES_PRESSURE_IRQ] = { "pressure-irq", NULL },
};

static const struct {
	const char *key;
	bool count;
} figures[UP_FIGURES] = {
	[UP_FIG_ARRIVALS] = { "arrivals", true },
	[UP_FIG_DEPARTURES] = { "departures", true },
	[UP_FIG_AREA_S] = { "area_s", true },
	[UP_FIG_UNREAD_AREA_S] = { "unread_area_s", true },
	[UP_FIG_IN_FLIGHT] = { "in_flight", false },
	[UP_FIG_CONNECTIONS] = { "connections", false },
	[UP_FIG_BUSY] = { "busy", false },
	[UP_FIG_BUSY_AREA_S] = { "busy_area_s", true },
	[UP_FIG_QUERIES] = { "queries", true },
	[UP_FIG_RESPONSE_UNREAD_MS] = { "response_unread_ms", false },
	[UP_FIG_USED_CPUS] = { "used_cpus", false },
	[UP_FIG_SLEEP] = { "sleep", false },
	[UP_FIG_RUNNABLE] = { "runnable", false },
};

const char *up_resource_name(enum up_resource resource)
{
	return resources[resource].name;
}

bool up_figure_is_count(enum up_row_figure figure)
{
	return figures[figure].count;
}

static bool resource_of(const char *name, enum up_resource *ret)
{
	for (size_t i = 0; name && i < UP_RES_COUNT; i++) {
		if (strcmp(resources[i].name, name) == 0) {
			*ret = (enum up_resource)i;
			return true;
		}
	}
	return false;
}

int up_recording_init(struct up_recording *recording)
{
	struct up_recording empty = { .text = calloc(1, sizeof(char *)), .text_room = 1 };

	if (empty.text)
		empty.text[0] = strdup("");
	if (!empty.text || !empty.text[0]) {
		free(empty.text);
		return -ENOMEM;
	}
	empty.n_texts = 1;
	*recording = empty;
	return 0;
}

void up_recording_done(struct up_recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < recording->n_tracks; i++) {
		free(recording->track[i].name);
		free(recording->track[i].target);
		free(recording->track[i].at);
		free(recording->track[i].figure);
	}
	for (size_t i = 0; i < recording->n_texts; i++)
		free(recording->text[i]);
	up_recorded_events_done(recording);
	free(recording->track);
	free(recording->tick);
	free(recording->text);
	*recording = (struct up_recording){ 0 };
}

/* Makes room for one more item of SIZE bytes. 0 or -ENOMEM. */
static int grow(void *array, size_t *room, size_t n, size_t size)
{
	void **items = array, *bigger;
	const size_t more = *room ? *room * 2 : 16;

	if (n < *room)
		return 0;
	bigger = realloc(*items, more * size);
	if (!bigger)
		return -ENOMEM;
	*items = bigger;
	*room = more;
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* HINT: rows mostly come in the order of the tick before. */
static struct up_track *find_track(
	struct up_recording *recording, const struct up_row *row, enum up_resource resource, size_t hint)
{
	for (size_t k = 0; k < recording->n_tracks; k++) {
		struct up_track *track = &recording->track[(hint + k) % recording->n_tracks];

		if (track->resource == resource && track->scope == row->scope && strcmp(track->name, row->name) == 0 &&
			same_text(track->target, row->target))
			return track;
	}
	return NULL;
}

static int text_index(struct up_recording *recording, const char *text, uint32_t *ret)
{
	for (size_t i = recording->n_texts; i-- > 0;) {
		if (strcmp(recording->text[i], text) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	*ret = 0;
	if (recording->n_texts >= UP_RECORDING_TEXTS_MAX)
		return 0;
	if (grow(&recording->text, &recording->text_room, recording->n_texts, sizeof(*recording->text)) < 0)
		return -ENOMEM;
	recording->text[recording->n_texts] = strdup(text);
	if (!recording->text[recording->n_texts])
		return -ENOMEM;
	*ret = (uint32_t)recording->n_texts++;
	return 0;
}

static int new_track(struct up_recording *recording, const struct up_row *row, enum up_resource resource, struct up_track **ret)
{
	struct up_track *track;

	if (grow(&recording->track, &recording->track_room, recording->n_tracks, sizeof(*recording->track)) < 0)
		return -ENOMEM;
	track = &recording->track[recording->n_tracks];
	*track = (struct up_track){ .scope = row->scope, .resource = resource };
	if ((row->saturation_unit && text_index(recording, row->saturation_unit, &track->unit) < 0) ||
		(row->method && text_index(recording, row->method, &track->method) < 0))
		return -ENOMEM;
	track->name = strdup(row->name);
	if (track->name && row->target)
		track->target = strdup(row->target);
	if (!track->name || (row->target && !track->target)) {
		free(track->name);
		return -ENOMEM;
	}
	recording->n_tracks++;
	*ret = track;
	return 0;
}

static float known(struct up_value value)
{
	return up_value_ok(value) ? (float)value.number : NAN;
}

/* Figures of ROW's detail into RET [UP_FIGURES]. true when there was one. */
static bool read_figures(const struct up_row *row, float *ret)
{
	bool any = false;

	for (size_t i = 0; i < UP_FIGURES; i++) {
		double number;

		ret[i] = NAN;
		if (!up_detail_get_number(row->detail, figures[i].key, &number))
			continue;
		ret[i] = (float)number;
		any = true;
	}
	return any;
}

static int track_grow(struct up_track *track, bool with_figures)
{
	const size_t was = track->room;
	float *figure;

	if (grow(&track->at, &track->room, track->n, sizeof(*track->at)) < 0)
		return -ENOMEM;
	if (!track->figure && !with_figures)
		return 0;
	if (track->figure && was == track->room)
		return 0;
	figure = realloc(track->figure, track->room * UP_FIGURES * sizeof(*figure));
	if (!figure) {
		track->room = was;
		return -ENOMEM;
	}
	/* Samples taken before the first one with figures had none. */
	for (size_t i = track->figure ? was * UP_FIGURES : 0; i < track->room * UP_FIGURES; i++)
		figure[i] = NAN;
	track->figure = figure;
	return 0;
}

static int add_sample(struct up_recording *recording, struct up_track *track, const struct up_row *row, uint64_t interval_ns)
{
	const uint64_t window_ns = row->window_ns ? row->window_ns : interval_ns;
	struct up_sample sample = {
		.tick = (uint32_t)(recording->n_ticks - 1),
		.window_s = (float)((double)window_ns / (double)UP_NS_PER_S),
		.utilization = known(row->utilization),
		.saturation = known(row->saturation),
		.waiting = known(row->waiting),
		.errors = known(row->errors),
		.servers = row->servers > 0 ? (float)row->servers : NAN,
	};
	const char *key = resources[track->resource].text_key;
	float figure[UP_FIGURES];
	const bool any = read_figures(row, figure);
	char text[512];

	if (key && up_detail_get(row->detail, key, text, sizeof(text)) && text_index(recording, text, &sample.text) < 0)
		return -ENOMEM;
	if (track_grow(track, any) < 0)
		return -ENOMEM;
	track->at[track->n] = sample;
	if (track->figure)
		memcpy(track->figure + track->n * UP_FIGURES, figure, sizeof(figure));
	track->n++;
	recording->samples++;
	return 0;
}

int up_recording_add(struct up_recording *recording, const struct up_tick *tick, const struct up_rows *rows)
{
	int64_t wall_us = (int64_t)(tick->wall_ns / 1000);
	size_t hint = 0;

	if (grow(&recording->tick, &recording->tick_room, recording->n_ticks, sizeof(*recording->tick)) < 0)
		return -ENOMEM;
	if (recording->n_ticks && wall_us < recording->tick[recording->n_ticks - 1].wall_us)
		wall_us = recording->tick[recording->n_ticks - 1].wall_us;
	recording->tick[recording->n_ticks++] =
		(struct up_recorded_tick){ .wall_us = wall_us, .elapsed_s = (double)tick->elapsed_ns / (double)UP_NS_PER_S };
	for (size_t i = 0; i < rows->count; i++) {
		const struct up_row *row = &rows->items[i];
		enum up_resource resource;
		struct up_track *track;
		int r;

		r = row->scope == UP_SCOPE_EVENT ? up_recorded_event_add(recording, row, wall_us) : 0;
		if (r < 0)
			return r;
		/* A source that did not answer has nothing to say about this window. */
		if (row->scope == UP_SCOPE_EVENT || row->state != UP_OK || !row->name || !resource_of(row->resource, &resource))
			continue;
		track = recording->n_tracks ? find_track(recording, row, resource, hint) : NULL;
		if (recording->samples >= UP_RECORDING_SAMPLES_MAX ||
			(!track && recording->n_tracks >= UP_RECORDING_TRACKS_MAX)) {
			recording->left_out++;
			continue;
		}
		r = track ? 0 : new_track(recording, row, resource, &track);
		if (r == 0)
			r = add_sample(recording, track, row, tick->interval_ns);
		if (r < 0)
			return r;
		hint = (size_t)(track - recording->track) + 1;
	}
	return 0;
}
