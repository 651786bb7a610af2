/* Table: the rows of the current tick joined with their history. Sinks read it; they compute no rates. */
#ifndef UP_TABLE_H
#define UP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/row.h"

#define UP_HISTORY 128 /* points kept a series: two minutes at 1 Hz */
#define UP_POINT_NS 500000000ull /* faster ticks share a point, so that a minute always fits */
#define UP_SATURATED_AFTER_NS 3000000000ull
#define UP_TABLE_SERIES_MAX 8192
#define UP_TABLE_BUCKETS 4096
#define UP_SERIES_NONE SIZE_MAX

/* One tick as the sinks see it. */
struct up_tick {
	uint64_t number; /* 0 first */
	uint64_t wall_ns; /* end of the window */
	uint64_t mono_ns;
	uint64_t elapsed_ns; /* since the first tick */
	uint64_t interval_ns; /* asked for */
	uint64_t late_ns; /* behind its deadline */
};

struct up_moment {
	uint64_t mono_ns; /* of its last tick */
	float utilization, saturation, waiting; /* NaN = not known; the highest of the ticks that share the point */
};

struct up_series {
	uint64_t key_hash;
	char *key; /* owned: target, scope, resource, name joined by 0x1f */
	struct up_moment history[UP_HISTORY];
	size_t history_count; /* points ever written; newest at (count - 1) % UP_HISTORY */
	uint64_t point_since_ns; /* first tick of the newest point */
	uint64_t saturated_window_ns; /* time of the windows seen saturated in a row; 0 = not saturated now */
	uint64_t last_tick;
	uint32_t next; /* chain of the hash table: index + 1, 0 = end */
	double waiting_max; /* highest waiting over the run, NaN = never known */
	double errors_total; /* errors so far, NaN = never known */
};

struct up_table {
	struct up_rows rows; /* of the current tick, in collector order */
	size_t series_of[UP_ROWS_MAX]; /* index into series for each row, UP_SERIES_NONE for events; read with up_table_series */
	struct up_series *series; /* [series_count], owned */
	size_t series_count, series_capacity; /* at most UP_TABLE_SERIES_MAX; the longest unseen goes first */
	uint32_t buckets[UP_TABLE_BUCKETS]; /* hash table over series: index + 1, 0 = empty */
	struct up_tick tick;
};

UP_MUST_CHECK int up_table_init(struct up_table *table);
void up_table_done(struct up_table *table);
/* Joins table->rows with the history: sets every row's condition, gives a row without window the time since the tick before, and
 * appends to its series. Call once after the rows are filled. 0 or -ENOMEM (then rows without series have no history). */
int up_table_commit(struct up_table *table, const struct up_tick *tick);
/* Does the same for rows that carry the condition they were recorded with (replay): it is kept. */
int up_table_commit_recorded(struct up_table *table, const struct up_tick *tick);
/* Series of row INDEX of the current tick, borrowed until the next commit; NULL for an event. */
const struct up_series *up_table_series(const struct up_table *table, size_t index);
/* Point AGE points back (0 = newest); false when there is none. */
bool up_series_point(const struct up_series *series, size_t age, struct up_moment *ret);
/* Order of need of attention: errors, saturated, busy, ok, idle, unknown, events; inside one by utilization, averaged over the last
 * ten points in steps of 0.05 so that rows do not swap places on noise; run-queue stays next to its cpu.
 * Fills ORDER [rows.count] with indexes into rows.items. */
void up_table_order(const struct up_table *table, size_t *order);
/* Copy of TABLE as it is now, for a view that stands still while the run goes on. RET must be initialised or a former copy; what it
 * held is replaced. The series carry their history but no keys: a copy is for reading only. 0 or -ENOMEM (RET unchanged). */
UP_MUST_CHECK int up_table_copy(const struct up_table *table, struct up_table *ret);

#endif
