/* Private to src/load: what a format is, and the tools its reader works with. */
#ifndef UP_LOAD_READER_H
#define UP_LOAD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "useprobe/load.h"

/* A piece of text inside a buffer; not terminated. */
struct up_text {
	const char *at;
	size_t n;
};
static inline bool up_text_starts(struct up_text text, const char *word)
{
	size_t n = strlen(word); /* of a literal: known when compiling */

	return text.n >= n && memcmp(text.at, word, n) == 0;
}
static inline bool up_text_is(struct up_text text, const char *word)
{
	return text.n == strlen(word) && memcmp(text.at, word, text.n) == 0;
}
struct up_text up_text_trim(struct up_text text);

/* Decimal number TEXT (sign, digits, '.', digits, exponent; all of it) times 10^SCALE, rounded to the nearest integer. 0; -EBADMSG when it is not
 * such a number; -ERANGE. "12.5" with SCALE 6 is 12500000: milliseconds to nanoseconds without a double in between. */
int up_text_decimal(struct up_text text, int scale, int64_t *ret_value);
/* A moment as load generators write it, in us since 1970: a number of s, ms, us or ns (told apart by its size, with or without a fraction), or
 * "2026-11-30T20:13:59.389+01:00", "2026/11/30 20:13:59.389" and the like; without a zone the local one (TZ) is meant. *ret_whole_s: it was given in
 * whole seconds. 0 or -EBADMSG. */
int up_text_time(struct up_text text, int64_t *ret_us, bool *ret_whole_s);

/* Splits a CSV record (RFC 4180) in place of borrowed TEXT. Fields with doubled quotes keep them doubled: see up_text_unquote. */
enum { UP_FIELDS_MAX = 64 };
struct up_fields {
	unsigned n;
	struct up_text at[UP_FIELDS_MAX];
	bool more; /* the record had more than UP_FIELDS_MAX fields */
};
void up_text_split(struct up_text record, char delimiter, struct up_fields *ret_fields);
/* Counts the delimiters , ; tab and | in the first line of HEAD and returns the most frequent. */
char up_text_delimiter(struct up_text head);
/* First line of HEAD without its line end. */
struct up_text up_text_line(struct up_text head);
/* Copies TEXT with "" made ". Returns the length, at most ROOM. */
size_t up_text_unquote(struct up_text text, char *buffer, size_t room);
/* Index of the field NAME in a header, -1 without. */
int up_fields_find(const struct up_fields *header, const char *name);
/* Field number INDEX; empty when the record is shorter or INDEX is negative. */
struct up_text up_fields_get(const struct up_fields *fields, int index);

struct up_load_format;

struct up_reader {
	const struct up_load_format *format;
	const struct up_load_options *options;
	struct up_load *load;
	struct up_load_file *file;
	void *state; /* of the format, zeroed, owned by the reader */
	uint64_t line; /* number of the record's first line, from 1 */
	int64_t base_us; /* added to the times of files without dates */
	char delimiter; /* of a CSV: a quote opens a field only behind it */
	bool in_long_line; /* up_lines_feed: dropping the rest of a line above UP_LOAD_RECORD_MAX */
	unsigned n_unclosed; /* up_lines_feed: quotes that never closed */
};

struct up_load_format {
	const char *id; /* for --format and messages: "k6-csv" */
	struct up_load_traits traits;
	size_t state_bytes;
	/* Whether content that begins with HEAD (whole file if shorter than the buffer) is of this format. */
	bool (*recognise)(struct up_text head, const struct up_load_options *options);
	/* Takes what it can of DATA and says how much; the rest comes again with more behind it. EOF: nothing more will come. 0 or a fatal error. */
	int (*feed)(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used);
	/* After the last byte; may be NULL. 0 or a fatal error. */
	int (*end)(struct up_reader *reader);
	/* Frees what the state points to; may be NULL. */
	void (*done)(void *state);
};
extern const struct up_load_format *const up_load_formats[]; /* NULL-terminated, in the order in which they are asked */

/* For text formats: cuts DATA into records and calls RECORD for each whole one. A record ends at a line end outside quotes when QUOTED, else at each
 * line end. BOM and CR are taken off. A line above UP_LOAD_RECORD_MAX, and a quote that never closes, cost their line. The last line without a line
 * end is given with whole = false. */
struct up_record {
	struct up_text text;
	bool whole; /* ended with a line end */
	bool has_quotes;
};
int up_lines_feed(struct up_reader *reader, struct up_text data, bool eof, bool quoted,
	int (*record)(struct up_reader *reader, const struct up_record *record), size_t *ret_used);

/* A request. NAME may be empty. LATENCY_NS below 0 or above UP_HIST_MAX_NS costs the line. 0 or a fatal error. */
struct up_request {
	int64_t start_us;
	int64_t latency_ns;
	int64_t late_us; /* sent this much after its intended start; 0 when not known */
	struct up_text name;
	unsigned flags;
};
int up_reader_request(struct up_reader *reader, const struct up_request *request);
/* When the file is read: keeps its requests marked UP_POINT_TRANSACTION as requests (KEEP), or takes them out again and counts them as left out. */
int up_reader_resolve_transactions(struct up_reader *reader, bool keep);
/* COUNT dropped iterations at TIME_US. A time too far from the rest costs the line. */
void up_reader_dropped(struct up_reader *reader, int64_t time_us, uint64_t count);
/* Users active at TIME_US; NAN for what is not known. */
void up_reader_users(struct up_reader *reader, int64_t time_us, double users, double users_max);
/* Counts the current record as bad and keeps the first few with their line number. */
__attribute__((format(printf, 2, 3))) void up_reader_bad(struct up_reader *reader, const char *format, ...);
/* Something a reader of the figures should know; said once however often it is told. */
__attribute__((format(printf, 2, 3))) void up_reader_remark(struct up_reader *reader, const char *format, ...);
/* " 'text'" cut to 80 bytes with control bytes shown, in one of two buffers that the next calls reuse: for messages. */
struct up_shown {
	char text[96];
};
struct up_shown up_text_show(struct up_text text);

/* Bytes of a file, pipe or standard input, inflated when they are gzip. */
struct up_bytes;
int up_bytes_open(const char *path, struct up_bytes **ret_bytes);
void up_bytes_close(struct up_bytes *bytes);
/* Up to N bytes; 0 at the end (a file that grows may give more later). -EBADMSG: the compressed stream is broken; else the system's error. */
ssize_t up_bytes_read(struct up_bytes *bytes, char *buffer, size_t n);
/* Compressed stream whose end is missing. */
bool up_bytes_cut(const struct up_bytes *bytes);
int up_bytes_fd(const struct up_bytes *bytes);
uint64_t up_bytes_done(const struct up_bytes *bytes); /* of the file, compressed or not */
uint64_t up_bytes_total(const struct up_bytes *bytes); /* 0 unknown */

/* One file on its way in: read.c drives it to the end, follow.c a piece at a time. */
struct up_reading;
int up_reading_new(
	struct up_load *load, const char *path, const struct up_load_options *options, struct up_reading **ret_reading);
/* Reads and parses a piece. 1: there was something, 0: end for now, negative: error. */
int up_reading_step(struct up_reading *reading);
/* Parses what is left, ends the format and closes. With EOF false nothing that is incomplete is judged. */
int up_reading_finish(struct up_reading *reading);
void up_reading_free(struct up_reading *reading);
struct up_bytes *up_reading_bytes(struct up_reading *reading);
struct up_load_file *up_reading_file(struct up_reading *reading);

#endif
