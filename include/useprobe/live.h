/* Live view. The layout is a pure function: table, state of the view, size and abilities of the terminal give a grid of cells. Keys
 * change the state and may ask for something (mark, interval, quit). live_ncurses.c only paints the grid and reads keys. */
#ifndef UP_LIVE_H
#define UP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/table.h"

/* What a cell means; the painter chooses colours, or bold, reverse and the like without colours. */
enum up_attr {
	UP_ATTR_NORMAL,
	UP_ATTR_DIM,
	UP_ATTR_STRONG,
	UP_ATTR_TITLE, /* column titles, footer */
	UP_ATTR_ERRORS, /* conditions */
	UP_ATTR_SATURATED,
	UP_ATTR_BUSY,
	UP_ATTR_OK,
	UP_ATTR_IDLE,
	UP_ATTR_EVENT,
	UP_ATTR_COUNT
};

struct up_cell {
	uint32_t point; /* code point; 0: the right half of a wide character to the left */
	uint32_t mark; /* combining character on it, 0 = none */
	uint8_t attr; /* enum up_attr */
	bool selected;
};

/* Grids are at most this big; more terminal than that stays empty. */
#define UP_GRID_COLUMNS_MAX 500
#define UP_GRID_LINES_MAX 300
struct up_grid {
	struct up_cell *cells; /* [lines][columns], owned */
	unsigned columns, lines;
	int cursor_line, cursor_column; /* where typed text goes, -1 = hidden */
};
UP_MUST_CHECK int up_grid_resize(struct up_grid *grid, unsigned columns, unsigned lines);
void up_grid_done(struct up_grid *grid);
/* Line of the grid as UTF-8 without trailing blanks, for tests. Returns RET. */
char *up_grid_text(const struct up_grid *grid, unsigned line, char *ret, size_t size);

/* What the terminal can show. */
struct up_live_caps {
	bool utf8;
	bool blocks; /* has the block characters of bars and sparklines (the Linux console has not) */
};

/* Keys: a code point, or one of these. */
enum up_key {
	UP_KEY_NONE = 0,
	UP_KEY_UP = 0x110000,
	UP_KEY_DOWN,
	UP_KEY_LEFT,
	UP_KEY_RIGHT,
	UP_KEY_PAGE_UP,
	UP_KEY_PAGE_DOWN,
	UP_KEY_HOME,
	UP_KEY_END,
	UP_KEY_BACKSPACE,
	UP_KEY_ENTER,
	UP_KEY_ESCAPE,
	UP_KEY_HELP,
	UP_KEY_REDRAW, /* ctrl-L, or the size changed */
	UP_KEY_CLOSED, /* the terminal is gone */
};

enum up_live_mode { UP_LIVE_TABLE, UP_LIVE_DETAIL, UP_LIVE_HELP, UP_LIVE_FILTER, UP_LIVE_MARK };
enum up_live_sort { UP_SORT_ATTENTION, UP_SORT_UTILIZATION, UP_SORT_WAITING, UP_SORT_SCOPE, UP_SORT_COUNT };

enum up_live_action {
	UP_ACTION_NONE,
	UP_ACTION_QUIT,
	UP_ACTION_PAUSE, /* live->paused was changed */
	UP_ACTION_MARK, /* live->input is the text */
	UP_ACTION_SLOWER, /* longer interval; in a replay: slower */
	UP_ACTION_FASTER,
	UP_ACTION_BACK, /* replay: ten seconds back, forward */
	UP_ACTION_FORWARD,
	UP_ACTION_CLEAR, /* paint everything anew */
};

#define UP_LIVE_TEXT 128
#define UP_LIVE_FOLDS 64
#define UP_LIVE_EVENTS 16

struct up_live_event {
	uint64_t mono_ns, wall_ns;
	char text[UP_LIVE_TEXT * 2]; /* "mark: step 4"; raw bytes */
};

/* One line of the list: a row, or a folded scope that stands for several. */
struct up_live_line {
	uint64_t id; /* stays the same from tick to tick */
	size_t row; /* index; the most urgent one of a fold */
	size_t count; /* rows behind a fold, 0 = the row itself */
};

struct up_live {
	enum up_live_mode mode;
	enum up_live_sort sort;
	bool paused;
	bool replay; /* speed and seek keys instead of the interval */
	char speed[16]; /* replay: "10x" */
	char position[48]; /* replay: "tick 3 of 40" */
	char filter[UP_LIVE_TEXT]; /* substring, "" = all */
	char focus[512]; /* target whose rows come first, "" = none */
	char input[UP_LIVE_TEXT]; /* what is being typed */
	char curve[UP_LIVE_TEXT * 2]; /* the load so far: what came in a second, and how many requests were inside; "" = not known */
	char knee[UP_LIVE_TEXT * 4]; /* where it stopped following, and what limits; "" = not so far */
	char message[UP_LIVE_TEXT * 2]; /* answer to the last key, shown until the next one */
	uint64_t selected; /* id of a line, 0 = none: the view stays at its top */
	size_t selected_at; /* its place, for when it is gone */
	size_t top; /* first line shown */
	size_t scroll; /* of detail and help */
	uint64_t folds[UP_LIVE_FOLDS]; /* ids of folded scopes */
	size_t fold_count;
	struct up_live_event events[UP_LIVE_EVENTS]; /* ring */
	size_t event_count; /* ever seen */
	struct up_live_line lines[UP_ROWS_MAX]; /* [line_count], made by up_live_settle */
	size_t line_count, hidden_by_filter;
	size_t page; /* lines of the list that fit, set by up_live_settle */
};

/* Takes note of the events of a tick. Once a tick. */
void up_live_tick(struct up_live *live, const struct up_table *table);
/* Makes the list of lines for TABLE (filter, sort, folds) and moves selection and scrolling so that they fit a terminal of COLUMNS
 * and LINES. Before every layout and key. */
void up_live_settle(
	struct up_live *live, const struct up_table *table, struct up_live_caps caps, unsigned columns, unsigned lines);
/* What KEY does. The list must be settled. */
enum up_live_action up_live_key(struct up_live *live, const struct up_table *table, uint32_t key);
/* Pure: draws TABLE as LIVE says into GRID, whose size is the terminal's. */
void up_live_layout(const struct up_table *table, const struct up_live *live, struct up_live_caps caps, struct up_grid *grid);

/* Names for people: a row of a target's own group carries the target's name as typed (a container's path says nothing); its ancestors
 * keep their path. Rows of one name that differ in whose network namespace they are about ("lo") say it: "lo of api", "lo of host".
 * Built once a tick. */
#define UP_LABELS_MAX 64
#define UP_LABEL_TEXT 320
struct up_labels {
	struct {
		const char *target, *own; /* borrowed from the table */
	} items[UP_LABELS_MAX];
	size_t count;
	struct {
		const struct up_row *row; /* borrowed from the table */
		char text[UP_LABEL_TEXT];
	} made[UP_LABELS_MAX];
	size_t made_count;
};
void up_labels_find(const struct up_table *table, struct up_labels *ret);
const char *up_labels_of(const struct up_labels *labels, const struct up_row *row);

/* Terminal through ncurses. Library code asks no environment; the caller decides on colours. */
struct up_screen;
/* TERM as in the environment. 0; -ENOTTY when a descriptor is no terminal; -ENOTSUP when TERM is not known or too dumb to move the
 * cursor. */
UP_MUST_CHECK int up_screen_open(const char *term, int in_fd, int out_fd, bool colours, struct up_screen **ret);
void up_screen_close(struct up_screen *screen); /* gives the terminal back as it was */
void up_screen_size(struct up_screen *screen, unsigned *ret_columns, unsigned *ret_lines);
struct up_live_caps up_screen_caps(const struct up_screen *screen);
void up_screen_paint(struct up_screen *screen, const struct up_grid *grid);
/* Next key that is there already, UP_KEY_NONE without one; never waits. */
uint32_t up_screen_key(struct up_screen *screen);
/* Around SIGSTOP (ctrl-Z): the shell gets its terminal, afterwards everything is painted anew. */
void up_screen_suspend(struct up_screen *screen);
void up_screen_resume(struct up_screen *screen);
/* After SIGWINCH. */
void up_screen_resized(struct up_screen *screen);
void up_screen_clear(struct up_screen *screen);

#endif
