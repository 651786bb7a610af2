/* Records of text formats. A record is a line, or several when a quoted CSV field holds line ends. */
#include <errno.h>
#include <string.h>

#include "reader.h"

enum {
	QUOTED_MAX = 1 << 20, /* a quoted field may run over lines this far; a stray quote must not swallow a whole file */
	UNCLOSED_MAX = 16, /* after so many quotes that never closed, quotes no longer join lines */
};

/* End of the record at AT, whose line holds a quote: the line end outside quotes, or NULL when the data ends first. */
static const char *quoted_record_end(const char *at, const char *end, char delimiter)
{
	bool field_start = true, quoted = false;

	for (; at < end; at++) {
		if (quoted) {
			if (*at != '"')
				continue;
			if (at + 1 < end && at[1] == '"')
				at++;
			else
				quoted = false;
			continue;
		}
		if (*at == '\n')
			return at;
		quoted = field_start && *at == '"';
		field_start = *at == delimiter;
	}
	return NULL;
}

struct lines {
	struct up_reader *reader;
	const char *at, *end;
	const char *next_quote; /* first quote at or behind `at`, or end */
	bool eof, quoted;
	int (*record)(struct up_reader *reader, const struct up_record *record);
};

static uint64_t count_line_ends(const char *at, const char *end)
{
	uint64_t n = 0;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		n++;
		at++;
	}
	return n;
}

static int give(struct lines *lines, const char *end, bool whole)
{
	struct up_record record = {
		.text = { lines->at, (size_t)(end - lines->at) }, .whole = whole, .has_quotes = lines->next_quote < end
	};

	lines->reader->line++;
	if (record.text.n > 0 && end[-1] == '\r')
		record.text.n--;
	return record.text.n > 0 ? lines->record(lines->reader, &record) : 0;
}

/* The line that ends at NL holds a quote. Sets lines->at behind what was used. 1: more data is needed. */
static int give_quoted(struct lines *lines, const char *nl)
{
	const char *first_line_end = nl, *limit = lines->end, *end;
	struct up_reader *reader = lines->reader;
	uint64_t bad = reader->file->skipped_lines;
	int r;

	if (limit - lines->at > QUOTED_MAX)
		limit = lines->at + QUOTED_MAX;
	end = reader->n_unclosed > UNCLOSED_MAX ? nl : quoted_record_end(lines->at, limit, reader->delimiter);
	if (!end && limit == lines->end && !lines->eof)
		return 1;
	if (!end) {
		reader->n_unclosed++;
		reader->line++;
		up_reader_bad(reader, "a quote is never closed: %s",
			up_text_show((struct up_text){ lines->at, (size_t)(nl - lines->at) }).text);
		lines->at = nl + 1;
		return 0;
	}
	r = give(lines, end, true);
	if (r < 0)
		return r;
	if (end > first_line_end && reader->file->skipped_lines > bad) {
		lines->at = first_line_end + 1; /* the quote was a stray one: only its own line is lost */
		return 0;
	}
	if (end > first_line_end)
		reader->line += count_line_ends(lines->at, end);
	lines->at = end + 1;
	return 0;
}

static void find_quote(struct lines *lines)
{
	if (lines->next_quote >= lines->at)
		return;
	lines->next_quote = memchr(lines->at, '"', (size_t)(lines->end - lines->at));
	if (!lines->next_quote)
		lines->next_quote = lines->end;
}

/* What remains has no line end. */
static int tail(struct lines *lines)
{
	struct up_reader *reader = lines->reader;
	int r = 0;

	if (lines->at == lines->end)
		return 0;
	if (lines->eof) {
		r = give(lines, lines->end, false);
		lines->at = lines->end;
	} else if (lines->end - lines->at >= UP_LOAD_RECORD_MAX) {
		reader->line++;
		up_reader_bad(reader, "a line above %d MiB", UP_LOAD_RECORD_MAX >> 20);
		reader->in_long_line = true;
		lines->at = lines->end;
	}
	return r;
}

static bool skip_long_line(struct lines *lines)
{
	const char *nl = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));

	lines->at = nl ? nl + 1 : lines->end;
	lines->reader->in_long_line = !nl && !lines->eof;
	return nl != NULL;
}

int up_lines_feed(struct up_reader *reader, struct up_text data, bool eof, bool quoted,
	int (*record)(struct up_reader *reader, const struct up_record *record), size_t *ret_used)
{
	struct lines lines = {
		.reader = reader, .at = data.at, .end = data.at + data.n, .eof = eof, .quoted = quoted, .record = record
	};
	int r = 0;

	if (reader->line == 0 && up_text_starts(data, "\xef\xbb\xbf"))
		lines.at += 3;
	if (reader->in_long_line)
		skip_long_line(&lines);
	lines.next_quote = quoted ? NULL : lines.end;
	while (r == 0 && lines.at < lines.end) {
		const char *nl = memchr(lines.at, '\n', (size_t)(lines.end - lines.at));

		if (!nl) {
			r = tail(&lines);
			break;
		}
		if (quoted)
			find_quote(&lines);
		if (lines.next_quote < nl) {
			r = give_quoted(&lines, nl);
			continue;
		}
		r = give(&lines, nl, true);
		lines.at = nl + 1;
	}
	*ret_used = (size_t)(lines.at - data.at);
	return r < 0 ? r : 0;
}
