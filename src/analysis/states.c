/* Rows of one target over one window -> stations with waiting, busy and servers. The partition of N is in partition.c. */
#include <math.h>
#include <string.h>

#include "states_internal.h"

static const double settled_ratio = 0.05;
static const double flat_ratio = 0.05;
/* From here on a pool counts as full. Handing a connection from one thread to the next takes a wake-up, in which nothing is on the wire: three
 * connections with queries of 13 ms were seen 93 % busy with fifty threads waiting for one. */
static const double connections_full_ratio = 0.9;
enum { FLAT_SAMPLES_MIN = 3 };

bool up_subject_has(const struct up_subject *subject, const struct up_track *track)
{
	if (!subject->target || !track->target)
		return subject->target == track->target;
	return strcmp(subject->target, track->target) == 0;
}

struct up_station *up_states_add(struct up_states *states, enum up_station_kind kind, size_t track)
{
	struct up_station *station;

	if (states->n_stations == UP_STATIONS_MAX)
		return NULL;
	station = &states->at[states->n_stations++];
	*station = (struct up_station){ .kind = kind,
		.track = track,
		.waiting = NAN,
		.busy = NAN,
		.servers = NAN,
		.utilization = NAN,
		.throttled = NAN,
		.contended = NAN,
		.asleep = NAN,
		.limit_track = SIZE_MAX };
	return station;
}

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

static double first_known(double a, double b)
{
	return isnan(a) ? b : a;
}

static double plus_known(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Per second of what is COUNT over the time the row covers. */
static double rate(const struct up_reading *reading, enum up_row_figure count)
{
	return reading->covered_s > 0 ? reading->figure[count] / reading->covered_s : NAN;
}

static void gather_requests(struct up_gathered *g, const struct up_reading *reading)
{
	struct up_states *s = g->states;
	const double n = first_known(rate(reading, UP_FIG_AREA_S), reading->figure[UP_FIG_IN_FLIGHT]);
	const double departures = reading->figure[UP_FIG_DEPARTURES];

	if (isnan(n) || isnan(departures))
		return;
	s->known = true;
	s->n += n;
	s->arrivals += or_zero(reading->figure[UP_FIG_ARRIVALS]);
	s->departures += departures;
	s->covered_s = fmax(s->covered_s, reading->covered_s);
	if (reading->samples > s->ticks)
		s->ticks = reading->samples;
	g->unread += or_zero(first_known(rate(reading, UP_FIG_UNREAD_AREA_S), reading->waiting));
	s->connections = or_zero(s->connections) + or_zero(reading->figure[UP_FIG_CONNECTIONS]);
}

static void gather_listen(struct up_gathered *g, size_t track, const struct up_reading *reading)
{
	struct up_station *station;

	if (isnan(reading->waiting))
		return;
	station = up_states_add(g->states, UP_STATION_ACCEPT, track);
	if (!station)
		return;
	station->waiting = reading->waiting;
	station->utilization = reading->utilization;
	g->accept += reading->waiting;
}

static void gather_pool(struct up_gathered *g, size_t track, const struct up_reading *reading)
{
	const double busy = first_known(reading->figure[UP_FIG_BUSY], reading->utilization * reading->servers);
	const size_t first = up_pool_first(g->recording, track);
	struct up_station *station = NULL;

	if (isnan(busy))
		return;
	for (size_t i = 0; i < g->states->n_stations; i++)
		if (g->states->at[i].kind == UP_STATION_WORKERS && g->states->at[i].track == first)
			station = &g->states->at[i];
	if (!station)
		station = up_states_add(g->states, UP_STATION_WORKERS, first);
	if (!station)
		return;
	station->busy = or_zero(station->busy) + busy;
	station->servers = or_zero(station->servers) + reading->servers;
	station->utilization = station->busy / station->servers;
	station->waiting = plus_known(station->waiting, reading->waiting);
	station->asleep = plus_known(station->asleep, reading->figure[UP_FIG_SLEEP]);
	if (first == g->subject->pool_track)
		g->states->owner = (size_t)(station - g->states->at);
}

/* Memory, disk, lock: rows that say how many tasks wait. */
static void gather_plain(struct up_gathered *g, enum up_station_kind kind, size_t track, const struct up_reading *reading)
{
	struct up_station *station = isnan(reading->waiting) ? NULL : up_states_add(g->states, kind, track);

	if (!station)
		return;
	station->waiting = reading->waiting;
	station->utilization = reading->utilization;
}

static struct up_link *link_add(struct up_gathered *g, size_t track)
{
	struct up_link *link;

	if (g->n_links == UP_DEPENDENCIES_MAX)
		return NULL;
	link = &g->link[g->n_links++];
	*link = (struct up_link){ .track = track, .pool_track = SIZE_MAX, .open = NAN, .servers = NAN, .counted_waiting = NAN };
	return link;
}

/* Connections with a query under way or an answer that nobody has read yet, of those open. */
static double used_ratio(const struct up_reading *reading)
{
	const double busy = first_known(rate(reading, UP_FIG_BUSY_AREA_S), reading->figure[UP_FIG_BUSY]);
	const double unread = or_zero(reading->figure[UP_FIG_RESPONSE_UNREAD_MS] * 1e-3 * rate(reading, UP_FIG_QUERIES));

	return reading->figure[UP_FIG_CONNECTIONS] > 0 ? (busy + unread) / reading->figure[UP_FIG_CONNECTIONS] : 0;
}

/* The number of open connections stays the same, and all are in use. One sample alone is always flat, and the share in use jumps from one half
 * second to the next: short windows look at the time before them too. */
static void judge_connections(const struct up_gathered *g, const struct up_reading *reading, struct up_link *link)
{
	const int64_t length_us = g->states->to_us - g->states->from_us;
	struct up_reading longer = *reading;
	double most;

	if (reading->samples < FLAT_SAMPLES_MIN)
		up_track_read(g->recording, &g->recording->track[link->track], g->states->from_us - FLAT_SAMPLES_MIN * length_us,
			g->states->to_us, &longer);
	most = longer.figure_max[UP_FIG_CONNECTIONS];
	link->flat = longer.samples > 1 && most - longer.figure_min[UP_FIG_CONNECTIONS] <= fmax(0.5, flat_ratio * most);
	link->full = link->flat && fmax(used_ratio(reading), used_ratio(&longer)) >= connections_full_ratio;
}

static void gather_dependency(struct up_gathered *g, size_t track, const struct up_reading *reading)
{
	const double busy = first_known(rate(reading, UP_FIG_BUSY_AREA_S), reading->figure[UP_FIG_BUSY]);
	struct up_link *link = isnan(busy) ? NULL : link_add(g, track);

	if (!link)
		return;
	link->busy = busy;
	link->reading = or_zero(reading->figure[UP_FIG_RESPONSE_UNREAD_MS] * 1e-3 * rate(reading, UP_FIG_QUERIES));
	link->open = first_known(reading->figure[UP_FIG_CONNECTIONS], reading->servers);
	judge_connections(g, reading, link);
}

/* The dependency a connection-pool row belongs to: by the peer in its name, or because there is only one. */
static struct up_link *link_of_pool(struct up_gathered *g, const struct up_track *pool, bool *ret_computed)
{
	for (size_t i = 0; i < g->n_links; i++) {
		const char *peer = g->recording->track[g->link[i].track].name;

		if (strstr(pool->name, peer)) {
			/* A row that is named by the peer alone comes from the sockets, not from a counter of the application's. */
			*ret_computed = strcmp(pool->name, peer) == 0;
			return &g->link[i];
		}
	}
	*ret_computed = false;
	return g->n_links == 1 ? &g->link[0] : NULL;
}

static void gather_connection_pool(struct up_gathered *g, size_t track, const struct up_reading *reading)
{
	bool computed;
	struct up_link *link = link_of_pool(g, &g->recording->track[track], &computed);

	if (!link || reading->samples == 0)
		return;
	link->pool_track = track;
	link->servers = reading->servers;
	if (!computed)
		link->counted_waiting = reading->waiting;
}

/* The target's own cpu row and those of its limiting ancestors: an ancestor's name is a prefix of the target's. */
static void gather_cpu(
	struct up_gathered *g, size_t track, const struct up_reading *reading, struct up_station *cpu, struct up_reading *own)
{
	const struct up_track *tracks = g->recording->track;
	const double used = first_known(reading->figure[UP_FIG_USED_CPUS], reading->utilization * reading->servers);
	const bool is_own =
		cpu->track == SIZE_MAX || tracks[track].scope == UP_SCOPE_PROCESS ||
		(tracks[cpu->track].scope != UP_SCOPE_PROCESS && strlen(tracks[track].name) > strlen(tracks[cpu->track].name));

	if (is_own) {
		*own = *reading;
		cpu->track = track;
		cpu->busy = used;
		cpu->servers = reading->servers;
		cpu->throttled = reading->waiting;
	}
	if (isnan(reading->utilization))
		return;
	if (isnan(cpu->utilization) || reading->utilization > cpu->utilization) {
		cpu->utilization = reading->utilization;
		cpu->limit_track = track;
	}
}

/* With equal utilization the row whose own limit it is: the child says in `limited_by` that it is an ancestor's. */
static void settle_cpu_limit(struct up_gathered *g, struct up_station *cpu, const struct up_reading *own)
{
	const struct up_recording *r = g->recording;

	if (cpu->limit_track != cpu->track || own->text == 0)
		return;
	for (size_t i = 0; i < r->n_tracks; i++) {
		const struct up_track *track = &r->track[i];

		if (track->resource == UP_RES_CPU && up_subject_has(g->subject, track) &&
			strcmp(track->name, r->text[own->text]) == 0)
			cpu->limit_track = i;
	}
}

static void gather_row(struct up_gathered *g, size_t track, const struct up_reading *reading)
{
	switch (g->recording->track[track].resource) {
	case UP_RES_REQUESTS:
		gather_requests(g, reading);
		break;
	case UP_RES_LISTEN:
		gather_listen(g, track, reading);
		break;
	case UP_RES_THREAD_POOL:
		gather_pool(g, track, reading);
		break;
	case UP_RES_MEMORY:
		gather_plain(g, UP_STATION_MEMORY, track, reading);
		break;
	case UP_RES_DISK:
		gather_plain(g, UP_STATION_DISK, track, reading);
		break;
	case UP_RES_LOCK:
		gather_plain(g, UP_STATION_LOCK, track, reading);
		break;
	case UP_RES_DEPENDENCY:
		gather_dependency(g, track, reading);
		break;
	case UP_RES_FROZEN:
		g->states->frozen_share = fmax(g->states->frozen_share, or_zero(reading->saturation));
		break;
	default:
		break;
	}
}

void up_states_gather(struct up_gathered *g)
{
	const struct up_recording *r = g->recording;
	struct up_station *cpu = up_states_add(g->states, UP_STATION_CPU, SIZE_MAX);
	struct up_reading reading, own = { 0 };
	size_t run_queue_length = 0;

	for (size_t i = 0; i < r->n_tracks; i++) {
		const struct up_track *track = &r->track[i];

		if (track->resource == UP_RES_CPU_OUTSIDE) {
			up_track_read(r, track, g->states->from_us, g->states->to_us, &reading);
			g->states->outside_cpus = reading.figure[UP_FIG_USED_CPUS];
		}
		if (!up_subject_has(g->subject, track) || (track->scope == UP_SCOPE_HOST && g->subject->target))
			continue;
		up_track_read(r, track, g->states->from_us, g->states->to_us, &reading);
		if (reading.samples == 0)
			continue;
		if (track->resource == UP_RES_CPU)
			gather_cpu(g, i, &reading, cpu, &own);
		else if (track->resource == UP_RES_RUN_QUEUE && strlen(track->name) >= run_queue_length) {
			cpu->contended = reading.waiting;
			run_queue_length = strlen(track->name);
		} else
			gather_row(g, i, &reading);
	}
	settle_cpu_limit(g, cpu, &own);
	cpu->waiting = plus_known(cpu->throttled, cpu->contended);
	/* Pools name a peer that may stand behind them in the file. */
	for (size_t i = 0; i < r->n_tracks; i++) {
		if (r->track[i].resource != UP_RES_CONNECTION_POOL || !up_subject_has(g->subject, &r->track[i]))
			continue;
		up_track_read(r, &r->track[i], g->states->from_us, g->states->to_us, &reading);
		gather_connection_pool(g, i, &reading);
	}
}

static void residence(struct up_states *s)
{
	const double most = fmax(s->arrivals, s->departures), least = fmin(s->arrivals, s->departures);

	s->x_per_s = s->covered_s > 0 ? s->departures / s->covered_s : 0;
	s->settled = fabs(s->arrivals - s->departures) <= settled_ratio * s->departures;
	s->residence_ms = s->x_per_s > 0 ? 1e3 * s->n / s->x_per_s : NAN;
	s->residence_lo_ms = s->settled ? s->residence_ms : most > 0 ? 1e3 * s->n * s->covered_s / most : NAN;
	s->residence_hi_ms = s->settled ? s->residence_ms : least > 0 ? 1e3 * s->n * s->covered_s / least : NAN;
}

void up_states_compute(const struct up_recording *recording, const struct up_subject *subject, int64_t from_us, int64_t to_us,
	struct up_states *ret)
{
	struct up_gathered g = { .recording = recording, .subject = subject, .states = ret };
	double overlap;

	*ret = (struct up_states){
		.from_us = from_us, .to_us = to_us, .outside_cpus = NAN, .connections = NAN, .thread_scale = 1, .owner = SIZE_MAX
	};
	up_states_gather(&g);
	/* A client sends its request as soon as it is connected: what waits to be accepted is among the unread requests already. */
	overlap = fmin(g.accept, g.unread);
	g.unread -= overlap;
	ret->n += g.accept - overlap;
	residence(ret);
	up_states_partition(&g);
}
