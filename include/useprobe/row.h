/* Row: the common currency. A value is a number and a state; every subtraction of counters and every rate is made in row.c, so the
 * rules for "first", "reset" and "absent" stand in one place. */
#ifndef UP_ROW_H
#define UP_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/scan.h"

/* Zero means "nothing known", so a field nobody set is absent, never a measured 0. */
enum up_state {
	UP_ABSENT, /* not there, reason says why */
	UP_OK,
	UP_FIRST, /* one sample gives no rate */
	UP_RESET, /* a counter went backwards */
	UP_STALE, /* the source is late; reason gives the age */
	UP_DENIED, /* reason gives the exact capability, sysctl or file mode that is missing */
	UP_FAILED, /* malformed or broken source; reason says what was read */
};

enum up_scope {
	UP_SCOPE_HOST,
	UP_SCOPE_CGROUP,
	UP_SCOPE_NETNS,
	UP_SCOPE_LISTENER,
	UP_SCOPE_PROCESS,
	UP_SCOPE_DEPENDENCY,
	UP_SCOPE_DATABASE,
	UP_SCOPE_RUNTIME,
	UP_SCOPE_LOAD,
	UP_SCOPE_PROBE,
	UP_SCOPE_EVENT,
	UP_SCOPE_COUNT
};

/* In order of need of attention. */
enum up_condition { UP_COND_NONE, UP_COND_IDLE, UP_COND_OK, UP_COND_BUSY, UP_COND_SATURATED, UP_COND_ERRORS };

struct up_value {
	double number; /* meaningful only when state is UP_OK (or UP_STALE: the last one known) */
	enum up_state state;
	const char *reason; /* static, or borrowed until the rows are cleared; NULL when state says it all */
};

struct up_row {
	enum up_scope scope;
	const char *resource; /* "cpu", "run-queue", ... (docs/COLLECTORS.md) */
	const char *name; /* instance: cgroup path, "host", "tcp:0.0.0.0:8080", "java[12]/pool-" */
	const char *target; /* NAME as typed; NULL for host and probe rows */
	struct up_value utilization; /* ratio, may exceed 1 with burst */
	struct up_value saturation; /* in saturation_unit */
	const char *saturation_unit; /* "ratio", "ms", "requests", ... ; NULL without saturation */
	struct up_value waiting; /* average length of this station's own queue in the window, tasks or requests */
	struct up_value waiting_max; /* highest seen in the window; goes to detail as waiting_max */
	struct up_value errors; /* events in the window */
	double servers; /* m of the station; 0 when not known */
	double saturated_at; /* saturation at or above which the row is saturated; 0: no such rule */
	const char *method; /* source and kind: "cpu.stat measured", "taskstats computed", "... lower bound" */
	const char *detail; /* "key=value;key=value" from struct up_detail; NULL when empty */
	enum up_state state; /* of the row's source */
	const char *reason; /* of a state other than UP_OK */
	uint64_t window_ns; /* monotonic time really covered; 0: the tick's */
	enum up_condition condition; /* set by the table (needs history) */
};

/* The rows of one tick. Strings are copied into the pool, so callers may pass local buffers. */
#define UP_ROWS_MAX 1024
#define UP_ROWS_TEXT_BYTES ((size_t)2 << 20)
struct up_rows {
	struct up_row *items; /* [UP_ROWS_MAX], owned */
	size_t count;
	char *text; /* [UP_ROWS_TEXT_BYTES], owned */
	size_t text_used_bytes;
	size_t dropped; /* rows that did not fit; shown in the probe row */
	const char *target; /* default for rows added without target; set by probe.c */
	uint64_t window_ns; /* default for rows added without window; set by probe.c */
};

UP_MUST_CHECK int up_rows_init(struct up_rows *rows);
void up_rows_done(struct up_rows *rows);
void up_rows_clear(struct up_rows *rows);
/* Copies ROW with its strings. 0; -ENOSPC when the tick is full (counted in dropped). */
int up_rows_add(struct up_rows *rows, const struct up_row *row);

/* Values. */
struct up_value up_value(double number);
struct up_value up_none(const char *reason); /* UP_ABSENT */
struct up_value up_value_state(enum up_state state, const char *reason);
static inline bool up_value_ok(struct up_value value)
{
	return value.state == UP_OK;
}

/* Growth of a counter between two samples. PREV NULL = there was no earlier sample. Result number is the difference in the counter's
 * own unit: UP_OK; UP_FIRST without a previous value; UP_RESET when it went backwards; UP_ABSENT (reason) when CUR is not there. */
struct up_value up_delta(const struct up_u64 *prev, struct up_u64 cur, const char *absent_reason);
/* The same for a counter of BITS bits that wraps (diskstats io_ticks is 32 bits wide: block/genhd.c). */
struct up_value up_delta_wrap(const struct up_u64 *prev, struct up_u64 cur, unsigned bits, const char *absent_reason);
/* VALUE times FACTOR / DIVISOR, keeping its state; UP_ABSENT with the reason when the divisor is not > 0. */
struct up_value up_scaled(struct up_value value, double factor, double divisor, const char *no_divisor_reason);
/* A / B where both must be UP_OK; the worse state of the two otherwise. b == 0 gives UP_ABSENT with the reason. */
struct up_value up_ratio(struct up_value a, struct up_value b, const char *no_divisor_reason);
/* A - B clamped at 0, A + B: states as in up_ratio. */
struct up_value up_minus(struct up_value a, struct up_value b);
struct up_value up_plus(struct up_value a, struct up_value b);

/* Detail: raw figures as key=value separated by ';'. Bytes < 0x20, 0x7f, '%', ';' and '=' are percent-encoded. */
struct up_detail {
	char text[1536];
	size_t len;
	bool cut; /* something did not fit and was left out whole */
};
void up_detail_number(struct up_detail *detail, const char *key, double number); /* as up_number_text */
void up_detail_count(struct up_detail *detail, const char *key, uint64_t count);
void up_detail_text(struct up_detail *detail, const char *key, const char *text);
void up_detail_value(struct up_detail *detail, const char *key, struct up_value value); /* or KEY_state=absent:reason */
/* Value of KEY in DETAIL text, decoded into RET. true when it was there and fits. */
bool up_detail_get(const char *detail, const char *key, char *ret, size_t size);
bool up_detail_get_number(const char *detail, const char *key, double *ret);

/* Instantaneous saturation rule of docs/DESIGN.md (the table adds "for 3 s"). */
bool up_row_saturated_now(const struct up_row *row);

const char *up_state_name(enum up_state state);
const char *up_scope_name(enum up_scope scope);
const char *up_condition_name(enum up_condition condition);
/* Inverse of the names, for readers of our CSV. false when unknown. */
bool up_state_from_name(const char *name, enum up_state *ret);
bool up_scope_from_name(const char *name, enum up_scope *ret);
bool up_condition_from_name(const char *name, enum up_condition *ret);

#endif
