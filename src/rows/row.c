#include "useprobe/row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int up_rows_init(struct up_rows *rows)
{
	struct up_row *items = calloc(UP_ROWS_MAX, sizeof(*items));
	char *text = malloc(UP_ROWS_TEXT_BYTES);

	if (!items || !text) {
		free(items);
		free(text);
		return -ENOMEM;
	}
	*rows = (struct up_rows){ .items = items, .text = text };
	return 0;
}

void up_rows_done(struct up_rows *rows)
{
	free(rows->items);
	free(rows->text);
	*rows = (struct up_rows){ 0 };
}

void up_rows_clear(struct up_rows *rows)
{
	rows->count = 0;
	rows->text_used_bytes = 0;
	rows->dropped = 0;
}

/* Moves *TEXT into the pool. false when the pool is full. */
static bool keep(struct up_rows *rows, const char **text)
{
	size_t bytes;

	if (!*text)
		return true;
	bytes = strlen(*text) + 1;
	if (bytes > UP_ROWS_TEXT_BYTES - rows->text_used_bytes)
		return false;
	*text = memcpy(rows->text + rows->text_used_bytes, *text, bytes);
	rows->text_used_bytes += bytes;
	return true;
}

int up_rows_add(struct up_rows *rows, const struct up_row *row)
{
	const size_t mark = rows->text_used_bytes;
	struct up_row copy = *row;

	if (!copy.target)
		copy.target = rows->target;
	if (!copy.window_ns)
		copy.window_ns = rows->window_ns;
	if (copy.detail && !*copy.detail)
		copy.detail = NULL;
	if (rows->count == UP_ROWS_MAX || !keep(rows, &copy.resource) || !keep(rows, &copy.name) || !keep(rows, &copy.target) ||
		!keep(rows, &copy.saturation_unit) || !keep(rows, &copy.method) || !keep(rows, &copy.detail) ||
		!keep(rows, &copy.reason) || !keep(rows, &copy.utilization.reason) || !keep(rows, &copy.saturation.reason) ||
		!keep(rows, &copy.waiting.reason) || !keep(rows, &copy.waiting_max.reason) || !keep(rows, &copy.errors.reason)) {
		rows->text_used_bytes = mark;
		rows->dropped++;
		return -ENOSPC;
	}
	rows->items[rows->count++] = copy;
	return 0;
}

struct up_value up_value(double number)
{
	if (!isfinite(number))
		return up_value_state(UP_FAILED, "not a finite number");
	return (struct up_value){ .number = number, .state = UP_OK };
}

struct up_value up_none(const char *reason)
{
	return up_value_state(UP_ABSENT, reason);
}

struct up_value up_value_state(enum up_state state, const char *reason)
{
	return (struct up_value){ .state = state, .reason = reason };
}

struct up_value up_delta(const struct up_u64 *prev, struct up_u64 cur, const char *absent_reason)
{
	if (!cur.has)
		return up_none(absent_reason);
	if (!prev || !prev->has)
		return up_value_state(UP_FIRST, NULL);
	if (cur.n < prev->n)
		return up_value_state(UP_RESET, NULL);
	return up_value((double)(cur.n - prev->n));
}

struct up_value up_delta_wrap(const struct up_u64 *prev, struct up_u64 cur, unsigned bits, const char *absent_reason)
{
	const uint64_t range = bits >= 64 ? 0 : (uint64_t)1 << bits;

	/* Only a fall from the upper half to the lower half is a wrap; any other one is a restarted counter. */
	if (range && cur.has && prev && prev->has && cur.n < prev->n && prev->n < range && prev->n >= range / 2 &&
		cur.n < range / 2)
		return up_value((double)(range - prev->n + cur.n));
	return up_delta(prev, cur, absent_reason);
}

struct up_value up_scaled(struct up_value value, double factor, double divisor, const char *no_divisor_reason)
{
	if (value.state != UP_OK)
		return value;
	if (!(divisor > 0))
		return up_none(no_divisor_reason);
	return up_value(value.number * factor / divisor);
}

/* The state that a result made of A and B has to carry: the first that is not fine. */
static const struct up_value *worse(const struct up_value *a, const struct up_value *b)
{
	if (a->state != UP_OK)
		return a;
	return b->state != UP_OK ? b : NULL;
}

struct up_value up_ratio(struct up_value a, struct up_value b, const char *no_divisor_reason)
{
	const struct up_value *bad = worse(&a, &b);

	return bad ? *bad : up_scaled(a, 1, b.number, no_divisor_reason);
}

struct up_value up_minus(struct up_value a, struct up_value b)
{
	const struct up_value *bad = worse(&a, &b);

	return bad ? *bad : up_value(a.number > b.number ? a.number - b.number : 0);
}

struct up_value up_plus(struct up_value a, struct up_value b)
{
	const struct up_value *bad = worse(&a, &b);

	return bad ? *bad : up_value(a.number + b.number);
}

bool up_row_saturated_now(const struct up_row *row)
{
	if (up_value_ok(row->waiting) && row->waiting.number >= fmax(0.5, 0.1 * row->servers))
		return true;
	return row->saturated_at > 0 && up_value_ok(row->saturation) && row->saturation.number >= row->saturated_at;
}

static const char *const state_names[] = {
	[UP_ABSENT] = "absent",
	[UP_OK] = "ok",
	[UP_FIRST] = "first",
	[UP_RESET] = "reset",
	[UP_STALE] = "stale",
	[UP_DENIED] = "denied",
	[UP_FAILED] = "failed",
};
static const char *const scope_names[] = {
	[UP_SCOPE_HOST] = "host",
	[UP_SCOPE_CGROUP] = "cgroup",
	[UP_SCOPE_NETNS] = "netns",
	[UP_SCOPE_LISTENER] = "listener",
	[UP_SCOPE_PROCESS] = "process",
	[UP_SCOPE_DEPENDENCY] = "dependency",
	[UP_SCOPE_DATABASE] = "database",
	[UP_SCOPE_RUNTIME] = "runtime",
	[UP_SCOPE_LOAD] = "load",
	[UP_SCOPE_PROBE] = "probe",
	[UP_SCOPE_EVENT] = "event",
};
static const char *const condition_names[] = {
	[UP_COND_NONE] = "",
	[UP_COND_IDLE] = "idle",
	[UP_COND_OK] = "ok",
	[UP_COND_BUSY] = "busy",
	[UP_COND_SATURATED] = "saturated",
	[UP_COND_ERRORS] = "errors",
};

const char *up_state_name(enum up_state state)
{
	return state_names[state];
}

const char *up_scope_name(enum up_scope scope)
{
	return scope_names[scope];
}

const char *up_condition_name(enum up_condition condition)
{
	return condition_names[condition];
}

static bool find_name(const char *const *names, size_t count, const char *name, size_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool up_state_from_name(const char *name, enum up_state *ret)
{
	size_t i;

	if (!find_name(state_names, UP_COUNT(state_names), name, &i))
		return false;
	*ret = (enum up_state)i;
	return true;
}

bool up_scope_from_name(const char *name, enum up_scope *ret)
{
	size_t i;

	if (!find_name(scope_names, UP_COUNT(scope_names), name, &i))
		return false;
	*ret = (enum up_scope)i;
	return true;
}

bool up_condition_from_name(const char *name, enum up_condition *ret)
{
	size_t i;

	if (!find_name(condition_names, UP_COUNT(condition_names), name, &i))
		return false;
	*ret = (enum up_condition)i;
	return true;
}
