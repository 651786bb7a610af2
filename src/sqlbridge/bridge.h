/* What the files of useprobe-sqlbridge share: a sample, what became of the connection, and who fills and reads them.
 * One thread (worker.c) talks to the database; the HTTP thread reads what it published. docs/SQL.md names every key. */
#ifndef BRIDGE_H
#define BRIDGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/http_guard.h"

#define BRIDGE_WAITS 2048 /* SQL Server 2025 knows about 1,500 types */
#define BRIDGE_TYPE 64 /* nvarchar(60) */
#define BRIDGE_TEXT 256
#define BRIDGE_PARTS 6

/* A number that may not be there; all-zero = not there. */
struct bridge_number {
	double n;
	bool has;
};

struct bridge_wait { /* counters */
	char type[BRIDGE_TYPE];
	struct bridge_number waits, wait_ms, signal_ms, max_ms;
};

struct bridge_unfinished { /* gauges */
	char type[BRIDGE_TYPE];
	struct bridge_number tasks, wait_ms, longest_ms, blocked;
};

/* The single numbers of a sample; the queries name their columns after them (sample.c has the names). */
enum bridge_field {
	BRIDGE_CLOCK_MS,
	BRIDGE_COST_MS,
	BRIDGE_LOOKS,
	BRIDGE_CPUS,
	BRIDGE_SCHEDULERS,
	BRIDGE_SCHEDULERS_BUSY,
	BRIDGE_RUNNABLE_TASKS,
	BRIDGE_WORK_QUEUE,
	BRIDGE_PENDING_DISK_IO,
	BRIDGE_WORKERS,
	BRIDGE_WORKERS_ACTIVE,
	BRIDGE_WORKERS_MAX,
	BRIDGE_GRANT_WAITERS,
	BRIDGE_GRANTED_KB,
	BRIDGE_GRANT_TARGET_KB,
	BRIDGE_FIRST_ERROR, /* from here on: the object `errors` */
	BRIDGE_ERRORS = BRIDGE_FIRST_ERROR,
	BRIDGE_DEADLOCKS,
	BRIDGE_LOCK_TIMEOUTS,
	BRIDGE_GRANT_TIMEOUTS,
	BRIDGE_FORCED_GRANTS,
	BRIDGE_WORKER_FAILURES,
	BRIDGE_CONFLICTS,
	BRIDGE_ROLLBACKS,
	BRIDGE_SESSIONS_ABANDONED,
	BRIDGE_SESSIONS_FATAL,
	BRIDGE_SESSIONS_KILLED,
	BRIDGE_FIELDS,
};
extern const char *const bridge_field_names[BRIDGE_FIELDS];

struct bridge_sample {
	struct bridge_number fields[BRIDGE_FIELDS];
	char server_start[BRIDGE_TEXT], server_time[BRIDGE_TEXT], stats_reset[BRIDGE_TEXT]; /* "" = not there */
	struct bridge_wait waits[BRIDGE_WAITS];
	size_t n_waits;
	struct bridge_unfinished unfinished[BRIDGE_WAITS];
	size_t n_unfinished;
	bool waits_complete; /* a type that is not there has not waited */
};

/* One row of a result, all values as text; NULL = SQL NULL. Borrowed for the call. */
struct bridge_row {
	size_t n;
	const char *const *names;
	const char *const *values;
};

/* Puts a row of the part NAME ("waits", "unfinished", or one of single numbers) into SAMPLE. 0; -EBADMSG a number that is none;
 * -ENOSPC more types than there is room for. */
UP_MUST_CHECK int bridge_sample_row(struct bridge_sample *sample, const char *name, const struct bridge_row *row);
/* Whether counters may be subtracted between the two: same server start, no counter fell, no type vanished. */
bool bridge_sample_continues(const struct bridge_sample *before, const struct bridge_sample *now);

enum bridge_state { BRIDGE_ABSENT, BRIDGE_OK, BRIDGE_STALE, BRIDGE_DENIED };
enum bridge_database { BRIDGE_UNKNOWN, BRIDGE_SQLSERVER, BRIDGE_POSTGRESQL };

/* What the worker published. */
struct bridge_view {
	enum bridge_state state; /* never BRIDGE_STALE: that is a question of the time of asking */
	enum bridge_database database;
	char reason[512], product[BRIDGE_TEXT], instance[BRIDGE_TEXT];
	char missing[BRIDGE_PARTS][2][BRIDGE_TEXT]; /* part, why */
	size_t n_missing;
	uint32_t id; /* of this run of the bridge */
	unsigned generation; /* 0 = none yet */
	uint64_t sequence, sample_ns; /* 0 = no sample of this connection; monotonic */
	uint64_t stale_after_ns;
	uint64_t call_ns; /* since when a call of the driver has not come back; 0 = none is under way */
	uint64_t samples, failures, connections;
	double cost_sum_ms, cost_max_ms;
	struct bridge_sample *sample; /* owned */
};

/* State and reason at NOW_NS: an old sample is stale. REASON may point into VIEW or into TEXT. */
enum bridge_state bridge_view_state(
	const struct bridge_view *view, uint64_t now_ns, char *text, size_t size, const char **ret_reason);
/* The bodies, malloc'ed; NULL without memory. */
char *bridge_sample_json(const struct bridge_view *view, uint64_t now_ns);
char *bridge_health_json(const struct bridge_view *view, uint64_t now_ns);
char *bridge_metrics_text(const struct bridge_view *view, uint64_t now_ns);

struct bridge_options {
	char connection[4096]; /* ODBC connection string, with its secrets: never printed */
	char secret[256]; /* the password in it, to blot out of messages; "" = none known */
	char instance[BRIDGE_TEXT];
	struct up_http_guard guard; /* where to listen, and for whom */
	uint64_t interval_ns;
	unsigned login_timeout_s, query_timeout_s;
	enum bridge_database dialect; /* --dialect; BRIDGE_UNKNOWN = what the driver says */
};

/* Parses the command line. 0; 1 when help or version was printed; -EINVAL with MESSAGE. Wipes what it takes from the environment. */
UP_MUST_CHECK int bridge_options_parse(int argc, char **argv, struct bridge_options *ret, char *message, size_t size);

/* Pure pieces (text.c). */
/* Replaces every SECRET in TEXT, in place, by stars. */
void bridge_redact(char *text, const char *secret);
/* The value of the last KEY= (any case) of an ODBC connection string. true when it is there and fits. */
bool bridge_connection_value(const char *connection, const char *key, char *ret, size_t size);
/* Adds ";KEY=VALUE", VALUE in braces when it needs them. 0 or -ENOSPC. */
UP_MUST_CHECK int bridge_connection_add(char *connection, size_t size, const char *key, const char *value);

struct bridge {
	struct bridge_options options;
	pthread_mutex_t lock; /* over view and stop */
	pthread_cond_t wake;
	struct bridge_view view;
	bool stop, stopped;
};

/* The worker's thread: connects, samples, publishes, until bridge->stop. */
void *bridge_worker(void *bridge);

struct bridge_http;
/* Listens. 0 with the port taken; -errno with MESSAGE. */
UP_MUST_CHECK int bridge_http_start(
	struct bridge *bridge, struct bridge_http **ret, uint16_t *ret_port, char *message, size_t size);
void bridge_http_stop(struct bridge_http *http);

#endif
