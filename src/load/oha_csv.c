/* oha --output-format csv: seconds; request-start counts from the beginning of the run, there is no wall clock:
 *     request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status
 *     0.001416141,0.000036635,0.000180065,0.002723472,0.002724443,3,200
 * With --latency-correction the duration runs from the time a request was due while request-start stays the real one, and nothing in the file says so: then
 * start + duration of neighbours overlap far more than there are connections. The file cannot be told apart with certainty, so a remark is left. */
#include "reader.h"

enum { START, DNS, DIALUP, DELAY, DURATION, BYTES, STATUS, COLUMNS };

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return up_text_starts(head, "request-start,DNS,DNS+dialup,Response-delay,request-duration");
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_request request = { 0 };
	struct up_fields fields;
	int64_t status;

	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	up_text_split(record->text, ',', &fields);
	if (up_text_is(fields.at[0], "request-start"))
		return 0;
	if (fields.n < COLUMNS || up_text_decimal(fields.at[START], 6, &request.start_us) < 0 ||
		up_text_decimal(fields.at[DURATION], 9, &request.latency_ns) < 0 ||
		up_text_decimal(fields.at[STATUS], 0, &status) < 0) {
		up_reader_bad(reader, "not a start, a duration and a status");
		return 0;
	}
	request.flags = status >= 100 && status < 400 ? 0 : UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

static int end(struct up_reader *reader)
{
	up_reader_remark(reader,
		"made with --latency-correction? then the latencies are corrected already and run from the time a request was due; the file does not tell");
	return 0;
}

const struct up_load_format up_load_oha_csv = {
	.id = "oha-csv",
	.traits = {
		.name = "oha CSV",
		.includes = "connecting (when the connection is new) to the last byte; not waiting for a free connection, unless --latency-correction was given",
		.missing = "requests without an answer: time-outs, refused connections and those aborted at the deadline have no row (--requests N counts what is missing)",
		.stamp = UP_STAMP_START,
		.failures_missing = true,
	},
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
