/* One sample of the SQL bridge (GET /sample, docs/SQL.md): cumulative waits, what waits at this moment, gauges. Pure parser. */
#ifndef UP_SQL_SAMPLE_H
#define UP_SQL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/arena.h"
#include "useprobe/compiler.h"
#include "useprobe/row.h"
#include "useprobe/scan.h"
#include "useprobe/sql_waits.h"

#define UP_SQL_WAITS_MAX 4096 /* wait types of one sample; SQL Server 2022 has some 1,300 */
#define UP_SQL_ERRORS_MAX 16

struct up_sql_wait {
	const char *type;
	enum up_sql_class class;
	bool ignorable;
	struct up_u64 waits; /* counter of begun waits */
	double wait_ms; /* counter of completed waits, signal included */
	double signal_ms; /* counter; of these, waiting for a CPU at the end; NAN = not counted */
	double unfinished_tasks; /* gauge: wait now */
	double unfinished_ms; /* what those have waited so far; NAN = not known */
};

struct up_sql_error {
	const char *name; /* "deadlocks", ... */
	struct up_u64 count; /* counter */
};

struct up_sql_sample {
	enum up_state state; /* UP_OK, UP_STALE, UP_DENIED, UP_ABSENT */
	const char *reason; /* NULL when ok */
	const char *instance;
	const char *generation; /* samples of another one may not be subtracted; "" = not known */
	const char *missing; /* "unfinished: why; grants: why"; NULL = all parts are there */
	struct up_u64 sequence; /* equal = the same sample */
	double clock_ms; /* of the counters; NAN */
	double age_ms, cost_ms; /* NAN */
	bool waits_complete; /* a type that is not there has never waited */
	bool has_unfinished; /* false: what waits at this moment is not known */
	struct up_sql_wait *waits; /* [wait_count] sorted by type */
	size_t wait_count, more_waits; /* more_waits: beyond the maximum, left out */
	/* Gauges, NAN = not known. */
	double cpus, schedulers_busy, schedulers, runnable_tasks, work_queue, pending_disk_io, workers, workers_active,
		workers_max, grant_waiters;
	struct up_sql_error errors[UP_SQL_ERRORS_MAX]; /* [error_count] */
	size_t error_count;
	void *memory; /* owner of the strings and arrays above: up_sql_sample_free */
};

/* Parses BODY into RET. 0; -EBADMSG with one line in ERROR (what was expected, where); -ENOMEM. */
UP_MUST_CHECK int up_sql_sample_parse(const char *body, size_t len, struct up_sql_sample *ret, char *error, size_t error_size);
void up_sql_sample_free(struct up_sql_sample *sample);
/* A copy whose memory is ARENA's. 0 or -ENOSPC. */
UP_MUST_CHECK int up_sql_sample_copy(const struct up_sql_sample *sample, struct up_arena *arena, struct up_sql_sample *ret);
/* The wait TYPE of SAMPLE, or NULL. */
const struct up_sql_wait *up_sql_wait_find(const struct up_sql_sample *sample, const char *type);

#endif
