/* h2load --log-file: start in us since 1970, status (-1: the stream failed), latency in us, separated by tabs, no header:
 *     1796069460426545	200	5348 */
#include <string.h>

#include "reader.h"

enum { START, STATUS, LATENCY, COLUMNS };

static bool parse(struct up_text line, int64_t values[COLUMNS])
{
	struct up_fields fields;

	up_text_split(line, '\t', &fields);
	if (fields.n != COLUMNS)
		return false;
	for (int i = 0; i < COLUMNS; i++) {
		if (up_text_decimal(fields.at[i], 0, &values[i]) < 0)
			return false;
	}
	return true;
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	int64_t values[COLUMNS];

	(void)options;
	return parse(up_text_line(head), values) && values[START] > 1000000000000000 && values[STATUS] >= -1 &&
	       values[STATUS] < 1000;
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_request request = { 0 };
	int64_t values[COLUMNS];

	if (!record->whole) { /* the last figure may be cut, and a shorter number is still a number */
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (!parse(record->text, values)) {
		up_reader_bad(reader, "not start, status and latency: %s", up_text_show(record->text).text);
		return 0;
	}
	if (values[LATENCY] < 0 || (uint64_t)values[LATENCY] > UP_HIST_MAX_NS / 1000) {
		up_reader_bad(reader, "a latency of %lld us", (long long)values[LATENCY]);
		return 0;
	}
	request.start_us = values[START];
	request.latency_ns = 1000 * values[LATENCY];
	request.flags = values[STATUS] >= 100 && values[STATUS] < 400 ? 0 : UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_h2load = {
	.id = "h2load",
	.traits = {
		.name = "h2load log",
		.includes = "sending the request to the last byte; not connecting; pacing (--rps) waits for a free stream",
		.missing = "requests that were never sent because a connection failed",
		.stamp = UP_STAMP_START,
		.dated = true,
	},
	.recognise = recognise,
	.feed = feed,
};
