/* The grid of cells, and text drawn into it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_draw.h"
#include "useprobe/sink.h"

#define TEXT_MAX 4096

int up_grid_resize(struct up_grid *grid, unsigned columns, unsigned lines)
{
	if (columns > UP_GRID_COLUMNS_MAX)
		columns = UP_GRID_COLUMNS_MAX;
	if (lines > UP_GRID_LINES_MAX)
		lines = UP_GRID_LINES_MAX;
	if (columns * lines > grid->columns * grid->lines) {
		struct up_cell *cells = realloc(grid->cells, (size_t)columns * lines * sizeof(*cells));

		if (!cells)
			return -ENOMEM;
		grid->cells = cells;
	}
	grid->columns = columns;
	grid->lines = lines;
	grid->cursor_line = grid->cursor_column = -1;
	for (size_t i = 0; i < (size_t)columns * lines; i++)
		grid->cells[i] = (struct up_cell){ .point = ' ' };
	return 0;
}

void up_grid_done(struct up_grid *grid)
{
	free(grid->cells);
	*grid = (struct up_grid){ 0 };
}

static size_t encode(uint32_t point, char *out)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

char *up_grid_text(const struct up_grid *grid, unsigned line, char *ret, size_t size)
{
	size_t len = 0, used = 0;

	for (unsigned column = 0; line < grid->lines && column < grid->columns; column++) {
		const struct up_cell *cell = &grid->cells[(size_t)line * grid->columns + column];
		char bytes[8];
		size_t n;

		if (!cell->point)
			continue;
		n = encode(cell->point, bytes);
		if (cell->mark)
			n += encode(cell->mark, bytes + n);
		if (len + n >= size)
			break;
		memcpy(ret + len, bytes, n);
		len += n;
		if (cell->point != ' ')
			used = len;
	}
	ret[used] = '\0';
	return ret;
}

struct up_pen up_pen_line(struct up_grid *grid, struct up_live_caps caps, unsigned line)
{
	return (struct up_pen){ .grid = grid, .caps = caps, .line = line, .end = line < grid->lines ? grid->columns : 0 };
}

unsigned up_pen_room(const struct up_pen *pen)
{
	return pen->column < pen->end ? pen->end - pen->column : 0;
}

static struct up_cell *cell_at(const struct up_pen *pen, unsigned column)
{
	return &pen->grid->cells[(size_t)pen->line * pen->grid->columns + column];
}

static void put(struct up_pen *pen, uint32_t point, unsigned width)
{
	const struct up_cell cell = { .point = point, .attr = (uint8_t)pen->attr, .selected = pen->selected };

	if (!width) {
		/* A combining character goes onto what it follows. */
		if (pen->column && pen->column <= pen->end && cell_at(pen, pen->column - 1)->point)
			cell_at(pen, pen->column - 1)->mark = point;
		return;
	}
	if (width > up_pen_room(pen)) {
		pen->column = pen->end;
		return;
	}
	*cell_at(pen, pen->column) = cell;
	if (width == 2) {
		*cell_at(pen, pen->column + 1) = cell;
		cell_at(pen, pen->column + 1)->point = 0;
	}
	pen->column += width;
}

void up_pen_point(struct up_pen *pen, uint32_t point)
{
	put(pen, point, 1);
}

/* TEXT is safe already. */
static void put_safe(struct up_pen *pen, const char *text)
{
	uint32_t point;
	unsigned width;

	for (size_t len; (len = up_terminal_char(text, &point, &width)); text += len)
		put(pen, point, width);
}

void up_pen_text(struct up_pen *pen, const char *text)
{
	char safe[TEXT_MAX];

	put_safe(pen, up_terminal_text(text, pen->caps.utf8, safe, sizeof(safe)));
}

void up_pen_printf(struct up_pen *pen, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	up_pen_text(pen, text);
}

void up_pen_blank(struct up_pen *pen, unsigned columns)
{
	for (unsigned i = 0; i < columns; i++)
		put(pen, ' ', 1);
}

void up_pen_cell(struct up_pen *pen, const char *text, unsigned columns, bool right, bool keep_end)
{
	char safe[TEXT_MAX], fit[TEXT_MAX + 8];
	unsigned width;

	up_terminal_text(text, pen->caps.utf8, safe, sizeof(safe));
	up_terminal_fit(safe, columns, keep_end ? UP_CUT_BEGINNING : UP_CUT_END, pen->caps.utf8, fit, sizeof(fit));
	width = (unsigned)up_terminal_width(fit);
	if (right)
		up_pen_blank(pen, columns - width);
	put_safe(pen, fit);
	if (!right)
		up_pen_blank(pen, columns - width);
}
