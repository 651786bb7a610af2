/* The help screen: keys, columns, words. */
#include <string.h>

#include "live_draw.h"

/* "key\ttext", or a heading without a tab. */
static const char *const help[] = {
	"Keys",
	"up down k j\tselect a row; page up and down, home, end",
	"enter o\topen the row: reasons, method, window, raw figures; Esc closes",
	"space p\tpause the screen (the CSV goes on), and go on",
	"s\tsort by attention, utilization, waiting or scope",
	"t\tbring the rows of the next target to the top",
	"/\tshow only rows with some text in them; Esc clears",
	"f left right\tfold the scope of the row, unfold it; F unfolds all",
	"m\twrite a mark with a text into the CSV",
	"+ -\tshorter, longer interval (replay: faster, slower)",
	", .\treplay: ten seconds back, forward",
	"? h F1\tthis help",
	"ctrl-L\tpaint the screen anew",
	"q ctrl-C\tquit",
	"",
	"Columns",
	"CONDITION\terrors, saturated (for 3 s), busy (UTIL from 0.8), ok, idle",
	"UTIL\tshare of the capacity in use; above 1 with burst",
	"SATURATION\tin the unit of the resource; no unit: a ratio",
	"WAIT\taverage length of this resource's own queue in the window",
	"MAX\tlongest queue seen in the window",
	"ERR\terrors in the window",
	"LAST 60 s\tutilization, else saturation, else waiting; the highest",
	"",
	"Words in place of figures",
	"0.00\ta measured zero; <0.01 is more than nothing",
	"-\tnot there; open the row for the reason",
	"init\tthe first sample: no rate yet",
	"reset\ta counter went backwards (a restart)",
	"stale\tthe source is late",
	"denied failed\tno right to read, or not readable; the reason follows",
};

static unsigned end_of(unsigned lines)
{
	return lines >= 4 ? lines - 1 : lines;
}

size_t up_live_help_below(unsigned lines)
{
	return UP_COUNT(help) > end_of(lines) ? UP_COUNT(help) - end_of(lines) : 0;
}

void up_live_layout_help(const struct up_live *live, struct up_live_caps caps, struct up_grid *grid)
{
	const unsigned keys = grid->columns >= 50 ? 15 : 8;
	const unsigned end = end_of(grid->lines);
	struct up_pen pen;

	for (unsigned line = 0; line < end && live->scroll + line < UP_COUNT(help); line++) {
		const char *text = help[live->scroll + line], *tab = strchr(text, '\t');

		pen = up_pen_line(grid, caps, line);
		pen.attr = UP_ATTR_STRONG;
		if (!tab) {
			up_pen_text(&pen, text);
			continue;
		}
		up_pen_printf(&pen, " %-*.*s", (int)keys, (int)(tab - text), text);
		pen.attr = UP_ATTR_NORMAL;
		up_pen_text(&pen, tab + 1);
	}
	if (end == grid->lines)
		return;
	pen = up_pen_line(grid, caps, grid->lines - 1);
	pen.attr = UP_ATTR_TITLE;
	up_pen_text(&pen, "Esc back  arrows scroll  q quit");
	up_pen_blank(&pen, up_pen_room(&pen));
}
