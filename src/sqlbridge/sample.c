/* A sample from rows of text, and whether two of them belong together. Pure. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "useprobe/scan.h"

const char *const bridge_field_names[BRIDGE_FIELDS] = {
	[BRIDGE_CLOCK_MS] = "clock_ms",
	[BRIDGE_COST_MS] = "cost_ms",
	[BRIDGE_LOOKS] = "looks",
	[BRIDGE_CPUS] = "cpus",
	[BRIDGE_SCHEDULERS] = "schedulers",
	[BRIDGE_SCHEDULERS_BUSY] = "schedulers_busy",
	[BRIDGE_RUNNABLE_TASKS] = "runnable_tasks",
	[BRIDGE_WORK_QUEUE] = "work_queue",
	[BRIDGE_PENDING_DISK_IO] = "pending_disk_io",
	[BRIDGE_WORKERS] = "workers",
	[BRIDGE_WORKERS_ACTIVE] = "workers_active",
	[BRIDGE_WORKERS_MAX] = "workers_max",
	[BRIDGE_GRANT_WAITERS] = "grant_waiters",
	[BRIDGE_GRANTED_KB] = "granted_kb",
	[BRIDGE_GRANT_TARGET_KB] = "grant_target_kb",
	[BRIDGE_ERRORS] = "errors",
	[BRIDGE_DEADLOCKS] = "deadlocks",
	[BRIDGE_LOCK_TIMEOUTS] = "lock_timeouts",
	[BRIDGE_GRANT_TIMEOUTS] = "grant_timeouts",
	[BRIDGE_FORCED_GRANTS] = "forced_grants",
	[BRIDGE_WORKER_FAILURES] = "worker_failures",
	[BRIDGE_CONFLICTS] = "conflicts",
	[BRIDGE_ROLLBACKS] = "rollbacks",
	[BRIDGE_SESSIONS_ABANDONED] = "sessions_abandoned",
	[BRIDGE_SESSIONS_FATAL] = "sessions_fatal",
	[BRIDGE_SESSIONS_KILLED] = "sessions_killed",
};

/* A NULL stays "not there". A negative number is none of ours: every column is a count or a time. */
static int take_number(const char *text, struct bridge_number *ret)
{
	double n;

	if (!text)
		return 0;
	if (up_scan_whole_decimal(text, &n) < 0)
		return -EBADMSG;
	*ret = (struct bridge_number){ .n = n, .has = true };
	return 0;
}

static void take_text(char *ret, size_t size, const char *text)
{
	size_t len = text ? strnlen(text, size - 1) : 0;

	memcpy(ret, text ? text : "", len);
	ret[len] = '\0';
	/* char columns come padded */
	while (len > 0 && ret[len - 1] == ' ')
		ret[--len] = '\0';
}

/* Where the column NAME of a list's row goes. */
struct column {
	const char *name;
	struct bridge_number *number;
};

static int take_columns(const struct bridge_row *row, char *type, const struct column *columns, size_t n)
{
	type[0] = '\0';
	for (size_t i = 0; i < row->n; i++) {
		if (strcmp(row->names[i], "type") == 0)
			take_text(type, BRIDGE_TYPE, row->values[i]);
		for (size_t k = 0; k < n; k++)
			if (strcmp(row->names[i], columns[k].name) == 0 && take_number(row->values[i], columns[k].number) < 0)
				return -EBADMSG;
	}
	return type[0] ? 0 : -EBADMSG;
}

static int take_wait(struct bridge_sample *sample, const struct bridge_row *row)
{
	struct bridge_wait *wait = &sample->waits[sample->n_waits];
	int rc;

	if (sample->n_waits == BRIDGE_WAITS)
		return -ENOSPC;
	*wait = (struct bridge_wait){ .type = "" };
	rc = take_columns(row, wait->type,
		(const struct column[]){ { "waits", &wait->waits }, { "wait_ms", &wait->wait_ms },
			{ "signal_ms", &wait->signal_ms }, { "max_ms", &wait->max_ms } },
		4);
	if (rc < 0 || !wait->wait_ms.has)
		return -EBADMSG;
	sample->n_waits++;
	return 0;
}

static int take_unfinished(struct bridge_sample *sample, const struct bridge_row *row)
{
	struct bridge_unfinished *wait = &sample->unfinished[sample->n_unfinished];
	int rc;

	if (sample->n_unfinished == BRIDGE_WAITS)
		return -ENOSPC;
	*wait = (struct bridge_unfinished){ .type = "" };
	rc = take_columns(row, wait->type,
		(const struct column[]){ { "tasks", &wait->tasks }, { "wait_ms", &wait->wait_ms },
			{ "longest_ms", &wait->longest_ms }, { "blocked", &wait->blocked } },
		4);
	if (rc < 0 || !wait->tasks.has)
		return -EBADMSG;
	sample->n_unfinished++;
	return 0;
}

int bridge_sample_row(struct bridge_sample *sample, const char *name, const struct bridge_row *row)
{
	if (strcmp(name, "waits") == 0)
		return take_wait(sample, row);
	if (strcmp(name, "unfinished") == 0)
		return take_unfinished(sample, row);
	for (size_t i = 0; i < row->n; i++) {
		const char *column = row->names[i];

		if (strcmp(column, "server_start") == 0)
			take_text(sample->server_start, sizeof(sample->server_start), row->values[i]);
		else if (strcmp(column, "server_time") == 0)
			take_text(sample->server_time, sizeof(sample->server_time), row->values[i]);
		else if (strcmp(column, "stats_reset") == 0)
			take_text(sample->stats_reset, sizeof(sample->stats_reset), row->values[i]);
		for (unsigned k = 0; k < BRIDGE_FIELDS; k++)
			if (strcmp(column, bridge_field_names[k]) == 0 && take_number(row->values[i], &sample->fields[k]) < 0)
				return -EBADMSG;
	}
	return 0;
}

static bool fell(const struct bridge_number *before, const struct bridge_number *now)
{
	return before->has && now->has && now->n < before->n;
}

static const struct bridge_wait *find(const struct bridge_sample *sample, const char *type)
{
	for (size_t i = 0; i < sample->n_waits; i++)
		if (strcmp(sample->waits[i].type, type) == 0)
			return &sample->waits[i];
	return NULL;
}

bool bridge_sample_continues(const struct bridge_sample *before, const struct bridge_sample *now)
{
	if (strcmp(before->server_start, now->server_start) != 0 || strcmp(before->stats_reset, now->stats_reset) != 0)
		return false;
	if (fell(&before->fields[BRIDGE_CLOCK_MS], &now->fields[BRIDGE_CLOCK_MS]))
		return false;
	for (unsigned k = BRIDGE_FIRST_ERROR; k < BRIDGE_FIELDS; k++)
		if (k != BRIDGE_WORKER_FAILURES && fell(&before->fields[k], &now->fields[k]))
			return false;
	for (size_t i = 0; i < before->n_waits; i++) {
		const struct bridge_wait *wait = &before->waits[i];
		/* The server gives its types in the same order mostly; only then is this not a search. */
		const struct bridge_wait *same =
			i < now->n_waits && strcmp(now->waits[i].type, wait->type) == 0 ? &now->waits[i] : find(now, wait->type);

		if (!same || fell(&wait->waits, &same->waits) || fell(&wait->wait_ms, &same->wait_ms) ||
			fell(&wait->signal_ms, &same->signal_ms))
			return false;
	}
	return true;
}
