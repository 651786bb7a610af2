/* What the waits of two samples say. With W(t) = time of all completed waits + what the unfinished ones have lasted so far, the growth of W
 * over the growth of the server's clock is the mean number of tasks that waited (Little 1961), long waits that span the whole window
 * included: sys.dm_os_wait_stats alone adds them when they are over. wait_time_ms contains the signal wait, the time between the wake-up and
 * the CPU (MicrosoftDocs sys-dm-os-wait-stats): that part is the CPU's. */
#include "sql_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"

enum { TOP = 3 };

struct top_type {
	const char *type;
	double tasks;
};

/* Of one class, over the window. */
struct class_sum {
	bool seen;
	double tasks; /* mean number waiting */
	double waits, wait_ms; /* begun; completed time */
	bool counted; /* waits is known for all types */
	double now; /* tasks that wait at the end */
	struct top_type top[TOP];
};

struct sums {
	struct class_sum of[UP_SQL_CLASSES];
	double ignored_tasks;
	size_t new_types; /* not seen before in a list that is not complete: unknown */
};

static void note_top(struct class_sum *sum, const char *type, double tasks)
{
	struct top_type one = { type, tasks };

	for (size_t i = 0; i < TOP; i++) {
		if (!sum->top[i].type || one.tasks > sum->top[i].tasks) {
			const struct top_type pushed = sum->top[i];

			sum->top[i] = one;
			one = pushed;
			if (!one.type)
				return;
		}
	}
}

/* What had been waited until a sample: W, without what is unfinished when that is not known on both sides. */
static double waited_ms(const struct up_sql_wait *wait, bool with_unfinished)
{
	return !wait ? 0 : wait->wait_ms + (with_unfinished && !isnan(wait->unfinished_ms) ? wait->unfinished_ms : 0);
}

static double signal_ms(const struct up_sql_wait *wait)
{
	return wait && !isnan(wait->signal_ms) ? wait->signal_ms : 0;
}

static void add_wait(
	const struct up_sql_sample *p, const struct up_sql_sample *c, const struct up_sql_wait *wait, struct sums *sums)
{
	const struct up_sql_wait *before = up_sql_wait_find(p, wait->type);
	const bool unfinished = p->has_unfinished && c->has_unfinished;
	const double clock_ms = c->clock_ms - p->clock_ms;
	const double all_ms = fmax(0, waited_ms(wait, unfinished) - waited_ms(before, unfinished));
	const double cpu_ms = fmin(all_ms, fmax(0, signal_ms(wait) - signal_ms(before)));
	struct class_sum *sum = &sums->of[wait->class];

	if (!before && !p->waits_complete) {
		sums->new_types++;
		return;
	}
	if (wait->ignorable) {
		sums->ignored_tasks += all_ms / clock_ms;
		return;
	}
	if (wait->wait_ms > 0 || wait->unfinished_tasks > 0)
		sum->seen = true;
	sum->tasks += (all_ms - cpu_ms) / clock_ms;
	sum->now += wait->unfinished_tasks;
	if (wait->waits.has && (!before || before->waits.has)) {
		sum->waits += (double)(wait->waits.n - (before ? before->waits.n : 0));
		sum->wait_ms += wait->wait_ms - waited_ms(before, false);
	} else {
		sum->counted = false;
	}
	note_top(sum, wait->type, (all_ms - cpu_ms) / clock_ms);
	if (cpu_ms > 0) {
		sums->of[UP_SQL_CPU].seen = true;
		sums->of[UP_SQL_CPU].tasks += cpu_ms / clock_ms;
		note_top(&sums->of[UP_SQL_CPU], "signal waits", cpu_ms / clock_ms);
	}
}

static void sum_waits(const struct up_sql_sample *p, const struct up_sql_sample *c, struct sums *ret)
{
	*ret = (struct sums){ 0 };
	for (size_t i = 0; i < UP_SQL_CLASSES; i++)
		ret->of[i].counted = true;
	for (size_t i = 0; i < c->wait_count; i++)
		add_wait(p, c, &c->waits[i], ret);
}

/* A counter that fell although the generation is the same: nothing of the pair can be trusted. */
static bool fell(const struct up_sql_sample *p, const struct up_sql_sample *c)
{
	for (size_t i = 0; i < c->wait_count; i++) {
		const struct up_sql_wait *before = up_sql_wait_find(p, c->waits[i].type);

		if (before && (c->waits[i].wait_ms < before->wait_ms ||
				      (before->waits.has && c->waits[i].waits.has && c->waits[i].waits.n < before->waits.n)))
			return true;
	}
	return false;
}

/* UP_OK when P and C can be subtracted; else what the values are, and why. */
static struct up_value judge(const struct up_sql_sample *p, const struct up_sql_sample *c)
{
	if (c->state != UP_OK)
		return up_value_state(c->state, c->reason);
	if (!p || p->state != UP_OK)
		return up_value_state(UP_FIRST, NULL);
	if (strcmp(p->generation, c->generation) != 0)
		return up_value_state(UP_RESET, "the server or the bridge was restarted, or the counters were cleared");
	if (p->sequence.has && c->sequence.has && p->sequence.n == c->sequence.n)
		return up_none("the bridge took no new sample in this window");
	if (!(c->clock_ms > p->clock_ms))
		return up_none("the server's clock did not move");
	return fell(p, c) ? up_value_state(UP_RESET, "a counter fell") : up_value(0);
}

static struct up_value known(double number, const char *reason)
{
	return isnan(number) ? up_none(reason) : up_value(number);
}

static void add_class(const char *name, enum up_sql_class class, const struct class_sum *sum, double clock_ms,
	const struct up_sql_sample *c, struct up_rows *out)
{
	struct up_detail detail = { 0 };
	char full[512], key[16];

	snprintf(full, sizeof(full), "%.400s/%s", name, up_sql_class_name(class));
	for (size_t i = 0; i < TOP && sum->top[i].type && sum->top[i].tasks > 0; i++) {
		snprintf(key, sizeof(key), "top%zu", i + 1);
		up_detail_text(&detail, key, sum->top[i].type);
		snprintf(key, sizeof(key), "top%zu_tasks", i + 1);
		up_detail_number(&detail, key, sum->top[i].tasks);
	}
	if (sum->counted) {
		up_detail_number(&detail, "waits_per_s", sum->waits / clock_ms * 1e3);
		up_detail_value(
			&detail, "mean_wait_ms", up_scaled(up_value(sum->wait_ms), 1, sum->waits, "no wait began in the window"));
	}
	if (c->has_unfinished)
		up_detail_number(&detail, "waiting_now", sum->now);
	else
		up_detail_text(&detail, "unfinished", "unknown");
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_DATABASE,
				 .resource = "sql",
				 .name = full,
				 .utilization = up_none("a class of waits has no servers"),
				 .saturation = up_value(sum->tasks),
				 .saturation_unit = "tasks",
				 .waiting = up_none("classes divide the time at the database"),
				 .errors = up_none("errors are counted for the database"),
				 .saturated_at = class == UP_SQL_OTHER || class == UP_SQL_NETWORK ? 0 : 1,
				 .method = "SQL bridge measured",
				 .detail = detail.text,
				 .state = UP_OK,
				 .window_ns = (uint64_t)(clock_ms * (double)UP_NS_PER_MS),
			 });
}

/* Counters of errors that mean harm; the others (user errors, rollbacks) are figures of detail. */
static struct up_value count_errors(
	const struct up_sql_sample *p, const struct up_sql_sample *c, struct up_value verdict, struct up_detail *detail)
{
	static const char *const harm[] = { "deadlocks", "lock_timeouts", "grant_timeouts", "conflicts", "sessions_fatal",
		"sessions_killed" };
	struct up_value sum = up_none("the server tells no errors");

	for (size_t i = 0; i < c->error_count; i++) {
		struct up_value grown = verdict;
		const struct up_sql_error *before = NULL;

		for (size_t k = 0; p && k < p->error_count; k++)
			if (strcmp(p->errors[k].name, c->errors[i].name) == 0)
				before = &p->errors[k];
		if (strcmp(c->errors[i].name, "worker_failures") == 0) {
			if (c->errors[i].count.has)
				up_detail_count(detail, "worker_failures", c->errors[i].count.n);
			continue;
		}
		if (up_value_ok(verdict))
			grown = up_delta(before ? &before->count : NULL, c->errors[i].count, "the server does not tell");
		up_detail_value(detail, c->errors[i].name, grown);
		for (size_t k = 0; k < UP_COUNT(harm); k++)
			if (strcmp(harm[k], c->errors[i].name) == 0 && (up_value_ok(grown) || !up_value_ok(verdict)))
				sum = up_value_ok(sum) && up_value_ok(grown) ? up_plus(sum, grown) : grown;
	}
	return sum;
}

static void describe(const struct up_sql_sample *c, const struct sums *sums, struct up_detail *detail)
{
	up_detail_value(detail, "workers", known(c->workers, "not told"));
	up_detail_value(detail, "workers_active", known(c->workers_active, "not told"));
	up_detail_value(detail, "runnable_tasks", known(c->runnable_tasks, "not told"));
	up_detail_value(detail, "work_queue", known(c->work_queue, "not told"));
	up_detail_value(detail, "grant_waiters", known(c->grant_waiters, "not told"));
	up_detail_value(detail, "pending_disk_io", known(c->pending_disk_io, "not told"));
	if (sums) {
		up_detail_number(detail, "ignored_tasks", sums->ignored_tasks);
		if (sums->new_types)
			up_detail_count(detail, "types_not_seen_before", sums->new_types);
	}
	if (c->more_waits)
		up_detail_count(detail, "types_left_out", c->more_waits);
	if (!isnan(c->cost_ms))
		up_detail_number(detail, "sample_cost_ms", c->cost_ms);
	if (c->missing)
		up_detail_text(detail, "missing", c->missing);
}

void sql_add_rows(const char *name, const struct up_sql_sample *p, const struct up_sql_sample *c, struct up_rows *out)
{
	const struct up_value verdict = judge(p, c);
	const bool ok = up_value_ok(verdict), readable = c->state == UP_OK;
	const double clock_ms = ok ? c->clock_ms - p->clock_ms : 0;
	struct up_detail detail = { 0 };
	struct up_value tasks = verdict, errors;
	struct sums sums;

	if (ok) {
		sum_waits(p, c, &sums);
		tasks.number = 0;
		for (size_t i = 0; i < UP_SQL_CLASSES; i++)
			tasks.number += sums.of[i].tasks;
	}
	if (readable)
		describe(c, ok ? &sums : NULL, &detail);
	errors = count_errors(p, c, verdict, &detail);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_DATABASE,
				 .resource = "sql",
				 .name = name,
				 .utilization = !readable ? verdict
							  : up_scaled(known(c->workers, "workers are not told"), 1,
								    c->workers_max, "the limit of workers is not told"),
				 .saturation = tasks,
				 .saturation_unit = "tasks",
				 .waiting = up_none("its tasks are part of the time at the database"),
				 .errors = readable ? errors : verdict,
				 .servers = c->workers_max > 0 ? c->workers_max : 0,
				 .method = "SQL bridge measured",
				 .detail = detail.text,
				 .state = readable && verdict.state != UP_ABSENT ? verdict.state
					  : readable                             ? UP_OK
										 : c->state,
				 .reason = verdict.reason,
				 .window_ns = (uint64_t)(clock_ms * (double)UP_NS_PER_MS),
			 });
	for (size_t i = 0; ok && i < UP_SQL_CLASSES; i++)
		if (sums.of[i].seen)
			add_class(name, (enum up_sql_class)i, &sums.of[i], clock_ms, c, out);
}
