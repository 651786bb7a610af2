/* vegeta encode --to csv: no header; start in ns since 1970, status (0: no answer), latency in ns, bytes out, bytes in, error, body, attack, sequence number
 * and since 12.8 method, URL and headers:
 *     1796077291528757153,200,3181935,0,3,,b2sK,attack,0,GET,http://127.0.0.1:5101/,Q29u...
 * Rows stand in the order of the ends; two attacks are mixed row by row. */
#include "reader.h"

enum { TIME, CODE, LATENCY, BYTES_OUT, BYTES_IN, ERROR, BODY, ATTACK, SEQ, COLUMNS_MIN };

static bool parse(const struct up_fields *fields, int64_t values[3])
{
	return fields->n >= COLUMNS_MIN && up_text_decimal(fields->at[TIME], 0, &values[TIME]) == 0 && fields->at[TIME].n >= 18 &&
	       up_text_decimal(fields->at[CODE], 0, &values[CODE]) == 0 && values[CODE] >= 0 && values[CODE] < 1000 &&
	       up_text_decimal(fields->at[LATENCY], 0, &values[LATENCY]) == 0;
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_fields fields;
	int64_t values[3];

	(void)options;
	up_text_split(up_text_line(head), ',', &fields);
	return parse(&fields, values);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_request request = { 0 };
	struct up_fields fields;
	int64_t values[3];

	up_text_split(record->text, ',', &fields);
	if (!record->whole && fields.n < COLUMNS_MIN) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (!parse(&fields, values)) {
		up_reader_bad(reader, "not a start in ns, a status and a latency in ns");
		return 0;
	}
	request.start_us = values[TIME] / 1000;
	request.latency_ns = values[LATENCY];
	request.flags = fields.at[ERROR].n > 0 || values[CODE] < 100 || values[CODE] >= 400 ? UP_POINT_FAILED : 0;
	return up_reader_request(reader, &request);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

const struct up_load_format up_load_vegeta_csv = {
	.id = "vegeta-csv",
	.traits = {
		.name = "vegeta CSV",
		.includes = "connecting (when the connection is new) to the last byte; not waiting for a free worker",
		.stamp = UP_STAMP_START,
		.dated = true,
	},
	.recognise = recognise,
	.feed = feed,
};
