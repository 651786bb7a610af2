/* Sinks: what a tick is written to. They read the table and format; every sink escapes foreign text for its own kind. */
#ifndef UP_SINK_H
#define UP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "useprobe/table.h"

struct up_sink {
	const char *name;
	void *self;
	/* One tick. 0 or -errno; a failing sink ends the run with exit status 1 and its name. */
	int (*tick)(void *self, const struct up_table *table);
	/* Flushes and frees. */
	int (*close)(void *self);
};

/* CSV (docs/CSV.md). Creates PATH (never overwrites: -EEXIST unless FORCE), writes the header. */
struct up_csv;
UP_MUST_CHECK int up_csv_open(const char *path, bool force, struct up_csv **ret);
int up_csv_tick(void *self, const struct up_table *table);
int up_csv_close(void *self);
/* One row as a CSV line with its newline, into TEXT of SIZE bytes. Length, or -ENOSPC. */
long up_csv_format(const struct up_tick *tick, const struct up_row *row, char *text, size_t size);
extern const char up_csv_header[];

/* Batch view: a table for people and pipes, one block a tick. */
struct up_batch {
	FILE *out;
	unsigned columns; /* width to fit, 0 = 120 */
	bool utf8;
};
int up_batch_tick(void *self, const struct up_table *table);

/* Text of foreign bytes that is safe on a terminal: control bytes, DEL, C1 controls and broken UTF-8 become \xNN; cut at SIZE - 1.
 * Without UTF8 every byte above 0x7e does. Returns RET. */
char *up_terminal_text(const char *text, bool utf8, char *ret, size_t size);

#endif
