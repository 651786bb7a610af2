/* The list: which columns fit, and its rows. */
#include <stdio.h>
#include <string.h>

#include "live_draw.h"
#include "useprobe/sink.h"

enum column {
	COL_CONDITION,
	COL_RESOURCE,
	COL_NAME,
	COL_TARGET,
	COL_BAR,
	COL_UTILIZATION,
	COL_SATURATION,
	COL_WAITING,
	COL_HIGHEST,
	COL_ERRORS,
	COL_SPARK,
	COL_COUNT
};

/* Least width, and the order in which columns go when the terminal is narrow. */
static const struct {
	const char *title, *brief; /* the second one where the first does not fit */
	unsigned least;
	bool right;
} columns[COL_COUNT] = {
	[COL_CONDITION] = { "CONDITION", "COND", 9, false },
	[COL_RESOURCE] = { "RESOURCE", "RES", 9, false },
	[COL_NAME] = { "NAME", "NAME", 8, false },
	[COL_TARGET] = { "TARGET", "TARGET", 6, false },
	[COL_BAR] = { "", "", 5, false },
	[COL_UTILIZATION] = { "UTIL", "UTIL", 6, true },
	[COL_SATURATION] = { "SATURATION", "SATUR.", 8, false },
	[COL_WAITING] = { "WAIT", "WAIT", 5, true },
	[COL_HIGHEST] = { "MAX", "MAX", 4, true },
	[COL_ERRORS] = { "ERR", "ERR", 4, true },
	[COL_SPARK] = { "", "", 5, false },
};
static const enum column first_to_go[] = { COL_TARGET, COL_SPARK, COL_HIGHEST, COL_BAR, COL_ERRORS, COL_SATURATION, COL_NAME,
	COL_WAITING };

struct widths {
	unsigned of[COL_COUNT]; /* 0 = not shown */
};

static unsigned at_most(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* What a column could use, from all rows, so that scrolling does not change it. */
static void measure(const struct up_table *table, const struct up_labels *labels, struct widths *need, bool utf8)
{
	*need = (struct widths){ .of = { [COL_SATURATION] = 10 } };
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[i];
		const char *const texts[] = { row->resource, up_labels_of(labels, row), row->target };
		char safe[512];

		if (row->scope == UP_SCOPE_EVENT)
			continue;
		for (size_t k = 0; k < UP_COUNT(texts); k++) {
			const unsigned width =
				(unsigned)up_terminal_width(up_terminal_text(texts[k] ? texts[k] : "", utf8, safe, sizeof(safe)));

			if (width > need->of[COL_RESOURCE + k])
				need->of[COL_RESOURCE + k] = width;
		}
		/* Room for the number whatever it is now, or the columns would move with every digit. */
		if (row->saturation_unit && strcmp(row->saturation_unit, "ratio") != 0) {
			const unsigned width = 7 + (unsigned)strlen(row->saturation_unit);

			if (width > need->of[COL_SATURATION])
				need->of[COL_SATURATION] = width;
		}
	}
}

static unsigned total_of(const struct widths *widths)
{
	unsigned total = 0;

	for (size_t c = 0; c < COL_COUNT; c++)
		total += widths->of[c] ? widths->of[c] + 1 : 0;
	return total;
}

static void give(struct widths *widths, enum column column, unsigned up_to, unsigned *left)
{
	unsigned more;

	if (!widths->of[column] || widths->of[column] >= up_to)
		return;
	more = at_most(up_to - widths->of[column], *left);
	widths->of[column] += more;
	*left -= more;
}

static struct widths fit_columns(const struct up_table *table, const struct up_labels *labels, unsigned room, bool utf8)
{
	struct widths widths, need;
	unsigned left;

	measure(table, labels, &need, utf8);
	for (size_t c = 0; c < COL_COUNT; c++)
		widths.of[c] = columns[c].least;
	if (labels->count < 2)
		widths.of[COL_TARGET] = 0;
	if (room < 44) {
		widths.of[COL_CONDITION] = 5;
		widths.of[COL_RESOURCE] = 6;
	}
	for (size_t i = 0; i < UP_COUNT(first_to_go) && total_of(&widths) > room; i++)
		widths.of[first_to_go[i]] = 0;
	left = room > total_of(&widths) ? room - total_of(&widths) : 0;
	give(&widths, COL_RESOURCE, at_most(need.of[COL_RESOURCE], 11), &left);
	give(&widths, COL_NAME, at_most(need.of[COL_NAME], 14), &left);
	give(&widths, COL_RESOURCE, at_most(need.of[COL_RESOURCE], 15), &left);
	give(&widths, COL_SATURATION, at_most(need.of[COL_SATURATION], 14), &left);
	give(&widths, COL_SPARK, 12, &left);
	give(&widths, COL_WAITING, 6, &left);
	give(&widths, COL_HIGHEST, 6, &left);
	give(&widths, COL_ERRORS, 6, &left);
	give(&widths, COL_BAR, 10, &left);
	give(&widths, COL_NAME, at_most(need.of[COL_NAME], 40), &left);
	give(&widths, COL_TARGET, at_most(need.of[COL_TARGET], 20), &left);
	give(&widths, COL_SATURATION, at_most(need.of[COL_SATURATION], 20), &left);
	give(&widths, COL_SPARK, 60, &left);
	give(&widths, COL_BAR, 20, &left);
	give(&widths, COL_NAME, need.of[COL_NAME], &left);
	return widths;
}

static void put_titles(const struct widths *widths, const struct up_table *table, struct up_pen *pen)
{
	pen->attr = UP_ATTR_TITLE;
	up_pen_blank(pen, 1);
	for (size_t c = 0; c < COL_COUNT; c++) {
		char spark[32];
		const char *title = strlen(columns[c].title) <= widths->of[c] ? columns[c].title : columns[c].brief;

		if (c == COL_SPARK && widths->of[c]) {
			snprintf(spark, sizeof(spark), widths->of[c] >= 9 ? "LAST %u s" : "%u s",
				up_spark_seconds(&table->tick, widths->of[c]));
			title = spark;
		}
		if (!widths->of[c])
			continue;
		up_pen_cell(pen, title, widths->of[c], columns[c].right, false);
		up_pen_blank(pen, 1);
	}
	up_pen_blank(pen, up_pen_room(pen));
}

static void put_cell(const struct up_table *table, const struct up_labels *labels, size_t index, enum column column,
	unsigned width, struct up_pen *pen)
{
	const struct up_row *row = &table->rows.items[index];
	const enum up_attr attr = row->state == UP_OK ? up_attr_of(row->condition) : UP_ATTR_DIM;
	char text[128];

	switch (column) {
	case COL_CONDITION:
		pen->attr = attr;
		up_pen_cell(pen, width < 9 ? up_condition_brief(row) : up_condition_word(row), width, false, false);
		pen->attr = UP_ATTR_NORMAL;
		break;
	case COL_RESOURCE:
		up_pen_cell(pen, row->resource ? row->resource : "", width, false, false);
		break;
	case COL_NAME:
		/* Paths and addresses differ at their end. */
		up_pen_cell(pen, up_labels_of(labels, row), width, false, true);
		break;
	case COL_TARGET:
		up_pen_cell(pen, row->target ? row->target : "", width, false, true);
		break;
	case COL_BAR:
		up_pen_bar(pen, row->utilization, width, attr);
		break;
	case COL_UTILIZATION:
		up_pen_value(pen, row->utilization, false, width);
		break;
	case COL_SATURATION:
		up_pen_cell(pen, up_saturation_text(row, text, sizeof(text)), width, false, false);
		break;
	case COL_WAITING:
		up_pen_value(pen, row->waiting, false, width);
		break;
	case COL_HIGHEST:
		up_pen_value(pen, row->waiting_max, true, width);
		break;
	case COL_ERRORS:
		up_pen_value(pen, row->errors, true, width);
		break;
	default:
		up_pen_spark(pen, up_table_series(table, index), UP_SPARK_ANY, &table->tick, width);
		break;
	}
}

/* A source without figures says why in the place of the figures. */
static bool put_reason(const struct up_row *row, enum column column, struct up_pen *pen)
{
	if (column < COL_BAR || row->state == UP_OK || row->state == UP_FIRST || row->state == UP_STALE || !row->reason)
		return false;
	pen->attr = UP_ATTR_DIM;
	up_pen_cell(pen, row->reason, up_pen_room(pen), false, false);
	return true;
}

static void put_fold(
	const struct up_table *table, const struct up_labels *labels, const struct up_live_line *line, struct up_pen *pen)
{
	const struct up_row *row = &table->rows.items[line->row];
	const bool show_target = row->target && *row->target;

	up_pen_printf(pen, "%s %s: %zu row%s%s", pen->caps.utf8 && pen->caps.blocks ? "▸" : "+", up_scope_name(row->scope),
		line->count, line->count == 1 ? "" : "s", show_target ? " of " : "");
	if (show_target)
		up_pen_text(pen, row->target);
	up_pen_text(pen, line->count == 1 ? ", " : ", first ");
	up_pen_text(pen, row->resource ? row->resource : "");
	up_pen_text(pen, " ");
	up_pen_text(pen, up_labels_of(labels, row));
}

static void put_line(const struct up_table *table, const struct up_live *live, const struct up_labels *labels,
	const struct widths *widths, size_t number, struct up_pen *pen)
{
	const struct up_live_line *line = &live->lines[number];

	pen->selected = live->selected && line->id == live->selected;
	up_pen_point(pen, pen->selected ? '>' : ' ');
	for (enum column c = 0; c < COL_COUNT; c++) {
		if (!widths->of[c])
			continue;
		if (line->count && c > COL_CONDITION) {
			put_fold(table, labels, line, pen);
			break;
		}
		if (put_reason(&table->rows.items[line->row], c, pen))
			break;
		put_cell(table, labels, line->row, c, widths->of[c], pen);
		up_pen_blank(pen, 1);
	}
	pen->attr = UP_ATTR_NORMAL;
	up_pen_blank(pen, up_pen_room(pen));
}

static void put_empty(const struct up_live *live, struct up_pen *pen)
{
	pen->attr = UP_ATTR_DIM;
	if (live->hidden_by_filter)
		up_pen_printf(pen, " nothing matches '%s'; Esc clears the filter", live->filter);
	else
		up_pen_text(pen, " no rows yet");
}

static void layout_list(const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	const unsigned header = up_live_header_lines(live, grid->lines);
	const unsigned room = grid->columns ? grid->columns - 1 : 0;
	struct up_labels labels;
	struct widths widths;
	struct up_pen pen;

	up_labels_find(table, &labels);
	widths = fit_columns(table, &labels, room, caps.utf8);
	if (header > 1) {
		pen = up_pen_line(grid, caps, header - 1);
		put_titles(&widths, table, &pen);
	}
	if (!live->line_count) {
		pen = up_pen_line(grid, caps, header);
		put_empty(live, &pen);
	}
	for (size_t i = 0; i < live->page && live->top + i < live->line_count; i++) {
		pen = up_pen_line(grid, caps, header + (unsigned)i);
		put_line(table, live, &labels, &widths, live->top + i, &pen);
	}
}

void up_live_layout(const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	if (!grid->lines || !grid->columns)
		return;
	if (live->mode == UP_LIVE_HELP) {
		up_live_layout_help(live, caps, grid);
		return;
	}
	if (live->mode == UP_LIVE_DETAIL) {
		up_live_layout_detail(table, live, caps, grid);
		return;
	}
	up_live_layout_header(table, live, caps, grid);
	layout_list(table, live, caps, grid);
	up_live_layout_footer(table, live, caps, grid);
}
