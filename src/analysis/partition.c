/* The partition: N requests, each in exactly one state, by precedence. What no row counts follows from what is left:
 * a queue in front of a pool that is full, a wait for a connection of a pool that is full, nothing else. */
#include <math.h>

#include "states_internal.h"

/* Occupancy from which a pool of threads counts as full: they are seen by snapshots. */
static const double threads_full_ratio = 0.9;

/* Sums over the stations of the window. */
struct parts {
	double throttled, stalled, runnable, running, disk, lock, queries, reading;
};

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

static struct parts sum_parts(const struct up_gathered *g)
{
	struct parts p = { 0 };

	for (size_t i = 0; i < g->states->n_stations; i++) {
		const struct up_station *station = &g->states->at[i];

		if (station->kind == UP_STATION_CPU) {
			p.throttled = or_zero(station->throttled);
			p.runnable = or_zero(station->contended);
			p.running = or_zero(station->busy);
		} else if (station->kind == UP_STATION_MEMORY)
			p.stalled += or_zero(station->waiting);
		else if (station->kind == UP_STATION_DISK)
			p.disk += or_zero(station->waiting);
		else if (station->kind == UP_STATION_LOCK)
			p.lock += or_zero(station->waiting);
	}
	for (size_t i = 0; i < g->n_links; i++) {
		p.queries += g->link[i].busy;
		p.reading += g->link[i].reading;
	}
	return p;
}

static double on_cpu_or_blocked(const struct parts *p)
{
	return p->throttled + p->stalled + p->runnable + p->running + p->disk;
}

/* Requests that are neither in a queue of the kernel nor in one of the pool: in the hands of a thread, or of an event loop. */
static double in_hands(const struct up_gathered *g, const struct parts *p, double room)
{
	const struct up_states *s = g->states;
	const double threads = s->owner != SIZE_MAX ? s->at[s->owner].busy : 0;
	double served = on_cpu_or_blocked(p) + p->lock + p->queries + p->reading;

	if (s->owner != SIZE_MAX && g->subject->threaded)
		return fmin(threads, room);
	for (size_t i = 0; i < g->n_links; i++)
		served += or_zero(g->link[i].counted_waiting);
	return fmin(fmax(threads, served), room);
}

/* Requests in front of the pool that serves them: counted by its own row, or what is left when it is full. */
static double worker_queue(const struct up_gathered *g, const struct parts *p, double room)
{
	const struct up_states *s = g->states;

	if (s->owner == SIZE_MAX)
		return 0;
	if (!isnan(s->at[s->owner].waiting))
		return fmin(s->at[s->owner].waiting, room);
	if (!(s->at[s->owner].utilization >= threads_full_ratio))
		return 0;
	return fmax(0, room - in_hands(g, p, room));
}

/* Waiting for a connection: a counter, or what is left in the hands of the threads, and only while every connection is taken. The threads
 * that wait so sleep on a futex, so the lock row loses what the pool gets. */
static double pool_waits(struct up_gathered *g, struct parts *p, double hands)
{
	const double left = fmax(0, hands - on_cpu_or_blocked(p) - p->queries - p->reading);
	struct up_link *fullest = NULL;
	double counted = 0, computed = 0;

	for (size_t i = 0; i < g->n_links; i++) {
		struct up_link *link = &g->link[i];

		link->waiting = or_zero(link->counted_waiting);
		counted += link->waiting;
		if (isnan(link->counted_waiting) && link->full && (!fullest || link->busy > fullest->busy))
			fullest = link;
	}
	if (fullest) {
		computed = fmax(0, left - counted);
		fullest->waiting = computed;
	}
	for (size_t i = 0; i < g->states->n_stations; i++) {
		struct up_station *station = &g->states->at[i];

		if (station->kind == UP_STATION_LOCK && p->lock > 0)
			station->waiting *= fmax(0, p->lock - counted - computed) / p->lock;
	}
	p->lock = fmax(0, p->lock - counted - computed);
	return counted + computed;
}

static double take(double *left, double want)
{
	const double got = fmin(*left, fmax(0, want));

	*left -= got;
	return got;
}

static void share_to_stations(struct up_gathered *g, const struct parts *p)
{
	const double *n = g->states->state;

	for (size_t i = 0; i < g->states->n_stations; i++) {
		struct up_station *station = &g->states->at[i];

		switch (station->kind) {
		case UP_STATION_ACCEPT:
			station->inside = g->accept > 0 ? n[UP_IN_ACCEPT_QUEUE] * station->waiting / g->accept : 0;
			break;
		case UP_STATION_WORKERS:
			station->inside = i == g->states->owner ? n[UP_IN_WORKER_QUEUE] : 0;
			break;
		case UP_STATION_CPU:
			station->inside = n[UP_IN_THROTTLED] + n[UP_IN_RUNNABLE] + n[UP_IN_RUNNING];
			break;
		case UP_STATION_MEMORY:
			station->inside = p->stalled > 0 ? n[UP_IN_MEMORY_STALL] * station->waiting / p->stalled : 0;
			break;
		case UP_STATION_DISK:
			station->inside = p->disk > 0 ? n[UP_IN_BLOCK_IO] * station->waiting / p->disk : 0;
			break;
		case UP_STATION_LOCK:
			station->inside = p->lock > 0 ? n[UP_IN_LOCK] * station->waiting / p->lock : 0;
			break;
		default:
			break;
		}
	}
}

static void add_links(struct up_gathered *g, const struct parts *p, double waits)
{
	for (size_t i = 0; i < g->n_links; i++) {
		const struct up_link *link = &g->link[i];
		struct up_station *station = up_states_add(g->states, UP_STATION_CONNECTIONS, link->track);

		if (!station)
			return;
		station->limit_track = link->pool_track;
		station->waiting = link->waiting;
		station->busy = link->busy + link->reading;
		/* The configured size is not visible from outside: a flat number of open connections bounds it from below. */
		station->servers = !isnan(link->servers) ? link->servers : link->flat ? link->open : NAN;
		station->utilization = station->busy / station->servers;
		station->inside = waits > 0 ? g->states->state[UP_IN_POOL_WAIT] * link->waiting / waits : 0;
		station = up_states_add(g->states, UP_STATION_DEPENDENCY, link->track);
		if (!station)
			return;
		station->busy = link->busy;
		station->inside = p->queries > 0 ? g->states->state[UP_IN_DEPENDENCY] * link->busy / p->queries : 0;
	}
}

/* What a server of the walk's first level is: the threads of the pool, or the requests in service when no thread holds them. */
static void add_service(struct up_gathered *g, double queue, double hands)
{
	struct up_states *s = g->states;
	struct up_station *station;

	if (s->owner != SIZE_MAX && isnan(s->at[s->owner].waiting))
		s->at[s->owner].waiting = queue;
	if (s->owner != SIZE_MAX && g->subject->threaded)
		return;
	station = up_states_add(s, UP_STATION_SERVICE, SIZE_MAX);
	if (station)
		station->busy = hands;
}

void up_states_partition(struct up_gathered *g)
{
	struct up_states *s = g->states;
	double *n = s->state, left = s->n;
	struct parts p = sum_parts(g);
	struct up_station *station = up_states_add(s, UP_STATION_UNREAD, SIZE_MAX);
	double hands, waits, threads, room;

	n[UP_IN_FROZEN] = take(&left, s->n * s->frozen_share);
	n[UP_IN_ACCEPT_QUEUE] = take(&left, g->accept);
	n[UP_IN_SOCKET] = take(&left, g->unread);
	n[UP_IN_WORKER_QUEUE] = take(&left, worker_queue(g, &p, left));
	if (station) {
		station->waiting = g->unread;
		station->inside = n[UP_IN_SOCKET];
	}
	hands = s->owner != SIZE_MAX && g->subject->threaded ? in_hands(g, &p, left) : left;
	waits = pool_waits(g, &p, hands);
	room = fmax(0, left - p.queries - waits);
	threads = on_cpu_or_blocked(&p) + p.lock;
	s->thread_scale = threads > room && threads > 0 ? room / threads : 1;
	n[UP_IN_THROTTLED] = take(&left, p.throttled * s->thread_scale);
	n[UP_IN_MEMORY_STALL] = take(&left, p.stalled * s->thread_scale);
	n[UP_IN_RUNNABLE] = take(&left, p.runnable * s->thread_scale);
	n[UP_IN_RUNNING] = take(&left, p.running * s->thread_scale);
	n[UP_IN_BLOCK_IO] = take(&left, p.disk * s->thread_scale);
	n[UP_IN_LOCK] = take(&left, p.lock * s->thread_scale);
	n[UP_IN_POOL_WAIT] = take(&left, waits);
	n[UP_IN_DEPENDENCY] = take(&left, p.queries);
	if (s->owner != SIZE_MAX)
		n[UP_IN_SLEEP] = take(&left, or_zero(s->at[s->owner].asleep));
	n[UP_IN_UNEXPLAINED] = left;
	share_to_stations(g, &p);
	add_service(g, n[UP_IN_WORKER_QUEUE], hands);
	add_links(g, &p, waits);
}
