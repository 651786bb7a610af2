/* uselab load --csv. Seconds since 1970 with microseconds; planned is empty in a closed run, sent and end are empty for an iteration that was dropped:
 *     planned_s,sent_s,end_s,status,vu,step
 *     1796077291.500000,1796077291.500112,1796077291.504870,200,17,1
 * status is an HTTP code, or dropped, error, timeout. */
#include <math.h>
#include <string.h>

#include "reader.h"

enum { COLUMNS = 6 };
enum { PLANNED, SENT, END, STATUS, VU, STEP };

/* A closed run has as many users as its highest vu; in a sweep each step has its own. */
enum { STEPS_MAX = 256 };
struct lab {
	struct {
		int64_t first_us, last_us, users; /* users 0: step not seen */
	} step[STEPS_MAX];
};

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

static void note_user(struct lab *lab, const struct up_fields *fields, int64_t start_us)
{
	int64_t vu, step = 0;

	if (up_text_decimal(fields->at[VU], 0, &vu) < 0 || vu < 1)
		return;
	if (fields->at[STEP].n && (up_text_decimal(fields->at[STEP], 0, &step) < 0 || step < 0 || step >= STEPS_MAX))
		return;
	if (lab->step[step].users == 0 || start_us < lab->step[step].first_us)
		lab->step[step].first_us = start_us;
	if (lab->step[step].users == 0 || start_us > lab->step[step].last_us)
		lab->step[step].last_us = start_us;
	if (vu > lab->step[step].users)
		lab->step[step].users = vu;
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
	if (!planned)
		note_user(reader->state, fields, request.start_us);
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

static int end(struct up_reader *reader)
{
	const struct lab *lab = reader->state;

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (lab->step[i].users == 0 ||
			lab->step[i].last_us - lab->step[i].first_us > (int64_t)UP_LOAD_SECONDS_MAX * 1000000)
			continue;
		for (int64_t us = lab->step[i].first_us; us <= lab->step[i].last_us; us += 1000000)
			up_reader_users(reader, us, (double)lab->step[i].users, NAN);
	}
	return 0;
}

const struct up_load_format up_load_lab_csv = {
	.id = "lab-csv",
	.traits = {
		.name = "uselab CSV",
		.includes = "everything from the intended start (closed runs: from sending) to the last byte, connecting too",
		.stamp = UP_STAMP_START,
		.dated = true,
	},
	.state_bytes = sizeof(struct lab),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
