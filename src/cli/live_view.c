#include "live_view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int live_view_open(struct live_view **ret, char *message, size_t message_size)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct live_view *view;
	int r;

	if (!isatty(STDOUT_FILENO))
		return -ENOTTY;
	view = calloc(1, sizeof(*view));
	if (!view)
		return -ENOMEM;
	view->key_fd = STDIN_FILENO;
	/* Standard input may be a pipe or /dev/null and the person still sits in front of a terminal. */
	if (!isatty(STDIN_FILENO)) {
		view->key_fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
		view->own_key_fd = view->key_fd >= 0;
	}
	/* In the background the first stroke would stop the process, and the run with it. */
	if (view->key_fd >= 0 && tcgetpgrp(view->key_fd) != getpgrp()) {
		snprintf(message, message_size, "not in the foreground of its terminal; printing a table per interval (-b)");
		live_view_close(view);
		return -ENOTSUP;
	}
	/* https://no-color.org: any value but the empty one. */
	r = view->key_fd < 0 ? -ENOTTY
			     : up_screen_open(term, view->key_fd, STDOUT_FILENO, !no_color || !*no_color, &view->screen);
	if (r == -ENOTSUP)
		snprintf(message, message_size,
			"the terminal type '%s' cannot show the live view; printing a table per interval (-b)", term ? term : "");
	if (r < 0) {
		live_view_close(view);
		return r;
	}
	*ret = view;
	return 0;
}

void live_view_close(struct live_view *view)
{
	if (!view)
		return;
	up_screen_close(view->screen);
	if (view->own_key_fd)
		close(view->key_fd);
	up_grid_done(&view->grid);
	if (view->has_frozen)
		up_table_done(&view->frozen);
	live_knee_done(&view->knee);
	free(view);
}

static const struct up_table *shown(const struct live_view *view, const struct up_table *table)
{
	return view->live.paused && view->has_frozen ? &view->frozen : table;
}

void live_view_tick(struct live_view *view, const struct up_table *table)
{
	up_live_tick(&view->live, table);
	live_knee_tick(&view->knee, table, &view->live);
}

void live_view_draw(struct live_view *view, const struct up_table *table)
{
	const struct up_live_caps caps = up_screen_caps(view->screen);
	unsigned columns, lines;

	up_screen_size(view->screen, &columns, &lines);
	if (up_grid_resize(&view->grid, columns, lines) < 0)
		return;
	table = shown(view, table);
	up_live_settle(&view->live, table, caps, view->grid.columns, view->grid.lines);
	up_live_layout(table, &view->live, caps, &view->grid);
	up_screen_paint(view->screen, &view->grid);
}

/* Pausing keeps the table as it is now. A replay stops its clock instead, so nothing changes below the screen. */
static void freeze(struct live_view *view, const struct up_table *table)
{
	if (!view->live.paused || view->live.replay)
		return;
	if (!view->has_frozen)
		view->has_frozen = up_table_init(&view->frozen) == 0;
	if (!view->has_frozen || up_table_copy(table, &view->frozen) < 0)
		view->live.paused = false;
}

bool live_view_key(struct live_view *view, const struct up_table *table, enum up_live_action *ret)
{
	const struct up_table *seen = shown(view, table);
	const struct up_live_caps caps = up_screen_caps(view->screen);
	const uint32_t key = up_screen_key(view->screen);
	unsigned columns, lines;

	if (key == UP_KEY_NONE)
		return false;
	up_screen_size(view->screen, &columns, &lines);
	up_live_settle(&view->live, seen, caps, columns, lines);
	*ret = up_live_key(&view->live, seen, key);
	if (*ret == UP_ACTION_PAUSE)
		freeze(view, table);
	if (*ret == UP_ACTION_CLEAR)
		up_screen_clear(view->screen);
	return true;
}

void live_view_signal(struct live_view *view, unsigned signal)
{
	if (signal == SIGWINCH)
		up_screen_resized(view->screen);
	if (signal != SIGTSTP)
		return;
	up_screen_suspend(view->screen);
	/* SIGTSTP itself is blocked and read from a descriptor; SIGSTOP does what it asks for. */
	kill(getpid(), SIGSTOP);
	up_screen_resume(view->screen);
}
