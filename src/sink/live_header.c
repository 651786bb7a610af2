/* The lines above and below the list. */
#include <stdio.h>
#include <string.h>

#include "live_draw.h"
#include "useprobe/clock.h"
#include "useprobe/sink.h"

#define EVENT_SHOWN_NS (60 * UP_NS_PER_S)
#define TARGETS_NAMED 3

/* The curve and the knee: one of them from 24 lines on (the knee once there is one), both from 40 on. */
static unsigned curve_lines(const struct up_live *live, unsigned lines)
{
	const unsigned known = (*live->curve != '\0') + (*live->knee != '\0'), room = lines >= 40 ? 2 : lines >= 24 ? 1 : 0;

	return known < room ? known : room;
}

unsigned up_live_header_lines(const struct up_live *live, unsigned lines)
{
	/* Titles from 8 lines on, the summary from 12 on. */
	return 1 + (lines >= 12) + curve_lines(live, lines) + (lines >= 8);
}

unsigned up_live_footer_lines(unsigned lines)
{
	return lines >= 40 ? 4 : lines >= 20 ? 2 : lines >= 4 ? 1 : 0;
}

/* TEXT and two blanks before it, but only when all of it fits. */
static void put_segment(struct up_pen *pen, const char *text)
{
	char safe[1024];
	const size_t gap = pen->column ? 2 : 0;

	up_terminal_text(text, pen->caps.utf8, safe, sizeof(safe));
	if (gap + up_terminal_width(safe) > up_pen_room(pen) && pen->column)
		return;
	up_pen_blank(pen, (unsigned)gap);
	up_pen_text(pen, text);
}

static void targets_text(const struct up_table *table, char *ret, size_t size)
{
	const char *named[TARGETS_NAMED];
	size_t count = 0, len = 0, more = 0;

	for (size_t i = 0; i < table->rows.count; i++) {
		const char *target = table->rows.items[i].target;
		size_t k = 0;

		if (!target || !*target)
			continue;
		while (k < count && strcmp(named[k], target) != 0)
			k++;
		if (k == count && count < TARGETS_NAMED)
			named[count++] = target;
		else if (k == count)
			more = 1;
	}
	snprintf(ret, size, "%s", count ? "" : "host");
	for (size_t i = 0; i < count && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ", " : "", named[i]);
	if (more && len < size)
		snprintf(ret + len, size - len, ", ...");
}

static void elapsed_text(uint64_t elapsed_ns, char *ret, size_t size)
{
	const unsigned long long s = elapsed_ns / UP_NS_PER_S;

	if (s >= 3600)
		snprintf(ret, size, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(ret, size, "%llu:%02llu", s / 60, s % 60);
}

static void interval_text(uint64_t interval_ns, char *ret, size_t size)
{
	if (interval_ns % UP_NS_PER_S == 0 && interval_ns >= 120 * UP_NS_PER_S)
		snprintf(ret, size, "every %llu min", (unsigned long long)(interval_ns / UP_NS_PER_S / 60));
	else if (interval_ns >= UP_NS_PER_S)
		snprintf(ret, size, "every %llu s", (unsigned long long)((interval_ns + UP_NS_PER_S / 2) / UP_NS_PER_S));
	else
		snprintf(ret, size, "every %llu ms", (unsigned long long)((interval_ns + UP_NS_PER_MS / 2) / UP_NS_PER_MS));
}

/* What the probe itself costs, "" when it is not known. */
static void cost_text(const struct up_table *table, char *ret, size_t size)
{
	*ret = '\0';
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[i];
		double bytes;

		if (row->scope != UP_SCOPE_PROBE || !up_value_ok(row->utilization))
			continue;
		snprintf(ret, size, "own cost %.1f%% CPU", row->utilization.number * 100);
		if (up_detail_get_number(row->detail, "resident_bytes", &bytes))
			snprintf(ret + strlen(ret), size - strlen(ret), ", %.1f MB", bytes / 1e6);
		/* The program may run in a locale with a decimal comma. */
		for (char *p = ret; *p; p++)
			if (*p == ',' && p[1] != ' ')
				*p = '.';
		return;
	}
}

static void put_first_line(const struct up_table *table, const struct up_live *live, struct up_pen *pen)
{
	const struct up_tick *tick = &table->tick;
	char text[1024], time[UP_TIME_TEXT];

	pen->attr = UP_ATTR_STRONG;
	targets_text(table, text, sizeof(text));
	if (live->replay)
		up_pen_text(pen, "replay ");
	up_pen_text(pen, text);
	pen->attr = UP_ATTR_NORMAL;
	elapsed_text(tick->elapsed_ns, text, sizeof(text));
	put_segment(pen, text);
	if (live->paused) {
		pen->attr = UP_ATTR_BUSY;
		put_segment(pen, "PAUSED");
		pen->attr = UP_ATTR_NORMAL;
	}
	if (live->replay) {
		put_segment(pen, live->speed);
		put_segment(pen, live->position);
	} else {
		interval_text(tick->interval_ns, text, sizeof(text));
		put_segment(pen, text);
	}
	if (tick->late_ns > tick->interval_ns / 10) {
		snprintf(text, sizeof(text), "%llu ms late", (unsigned long long)(tick->late_ns / UP_NS_PER_MS));
		put_segment(pen, text);
	}
	cost_text(table, text, sizeof(text));
	if (*text)
		put_segment(pen, text);
	up_time_format(tick->wall_ns, time);
	/* "2026-11-30T19:50:00Z" or "19:50:00Z", at the right edge. */
	snprintf(text, sizeof(text), "%.*sZ", up_pen_room(pen) >= 24 ? 19 : 8, up_pen_room(pen) >= 24 ? time : time + 11);
	if (up_pen_room(pen) < strlen(text) + 2)
		return;
	up_pen_blank(pen, up_pen_room(pen) - (unsigned)strlen(text));
	pen->attr = UP_ATTR_DIM;
	up_pen_text(pen, text);
}

/* A figure of a row's detail and the words around it. */
struct header_figure {
	const char *key, *before, *after;
};

/* LABEL and those of FIGURES that ROW has. false when it has none. */
static bool put_figures(
	const struct up_row *row, const char *label, const struct header_figure *figures, size_t count, struct up_pen *pen)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		char text[128], number[UP_NUMBER_TEXT];
		double figure;

		if (!up_detail_get_number(row->detail, figures[i].key, &figure))
			continue;
		up_value_short(up_value(figure), true, number);
		snprintf(text, sizeof(text), "%s%s%s", figures[i].before, number, figures[i].after);
		put_segment(pen, any ? text : label);
		if (!any)
			up_pen_printf(pen, " %s", text);
		any = true;
	}
	return any;
}

/* The row of RESOURCE with the largest figure KEY; NULL when none has it. */
static const struct up_row *busiest(const struct up_table *table, const char *resource, const char *key)
{
	const struct up_row *found = NULL;
	double most = -1, figure;

	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[i];

		if (strcmp(row->resource, resource) == 0 && up_detail_get_number(row->detail, key, &figure) && figure > most) {
			found = row;
			most = figure;
		}
	}
	return found;
}

/* The load as the generator tells it, else as the kernel counts it at the busiest listener. */
static void put_load(const struct up_table *table, struct up_pen *pen)
{
	static const struct header_figure told[] = {
		{ "offered_per_s", "offered ", "/s" },
		{ "achieved_per_s", "achieved ", "/s" },
		{ "p95_ms", "p95 ", " ms" },
		{ "users", "", " users" },
	};
	static const struct header_figure counted[] = {
		{ "departures_per_s", "", "/s" },
		{ "in_flight", "", " in flight" },
		{ "mean_ms", "mean ", " ms" },
		{ "p99_ms", "p99 ", " ms" },
	};
	const struct up_row *requests;
	bool any = false;

	for (size_t i = 0; i < table->rows.count; i++)
		if (table->rows.items[i].scope == UP_SCOPE_LOAD)
			any = put_figures(&table->rows.items[i], "load:", told, UP_COUNT(told), pen) || any;
	requests = any ? NULL : busiest(table, "requests", "departures_per_s");
	if (requests)
		put_figures(requests, "requests:", counted, UP_COUNT(counted), pen);
}

/* "1 errors  2 saturated  9 ok": every condition that occurs. */
static void put_summary(const struct up_table *table, struct up_pen *pen)
{
	size_t counts[UP_COND_ERRORS + 1] = { 0 };
	char text[64];

	for (size_t i = 0; i < table->rows.count; i++)
		if (table->rows.items[i].scope != UP_SCOPE_EVENT)
			counts[table->rows.items[i].condition]++;
	for (int condition = UP_COND_ERRORS; condition >= UP_COND_NONE; condition--) {
		if (!counts[condition])
			continue;
		pen->attr = up_attr_of((enum up_condition)condition);
		snprintf(text, sizeof(text), "%zu %s", counts[condition],
			condition == UP_COND_NONE ? "without figures" : up_condition_name((enum up_condition)condition));
		put_segment(pen, text);
	}
	pen->attr = UP_ATTR_NORMAL;
}

static void put_line(struct up_grid *grid, struct up_live_caps caps, unsigned line, enum up_attr attr, const char *text)
{
	char safe[UP_LIVE_TEXT * 8], fit[UP_LIVE_TEXT * 8];
	struct up_pen pen = up_pen_line(grid, caps, line);

	pen.attr = attr;
	up_terminal_text(text, caps.utf8, safe, sizeof(safe));
	up_pen_text(&pen, up_terminal_fit(safe, up_pen_room(&pen), UP_CUT_END, caps.utf8, fit, sizeof(fit)));
}

static void put_curve(const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	const unsigned lines = curve_lines(live, grid->lines);

	if (lines == 2 || (lines == 1 && !*live->knee))
		put_line(grid, caps, 2, UP_ATTR_NORMAL, live->curve);
	if (lines && *live->knee)
		put_line(grid, caps, 1 + lines, UP_ATTR_SATURATED, live->knee);
}

void up_live_layout_header(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	struct up_pen pen = up_pen_line(grid, caps, 0);

	put_first_line(table, live, &pen);
	if (up_live_header_lines(live, grid->lines) < 3)
		return;
	pen = up_pen_line(grid, caps, 1);
	put_load(table, &pen);
	put_summary(table, &pen);
	put_curve(live, caps, grid);
}

/* The event AGE back; NULL when there is none or it is old. */
static const struct up_live_event *recent_event(const struct up_live *live, const struct up_table *table, size_t age)
{
	const struct up_live_event *event;

	if (age >= live->event_count || age >= UP_LIVE_EVENTS)
		return NULL;
	event = &live->events[(live->event_count - 1 - age) % UP_LIVE_EVENTS];
	return event->mono_ns + EVENT_SHOWN_NS >= table->tick.mono_ns ? event : NULL;
}

static void put_event(struct up_pen *pen, const struct up_live_event *event)
{
	char time[UP_TIME_TEXT];

	up_time_format(event->wall_ns, time);
	pen->attr = UP_ATTR_EVENT;
	up_pen_printf(pen, "! %.8s ", time + 11);
	up_pen_text(pen, event->text);
}

static void put_hints(const struct up_live *live, struct up_pen *pen)
{
	static const char *const sorts[] = {
		[UP_SORT_ATTENTION] = "s sort: attention",
		[UP_SORT_UTILIZATION] = "s sort: utilization",
		[UP_SORT_WAITING] = "s sort: waiting",
		[UP_SORT_SCOPE] = "s sort: scope",
	};
	char text[UP_LIVE_TEXT + 64], place[64] = "";

	if (live->line_count > live->page)
		snprintf(place, sizeof(place), "%zu-%zu of %zu", live->top + 1,
			live->top + live->page < live->line_count ? live->top + live->page : live->line_count, live->line_count);
	/* The place in the list keeps its room at the right edge. */
	if (*place && up_pen_room(pen) > strlen(place) + 12)
		pen->end -= (unsigned)strlen(place) + 2;
	put_segment(pen, "q quit");
	put_segment(pen, "? help");
	if (*live->filter) {
		snprintf(text, sizeof(text), "/ filter: %s (%zu hidden)", live->filter, live->hidden_by_filter);
		put_segment(pen, text);
	}
	if (*live->focus) {
		snprintf(text, sizeof(text), "t first: %.*s", UP_LIVE_TEXT, live->focus);
		put_segment(pen, text);
	}
	put_segment(pen, live->selected ? "enter open" : "arrows select");
	put_segment(pen, live->paused ? "space go on" : "space pause");
	put_segment(pen, sorts[live->sort]);
	if (!*live->filter)
		put_segment(pen, "/ filter");
	put_segment(pen, live->replay ? "+ - speed" : "m mark");
	put_segment(pen, live->replay ? ", . 10 s" : "+ - interval");
	put_segment(pen, "f fold");
	pen->end = pen->grid->columns;
	if (*place && up_pen_room(pen) >= strlen(place)) {
		up_pen_blank(pen, up_pen_room(pen) - (unsigned)strlen(place));
		up_pen_text(pen, place);
	}
}

/* Where text is typed: the end of it is what has to be seen. */
static void put_prompt(const struct up_live *live, struct up_pen *pen)
{
	unsigned room;

	up_pen_text(pen, live->mode == UP_LIVE_MARK ? "mark: " : "filter: ");
	pen->attr = UP_ATTR_STRONG;
	room = up_pen_room(pen);
	if (room > 1) {
		char safe[UP_LIVE_TEXT * 4], fit[UP_LIVE_TEXT * 4 + 8];

		up_terminal_text(live->input, pen->caps.utf8, safe, sizeof(safe));
		up_pen_text(pen, up_terminal_fit(safe, room - 1, UP_CUT_BEGINNING, pen->caps.utf8, fit, sizeof(fit)));
	}
	pen->grid->cursor_line = (int)pen->line;
	pen->grid->cursor_column = (int)(pen->column < pen->end ? pen->column : pen->end - 1);
}

void up_live_layout_footer(
	const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	const unsigned lines = up_live_footer_lines(grid->lines);
	const struct up_live_event *event = recent_event(live, table, 0);
	const bool prompt = live->mode == UP_LIVE_FILTER || live->mode == UP_LIVE_MARK;
	struct up_pen pen;

	for (unsigned i = 1; i < lines; i++) {
		const struct up_live_event *older = recent_event(live, table, i - 1);

		pen = up_pen_line(grid, caps, grid->lines - 1 - i);
		if (older)
			put_event(&pen, older);
	}
	if (!lines && !prompt)
		return;
	pen = up_pen_line(grid, caps, grid->lines - 1);
	pen.attr = UP_ATTR_TITLE;
	if (prompt)
		put_prompt(live, &pen);
	else if (*live->message)
		up_pen_text(&pen, live->message);
	else if (lines == 1 && event && event->mono_ns + EVENT_SHOWN_NS / 6 >= table->tick.mono_ns)
		put_event(&pen, event);
	else
		put_hints(live, &pen);
	/* A footer of 0 lines still shows a prompt, over the last row. */
	pen.attr = UP_ATTR_NORMAL;
	up_pen_blank(&pen, up_pen_room(&pen));
}
