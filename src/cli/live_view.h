/* The live view as run and replay use it: terminal, state, and a copy of the table while the screen is paused. Private to src/cli. */
#ifndef UP_LIVE_VIEW_H
#define UP_LIVE_VIEW_H

#include "live_knee.h"
#include "useprobe/live.h"

struct live_view {
	struct up_live live;
	struct up_screen *screen;
	int key_fd; /* readable when keys are there; may be /dev/tty */
	bool own_key_fd;
	struct up_grid grid;
	struct up_table frozen; /* what a paused screen shows */
	bool has_frozen;
	struct live_knee knee;
};

/* Takes over the terminal on standard output, with keys from standard input or /dev/tty. 0; -ENOTTY without a terminal; -ENOTSUP when
 * TERM is too dumb, with MESSAGE for the user. */
int live_view_open(struct live_view **ret, char *message, size_t message_size);
/* Gives the terminal back. Accepts NULL. */
void live_view_close(struct live_view *view);
/* A new tick: its events are noted. */
void live_view_tick(struct live_view *view, const struct up_table *table);
void live_view_draw(struct live_view *view, const struct up_table *table);
/* Next key that is there and what it asks for; false when there is none. Pause and repaint are done here already. */
bool live_view_key(struct live_view *view, const struct up_table *table, enum up_live_action *ret);
/* Signals of the terminal: SIGWINCH, SIGTSTP (stops the process until it is continued), SIGCONT. */
void live_view_signal(struct live_view *view, unsigned signal);

#endif
