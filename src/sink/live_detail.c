/* One row opened: every figure with its reason, method, window, the minute as sparklines, the raw figures. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "live_draw.h"
#include "useprobe/clock.h"
#include "useprobe/sink.h"

#define LABEL_COLUMNS 14
#define PAIR_COLUMNS 32

/* Lines that scroll below the title: those before SKIP are counted but not drawn. */
struct page {
	struct up_grid *grid;
	struct up_live_caps caps;
	size_t skip, number;
	unsigned first, end; /* lines of the grid */
};

/* Pen for the next line of the page; an empty one (no room) when it is scrolled out. */
static struct up_pen next_line(struct page *page)
{
	const size_t number = page->number++;
	const size_t line = page->first + number - page->skip;

	if (number < page->skip || line >= page->end)
		return up_pen_line(page->grid, page->caps, page->grid->lines);
	return up_pen_line(page->grid, page->caps, (unsigned)line);
}

static void put_label(struct up_pen *pen, const char *label)
{
	pen->attr = UP_ATTR_DIM;
	up_pen_cell(pen, label, LABEL_COLUMNS, false, false);
	pen->attr = UP_ATTR_NORMAL;
}

/* TEXT over as many lines as it takes, broken at blanks where there are any. */
static void put_wrapped(struct page *page, const char *label, const char *text)
{
	const unsigned room = page->grid->columns > LABEL_COLUMNS + 8 ? page->grid->columns - LABEL_COLUMNS : 8;
	char safe[4096];
	const char *at = up_terminal_text(text, page->caps.utf8, safe, sizeof(safe));

	do {
		struct up_pen pen = next_line(page);
		size_t len = 0, blank = 0, step;
		unsigned columns = 0, width;
		uint32_t point;
		char part[4096];

		for (; (step = up_terminal_char(at + len, &point, &width)) && columns + width <= room; len += step) {
			columns += width;
			if (point == ' ')
				blank = len + 1;
		}
		if (at[len] && blank)
			len = blank;
		if (!len && at[0])
			len = up_terminal_char(at, &point, &width);
		snprintf(part, sizeof(part), "%.*s", (int)len, at);
		put_label(&pen, label);
		up_pen_text(&pen, part);
		label = "";
		at += len;
	} while (*at);
}

UP_PRINTF(3, 4) static void put_text(struct page *page, const char *label, const char *format, ...);

static void put_text(struct page *page, const char *label, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put_wrapped(page, label, text);
}

/* "-  (no quota)": why there is no figure. */
static const char *reason_text(struct up_value value, char *ret, size_t size)
{
	*ret = '\0';
	if (!up_value_ok(value) && value.reason)
		snprintf(ret, size, "  (%s)", value.reason);
	return ret;
}

static void put_figures(struct page *page, const struct up_table *table, size_t index)
{
	const struct up_row *row = &table->rows.items[index];
	const struct up_series *series = up_table_series(table, index);
	char text[256], reason[512], number[UP_NUMBER_TEXT], highest[UP_NUMBER_TEXT];

	put_text(page, "utilization", "%s%s", up_value_short(row->utilization, false, number),
		reason_text(row->utilization, reason, sizeof(reason)));
	put_text(page, "saturation", "%s%s", up_saturation_text(row, text, sizeof(text)),
		reason_text(row->saturation, reason, sizeof(reason)));
	if (!up_value_ok(row->waiting)) {
		put_text(page, "waiting", "%s%s", up_value_short(row->waiting, false, number),
			reason_text(row->waiting, reason, sizeof(reason)));
	} else {
		up_value_short(row->waiting, false, number);
		snprintf(text, sizeof(text), "%s on average", number);
		if (up_value_ok(row->waiting_max))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), ", at most %s in this window",
				up_value_short(row->waiting_max, true, highest));
		if (series && series->waiting_max >= 0)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %s in this run",
				up_value_short(up_value(series->waiting_max), true, highest));
		put_text(page, "waiting", "%s", text);
	}
	put_text(page, "errors", "%s%s", up_value_short(row->errors, true, number),
		reason_text(row->errors, reason, sizeof(reason)));
	if (row->servers > 0)
		put_text(page, "servers", "%s", up_value_short(up_value(row->servers), true, number));
}

/* Highest figure of what the sparkline covers; it is what the tallest mark stands for. */
static double highest_of(const struct up_series *series, enum up_spark what, const struct up_tick *tick, unsigned columns)
{
	const uint64_t covered_ns = up_spark_seconds(tick, columns) * UP_NS_PER_S;
	struct up_moment point;
	double highest = -1;

	for (size_t age = 0; series && up_series_point(series, age, &point) && tick->mono_ns - point.mono_ns < covered_ns;
		age++) {
		const double figure = (double)(what == UP_SPARK_UTILIZATION  ? point.utilization
					       : what == UP_SPARK_SATURATION ? point.saturation
									     : point.waiting);

		if (figure > highest)
			highest = figure;
	}
	return highest;
}

static void put_sparks(struct page *page, const struct up_table *table, size_t index)
{
	static const struct {
		const char *label;
		enum up_spark what;
	} sparks[] = { { "utilization", UP_SPARK_UTILIZATION }, { "saturation", UP_SPARK_SATURATION },
		{ "waiting", UP_SPARK_WAITING } };
	const struct up_row *row = &table->rows.items[index];
	const struct up_value values[] = { row->utilization, row->saturation, row->waiting };
	const struct up_series *series = up_table_series(table, index);
	const unsigned room = page->grid->columns > LABEL_COLUMNS + 12 ? page->grid->columns - LABEL_COLUMNS - 12 : 0;
	const unsigned columns = room < 60 ? room : 60;
	struct up_pen pen;

	if (!columns)
		return;
	next_line(page);
	pen = next_line(page);
	put_label(&pen, "");
	pen.attr = UP_ATTR_DIM;
	up_pen_cell(&pen, "", columns > 10 ? columns - 10 : 0, false, false);
	up_pen_printf(&pen, "last %3u s  highest", up_spark_seconds(&table->tick, columns));
	for (size_t i = 0; i < UP_COUNT(sparks); i++) {
		const double highest = highest_of(series, sparks[i].what, &table->tick, columns);
		char number[UP_NUMBER_TEXT];

		if (values[i].state == UP_ABSENT || highest < 0)
			continue;
		pen = next_line(page);
		put_label(&pen, sparks[i].label);
		up_pen_spark(&pen, series, sparks[i].what, &table->tick, columns);
		up_pen_printf(&pen, "  %s", up_value_short(up_value(highest), false, number));
	}
	next_line(page);
}

/* What stands in a line of its own already (rows that come from a CSV carry it in their detail too). */
static bool is_told_elsewhere(const char *pair, size_t key_len)
{
	static const char *const keys[] = { "waiting_max", "servers", "reason" };

	if (key_len > 6 && strncmp(pair + key_len - 6, "_state", 6) == 0)
		return true;
	for (size_t i = 0; i < UP_COUNT(keys); i++)
		if (strlen(keys[i]) == key_len && strncmp(pair, keys[i], key_len) == 0)
			return true;
	return false;
}

/* The pair at PAIR as "key = value", decoded. false when it stands elsewhere already. */
static bool pair_text(const char *pair, char *ret, size_t size)
{
	const size_t len = strcspn(pair, ";"), key_len = strcspn(pair, "=;");
	char key[128], value[1024];

	if (is_told_elsewhere(pair, key_len) || key_len >= sizeof(key))
		return false;
	snprintf(key, sizeof(key), "%.*s", (int)key_len, pair);
	if (!up_detail_get(pair, key, value, sizeof(value)))
		snprintf(value, sizeof(value), "%.*s", (int)(len - key_len), pair + key_len);
	snprintf(ret, size, "%s = %s", key, value);
	return true;
}

/* Pairs side by side where they fit; what is wider than the screen gets lines of its own. */
static void put_pairs(struct page *page, const char *detail)
{
	struct up_pen pen = { 0 };
	bool begun = false;

	for (const char *p = detail; p && *p; p += strcspn(p, ";"), p += *p == ';') {
		char text[1200], safe[4800];
		unsigned width;

		if (!pair_text(p, text, sizeof(text)))
			continue;
		width = (unsigned)up_terminal_width(up_terminal_text(text, page->caps.utf8, safe, sizeof(safe)));
		if (width + LABEL_COLUMNS > page->grid->columns) {
			put_wrapped(page, begun ? "" : "raw figures", text);
			pen = (struct up_pen){ 0 };
			begun = true;
			continue;
		}
		if (up_pen_room(&pen) < (width > PAIR_COLUMNS ? width : PAIR_COLUMNS)) {
			pen = next_line(page);
			put_label(&pen, begun ? "" : "raw figures");
		}
		begun = true;
		up_pen_text(&pen, text);
		up_pen_blank(&pen, width < PAIR_COLUMNS ? PAIR_COLUMNS - width : 2);
	}
}

static void put_origin(struct page *page, const struct up_table *table, size_t index)
{
	const struct up_row *row = &table->rows.items[index];

	put_text(page, "name", "%s", row->name ? row->name : "");
	if (row->target)
		put_text(page, "target", "%s", row->target);
	put_text(page, "scope", "%s", up_scope_name(row->scope));
	if (row->window_ns)
		put_text(page, "window", "%llu.%03llu s", (unsigned long long)(row->window_ns / UP_NS_PER_S),
			(unsigned long long)(row->window_ns / UP_NS_PER_MS % 1000));
	else
		put_text(page, "window", "none yet: one sample gives no rate");
	put_text(page, "source", "%s%s%s%s", up_state_name(row->state), row->reason ? "  (" : "", row->reason ? row->reason : "",
		row->reason ? ")" : "");
	put_text(page, "method", "%s", row->method ? row->method : "-");
}

static struct page page_of(struct up_grid *grid, struct up_live_caps caps, size_t skip)
{
	return (struct page){ .grid = grid,
		.caps = caps,
		.skip = skip,
		.first = 1 + (grid->lines >= 12),
		.end = grid->lines >= 4 ? grid->lines - 1 : grid->lines };
}

static void put_page(struct page *page, const struct up_table *table, size_t row)
{
	put_figures(page, table, row);
	put_sparks(page, table, row);
	put_origin(page, table, row);
	put_pairs(page, table->rows.items[row].detail);
}

size_t up_live_detail_below(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, unsigned columns, unsigned lines)
{
	/* Everything is scrolled out, so no cell is touched. */
	struct up_grid none = { .columns = columns, .lines = lines };
	struct page page = page_of(&none, caps, SIZE_MAX);
	size_t room;

	if (!live->line_count)
		return 0;
	put_page(&page, table, live->lines[live->selected_at].row);
	room = page.end > page.first ? page.end - page.first : 0;
	return page.number > room ? page.number - room : 0;
}

void up_live_layout_detail(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	struct page page = page_of(grid, caps, live->scroll);
	const struct up_live_line *line = live->line_count ? &live->lines[live->selected_at] : NULL;
	struct up_pen pen = up_pen_line(grid, caps, 0);
	const struct up_row *row;
	struct up_labels labels;

	if (!line) {
		up_pen_text(&pen, "this row is gone");
		return;
	}
	row = &table->rows.items[line->row];
	up_labels_find(table, &labels);
	pen.attr = UP_ATTR_STRONG;
	up_pen_printf(&pen, "%s  %s  ", row->resource ? row->resource : "", up_labels_of(&labels, row));
	pen.attr = row->state == UP_OK ? up_attr_of(row->condition) : UP_ATTR_DIM;
	up_pen_text(&pen, up_condition_word(row));
	put_page(&page, table, line->row);
	if (grid->lines < 4)
		return;
	pen = up_pen_line(grid, caps, grid->lines - 1);
	pen.attr = UP_ATTR_TITLE;
	up_pen_text(&pen, "Esc back  arrows scroll  left, right other rows  space pause  q quit");
	up_pen_blank(&pen, up_pen_room(&pen));
}
