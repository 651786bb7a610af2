/* Drawing into a grid. Private to the live view. */
#ifndef UP_LIVE_DRAW_H
#define UP_LIVE_DRAW_H

#include "useprobe/live.h"

/* Where and how; everything is clipped to [column, end) of its line. */
struct up_pen {
	struct up_grid *grid;
	struct up_live_caps caps;
	unsigned line, column, end;
	enum up_attr attr;
	bool selected;
};

/* Pen over the whole LINE. */
struct up_pen up_pen_line(struct up_grid *grid, struct up_live_caps caps, unsigned line);
/* Foreign or own text, made safe; stops at the end. */
void up_pen_text(struct up_pen *pen, const char *text);
UP_PRINTF(2, 3) void up_pen_printf(struct up_pen *pen, const char *format, ...);
/* One character of our own. */
void up_pen_point(struct up_pen *pen, uint32_t point);
/* TEXT in exactly COLUMNS, padded; right-aligned when RIGHT. What does not fit loses its beginning or end. */
void up_pen_cell(struct up_pen *pen, const char *text, unsigned columns, bool right, bool keep_end);
void up_pen_blank(struct up_pen *pen, unsigned columns);
/* Columns that are left. */
unsigned up_pen_room(const struct up_pen *pen);
/* A figure at the right edge of COLUMNS (at least 4); a digit less rather than a cut number. */
void up_pen_value(struct up_pen *pen, struct up_value value, bool count, unsigned columns);
/* Bar of COLUMNS for a ratio: beyond 1 the last cell is '>'. Not known: blank. */
void up_pen_bar(struct up_pen *pen, struct up_value ratio, unsigned columns, enum up_attr attr);
/* Sparkline of the last minute, newest right; of one figure, or of the first that is known of utilization, saturation and waiting.
 * Utilization is drawn against 1 (or its own highest beyond), the others against their highest. Blank where nothing is known, the
 * lowest mark for a measured zero. */
enum up_spark { UP_SPARK_ANY, UP_SPARK_UTILIZATION, UP_SPARK_SATURATION, UP_SPARK_WAITING };
void up_pen_spark(
	struct up_pen *pen, const struct up_series *series, enum up_spark what, const struct up_tick *tick, unsigned columns);
/* Seconds a sparkline of COLUMNS really covers. */
unsigned up_spark_seconds(const struct up_tick *tick, unsigned columns);

enum up_attr up_attr_of(enum up_condition condition);
/* Word for the condition column: the state's when there are no figures. */
const char *up_condition_word(const struct up_row *row);
const char *up_condition_brief(const struct up_row *row); /* at most 5 letters */
/* "12.3 ms", "0.45", "3 requests", "-". */
char *up_saturation_text(const struct up_row *row, char *ret, size_t size);

/* Screens of their own. */
void up_live_layout_detail(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid);
void up_live_layout_help(const struct up_live *live, struct up_live_caps caps, struct up_grid *grid);
/* How far they can be scrolled. */
size_t up_live_detail_below(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, unsigned columns, unsigned lines);
size_t up_live_help_below(unsigned lines);
/* Header (with curve and knee where there is room) and footer; the list stands between. */
unsigned up_live_header_lines(const struct up_live *live, unsigned lines);
unsigned up_live_footer_lines(unsigned lines);
void up_live_layout_header(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid);
void up_live_layout_footer(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid);

/* Identity of a line: of a row's series, of a scope. */
uint64_t up_live_row_id(const struct up_table *table, size_t row);
uint64_t up_live_scope_id(const struct up_row *row);

#endif
