/* uselab load --csv. Seconds since 1970 with microseconds; planned is empty in a closed run, sent and end are empty for an iteration that was dropped:
 *     planned_s,sent_s,end_s,status,vu,step
 *     1796077291.500000,1796077291.500112,1796077291.504870,200,17,1
 * status is an HTTP code, or dropped, error, timeout. */
#include <math.h>
#include <string.h>

#include "reader.h"

enum { COLUMNS = 6 };
enum { PLANNED, SENT, END, STATUS, VU, STEP };

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return up_text_starts(head, "planned_s,sent_s,end_s,status,vu,step");
}

static bool read_time(struct up_reader *reader, struct up_text text, int64_t *ret_us, bool *ret_given)
{
	bool whole_s;

	*ret_given = text.n > 0;
	if (text.n == 0 || up_text_time(text, ret_us, &whole_s) == 0)
		return true;
	up_reader_bad(reader, "'%s' is not a time in seconds", up_text_show(text).text);
	return false;
}

static int request_row(struct up_reader *reader, const struct up_fields *fields)
{
	struct up_request request = { 0 };
	int64_t planned_us = 0, sent_us = 0, end_us = 0, code;
	bool planned, sent, end;

	if (!read_time(reader, fields->at[PLANNED], &planned_us, &planned) ||
		!read_time(reader, fields->at[SENT], &sent_us, &sent) || !read_time(reader, fields->at[END], &end_us, &end))
		return 0;
	if (up_text_is(fields->at[STATUS], "dropped")) {
		up_reader_dropped(reader, planned ? planned_us : sent_us, 1);
		return 0;
	}
	if (!sent || !end) {
		up_reader_bad(reader, "a request without the time it was %s", sent ? "over" : "sent");
		return 0;
	}
	if (up_text_decimal(fields->at[STATUS], 0, &code) < 0) {
		if (!up_text_is(fields->at[STATUS], "error") && !up_text_is(fields->at[STATUS], "timeout")) {
			up_reader_bad(reader, "'%s' is not a status", up_text_show(fields->at[STATUS]).text);
			return 0;
		}
		code = 0;
	}
	if (code < 100 || code >= 400)
		request.flags = UP_POINT_FAILED;
	request.start_us = planned ? planned_us : sent_us;
	request.late_us = planned ? sent_us - planned_us : 0;
	request.latency_ns = (end_us - request.start_us) * 1000;
	reader->file->intended = reader->file->intended || planned;
	return up_reader_request(reader, &request);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_fields fields;

	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (up_text_starts(record->text, "planned_s,"))
		return 0;
	up_text_split(record->text, ',', &fields);
	if (fields.n < COLUMNS) {
		up_reader_bad(reader, "%u columns instead of %d", fields.n, COLUMNS);
		return 0;
	}
	return request_row(reader, &fields);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

const struct up_load_format up_load_lab_csv = {
	.id = "lab-csv",
	.traits = {
		.name = "uselab CSV",
		.includes = "everything from the intended start (closed runs: from sending) to the last byte, connecting too",
		.stamp = UP_STAMP_START,
		.dated = true,
	},
	.recognise = recognise,
	.feed = feed,
};
