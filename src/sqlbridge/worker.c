/* The thread that talks to the database: connects, samples at its interval, publishes. Only it may hang. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "session.h"
#include "useprobe/clock.h"

#define LOOK_NS (50 * UP_NS_PER_MS)
#define RETRY_MIN_NS (500 * UP_NS_PER_MS)
#define RETRY_MAX_NS (8 * UP_NS_PER_S)
#define RETRY_DENIED_NS (30 * UP_NS_PER_S) /* servers lock accounts after some wrong passwords */
#define RETRY_RIGHT_NS (3 * UP_NS_PER_S)

static uint64_t now_ns(void)
{
	return up_clock_real.mono_ns(NULL);
}

void bridge_session_call(struct bridge_session *session, bool begins)
{
	pthread_mutex_lock(&session->bridge->lock);
	session->bridge->view.call_ns = begins ? now_ns() : 0;
	pthread_mutex_unlock(&session->bridge->lock);
}

int bridge_session_run(struct bridge_session *session, const char *sql, bridge_row_fn *fn, void *context)
{
	int rc;

	bridge_session_call(session, true);
	rc = bridge_odbc_run(session->odbc, sql, fn, context, &session->diag);
	bridge_session_call(session, false);
	return rc;
}

/* Waits until DEADLINE. false when the program ends. */
static bool wait_until(struct bridge *bridge, uint64_t deadline_ns)
{
	const struct timespec at = { .tv_sec = (time_t)(deadline_ns / UP_NS_PER_S),
		.tv_nsec = (long)(deadline_ns % UP_NS_PER_S) };
	bool stop;

	pthread_mutex_lock(&bridge->lock);
	while (!bridge->stop && now_ns() < deadline_ns)
		pthread_cond_timedwait(&bridge->wake, &bridge->lock, &at);
	stop = bridge->stop;
	pthread_mutex_unlock(&bridge->lock);
	return !stop;
}

/* What is told while there is no sample. With KEEP the last sample stays and grows old. */
static void publish_failure(struct bridge_session *session, enum bridge_state state, bool keep, const char *what, const char *why)
{
	struct bridge_view *view = &session->bridge->view;

	pthread_mutex_lock(&session->bridge->lock);
	view->failures++;
	snprintf(view->reason, sizeof(view->reason), "%s: %s", what, why);
	if (!keep || view->sample_ns == 0) {
		view->state = state;
		view->sample_ns = 0;
	}
	pthread_mutex_unlock(&session->bridge->lock);
}

static void copy_sample(struct bridge_sample *to, const struct bridge_sample *from)
{
	memcpy(to->fields, from->fields, sizeof(to->fields));
	memcpy(to->server_start, from->server_start, sizeof(to->server_start));
	memcpy(to->server_time, from->server_time, sizeof(to->server_time));
	memcpy(to->stats_reset, from->stats_reset, sizeof(to->stats_reset));
	to->n_waits = from->n_waits;
	memcpy(to->waits, from->waits, from->n_waits * sizeof(from->waits[0]));
	to->n_unfinished = from->n_unfinished;
	memcpy(to->unfinished, from->unfinished, from->n_unfinished * sizeof(from->unfinished[0]));
	to->waits_complete = from->waits_complete;
}

static void publish_sample(struct bridge_session *session, bool reconnected)
{
	struct bridge_view *view = &session->bridge->view;
	double cost_ms = session->sample->fields[BRIDGE_COST_MS].n;

	pthread_mutex_lock(&session->bridge->lock);
	/* Behind a new connection may be another server; only its start time could tell that it is not. */
	if (view->generation == 0 || !bridge_sample_continues(view->sample, session->sample) ||
		(reconnected && !session->sample->server_start[0]))
		view->generation++;
	copy_sample(view->sample, session->sample);
	view->state = BRIDGE_OK;
	view->reason[0] = '\0';
	view->sequence++;
	view->sample_ns = now_ns();
	view->samples++;
	view->cost_sum_ms += cost_ms;
	if (cost_ms > view->cost_max_ms)
		view->cost_max_ms = cost_ms;
	view->n_missing = session->n_missing;
	memcpy(view->missing, session->missing, sizeof(view->missing));
	pthread_mutex_unlock(&session->bridge->lock);
}

static int prepare(struct bridge_session *session)
{
	return session->bridge->view.database == BRIDGE_SQLSERVER ? bridge_sqlserver_prepare(session)
								  : bridge_postgresql_prepare(session);
}

/* Samples until the connection is lost or the program ends. */
static void serve(struct bridge_session *session, bool sqlserver)
{
	const uint64_t period = sqlserver ? session->bridge->options.interval_ns : LOOK_NS;
	uint64_t next = now_ns();
	bool first = true;

	for (;;) {
		int rc = sqlserver ? bridge_sqlserver_sample(session) : bridge_postgresql_sample(session);

		if (rc == 0) {
			publish_sample(session, first);
			first = false;
		} else {
			bool dead = rc != -ETIMEDOUT || bridge_odbc_dead(session->odbc);

			publish_failure(session, rc == -EACCES ? BRIDGE_DENIED : BRIDGE_ABSENT, !dead,
				rc == -ETIMEDOUT ? "the query took longer than --query-timeout" : "the query failed",
				session->diag.message);
			/* After a time-out the connection is kept: a server out of workers would not let us in again. */
			if (dead)
				return;
		}
		next += period;
		if (next < now_ns())
			next = now_ns() + (rc == 0 ? 0 : period);
		if (!wait_until(session->bridge, next))
			return;
	}
}

/* Names the database. false when it is none of ours. */
static bool identify(struct bridge_session *session)
{
	struct bridge *bridge = session->bridge;
	char name[BRIDGE_TEXT / 2], version[BRIDGE_TEXT / 2];
	enum bridge_database database = bridge->options.dialect;

	bridge_odbc_product(session->odbc, name, version, sizeof(name));
	if (database == BRIDGE_UNKNOWN)
		database = strstr(name, "SQL Server")   ? BRIDGE_SQLSERVER
			   : strstr(name, "PostgreSQL") ? BRIDGE_POSTGRESQL
							: BRIDGE_UNKNOWN;
	pthread_mutex_lock(&bridge->lock);
	bridge->view.database = database;
	bridge->view.connections++;
	snprintf(bridge->view.product, sizeof(bridge->view.product), "%.120s %.120s", name, version);
	bridge->view.stale_after_ns = 3 * (database == BRIDGE_SQLSERVER ? bridge->options.interval_ns : LOOK_NS) + UP_NS_PER_S;
	pthread_mutex_unlock(&bridge->lock);
	if (database == BRIDGE_UNKNOWN)
		publish_failure(session, BRIDGE_ABSENT, false, "neither SQL Server nor PostgreSQL", bridge->view.product);
	return database != BRIDGE_UNKNOWN;
}

/* One connection's life. Returns how long to wait before the next. */
static uint64_t connect_and_serve(struct bridge_session *session, uint64_t backoff_ns)
{
	int rc;

	bridge_session_call(session, true);
	rc = bridge_odbc_open(&session->bridge->options, &session->odbc, &session->diag);
	bridge_session_call(session, false);
	if (rc < 0) {
		publish_failure(session, rc == -EACCES ? BRIDGE_DENIED : BRIDGE_ABSENT, false,
			rc == -EACCES ? "login refused" : "cannot connect", session->diag.message);
		return rc == -EACCES ? RETRY_DENIED_NS : backoff_ns;
	}
	if (!identify(session)) {
		bridge_odbc_close(session->odbc);
		return RETRY_DENIED_NS;
	}
	while ((rc = prepare(session)) == -EACCES) {
		publish_failure(session, BRIDGE_DENIED, false, "right missing",
			session->reason[0] ? session->reason : session->diag.message);
		if (!wait_until(session->bridge, now_ns() + RETRY_RIGHT_NS))
			break;
	}
	if (rc == 0) {
		serve(session, session->bridge->view.database == BRIDGE_SQLSERVER);
		backoff_ns = RETRY_MIN_NS;
	} else if (rc != -EACCES) {
		publish_failure(session, BRIDGE_ABSENT, false, "the first queries failed", session->diag.message);
	}
	bridge_session_call(session, true);
	bridge_odbc_close(session->odbc);
	bridge_session_call(session, false);
	return backoff_ns;
}

void *bridge_worker(void *arg)
{
	struct bridge *bridge = arg;
	struct bridge_session *session = calloc(1, sizeof(*session));
	uint64_t backoff_ns = RETRY_MIN_NS, pause_ns;

	if (session)
		session->sample = calloc(1, sizeof(*session->sample));
	if (session && session->sample) {
		session->bridge = bridge;
		do {
			pause_ns = connect_and_serve(session, backoff_ns);
			backoff_ns = pause_ns * 2 > RETRY_MAX_NS ? RETRY_MAX_NS : pause_ns * 2;
			session->reason[0] = '\0';
		} while (wait_until(bridge, now_ns() + pause_ns));
		free(session->sample);
	}
	free(session);
	pthread_mutex_lock(&bridge->lock);
	bridge->stopped = true;
	pthread_cond_broadcast(&bridge->wake);
	pthread_mutex_unlock(&bridge->lock);
	return NULL;
}
