/* SQL Server: one batch a sample. The queries keep to SQL that other servers understand too, each column under the key of the JSON.
 * Columns as in MicrosoftDocs sys-dm-os-*; all of them are there since 2016. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session.h"
#include "useprobe/clock.h"

struct part {
	const char *name, *sql;
};

/* First the clock, so that it and the waits are of one moment. */
static const struct part parts[] = {
	{ "system",
		"SELECT cpu_count AS cpus, max_workers_count AS workers_max, ms_ticks AS clock_ms, sqlserver_start_time AS server_start, "
		"CURRENT_TIMESTAMP AS server_time FROM sys.dm_os_sys_info" },
	{ "waits",
		"SELECT wait_type AS type, waiting_tasks_count AS waits, wait_time_ms AS wait_ms, signal_wait_time_ms AS signal_ms, "
		"max_wait_time_ms AS max_ms FROM sys.dm_os_wait_stats WHERE waiting_tasks_count > 0 OR wait_time_ms > 0" },
	{ "unfinished",
		"SELECT wait_type AS type, COUNT(*) AS tasks, CAST(SUM(wait_duration_ms) AS bigint) AS wait_ms, "
		"MAX(wait_duration_ms) AS longest_ms, SUM(CASE WHEN blocking_session_id IS NOT NULL THEN 1 ELSE 0 END) AS blocked "
		"FROM sys.dm_os_waiting_tasks WHERE wait_type IS NOT NULL GROUP BY wait_type" },
	{ "schedulers",
		"SELECT COUNT(*) AS schedulers, SUM(CASE WHEN is_idle = 0 THEN 1 ELSE 0 END) AS schedulers_busy, "
		"SUM(runnable_tasks_count) AS runnable_tasks, CAST(SUM(work_queue_count) AS bigint) AS work_queue, "
		"SUM(pending_disk_io_count) AS pending_disk_io, SUM(current_workers_count) AS workers, "
		"SUM(active_workers_count) AS workers_active, SUM(CAST(failed_to_create_worker AS int)) AS worker_failures "
		"FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE'" },
	{ "grants",
		"SELECT SUM(waiter_count) AS grant_waiters, CAST(SUM(granted_memory_kb) AS bigint) AS granted_kb, "
		"CAST(SUM(target_memory_kb) AS bigint) AS grant_target_kb, CAST(SUM(timeout_error_count) AS bigint) AS grant_timeouts, "
		"CAST(SUM(forced_grant_count) AS bigint) AS forced_grants FROM sys.dm_exec_query_resource_semaphores" },
	{ "counters",
		"SELECT CAST(SUM(CASE WHEN object_name LIKE '%SQL Errors%' THEN cntr_value END) AS bigint) AS errors, "
		"CAST(SUM(CASE WHEN counter_name LIKE 'Number of Deadlocks/sec%' THEN cntr_value END) AS bigint) AS deadlocks, "
		"CAST(SUM(CASE WHEN counter_name LIKE 'Lock Timeouts/sec%' THEN cntr_value END) AS bigint) AS lock_timeouts "
		"FROM sys.dm_os_performance_counters WHERE instance_name LIKE '_Total%'" },
};
_Static_assert(UP_COUNT(parts) <= BRIDGE_PARTS, "the list of missing parts holds every part");

/* The waits of one database of Azure SQL. */
static const char azure_waits[] = "SELECT wait_type AS type, waiting_tasks_count AS waits, wait_time_ms AS wait_ms, "
				  "signal_wait_time_ms AS signal_ms, max_wait_time_ms AS max_ms FROM sys.dm_db_wait_stats "
				  "WHERE waiting_tasks_count > 0 OR wait_time_ms > 0";

struct server {
	int edition; /* SERVERPROPERTY('EngineEdition'): 5 = Azure SQL Database */
	char name[BRIDGE_TEXT];
};

static int take_server(void *context, unsigned result, const struct bridge_row *row)
{
	struct server *server = context;

	(void)result;
	if (row->n > 0 && row->values[0] && strcmp(row->values[0], "5") == 0)
		server->edition = 5;
	if (row->n > 1 && row->values[1])
		snprintf(server->name, sizeof(server->name), "%s", row->values[1]);
	return 0;
}

static void refuse(struct bridge_session *session, const struct server *server)
{
	const char *version = session->bridge->view.product; /* only this thread writes it */
	bool new_right = strstr(session->diag.message, "PERFORMANCE STATE") || strstr(version, " 16.") || strstr(version, " 17.");

	snprintf(session->reason, sizeof(session->reason), "%s (error %d); GRANT VIEW %s %sSTATE TO the login",
		session->diag.message, session->diag.native, server->edition == 5 ? "DATABASE" : "SERVER",
		new_right ? "PERFORMANCE " : "");
}

/* DIAG by value: it lies in the session that is written to. */
static void note_missing(struct bridge_session *session, const char *part, int rc, struct bridge_diag diag)
{
	char(*missing)[BRIDGE_TEXT] = session->missing[session->n_missing++];

	snprintf(missing[0], BRIDGE_TEXT, "%s", part);
	snprintf(missing[1], BRIDGE_TEXT, "%s: %.200s", rc == -EACCES ? "denied" : "absent", diag.message);
}

/* Each part is tried alone: one that this server does not have, or does not let us see, must not take the others with it. */
int bridge_sqlserver_prepare(struct bridge_session *session)
{
	struct server server = { .edition = 0 };
	size_t used = 0;
	int rc;

	session->n_parts = session->n_missing = 0;
	session->batch[0] = '\0';
	if (session->bridge->options.dialect == BRIDGE_UNKNOWN) {
		/* Never the victor of a deadlock, never a waiter for a lock. */
		rc = bridge_session_run(session,
			"SET NOCOUNT ON; SET DEADLOCK_PRIORITY LOW; SET LOCK_TIMEOUT 1000; "
			"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
			NULL, NULL);
		if (rc == 0)
			rc = bridge_session_run(session,
				"SELECT CAST(SERVERPROPERTY('EngineEdition') AS int) AS edition, @@SERVERNAME AS name",
				take_server, &server);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < UP_COUNT(parts); i++) {
		bool waits = strcmp(parts[i].name, "waits") == 0;
		const char *sql = waits && server.edition == 5 ? azure_waits : parts[i].sql;

		rc = bridge_session_run(session, sql, NULL, NULL);
		if (rc == -EACCES && waits) {
			refuse(session, &server);
			return rc;
		}
		if (rc == -EACCES || (rc == -ENOENT && !waits)) {
			note_missing(session, parts[i].name, rc, session->diag);
			continue;
		}
		if (rc < 0)
			return rc;
		used += (size_t)snprintf(session->batch + used, sizeof(session->batch) - used, "%s%s", used ? ";\n" : "", sql);
		session->parts[session->n_parts++] = parts[i].name;
	}
	if (server.name[0] && !session->bridge->options.instance[0]) {
		pthread_mutex_lock(&session->bridge->lock);
		snprintf(session->bridge->view.instance, sizeof(session->bridge->view.instance), "%s", server.name);
		pthread_mutex_unlock(&session->bridge->lock);
	}
	return 0;
}

static int take_row(void *context, unsigned result, const struct bridge_row *row)
{
	struct bridge_session *session = context;

	return result < session->n_parts ? bridge_sample_row(session->sample, session->parts[result], row) : -EBADMSG;
}

int bridge_sqlserver_sample(struct bridge_session *session)
{
	struct bridge_sample *sample = session->sample;
	uint64_t begin = up_clock_real.mono_ns(NULL), end;
	int rc;

	memset(sample->fields, 0, sizeof(sample->fields));
	sample->n_waits = sample->n_unfinished = 0;
	sample->server_start[0] = sample->server_time[0] = sample->stats_reset[0] = '\0';
	sample->waits_complete = true;
	rc = bridge_session_run(session, session->batch, take_row, session);
	end = up_clock_real.mono_ns(NULL);
	if (rc < 0)
		return rc;
	sample->fields[BRIDGE_COST_MS] = (struct bridge_number){ .n = (double)(end - begin) / (double)UP_NS_PER_MS, .has = true };
	/* Without the server's clock ours: the middle of the call. */
	if (!sample->fields[BRIDGE_CLOCK_MS].has)
		sample->fields[BRIDGE_CLOCK_MS] =
			(struct bridge_number){ .n = ((double)begin + (double)end) / 2 / (double)UP_NS_PER_MS, .has = true };
	return 0;
}
