/* What keys do to the state of the view. */
#include <stdio.h>
#include <string.h>

#include "live_draw.h"

#define SCROLL_MAX 500
#define CTRL(c) ((c)&0x1f)

static void select_line(struct up_live *live, size_t line)
{
	if (!live->line_count)
		return;
	live->selected_at = line < live->line_count ? line : live->line_count - 1;
	live->selected = live->lines[live->selected_at].id;
}

/* Moves by DELTA lines; the first move only makes the selection visible. */
static void move(struct up_live *live, long delta)
{
	const long at = (long)live->selected_at + delta;

	if (!live->selected)
		select_line(live, live->top);
	else
		select_line(live, at < 0 ? 0 : (size_t)at);
}

static void scroll(struct up_live *live, long delta)
{
	const long to = (long)live->scroll + delta;

	live->scroll = to < 0 ? 0 : to > SCROLL_MAX ? SCROLL_MAX : (size_t)to;
}

/* From one target to the next in the order of the table, then to none. */
static void next_focus(struct up_live *live, const struct up_table *table)
{
	bool passed = !*live->focus;

	for (size_t i = 0; i < table->rows.count; i++) {
		const char *target = table->rows.items[i].target;
		bool seen = false;

		for (size_t k = 0; target && k < i && !seen; k++)
			seen = table->rows.items[k].target && strcmp(table->rows.items[k].target, target) == 0;
		if (!target || !*target || seen)
			continue;
		if (passed) {
			snprintf(live->focus, sizeof(live->focus), "%s", target);
			return;
		}
		passed = strcmp(target, live->focus) == 0;
	}
	*live->focus = '\0';
}

enum fold { FOLD_TOGGLE, FOLD_CLOSE, FOLD_OPEN };

static void fold(struct up_live *live, const struct up_table *table, enum fold what)
{
	const struct up_live_line *line;
	uint64_t id;

	if (!live->line_count)
		return;
	if (!live->selected)
		select_line(live, live->top);
	line = &live->lines[live->selected_at];
	id = up_live_scope_id(&table->rows.items[line->row]);
	for (size_t i = 0; i < live->fold_count; i++) {
		if (live->folds[i] == id) {
			if (what == FOLD_CLOSE)
				return;
			live->folds[i] = live->folds[--live->fold_count];
			live->selected = up_live_row_id(table, line->row);
			return;
		}
	}
	if (what == FOLD_OPEN)
		return;
	if (live->fold_count == UP_LIVE_FOLDS) {
		snprintf(live->message, sizeof(live->message), "at most %d folds; F unfolds all", UP_LIVE_FOLDS);
		return;
	}
	live->folds[live->fold_count++] = id;
	live->selected = id;
}

static void open_line(struct up_live *live, const struct up_table *table)
{
	if (!live->line_count)
		return;
	if (!live->selected)
		select_line(live, live->top);
	if (live->lines[live->selected_at].count) {
		fold(live, table, FOLD_OPEN);
		return;
	}
	live->mode = UP_LIVE_DETAIL;
	live->scroll = 0;
}

static void begin_input(struct up_live *live, enum up_live_mode mode, const char *text)
{
	live->mode = mode;
	snprintf(live->input, sizeof(live->input), "%s", text);
}

static void append_point(struct up_live *live, uint32_t point)
{
	const size_t len = strlen(live->input);
	char bytes[5] = { 0 };

	if (point < 0x20 || point == 0x7f || point > 0x10ffff)
		return;
	if (point < 0x80) {
		bytes[0] = (char)point;
	} else if (point < 0x800) {
		bytes[0] = (char)(0xc0 | point >> 6);
		bytes[1] = (char)(0x80 | (point & 0x3f));
	} else if (point < 0x10000) {
		bytes[0] = (char)(0xe0 | point >> 12);
		bytes[1] = (char)(0x80 | (point >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (point & 0x3f));
	} else {
		bytes[0] = (char)(0xf0 | point >> 18);
		bytes[1] = (char)(0x80 | (point >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (point >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (point & 0x3f));
	}
	if (len + strlen(bytes) < sizeof(live->input))
		memcpy(live->input + len, bytes, strlen(bytes) + 1);
}

static void erase_point(struct up_live *live)
{
	size_t len = strlen(live->input);

	if (!len)
		return;
	do
		len--;
	while (len && ((unsigned char)live->input[len] & 0xc0) == 0x80);
	live->input[len] = '\0';
}

static enum up_live_action key_input(struct up_live *live, uint32_t key)
{
	const bool mark = live->mode == UP_LIVE_MARK;

	switch (key) {
	case UP_KEY_ENTER:
		live->mode = UP_LIVE_TABLE;
		return mark ? UP_ACTION_MARK : UP_ACTION_NONE;
	case UP_KEY_ESCAPE:
	case CTRL('c'):
	case CTRL('g'):
		live->mode = UP_LIVE_TABLE;
		if (!mark)
			*live->filter = '\0';
		return UP_ACTION_NONE;
	case UP_KEY_BACKSPACE:
		erase_point(live);
		break;
	case CTRL('u'):
		*live->input = '\0';
		break;
	default:
		append_point(live, key);
		break;
	}
	/* The list follows what is typed. */
	if (!mark)
		snprintf(live->filter, sizeof(live->filter), "%s", live->input);
	return UP_ACTION_NONE;
}

static enum up_live_action toggle_pause(struct up_live *live)
{
	live->paused = !live->paused;
	return UP_ACTION_PAUSE;
}

/* Keys that mean the same in the list, in detail and in help. */
static enum up_live_action key_common(struct up_live *live, uint32_t key)
{
	switch (key) {
	case 'q':
	case 'Q':
	case CTRL('c'):
	case UP_KEY_CLOSED:
		return UP_ACTION_QUIT;
	case ' ':
	case 'p':
		return toggle_pause(live);
	case CTRL('l'):
	case UP_KEY_REDRAW:
		return UP_ACTION_CLEAR;
	case '+':
	case '=':
		return UP_ACTION_FASTER;
	case '-':
		return UP_ACTION_SLOWER;
	case ',':
	case '<':
		return live->replay ? UP_ACTION_BACK : UP_ACTION_NONE;
	case '.':
	case '>':
		return live->replay ? UP_ACTION_FORWARD : UP_ACTION_NONE;
	case '?':
	case 'h':
	case UP_KEY_HELP:
		live->mode = live->mode == UP_LIVE_HELP ? UP_LIVE_TABLE : UP_LIVE_HELP;
		live->scroll = 0;
		return UP_ACTION_NONE;
	default:
		return UP_ACTION_NONE;
	}
}

static enum up_live_action key_scrolled(struct up_live *live, uint32_t key)
{
	switch (key) {
	case UP_KEY_ESCAPE:
	case UP_KEY_ENTER:
	case UP_KEY_BACKSPACE:
	case 'o':
		live->mode = UP_LIVE_TABLE;
		break;
	case UP_KEY_UP:
	case 'k':
		scroll(live, -1);
		break;
	case UP_KEY_DOWN:
	case 'j':
		scroll(live, 1);
		break;
	case UP_KEY_PAGE_UP:
		scroll(live, -10);
		break;
	case UP_KEY_PAGE_DOWN:
		scroll(live, 10);
		break;
	case UP_KEY_HOME:
	case 'g':
		live->scroll = 0;
		break;
	case UP_KEY_LEFT:
	case UP_KEY_RIGHT:
		if (live->mode == UP_LIVE_DETAIL)
			move(live, key == UP_KEY_LEFT ? -1 : 1);
		break;
	default:
		return key_common(live, key);
	}
	return UP_ACTION_NONE;
}

static bool key_moves(struct up_live *live, uint32_t key)
{
	const long page = live->page > 1 ? (long)live->page - 1 : 1;

	switch (key) {
	case UP_KEY_UP:
	case 'k':
		move(live, -1);
		return true;
	case UP_KEY_DOWN:
	case 'j':
		move(live, 1);
		return true;
	case UP_KEY_PAGE_UP:
	case CTRL('b'):
		move(live, -page);
		return true;
	case UP_KEY_PAGE_DOWN:
	case CTRL('f'):
		move(live, page);
		return true;
	case UP_KEY_HOME:
	case 'g':
		select_line(live, 0);
		return true;
	case UP_KEY_END:
	case 'G':
		select_line(live, live->line_count);
		return true;
	default:
		return false;
	}
}

static enum up_live_action key_table(struct up_live *live, const struct up_table *table, uint32_t key)
{
	if (key_moves(live, key))
		return UP_ACTION_NONE;
	switch (key) {
	case UP_KEY_ENTER:
	case 'o':
		open_line(live, table);
		return UP_ACTION_NONE;
	case 'f':
		fold(live, table, FOLD_TOGGLE);
		return UP_ACTION_NONE;
	case UP_KEY_LEFT:
		fold(live, table, FOLD_CLOSE);
		return UP_ACTION_NONE;
	case UP_KEY_RIGHT:
		fold(live, table, FOLD_OPEN);
		return UP_ACTION_NONE;
	case 'F':
		live->fold_count = 0;
		return UP_ACTION_NONE;
	case 's':
		live->sort = (live->sort + 1) % UP_SORT_COUNT;
		return UP_ACTION_NONE;
	case 't':
		next_focus(live, table);
		return UP_ACTION_NONE;
	case '/':
		begin_input(live, UP_LIVE_FILTER, live->filter);
		return UP_ACTION_NONE;
	case 'm':
		if (!live->replay)
			begin_input(live, UP_LIVE_MARK, "");
		return UP_ACTION_NONE;
	case UP_KEY_ESCAPE:
		/* First the selection, then the filter: the screen as it was at the start. */
		if (live->selected) {
			live->selected = 0;
			live->top = 0;
		} else {
			*live->filter = '\0';
		}
		return UP_ACTION_NONE;
	default:
		return key_common(live, key);
	}
}

enum up_live_action up_live_key(struct up_live *live, const struct up_table *table, uint32_t key)
{
	if (key == UP_KEY_NONE)
		return UP_ACTION_NONE;
	*live->message = '\0';
	if (key == UP_KEY_CLOSED)
		return UP_ACTION_QUIT;
	if (key == UP_KEY_REDRAW)
		return UP_ACTION_CLEAR;
	switch (live->mode) {
	case UP_LIVE_FILTER:
	case UP_LIVE_MARK:
		return key_input(live, key);
	case UP_LIVE_DETAIL:
	case UP_LIVE_HELP:
		return key_scrolled(live, key);
	default:
		return key_table(live, table, key);
	}
}
