#include "useprobe/computed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/states.h"

/* Which pool of threads serves the requests follows from how both move: some time has to be remembered, but not the whole run. Two
 * recordings, one begun half a length after the other, are dropped in turns. */
enum { REMEMBERED_TICKS = 120 };
/* Over a single second neither requests nor connections are in balance. */
static const int64_t window_us = 3000000;
/* A full pool in which nobody waits limits nothing: so many threads with a connection each look the same. */
static const double waiting_min = 0.5, waiting_min_ratio = 0.05;

struct up_computed {
	struct up_recording recording[2];
	bool begun[2];
};

int up_conn_max_parse(const char *value, char ret_peer[UP_CONN_MAX_PEER], double *ret_connections)
{
	const char *equals = strrchr(value, '=');
	const char *number = equals ? equals + 1 : value;
	const size_t length = equals ? (size_t)(equals - value) : 0;
	uint64_t n;

	if ((equals && length == 0) || length >= UP_CONN_MAX_PEER || up_scan_whole_u64(number, &n) < 0 || n == 0 || n > 1000000)
		return -EINVAL;
	memcpy(ret_peer, value, length);
	ret_peer[length] = '\0';
	*ret_connections = (double)n;
	return 0;
}

int up_computed_new(struct up_computed **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void up_computed_free(struct up_computed *computed)
{
	for (int i = 0; computed && i < 2; i++)
		if (computed->begun[i])
			up_recording_done(&computed->recording[i]);
	free(computed);
}

static void drop(struct up_computed *computed, int which)
{
	if (computed->begun[which])
		up_recording_done(&computed->recording[which]);
	computed->begun[which] = false;
}

/* Adds the tick to both and returns the one that remembers more; NULL without memory. */
static const struct up_recording *remember(struct up_computed *computed, const struct up_tick *tick, const struct up_rows *rows)
{
	const struct up_recording *longest = NULL;

	for (int i = 0; i < 2; i++) {
		struct up_recording *recording = &computed->recording[i];
		const struct up_recording *other = &computed->recording[!i];

		if (computed->begun[i] && recording->n_ticks >= REMEMBERED_TICKS)
			drop(computed, i);
		if (!computed->begun[i] && computed->begun[!i] && other->n_ticks < REMEMBERED_TICKS / 2)
			continue;
		if (!computed->begun[i] && up_recording_init(recording) < 0)
			continue;
		computed->begun[i] = true;
		if (up_recording_add(recording, tick, rows) < 0) {
			drop(computed, i);
			continue;
		}
		if (!longest || recording->n_ticks > longest->n_ticks)
			longest = recording;
	}
	return longest;
}

static const struct up_row *row_of(const struct up_rows *rows, const struct up_track *track)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct up_row *row = &rows->items[i];

		if (strcmp(row->resource, "dependency") == 0 && strcmp(row->name, track->name) == 0 &&
			(row->target == track->target ||
				(row->target && track->target && strcmp(row->target, track->target) == 0)))
			return row;
	}
	return NULL;
}

static size_t count_dependencies(const struct up_rows *rows, const char *target)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += strcmp(rows->items[i].resource, "dependency") == 0 && rows->items[i].state == UP_OK &&
			 (rows->items[i].target == target ||
				 (rows->items[i].target && target && strcmp(rows->items[i].target, target) == 0));
	return count;
}

/* The size of the pool to PEER's row by --conn-max; NAN when it was not told. */
static double told_size(const struct up_env *env, const struct up_row *row, size_t dependencies)
{
	char peer[UP_CONN_MAX_PEER], label[512];
	const char *value;
	size_t index = 0;
	double n;

	if (!up_detail_get(row->detail, "label", label, sizeof(label)))
		label[0] = '\0';
	while ((value = up_setting_next(env, "conn-max", &index))) {
		if (up_conn_max_parse(value, peer, &n) < 0)
			continue;
		if (*peer ? strcmp(peer, row->name) == 0 || strcmp(peer, label) == 0 : dependencies == 1)
			return n;
	}
	return NAN;
}

static struct up_value known(double number, const char *reason)
{
	return isnan(number) ? up_none(reason) : up_value(number);
}

static void add_pool(const struct up_row *dependency, const struct up_states *states, const struct up_station *pool, double size,
	struct up_rows *rows)
{
	const bool told = !isnan(size);
	const double servers = told ? size : pool->servers;
	const struct up_value waiting = known(states->known ? pool->waiting : NAN, "the requests inside are not known");
	struct up_detail detail = { 0 };
	double open;

	if (!told && !(pool->waiting >= fmax(waiting_min, waiting_min_ratio * servers)))
		return;
	if (up_detail_get_number(dependency->detail, "connections", &open))
		up_detail_number(&detail, "open", open);
	up_detail_number(&detail, "busy", pool->busy);
	up_detail_text(&detail, "size", told ? "--conn-max" : "the connections that are open");
	up_rows_add(
		rows, &(struct up_row){
			      .scope = UP_SCOPE_DEPENDENCY,
			      .resource = "connection-pool",
			      .name = dependency->name,
			      .target = dependency->target,
			      .utilization = known(servers > 0 ? pool->busy / servers : NAN, "the size of the pool is not known"),
			      .saturation = waiting,
			      .saturation_unit = "waiters",
			      .waiting = waiting,
			      .errors = up_none("time-outs of a pool are not visible from outside"),
			      .servers = servers > 0 ? servers : 0,
			      .method = "requests inside less their other states computed",
			      .detail = detail.text,
			      .state = UP_OK,
		      });
}

/* The pools of one target: a station each with the dependency's row as its track. */
static void add_pools(const struct up_recording *recording, const struct up_subject *subject, const struct up_env *env,
	struct up_rows *rows, struct up_states *states)
{
	const int64_t now_us = recording->tick[recording->n_ticks - 1].wall_us;
	const size_t dependencies = count_dependencies(rows, subject->target);

	up_states_compute(recording, subject, now_us - window_us, now_us + 1, states);
	for (size_t i = 0; i < states->n_stations; i++) {
		const struct up_station *station = &states->at[i];
		const struct up_row *dependency;
		double size;

		if (station->kind != UP_STATION_CONNECTIONS || station->track == SIZE_MAX)
			continue;
		dependency = row_of(rows, &recording->track[station->track]);
		if (!dependency || dependency->state != UP_OK)
			continue;
		size = told_size(env, dependency, dependencies);
		/* Adding moves nothing that was there: the rows are an array of fixed size, their text a pool. */
		add_pool(dependency, states, station, size, rows);
	}
}

int up_computed_add(struct up_computed *computed, const struct up_env *env, const struct up_tick *tick, struct up_rows *rows)
{
	struct up_subject subject[UP_TARGETS_MAX + 1];
	const struct up_recording *recording;
	struct up_states *states;
	bool any = false;
	size_t n;

	for (size_t i = 0; i < rows->count && !any; i++)
		any = strcmp(rows->items[i].resource, "dependency") == 0 && rows->items[i].state == UP_OK;
	if (!any)
		return 0;
	recording = remember(computed, tick, rows);
	states = malloc(sizeof(*states));
	if (!recording || !states) {
		free(states);
		return -ENOMEM;
	}
	n = up_subjects(recording, subject, UP_COUNT(subject));
	for (size_t i = 0; i < n; i++)
		add_pools(recording, &subject[i], env, rows, states);
	free(states);
	return 0;
}
