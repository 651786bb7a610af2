/* What the worker and the two kinds of database share. */
#ifndef BRIDGE_SESSION_H
#define BRIDGE_SESSION_H

#include "odbc.h"

struct bridge_session {
	struct bridge *bridge;
	struct bridge_odbc *odbc; /* owned by the worker */
	struct bridge_diag diag; /* of the last call that failed */
	struct bridge_sample *sample; /* owned; the one being filled */
	const char *parts[BRIDGE_PARTS]; /* names of the batch's result sets */
	size_t n_parts;
	char missing[BRIDGE_PARTS][2][BRIDGE_TEXT];
	size_t n_missing;
	char batch[8192]; /* SQL of one sample */
	char reason[512]; /* why prepare refused */
	/* PostgreSQL */
	uint64_t look_ns, facts_ns; /* monotonic, of the last; 0 = none */
	bool sessions_known; /* pg_stat_database has sessions_* (14) */
};

/* After connecting, and again every few seconds while it says -EACCES: session options, rights, what this server has. Errors as
 * bridge_odbc_run; with -EACCES `reason` says what to do. */
UP_MUST_CHECK int bridge_sqlserver_prepare(struct bridge_session *session);
UP_MUST_CHECK int bridge_postgresql_prepare(struct bridge_session *session);
/* Fills `sample`. Errors as bridge_odbc_run. */
UP_MUST_CHECK int bridge_sqlserver_sample(struct bridge_session *session);
UP_MUST_CHECK int bridge_postgresql_sample(struct bridge_session *session);

/* A call of the driver begins or ends: what lets the HTTP side say "hung". */
void bridge_session_call(struct bridge_session *session, bool begins);
/* bridge_odbc_run between two of these. */
UP_MUST_CHECK int bridge_session_run(struct bridge_session *session, const char *sql, bridge_row_fn *fn, void *context);

#endif
