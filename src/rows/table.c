#include "useprobe/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_FROM 0.8
#define IDLE_BELOW 0.01
/* Windows of a 1 Hz tick are a few ms off; three of them must still count as three seconds. */
#define SATURATED_SLACK_NS (UP_SATURATED_AFTER_NS / 50)
#define KEY_SEPARATOR "\x1f"
/* A table of this size (processes that come and go have names of their own) forgets who was not seen for so many ticks before it grows. */
#define SERIES_PLENTY 1024
#define FORGET_TICKS 60

int up_table_init(struct up_table *table)
{
	struct up_rows rows;
	int r = up_rows_init(&rows);

	if (r < 0)
		return r;
	*table = (struct up_table){ .rows = rows };
	return 0;
}

void up_table_done(struct up_table *table)
{
	for (size_t i = 0; i < table->series_count; i++)
		free(table->series[i].key);
	free(table->series);
	up_rows_done(&table->rows);
	*table = (struct up_table){ 0 };
}

/* The four words that make a row the same row in the next tick. */
struct key {
	const char *parts[4];
};

static struct key key_of(const struct up_row *row)
{
	return (struct key){ { row->target ? row->target : "", up_scope_name(row->scope), row->resource ? row->resource : "",
		row->name ? row->name : "" } };
}

/* FNV-1a, 64 bits; the separator keeps "a"+"bc" apart from "ab"+"c". */
static uint64_t key_hash(const struct key *key)
{
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < UP_COUNT(key->parts); i++) {
		for (const char *p = key->parts[i]; *p; p++)
			hash = (hash ^ (unsigned char)*p) * 1099511628211ull;
		hash = (hash ^ 0x1f) * 1099511628211ull;
	}
	return hash;
}

static bool key_equals(const struct key *key, const char *text)
{
	for (size_t i = 0; i < UP_COUNT(key->parts); i++) {
		const size_t len = strlen(key->parts[i]);

		if (strncmp(text, key->parts[i], len) != 0)
			return false;
		text += len;
		if (i + 1 < UP_COUNT(key->parts) && *text++ != *KEY_SEPARATOR)
			return false;
	}
	return !*text;
}

static char *key_text(const struct key *key)
{
	size_t bytes = UP_COUNT(key->parts);
	char *text, *end;

	for (size_t i = 0; i < UP_COUNT(key->parts); i++)
		bytes += strlen(key->parts[i]);
	text = malloc(bytes);
	if (!text)
		return NULL;
	end = text;
	for (size_t i = 0; i < UP_COUNT(key->parts); i++) {
		if (i)
			*end++ = *KEY_SEPARATOR;
		end = stpcpy(end, key->parts[i]);
	}
	return text;
}

static void unlink_series(struct up_table *table, size_t index)
{
	uint32_t *link = &table->buckets[table->series[index].key_hash % UP_TABLE_BUCKETS];

	while (*link != index + 1)
		link = &table->series[*link - 1].next;
	*link = table->series[index].next;
}

static size_t longest_unseen(const struct up_table *table)
{
	size_t oldest = 0;

	for (size_t i = 1; i < table->series_count; i++)
		if (table->series[i].last_tick < table->series[oldest].last_tick)
			oldest = i;
	return oldest;
}

static int make_room(struct up_table *table)
{
	const size_t capacity = table->series_capacity ? table->series_capacity * 2 : 64;
	struct up_series *series;

	if (table->series_count < table->series_capacity)
		return 0;
	series = realloc(table->series, capacity * sizeof(*series));
	if (!series)
		return -ENOMEM;
	table->series = series;
	table->series_capacity = capacity;
	return 0;
}

/* A place for one more series at tick NUMBER: a new one, or that of the longest unseen when it has been away for long or the table is
 * full. UP_SERIES_NONE without memory. */
static size_t take_slot(struct up_table *table, uint64_t number)
{
	size_t oldest;
	uint64_t last;

	if (table->series_count < SERIES_PLENTY)
		return make_room(table) < 0 ? UP_SERIES_NONE : table->series_count++;
	oldest = longest_unseen(table);
	last = table->series[oldest].last_tick; /* later than NUMBER after a replay was wound back */
	if (table->series_count < UP_TABLE_SERIES_MAX && (number < last || number - last < FORGET_TICKS))
		return make_room(table) < 0 ? UP_SERIES_NONE : table->series_count++;
	unlink_series(table, oldest);
	free(table->series[oldest].key);
	return oldest;
}

static size_t find_series(struct up_table *table, const struct up_row *row, uint64_t number)
{
	const struct key key = key_of(row);
	const uint64_t hash = key_hash(&key);
	uint32_t *bucket = &table->buckets[hash % UP_TABLE_BUCKETS];
	char *text;
	size_t index;

	for (uint32_t i = *bucket; i; i = table->series[i - 1].next)
		if (table->series[i - 1].key_hash == hash && key_equals(&key, table->series[i - 1].key))
			return i - 1;
	text = key_text(&key);
	if (!text)
		return UP_SERIES_NONE;
	index = take_slot(table, number);
	if (index == UP_SERIES_NONE) {
		free(text);
		return UP_SERIES_NONE;
	}
	table->series[index] = (struct up_series){ .key_hash = hash,
		.key = text,
		.waiting_max = (double)NAN,
		.errors_total = (double)NAN,
		.last_tick = UINT64_MAX,
		.next = *bucket };
	*bucket = (uint32_t)index + 1;
	return index;
}

static float point_of(struct up_value value)
{
	return up_value_ok(value) ? (float)value.number : NAN;
}

static float highest_of(float a, float b)
{
	return isnan(a) || b > a ? b : a;
}

static void append(struct up_series *series, const struct up_row *row, const struct up_tick *tick)
{
	const struct up_value *waits[] = { &row->waiting, &row->waiting_max };
	struct up_moment point = {
		.mono_ns = tick->mono_ns,
		.utilization = point_of(row->utilization),
		.saturation = point_of(row->saturation),
		.waiting = point_of(row->waiting),
	};

	/* A tenth less, or ticks of just half a second would share a point now and then. */
	if (series->history_count && tick->mono_ns - series->point_since_ns < UP_POINT_NS * 9 / 10) {
		const struct up_moment *before = &series->history[--series->history_count % UP_HISTORY];

		point.utilization = highest_of(point.utilization, before->utilization);
		point.saturation = highest_of(point.saturation, before->saturation);
		point.waiting = highest_of(point.waiting, before->waiting);
	} else {
		series->point_since_ns = tick->mono_ns;
	}
	series->history[series->history_count++ % UP_HISTORY] = point;
	for (size_t i = 0; i < UP_COUNT(waits); i++)
		if (up_value_ok(*waits[i]) && !(waits[i]->number <= series->waiting_max))
			series->waiting_max = waits[i]->number;
	if (up_value_ok(row->errors))
		series->errors_total = (isnan(series->errors_total) ? 0 : series->errors_total) + row->errors.number;
}

/* Nothing runs and nothing waits. Even an idle machine makes a task wait for some microseconds: a hundredth of a task is nobody. */
static bool is_quiet(const struct up_row *row)
{
	return up_value_ok(row->utilization) && row->utilization.number < IDLE_BELOW && up_value_ok(row->waiting) &&
	       row->waiting.number < IDLE_BELOW;
}

/* A rolling figure (the throttled share of the last periods) outlives the load that made it. */
static bool is_saturated_now(const struct up_row *row)
{
	return up_row_saturated_now(row) && !is_quiet(row);
}

/* Saturation counts in measured time, so that one 5 s window is enough and ten of 100 ms are not. A late source neither adds nor
 * ends a streak; a missed tick ends it. */
static bool saturated_long_enough(struct up_series *series, const struct up_row *row, const struct up_tick *tick)
{
	if (tick->number > series->last_tick + 1)
		series->saturated_window_ns = 0;
	if (is_saturated_now(row))
		series->saturated_window_ns += row->window_ns;
	else if (row->state != UP_STALE)
		series->saturated_window_ns = 0;
	return series->saturated_window_ns + SATURATED_SLACK_NS >= UP_SATURATED_AFTER_NS;
}

static enum up_condition condition_of(const struct up_row *row, bool saturated)
{
	const bool busy_known = up_value_ok(row->utilization);

	if (up_value_ok(row->errors) && row->errors.number > 0)
		return UP_COND_ERRORS;
	if (saturated)
		return UP_COND_SATURATED;
	if (busy_known && row->utilization.number >= BUSY_FROM)
		return UP_COND_BUSY;
	if (busy_known && row->utilization.number < IDLE_BELOW && !is_saturated_now(row) &&
		!(up_value_ok(row->waiting) && row->waiting.number >= IDLE_BELOW))
		return UP_COND_IDLE;
	if (busy_known || up_value_ok(row->saturation) || up_value_ok(row->waiting) || up_value_ok(row->errors))
		return UP_COND_OK;
	return UP_COND_NONE;
}

static int commit(struct up_table *table, const struct up_tick *tick, bool recorded)
{
	const uint64_t since_last_ns =
		tick->number && tick->mono_ns > table->tick.mono_ns ? tick->mono_ns - table->tick.mono_ns : 0;
	int result = 0;

	for (size_t i = 0; i < table->rows.count; i++) {
		struct up_row *row = &table->rows.items[i];
		struct up_series *series;
		bool saturated;

		table->series_of[i] = UP_SERIES_NONE;
		if (row->scope == UP_SCOPE_EVENT)
			continue;
		if (!row->window_ns)
			row->window_ns = since_last_ns;
		table->series_of[i] = find_series(table, row, tick->number);
		if (table->series_of[i] == UP_SERIES_NONE) {
			row->condition = recorded ? row->condition : condition_of(row, false);
			result = -ENOMEM;
			continue;
		}
		series = &table->series[table->series_of[i]];
		/* Two rows of one name in a tick share a series; the first one is its history. */
		if (series->last_tick == tick->number && series->history_count) {
			row->condition = recorded ? row->condition : condition_of(row, is_saturated_now(row));
			continue;
		}
		saturated = saturated_long_enough(series, row, tick);
		if (!recorded)
			row->condition = condition_of(row, saturated);
		series->last_tick = tick->number;
		append(series, row, tick);
	}
	table->tick = *tick;
	return result;
}

int up_table_commit(struct up_table *table, const struct up_tick *tick)
{
	return commit(table, tick, false);
}

int up_table_commit_recorded(struct up_table *table, const struct up_tick *tick)
{
	return commit(table, tick, true);
}

const struct up_series *up_table_series(const struct up_table *table, size_t index)
{
	return table->series_of[index] == UP_SERIES_NONE ? NULL : &table->series[table->series_of[index]];
}

bool up_series_point(const struct up_series *series, size_t age, struct up_moment *ret)
{
	if (age >= series->history_count || age >= UP_HISTORY)
		return false;
	*ret = series->history[(series->history_count - 1 - age) % UP_HISTORY];
	return true;
}
