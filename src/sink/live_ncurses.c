/* Terminal through ncursesw: paints a grid, hands over keys. Nothing here looks at rows. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include "useprobe/live.h"

#define ESCAPE_DELAY_MS 25

struct up_screen {
	SCREEN *screen; /* owned */
	FILE *in, *out; /* owned copies of the descriptors */
	int in_fd;
	struct up_live_caps caps;
	attr_t attrs[UP_ATTR_COUNT];
	short pairs[UP_ATTR_COUNT];
	bool suspended;
};

/* Without colours the words carry the meaning; weight and reverse only help the eye. */
static void choose_attrs(struct up_screen *screen, bool colours)
{
	static const attr_t plain[UP_ATTR_COUNT] = {
		[UP_ATTR_DIM] = A_DIM,
		[UP_ATTR_STRONG] = A_BOLD,
		[UP_ATTR_TITLE] = A_REVERSE,
		[UP_ATTR_ERRORS] = A_BOLD | A_UNDERLINE,
		[UP_ATTR_SATURATED] = A_BOLD,
		[UP_ATTR_IDLE] = A_DIM,
		[UP_ATTR_EVENT] = A_BOLD,
	};
	static const struct {
		enum up_attr attr;
		short colour;
	} colour_of[] = { { UP_ATTR_ERRORS, COLOR_RED }, { UP_ATTR_SATURATED, COLOR_RED }, { UP_ATTR_BUSY, COLOR_YELLOW },
		{ UP_ATTR_OK, COLOR_GREEN }, { UP_ATTR_EVENT, COLOR_MAGENTA } };

	memcpy(screen->attrs, plain, sizeof(plain));
	if (!colours || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (size_t i = 0; i < UP_COUNT(colour_of); i++) {
		const short pair = (short)(i + 1);

		if (init_pair(pair, colour_of[i].colour, -1) == ERR)
			continue;
		screen->pairs[colour_of[i].attr] = pair;
		screen->attrs[colour_of[i].attr] &= ~A_UNDERLINE;
	}
}

static bool has_capability(const char *name)
{
	const char *text = tigetstr(name);

	return text && text != (const char *)-1;
}

static int set_up(struct up_screen *screen, const char *term, bool colours)
{
	screen->screen = newterm(term, screen->out, screen->in);
	if (!screen->screen)
		return -ENOTSUP;
	set_term(screen->screen);
	/* A terminal that cannot move its cursor or clear itself gets the table of -b. */
	if (!has_capability("cup") || !has_capability("clear"))
		return -ENOTSUP;
	set_escdelay(ESCAPE_DELAY_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
	choose_attrs(screen, colours);
	screen->caps.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* The console's fonts have UTF-8 letters but not the eighths of a block. */
	screen->caps.blocks = screen->caps.utf8 && strncmp(term, "linux", 5) != 0;
	return 0;
}

static FILE *open_copy(int fd, const char *mode)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = copy < 0 ? NULL : fdopen(copy, mode);

	if (!file && copy >= 0)
		close(copy);
	return file;
}

int up_screen_open(const char *term, int in_fd, int out_fd, bool colours, struct up_screen **ret)
{
	struct up_screen *screen;
	int r;

	if (!isatty(in_fd) || !isatty(out_fd))
		return -ENOTTY;
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return -ENOTSUP;
	screen = calloc(1, sizeof(*screen));
	if (!screen)
		return -ENOMEM;
	screen->in = open_copy(in_fd, "r");
	screen->out = open_copy(out_fd, "w");
	screen->in_fd = in_fd;
	r = screen->in && screen->out ? set_up(screen, term, colours) : -errno;
	if (r < 0) {
		up_screen_close(screen);
		return r;
	}
	*ret = screen;
	return 0;
}

void up_screen_close(struct up_screen *screen)
{
	if (!screen)
		return;
	if (screen->screen) {
		/* A terminal that was resized may show parts of the alternate screen once more when that is left. */
		if (has_capability("rmcup")) {
			erase();
			refresh();
		}
		curs_set(1);
		endwin();
		delscreen(screen->screen);
	}
	if (screen->in)
		fclose(screen->in);
	if (screen->out)
		fclose(screen->out);
	free(screen);
}

struct up_live_caps up_screen_caps(const struct up_screen *screen)
{
	return screen->caps;
}

void up_screen_size(struct up_screen *screen, unsigned *ret_columns, unsigned *ret_lines)
{
	int y, x;

	(void)screen;
	getmaxyx(stdscr, y, x);
	*ret_columns = x > 0 ? (unsigned)x : 1;
	*ret_lines = y > 0 ? (unsigned)y : 1;
}

static void paint_cell(const struct up_screen *screen, const struct up_cell *cell)
{
	/* A selected cell is reverse whatever else it is; a title line that is reverse already stays so. */
	const attr_t attrs = screen->attrs[cell->attr] | (cell->selected ? A_REVERSE : 0);
	const wchar_t text[3] = { (wchar_t)cell->point, (wchar_t)cell->mark, 0 };
	cchar_t glyph;

	if (setcchar(&glyph, text, attrs, screen->pairs[cell->attr], NULL) == OK)
		add_wch(&glyph);
}

void up_screen_paint(struct up_screen *screen, const struct up_grid *grid)
{
	unsigned columns, lines;

	if (screen->suspended)
		return;
	up_screen_size(screen, &columns, &lines);
	erase();
	for (unsigned y = 0; y < grid->lines && y < lines; y++) {
		for (unsigned x = 0; x < grid->columns && x < columns; x++) {
			const struct up_cell *cell = &grid->cells[(size_t)y * grid->columns + x];

			/* erase() made blanks of everything. */
			if (!cell->point || (cell->point == ' ' && cell->attr == UP_ATTR_NORMAL && !cell->selected))
				continue;
			move((int)y, (int)x);
			paint_cell(screen, cell);
		}
	}
	if (grid->cursor_line >= 0) {
		curs_set(1);
		move(grid->cursor_line, grid->cursor_column);
	} else {
		curs_set(0);
	}
	refresh();
}

static uint32_t translate(wint_t key)
{
	static const struct {
		wint_t curses;
		uint32_t key;
	} keys[] = { { KEY_UP, UP_KEY_UP }, { KEY_DOWN, UP_KEY_DOWN }, { KEY_LEFT, UP_KEY_LEFT }, { KEY_RIGHT, UP_KEY_RIGHT },
		{ KEY_PPAGE, UP_KEY_PAGE_UP }, { KEY_NPAGE, UP_KEY_PAGE_DOWN }, { KEY_HOME, UP_KEY_HOME },
		{ KEY_END, UP_KEY_END }, { KEY_BACKSPACE, UP_KEY_BACKSPACE }, { KEY_ENTER, UP_KEY_ENTER },
		{ KEY_F(1), UP_KEY_HELP }, { KEY_RESIZE, UP_KEY_REDRAW } };

	for (size_t i = 0; i < UP_COUNT(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return UP_KEY_NONE;
}

/* A terminal that went away is readable for ever and gives nothing. */
static bool is_gone(const struct up_screen *screen)
{
	struct pollfd poll_fd = { .fd = screen->in_fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL));
}

uint32_t up_screen_key(struct up_screen *screen)
{
	wint_t key;
	int r;

	if (screen->suspended)
		return UP_KEY_NONE;
	for (;;) {
		uint32_t known;

		r = get_wch(&key);
		if (r == ERR)
			return is_gone(screen) ? UP_KEY_CLOSED : UP_KEY_NONE;
		if (r != KEY_CODE_YES)
			break;
		known = translate(key);
		/* Function keys nobody wants are skipped. */
		if (known != UP_KEY_NONE)
			return known;
	}
	if (key == '\r' || key == '\n')
		return UP_KEY_ENTER;
	if (key == 0x1b)
		return UP_KEY_ESCAPE;
	if (key == 0x7f || key == 0x08)
		return UP_KEY_BACKSPACE;
	return (uint32_t)key;
}

void up_screen_suspend(struct up_screen *screen)
{
	def_prog_mode();
	endwin();
	screen->suspended = true;
}

void up_screen_resume(struct up_screen *screen)
{
	screen->suspended = false;
	reset_prog_mode();
	up_screen_resized(screen);
	clearok(curscr, TRUE);
}

void up_screen_resized(struct up_screen *screen)
{
	struct winsize size;

	if (ioctl(fileno(screen->out), TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		return;
	resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

void up_screen_clear(struct up_screen *screen)
{
	(void)screen;
	clearok(curscr, TRUE);
}
