#include "csv_record.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/csv_reader.h"

#define READ_BYTES ((size_t)64 << 10)

/* Reads more behind what is there. 0 or -errno; eof is set at the end. */
static int fill(struct up_csv_records *records)
{
	ssize_t n;

	if (records->begin) {
		memmove(records->buffer, records->buffer + records->begin, records->end - records->begin);
		records->end -= records->begin;
		records->begin = 0;
	}
	if (records->capacity_bytes - records->end < READ_BYTES) {
		const size_t bytes = records->capacity_bytes ? records->capacity_bytes * 2 : 2 * READ_BYTES;
		char *buffer = realloc(records->buffer, bytes);

		if (!buffer)
			return -ENOMEM;
		records->buffer = buffer;
		records->capacity_bytes = bytes;
	}
	do
		n = read(records->fd, records->buffer + records->end, records->capacity_bytes - records->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	records->eof = n == 0;
	records->end += (size_t)n;
	return 0;
}

/* Length of the record at TEXT up to its line end; LEN when there is none. *RET_QUOTED: the text ends inside quotes. */
static size_t record_length(const char *text, size_t len, bool *ret_quoted)
{
	bool quoted = false, field_start = true;
	size_t i;

	for (i = 0; i < len; i++) {
		const char c = text[i];

		if (quoted) {
			/* A doubled quote closes and opens again at once. */
			quoted = c != '"';
			continue;
		}
		if (c == '\n')
			break;
		if (c == '"' && (field_start || text[i - 1] == '"'))
			quoted = true;
		field_start = c == ',';
	}
	*ret_quoted = quoted;
	return i;
}

/* Whether a line below the first one of TEXT begins like a row of ours ("2026-11-30T"). */
static bool has_later_row(const char *text, size_t len)
{
	const char *end = text + len;

	for (const char *p = memchr(text, '\n', len); p && end - ++p >= 11; p = memchr(p, '\n', (size_t)(end - p)))
		if (isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[3]) && p[4] == '-' && p[7] == '-' && p[10] == 'T')
			return true;
	return false;
}

static uint64_t count_lines(const char *text, size_t len)
{
	uint64_t lines = 0;

	for (const char *p = text; (p = memchr(p, '\n', len - (size_t)(p - text))); p++)
		lines++;
	return lines;
}

int up_csv_record_next(struct up_csv_records *records, struct up_csv_record *ret)
{
	bool quoted = false;
	char *text;
	size_t len, have;

	for (;;) {
		int r;

		text = records->buffer + records->begin;
		have = records->end - records->begin;
		len = have ? record_length(text, have, &quoted) : 0;
		if (len < have || records->eof || have > UP_CSV_RECORD_MAX_BYTES)
			break;
		r = fill(records);
		if (r < 0)
			return r;
	}
	if (!have)
		return 0;
	*ret = (struct up_csv_record){ .text = text, .len = len, .line = records->line };
	if (len == have) {
		const bool broken = !records->eof || (quoted && has_later_row(text, len));
		const char *end = memchr(text, '\n', len);

		ret->kind = broken ? UP_CSV_BROKEN : UP_CSV_CUT;
		if (broken && end)
			ret->len = (size_t)(end - text);
	}
	len = ret->len < have ? ret->len + 1 : ret->len;
	records->line += count_lines(text, len);
	records->begin += len;
	if (ret->kind == UP_CSV_WHOLE && ret->len && text[ret->len - 1] == '\r')
		ret->len--;
	return 1;
}

void up_csv_records_done(struct up_csv_records *records)
{
	if (records->fd >= 0)
		close(records->fd);
	free(records->buffer);
	*records = (struct up_csv_records){ .fd = -1 };
}

/* Takes one field at *CURSOR and moves behind its comma (or to END). Its text is moved together in place. -EBADMSG as above. */
static int take_field(char **cursor, char *end, char **ret_field, bool *ret_last)
{
	char *p = *cursor, *out = p;

	*ret_field = p;
	if (p < end && *p == '"') {
		for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
			p += *p == '"';
			*out++ = *p;
		}
		if (p == end)
			return -EBADMSG;
		p++;
	} else {
		while (p < end && *p != ',')
			p++;
		out = p;
	}
	if (p < end && *p != ',')
		return -EBADMSG;
	*ret_last = p == end;
	*cursor = p + 1;
	/* At most the comma, or the line end behind the record, is overwritten. */
	*out = '\0';
	return 0;
}

int up_csv_record_split(struct up_csv_record *record, char **fields, size_t max)
{
	char *cursor = record->text, *end = record->text + record->len;
	bool last = false;
	size_t count = 0;

	if (record->kind != UP_CSV_WHOLE || memchr(record->text, '\0', record->len))
		return -EBADMSG;
	while (!last) {
		int r;

		if (count == max)
			return -EBADMSG;
		r = take_field(&cursor, end, &fields[count], &last);
		if (r < 0)
			return r;
		count++;
	}
	return (int)count;
}
