#include "nested_queues.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/row.h"
#include "useprobe/table.h"

enum { REQUESTS_MAX = 65536, EVENTS_MAX = 2 * REQUESTS_MAX, ARRIVAL = -1 };

/* A request is a program of steps: take a server, keep it for a time, give it back. */
enum op { TAKE, KEEP, GIVE };
enum span { HALF_CPU_1, LOCKED, QUERY, READ_CPU, HALF_CPU_2, SPANS };
static const struct {
	enum op op;
	int arg; /* station, or span */
} program[] = {
	{ TAKE, NQ_WORKER },
	{ TAKE, NQ_CPU },
	{ KEEP, HALF_CPU_1 },
	{ GIVE, NQ_CPU },
	{ TAKE, NQ_LOCK },
	{ KEEP, LOCKED },
	{ GIVE, NQ_LOCK },
	{ TAKE, NQ_POOL },
	{ TAKE, NQ_DB },
	{ KEEP, QUERY },
	{ GIVE, NQ_DB },
	/* The answer is read by a thread that needs the CPU while the connection is still taken. */
	{ TAKE, NQ_CPU },
	{ KEEP, READ_CPU },
	{ GIVE, NQ_CPU },
	{ GIVE, NQ_POOL },
	{ TAKE, NQ_CPU },
	{ KEEP, HALF_CPU_2 },
	{ GIVE, NQ_CPU },
	{ GIVE, NQ_WORKER },
};
enum { PROGRAM_END = sizeof(program) / sizeof(program[0]), QUERY_SENT = 8, QUERY_ANSWERED = 10, ANSWER_READ = 13 };

struct request {
	float span_s[SPANS];
	int at; /* next step */
	int next; /* in a queue or the free list; -1 */
};

struct resource {
	unsigned servers, busy, queued;
	int head, tail;
	double queue_area_s, busy_area_s;
};

struct event {
	double at_s;
	uint64_t order;
	int request; /* ARRIVAL */
};

struct world {
	struct resource resource[NQ_STATIONS];
	struct request *request; /* [REQUESTS_MAX] */
	struct event *heap; /* [EVENTS_MAX] */
	size_t n_events;
	uint64_t order, random;
	double now_s, inside_area_s, query_area_s, reading_area_s;
	unsigned inside, querying, reading, opened;
	uint64_t arrivals, departures, queries;
	int free;
};

static double uniform(struct world *w)
{
	/* xorshift64*: Vigna 2016 */
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return ((double)((w->random * UINT64_C(2685821657736338717)) >> 11) + 0.5) / 9007199254740992.0;
}

static double exponential(struct world *w, double mean)
{
	return -mean * log(uniform(w));
}

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at_s < b->at_s || (a->at_s == b->at_s && a->order < b->order);
}

static void push(struct world *w, double at_s, int request)
{
	struct event event = { .at_s = at_s, .order = w->order++, .request = request };
	size_t i = w->n_events++;

	for (; i > 0 && earlier(&event, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = event;
}

static struct event pop(struct world *w)
{
	const struct event top = w->heap[0], last = w->heap[--w->n_events];
	size_t i = 0;

	for (size_t child = 1; child < w->n_events; child = 2 * i + 1) {
		if (child + 1 < w->n_events && earlier(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!earlier(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return top;
}

static void advance(struct world *w, double to_s)
{
	const double dt_s = to_s - w->now_s;

	for (int i = 0; i < NQ_STATIONS; i++) {
		w->resource[i].queue_area_s += w->resource[i].queued * dt_s;
		w->resource[i].busy_area_s += w->resource[i].busy * dt_s;
	}
	w->inside_area_s += w->inside * dt_s;
	w->query_area_s += w->querying * dt_s;
	w->reading_area_s += w->reading * dt_s;
	w->now_s = to_s;
}

/* Runs request R until it waits or keeps something. */
static void step(struct world *w, int r)
{
	struct request *request = &w->request[r];

	while (request->at < PROGRAM_END) {
		const int at = request->at++;
		struct resource *resource = &w->resource[program[at].arg];

		w->querying += at == QUERY_SENT;
		w->querying -= at == QUERY_ANSWERED;
		w->reading += at == QUERY_ANSWERED;
		w->queries += at == QUERY_ANSWERED;
		w->reading -= at == ANSWER_READ;
		if (program[at].op == KEEP) {
			push(w, w->now_s + (double)request->span_s[program[at].arg], r);
			return;
		}
		if (program[at].op == TAKE && resource->busy < resource->servers) {
			resource->busy++;
		} else if (program[at].op == TAKE) {
			request->next = -1;
			*(resource->queued++ ? &w->request[resource->tail].next : &resource->head) = r;
			resource->tail = r;
			return;
		} else if (resource->queued) {
			const int next = resource->head;

			resource->head = w->request[next].next;
			resource->queued--;
			push(w, w->now_s, next);
		} else {
			resource->busy--;
		}
		if (w->resource[NQ_POOL].busy > w->opened)
			w->opened = w->resource[NQ_POOL].busy;
	}
	w->inside--;
	w->departures++;
	request->next = w->free;
	w->free = r;
}

static int arrive(struct world *w, const struct nq_service *service)
{
	const int r = w->free;

	if (r < 0)
		return -ENOMEM;
	w->free = w->request[r].next;
	w->request[r] = (struct request){ .span_s = { (float)(exponential(w, service->cpu_s) / 2), (float)service->lock_s,
						  (float)exponential(w, service->db_s), 0.00005f,
						  (float)(exponential(w, service->cpu_s) / 2) } };
	w->inside++;
	w->arrivals++;
	step(w, r);
	return 0;
}

static int run_until(struct world *w, const struct nq_service *service, double rate_per_s, double to_s)
{
	while (w->heap[0].at_s <= to_s) {
		const struct event event = pop(w);
		int r = 0;

		advance(w, event.at_s);
		if (event.request == ARRIVAL) {
			push(w, w->now_s + exponential(w, 1 / rate_per_s), ARRIVAL);
			r = arrive(w, service);
		} else {
			step(w, event.request);
		}
		if (r < 0)
			return r;
	}
	advance(w, to_s);
	return 0;
}

static void add(struct up_rows *rows, const char *resource, enum up_scope scope, const char *name, double busy, double servers,
	double waiting, const char *detail)
{
	up_rows_add(rows, &(struct up_row){ .scope = scope,
				  .resource = resource,
				  .name = name,
				  .target = "api",
				  .utilization = servers > 0 ? up_value(busy / servers) : up_none(NULL),
				  .waiting = isnan(waiting) ? up_none("not counted") : up_value(waiting),
				  .servers = servers,
				  .detail = detail,
				  .state = UP_OK });
}

static void add_requests(
	struct up_rows *rows, const struct world *w, const struct world *was, const struct nq_view *view, double dt_s)
{
	const double unread_s = view->unread ? w->resource[NQ_WORKER].queue_area_s - was->resource[NQ_WORKER].queue_area_s : 0;
	struct up_detail detail = { 0 };

	up_detail_number(&detail, "in_flight", (w->inside_area_s - was->inside_area_s) / dt_s);
	up_detail_number(&detail, "area_s", w->inside_area_s - was->inside_area_s);
	up_detail_number(&detail, "unread_area_s", unread_s);
	up_detail_count(&detail, "arrivals", w->arrivals - was->arrivals);
	up_detail_count(&detail, "departures", w->departures - was->departures);
	add(rows, "requests", UP_SCOPE_LISTENER, "tcp:0.0.0.0:8080", 0, 0, unread_s / dt_s, detail.text);
}

static void add_dependency(struct up_rows *rows, const struct world *w, const struct world *was, double dt_s)
{
	const double queries = (double)(w->queries - was->queries);
	struct up_detail detail = { 0 };

	up_detail_number(&detail, "connections", w->opened);
	up_detail_number(&detail, "busy", (w->query_area_s - was->query_area_s) / dt_s);
	up_detail_number(&detail, "busy_area_s", w->query_area_s - was->query_area_s);
	up_detail_number(&detail, "queries", queries);
	if (queries > 0)
		up_detail_number(&detail, "response_unread_ms", 1e3 * (w->reading_area_s - was->reading_area_s) / queries);
	add(rows, "dependency", UP_SCOPE_DEPENDENCY, "10.0.0.2:5433", 0, 0, NAN, detail.text);
}

static int add_tick(const struct world *w, const struct world *was, const struct nq_view *view, double dt_s, int64_t wall_us,
	struct up_rows *rows, struct up_recording *recording)
{
	double queue[NQ_STATIONS], busy[NQ_STATIONS], servers[NQ_STATIONS];
	struct up_tick tick = {
		.wall_ns = (uint64_t)wall_us * 1000, .elapsed_ns = (uint64_t)wall_us * 1000, .interval_ns = 1000000000
	};

	for (int i = 0; i < NQ_STATIONS; i++) {
		queue[i] = (w->resource[i].queue_area_s - was->resource[i].queue_area_s) / dt_s;
		busy[i] = (w->resource[i].busy_area_s - was->resource[i].busy_area_s) / dt_s;
		servers[i] = w->resource[i].servers;
	}
	up_rows_clear(rows);
	rows->window_ns = 1000000000;
	add_requests(rows, w, was, view, dt_s);
	add(rows, "thread-pool", UP_SCOPE_PROCESS, "api[7]/worker-", busy[NQ_WORKER], servers[NQ_WORKER],
		view->queue_counted ? queue[NQ_WORKER] : NAN, NULL);
	if (view->decoy)
		add(rows, "thread-pool", UP_SCOPE_PROCESS, "api[7]/decoy-", 1.96, 2, NAN, NULL);
	add(rows, "cpu", UP_SCOPE_CGROUP, "/api", busy[NQ_CPU], servers[NQ_CPU], queue[NQ_CPU], NULL);
	add(rows, "run-queue", UP_SCOPE_CGROUP, "/api", 0, 0, 0, NULL);
	/* Threads that wait for a connection sleep on a futex like those that wait for a lock. */
	add(rows, "lock", UP_SCOPE_PROCESS, "api[7]", 0, 0, queue[NQ_LOCK] + (view->pool_counted ? 0 : queue[NQ_POOL]), NULL);
	add_dependency(rows, w, was, dt_s);
	if (view->pool_counted)
		add(rows, "connection-pool", UP_SCOPE_PROCESS, "api[7]/10.0.0.2:5433", busy[NQ_POOL], servers[NQ_POOL],
			queue[NQ_POOL], NULL);
	return up_recording_add(recording, &tick, rows);
}

static int world_make(struct world *w, const struct nq_service *service, uint64_t seed)
{
	*w = (struct world){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1,
		.request = malloc(REQUESTS_MAX * sizeof(*w->request)),
		.heap = malloc(EVENTS_MAX * sizeof(*w->heap)) };
	if (!w->request || !w->heap) {
		free(w->request);
		free(w->heap);
		return -ENOMEM;
	}
	for (int i = 0; i < NQ_STATIONS; i++)
		w->resource[i].servers = service->servers[i];
	for (int i = 0; i < REQUESTS_MAX; i++)
		w->request[i].next = i + 1 < REQUESTS_MAX ? i + 1 : -1;
	return 0;
}

int nq_run(const struct nq_service *service, const struct nq_view *view, double rate_per_s, double warm_s, unsigned seconds,
	uint64_t seed, int64_t *wall_us, struct up_recording *recording)
{
	struct up_rows rows;
	struct world w;
	int r = world_make(&w, service, seed);

	if (r < 0)
		return r;
	r = up_rows_init(&rows);
	if (r == 0) {
		push(&w, exponential(&w, 1 / rate_per_s), ARRIVAL);
		r = run_until(&w, service, rate_per_s, warm_s);
	}
	for (unsigned second = 0; r == 0 && second < seconds; second++) {
		const struct world was = w;

		r = run_until(&w, service, rate_per_s, warm_s + second + 1);
		*wall_us += 1000000;
		if (r == 0)
			r = add_tick(&w, &was, view, 1, *wall_us, &rows, recording);
	}
	up_rows_done(&rows);
	free(w.request);
	free(w.heap);
	return r;
}
