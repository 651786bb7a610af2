/* hey -o csv: seconds with four decimals; offset is the start, counted from the beginning of the run:
 *     response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
 *     0.0037,0.0010,0.0000,0.0001,0.0024,0.0002,200,0.0529
 * Requests without an answer have no row (rakyll/hey issue 117). */
#include "reader.h"

struct hey {
	int latency, status, offset;
	unsigned n_columns;
};

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return up_text_starts(head, "response-time,DNS+dialup,");
}

static int row(struct up_reader *reader, const struct up_fields *fields)
{
	const struct hey *hey = reader->state;
	struct up_request request = { 0 };
	int64_t status;

	if (fields->n != hey->n_columns) {
		up_reader_bad(reader, "%u columns instead of %u", fields->n, hey->n_columns);
		return 0;
	}
	if (up_text_decimal(up_fields_get(fields, hey->latency), 9, &request.latency_ns) < 0 ||
		up_text_decimal(up_fields_get(fields, hey->offset), 6, &request.start_us) < 0 ||
		up_text_decimal(up_fields_get(fields, hey->status), 0, &status) < 0) {
		up_reader_bad(reader, "not a response time, a status and an offset");
		return 0;
	}
	request.flags = status >= 100 && status < 400 ? 0 : UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct hey *hey = reader->state;
	struct up_fields fields;

	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	up_text_split(record->text, ',', &fields);
	if (!up_text_is(fields.at[0], "response-time"))
		return row(reader, &fields);
	hey->n_columns = fields.n;
	hey->latency = 0;
	hey->status = up_fields_find(&fields, "status-code");
	hey->offset = up_fields_find(&fields, "offset");
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_hey_csv = {
	.id = "hey-csv",
	.traits = {
		.name = "hey CSV",
		.includes = "connecting (when the connection is new) to the last byte; not waiting for the tick of -q",
		.missing = "requests without an answer: time-outs and refused connections have no row, so the share of failures is not in hey CSV (--requests N counts what is missing)",
		.stamp = UP_STAMP_START,
		.resolution_us = 100,
		.closed = true,
		.failures_missing = true,
	},
	.state_bytes = sizeof(struct hey),
	.recognise = recognise,
	.feed = feed,
};
