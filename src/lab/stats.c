/* stats - a server's counters as JSON, made of one reading of the meter. Areas are cumulative in ns: the difference of two readings
 * divided by the difference of mono_ns is the average level between them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server.h"

static uint64_t process_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * LAB_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Sum over the dependencies of an array of areas or counts. */
static uint64_t sum(const uint64_t *first)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < LAB_DEPENDENCIES_MAX; i++)
		total += first[i];
	return total;
}

static void write_gauges(FILE *out, const struct lab_totals *t)
{
	static const struct {
		const char *name;
		unsigned gauge;
	} gauges[] = {
		{ "in_flight", LAB_IN_FLIGHT },
		{ "queue", LAB_QUEUE },
		{ "worker_busy", LAB_WORKER_BUSY },
		{ "burning", LAB_BURNING },
		{ "waiting", LAB_WAITING },
		{ "lock_wait", LAB_LOCK_WAIT },
		{ "lock_held", LAB_LOCK_HELD },
		{ "disk", LAB_DISK },
		{ "sending", LAB_SENDING },
		{ "connections", LAB_CONNECTIONS },
	};

	for (unsigned i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
		fprintf(out, "\"%s\":%" PRId64 ",\"%s_area_ns\":%" PRIu64 ",", gauges[i].name, t->level[gauges[i].gauge],
			gauges[i].name, t->area_ns[gauges[i].gauge]);
}

static void write_counts(FILE *out, const struct lab_totals *t)
{
	static const struct {
		const char *name;
		unsigned count;
	} counts[] = {
		{ "arrivals", LAB_ARRIVALS },
		{ "departures", LAB_DEPARTURES },
		{ "failed", LAB_FAILED },
		{ "broken", LAB_BROKEN },
		{ "bad_requests", LAB_BAD_REQUESTS },
		{ "accepted", LAB_ACCEPTED },
		{ "emfile", LAB_EMFILE },
		{ "leaked_fds", LAB_LEAKED },
		{ "thread_failures", LAB_THREAD_FAILURES },
		{ "residence_ns", LAB_RESIDENCE_NS },
	};

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		fprintf(out, "\"%s\":%" PRIu64 ",", counts[i].name, t->count[counts[i].count]);
}

static void write_dependencies(FILE *out, const struct lab_server_options *o, const struct lab_totals *t)
{
	fprintf(out,
		"\"pool_waits\":%" PRIu64 ",\"pool_wait_area_ns\":%" PRIu64 ",\"pool_busy_area_ns\":%" PRIu64
		",\"db_busy_area_ns\":%" PRIu64 ",\"db_queries\":%" PRIu64 ",\"dependencies\":[",
		sum(&t->count[LAB_POOL_WAITS]), sum(&t->area_ns[LAB_POOL_WAIT]), sum(&t->area_ns[LAB_POOL_BUSY]),
		sum(&t->area_ns[LAB_DB_BUSY]), sum(&t->count[LAB_DB_QUERIES]));
	for (unsigned i = 0; i < o->n_dependencies; i++)
		fprintf(out,
			"%s{\"address\":\"%s\",\"pool\":%u,\"pool_waiting\":%" PRId64 ",\"pool_busy\":%" PRId64
			",\"pool_waits\":%" PRIu64 ",\"pool_timeouts\":%" PRIu64 ",\"pool_wait_area_ns\":%" PRIu64
			",\"pool_busy_area_ns\":%" PRIu64 ",\"db_busy_area_ns\":%" PRIu64 ",\"db_queries\":%" PRIu64
			",\"db_errors\":%" PRIu64 ",\"db_connects\":%" PRIu64 "}",
			i ? "," : "", o->dependencies[i].address.text, o->dependencies[i].pool, t->level[LAB_POOL_WAIT + i],
			t->level[LAB_POOL_BUSY + i], t->count[LAB_POOL_WAITS + i], t->count[LAB_POOL_TIMEOUTS + i],
			t->area_ns[LAB_POOL_WAIT + i], t->area_ns[LAB_POOL_BUSY + i], t->area_ns[LAB_DB_BUSY + i],
			t->count[LAB_DB_QUERIES + i], t->count[LAB_DB_ERRORS + i], t->count[LAB_DB_CONNECTS + i]);
	fputs("],", out);
}

/* [[lowest ns of the bucket, count], ...], empty buckets left out. */
static void write_histogram(FILE *out, const struct lab_totals *t)
{
	const char *separator = "";

	fputs("\"service_ns_histogram\":[", out);
	for (unsigned i = 0; i < LAB_BUCKETS; i++) {
		if (!t->bucket[i])
			continue;
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", separator, lab_bucket_lower_ns(i), t->bucket[i]);
		separator = ",";
	}
	fputs("]}\n", out);
}

char *lab_server_stats(struct lab_server *server)
{
	static const char *const modes[] = { "pool", "thread-per-request", "direct", "single" };
	const struct lab_server_options *o = server->options;
	struct lab_totals totals;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	lab_meter_read(&server->meter, lab_now_ns(), &totals);
	fprintf(out, "{\"mono_ns\":%" PRIu64 ",\"uptime_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 ",\"mode\":\"%s\",\"workers\":%u,",
		totals.now_ns, totals.now_ns - server->start_ns, process_cpu_ns(), modes[o->mode], o->workers);
	write_counts(out, &totals);
	write_gauges(out, &totals);
	write_dependencies(out, o, &totals);
	write_histogram(out, &totals);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
