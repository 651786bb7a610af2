/* Sinks: what a tick is written to. They read the table and format; every sink escapes foreign text for its own kind. */
#ifndef UP_SINK_H
#define UP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "useprobe/number.h"
#include "useprobe/table.h"

struct up_sink {
	const char *name;
	void *self;
	/* One tick. 0 or -errno; a failing sink ends the run with exit status 1 and its name. */
	int (*tick)(void *self, const struct up_table *table);
	/* Flushes and frees. */
	int (*close)(void *self);
};

/* CSV (docs/CSV.md). Creates PATH and writes the header. Never overwrites: -EEXIST unless FORCE; something that is no regular file
 * (/dev/stdout, a named pipe) is written to as it is. One write(2) a tick; when the disk is full the tick that does not fit is taken
 * back, so the file ends with a whole tick. The process must ignore SIGXFSZ and SIGPIPE to get their errors instead. */
struct up_csv;
UP_MUST_CHECK int up_csv_open(const char *path, bool force, struct up_csv **ret);
int up_csv_tick(void *self, const struct up_table *table);
int up_csv_close(void *self);
/* One row as a CSV line with its newline, into TEXT of SIZE bytes. Length, or -ENOSPC. */
long up_csv_format(const struct up_tick *tick, const struct up_row *row, char *text, size_t size);
extern const char up_csv_header[]; /* with its newline */

/* Short for people: "0.00" only for zero, "<0.01", "0.97", "12.3", "4021", "12.3k". At most 6 columns. Returns RET. */
char *up_number_short(double number, char ret[UP_NUMBER_TEXT]);
/* The same of a value: "-" absent, "init" first, "reset", "stale", "denied", "failed". COUNT: whole numbers without a point. */
char *up_value_short(struct up_value value, bool count, char ret[UP_NUMBER_TEXT]);

/* Batch view: a table for people and pipes, one block a tick. Zero-initialise what is not set. */
struct up_batch {
	FILE *out;
	unsigned columns; /* width to fit, 0 = 120 */
	bool utf8;
	uint64_t told[256]; /* limiting ancestors that were named already (hashes) */
	size_t told_count;
};
int up_batch_tick(void *self, const struct up_table *table);

/* Text of foreign bytes that is safe on a terminal: control bytes, DEL, C1 controls, invisible and direction-changing characters and
 * broken UTF-8 become \xNN; cut at SIZE - 1 between characters. Without UTF8 every byte above 0x7e does. Returns RET. */
char *up_terminal_text(const char *text, bool utf8, char *ret, size_t size);
/* Terminal columns of safe TEXT (wide characters 2, combining ones 0). */
size_t up_terminal_width(const char *text);
/* Safe TEXT made to fit COLUMNS: what is too long loses its beginning (paths differ at their end) or its end, with an ellipsis in the
 * place ("..." or the one-column character). Not padded. Returns RET. */
enum up_cut { UP_CUT_BEGINNING, UP_CUT_END };
char *up_terminal_fit(const char *text, size_t columns, enum up_cut cut, bool utf8, char *ret, size_t size);
/* Length of the UTF-8 character at TEXT, 0 when it is broken or the end; *ret_point its code point, *ret_width its columns. */
size_t up_terminal_char(const char *text, uint32_t *ret_point, unsigned *ret_width);

#endif
