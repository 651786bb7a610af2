/* CSV reader: our own CSV (docs/CSV.md) back into rows, byte for byte. Used by replay, report and attribution. */
#ifndef UP_CSV_READER_H
#define UP_CSV_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/row.h"
#include "useprobe/table.h"

/* A record above this is a quote that never closes; it costs its line. Ours stay below 16 KiB. */
#define UP_CSV_RECORD_MAX_BYTES ((size_t)1 << 20)

/* What was left out on the way; complete once the reader has come to the end. */
struct up_csv_notes {
	uint64_t rows; /* taken */
	uint64_t ticks;
	uint64_t cut_line; /* number of a last line without its end, 0 = the file is whole */
	uint64_t skipped_rows; /* malformed; the first one is described */
	uint64_t first_skipped_line;
	char first_skipped[192]; /* "utilization: expected a number, got 'abc'" (raw bytes: escape them) */
	uint64_t dropped_rows; /* beyond UP_ROWS_MAX in one tick */
	bool step_back; /* elapsed_s went backwards: several runs in one file */
};

struct up_csv_reader;

/* Opens PATH and reads its header: columns are found by name, further ones are ignored, a byte-order mark and CRLF are accepted.
 * 0; -errno of open or read; -EBADMSG with MESSAGE when it is no CSV of ours (what was expected, what was found). */
UP_MUST_CHECK int up_csv_reader_open(const char *path, struct up_csv_reader **ret, char *message, size_t message_size);
/* The same over an open descriptor, which the reader then owns, even on error. */
UP_MUST_CHECK int up_csv_reader_open_fd(int fd, struct up_csv_reader **ret, char *message, size_t message_size);
void up_csv_reader_close(struct up_csv_reader *reader);

/* Clears ROWS and fills it with the rows of the next tick (equal time and elapsed_s). Cells get the state their row or detail gives
 * (`saturation_state=absent:no quota`); servers and waiting_max come from detail; detail keeps its whole text, so that
 * up_csv_format gives the same line again. RET: number counts from 0, mono_ns is elapsed_ns, interval_ns the distance to the tick
 * before (0 for the first). 1 with a tick, 0 at the end, -errno of read. */
UP_MUST_CHECK int up_csv_reader_tick(struct up_csv_reader *reader, struct up_rows *rows, struct up_tick *ret);
const struct up_csv_notes *up_csv_reader_notes(const struct up_csv_reader *reader);
/* The notes as a sentence for people ("line 812 is cut (the run was killed): skipped"), "" when there is nothing to say. Holds
 * raw bytes of the file: escape it for where it goes. Returns RET. */
char *up_csv_notes_text(const struct up_csv_notes *notes, char *ret, size_t size);

#endif
