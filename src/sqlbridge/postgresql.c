/* PostgreSQL counts no waits: pg_stat_activity is looked at 20 times a second. A session seen in a wait stands for the time since the last
 * look, so the sums are milliseconds of waiting as SQL Server counts them. What lies between two looks further apart than five periods
 * is not known and does not enter the clock either. Documentation: "The Cumulative Statistics System", pg_stat_activity. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session.h"
#include "useprobe/clock.h"

#define LOOK_GAP_NS (250 * UP_NS_PER_MS)
#define FACTS_NS UP_NS_PER_S

static const char look_sql[] =
	"SELECT COALESCE(wait_event_type || ':' || wait_event, 'CPU') AS type, COUNT(*) AS tasks FROM pg_catalog.pg_stat_activity "
	"WHERE state = 'active' AND pid <> pg_catalog.pg_backend_pid() AND backend_type IN ('client backend', 'parallel worker') GROUP BY 1";
static const char facts_sql[] =
	"SELECT (SELECT COUNT(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend') AS workers, "
	"(SELECT COUNT(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' AND state = 'active' "
	"AND pid <> pg_catalog.pg_backend_pid()) AS workers_active, "
	"CAST(pg_catalog.current_setting('max_connections') AS integer) AS workers_max, "
	"CAST(pg_catalog.pg_postmaster_start_time() AS text) AS server_start, CAST(pg_catalog.clock_timestamp() AS text) AS server_time, "
	"CAST(MAX(stats_reset) AS text) AS stats_reset, CAST(SUM(deadlocks) AS bigint) AS deadlocks, CAST(SUM(conflicts) AS bigint) AS "
	"conflicts, CAST(SUM(xact_rollback) AS bigint) AS rollbacks%s FROM pg_catalog.pg_stat_database";
static const char facts_sessions[] = ", CAST(SUM(sessions_abandoned) AS bigint) AS sessions_abandoned, "
				     "CAST(SUM(sessions_fatal) AS bigint) AS sessions_fatal, "
				     "CAST(SUM(sessions_killed) AS bigint) AS sessions_killed";

struct right {
	bool allowed, sessions;
	char role[128];
};

static int take_right(void *context, unsigned result, const struct bridge_row *row)
{
	struct right *right = context;

	(void)result;
	if (row->n != 3 || !row->values[0] || !row->values[1] || !row->values[2])
		return -EBADMSG;
	right->allowed = strcmp(row->values[0], "1") == 0;
	right->sessions = strcmp(row->values[1], "1") == 0;
	snprintf(right->role, sizeof(right->role), "%s", row->values[2]);
	return 0;
}

int bridge_postgresql_prepare(struct bridge_session *session)
{
	struct right right = { .allowed = false };
	int rc = bridge_session_run(session,
		"SELECT CASE WHEN pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') THEN 1 ELSE 0 END AS allowed, "
		"CASE WHEN CAST(pg_catalog.current_setting('server_version_num') AS integer) >= 140000 THEN 1 ELSE 0 END AS sessions, "
		"CAST(current_user AS text) AS role",
		take_right, &right);

	if (rc < 0)
		return rc;
	session->sessions_known = right.sessions;
	session->look_ns = session->facts_ns = 0;
	session->n_missing = 0;
	if (right.allowed)
		return 0;
	snprintf(session->reason, sizeof(session->reason),
		"the role %s does not see what other sessions wait for; GRANT pg_read_all_stats TO %s", right.role, right.role);
	return -EACCES;
}

static struct bridge_wait *find_or_add(struct bridge_sample *sample, const char *type)
{
	for (size_t i = 0; i < sample->n_waits; i++)
		if (strcmp(sample->waits[i].type, type) == 0)
			return &sample->waits[i];
	if (sample->n_waits == BRIDGE_WAITS)
		return NULL;
	sample->waits[sample->n_waits] = (struct bridge_wait){ .wait_ms.has = true };
	snprintf(sample->waits[sample->n_waits].type, BRIDGE_TYPE, "%s", type);
	return &sample->waits[sample->n_waits++];
}

static int take_look(void *context, unsigned result, const struct bridge_row *row)
{
	struct bridge_session *session = context;

	(void)result;
	return bridge_sample_row(session->sample, "unfinished", row);
}

static int take_facts(void *context, unsigned result, const struct bridge_row *row)
{
	struct bridge_sample *sample = context;
	char start[BRIDGE_TEXT];

	(void)result;
	memcpy(start, sample->server_start, sizeof(start));
	for (size_t i = 0; i < row->n; i++) {
		/* Another life of the server: what was summed up so far belongs to the one before. */
		if (strcmp(row->names[i], "server_start") == 0 && strcmp(row->values[i] ? row->values[i] : "", start) != 0) {
			sample->n_waits = 0;
			sample->fields[BRIDGE_CLOCK_MS].n = sample->fields[BRIDGE_LOOKS].n = 0;
		}
	}
	return bridge_sample_row(sample, "facts", row);
}

/* Once a second: they cost more than a look and change slowly. */
static int read_facts(struct bridge_session *session, uint64_t now)
{
	char sql[2048];
	int rc;

	if (session->facts_ns != 0 && now - session->facts_ns < FACTS_NS)
		return 0;
	snprintf(sql, sizeof(sql), facts_sql, session->sessions_known ? facts_sessions : "");
	rc = bridge_session_run(session, sql, take_facts, session->sample);
	if (rc == 0)
		session->facts_ns = now;
	return rc;
}

static void add_look(struct bridge_sample *sample, double span_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < sample->n_unfinished; i++) {
		struct bridge_wait *wait = find_or_add(sample, sample->unfinished[i].type);

		if (wait)
			wait->wait_ms.n += sample->unfinished[i].tasks.n * span_ms;
		else
			sample->waits_complete = false;
		/* Who runs does not wait. */
		if (strcmp(sample->unfinished[i].type, "CPU") != 0)
			sample->unfinished[kept++] = sample->unfinished[i];
	}
	sample->n_unfinished = kept;
	sample->fields[BRIDGE_CLOCK_MS].n += span_ms;
	sample->fields[BRIDGE_LOOKS].n += 1;
}

int bridge_postgresql_sample(struct bridge_session *session)
{
	struct bridge_sample *sample = session->sample;
	uint64_t begin = up_clock_real.mono_ns(NULL), end, middle;
	uint64_t gap;
	int rc;

	sample->fields[BRIDGE_CLOCK_MS].has = sample->fields[BRIDGE_LOOKS].has = true;
	if (sample->n_waits == 0)
		sample->waits_complete = true;
	rc = read_facts(session, begin);
	if (rc < 0)
		return rc;
	begin = up_clock_real.mono_ns(NULL);
	sample->n_unfinished = 0;
	rc = bridge_session_run(session, look_sql, take_look, session);
	end = up_clock_real.mono_ns(NULL);
	if (rc < 0)
		return rc;
	middle = begin + (end - begin) / 2;
	gap = session->look_ns ? middle - session->look_ns : 0;
	session->look_ns = middle;
	add_look(sample, gap <= LOOK_GAP_NS ? (double)gap / (double)UP_NS_PER_MS : 0);
	sample->fields[BRIDGE_COST_MS] = (struct bridge_number){ .n = (double)(end - begin) / (double)UP_NS_PER_MS, .has = true };
	return 0;
}
