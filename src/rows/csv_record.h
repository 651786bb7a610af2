/* Records of an RFC 4180 file, one at a time. Private to src/rows. */
#ifndef UP_CSV_RECORD_H
#define UP_CSV_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

struct up_csv_records {
	int fd; /* owned */
	char *buffer; /* [capacity_bytes], owned */
	size_t capacity_bytes, begin, end; /* what is read but not given out is [begin, end) */
	bool eof;
	uint64_t line; /* number of the next record's first line, from 1 */
};

enum up_csv_kind { UP_CSV_WHOLE, UP_CSV_CUT, UP_CSV_BROKEN };

struct up_csv_record {
	char *text; /* without its line end; borrowed until the next call, may be changed */
	size_t len;
	uint64_t line;
	enum up_csv_kind
		kind; /* CUT: the last line has no end. BROKEN: a quote that does not close, this is its first line only */
};

/* 1 with a record, 0 at the end, -errno. */
UP_MUST_CHECK int up_csv_record_next(struct up_csv_records *records, struct up_csv_record *ret);
void up_csv_records_done(struct up_csv_records *records);

/* Splits RECORD in place into NUL-terminated fields without their quotes. Number of fields, at most MAX; -EBADMSG for text behind a
 * closing quote, a NUL byte or more than MAX fields. */
int up_csv_record_split(struct up_csv_record *record, char **fields, size_t max);

/* Cells. 0 or -EBADMSG.
 * "12.000346" seconds as ns, exact to nine digits. */
UP_MUST_CHECK int up_csv_cell_seconds(const char *text, uint64_t *ret_ns);
/* "2026-11-30T19:50:00.123Z" */
UP_MUST_CHECK int up_csv_cell_time(const char *text, uint64_t *ret_wall_ns);
/* Decimal with an optional sign and fraction, '.' in every locale, any length. */
UP_MUST_CHECK int up_csv_cell_number(const char *text, double *ret);

#endif
