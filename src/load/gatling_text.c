/* Gatling simulation.log up to 3.12: tab-separated, ms since 1970 for start AND end of each request:
 *     RUN	Shop	shop	1796077841174	 	3.9.5
 *     USER	shop	START	1796077841551
 *     REQUEST	checkout	buy	1796077841497	1796077841594	OK	 
 * (3.x; groups in the second column, joined by commas). */
#include <math.h>

#include "reader.h"

enum { GROUPS = 1, NAME, START, END, RESULT, COLUMNS_MIN };

struct gatling {
	int64_t users;
};

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_fields fields;
	int64_t start_ms;

	(void)options;
	if (!up_text_starts(head, "RUN\t"))
		return false;
	up_text_split(up_text_line(head), '\t', &fields);
	return fields.n >= 5 && up_text_decimal(fields.at[3], 0, &start_ms) == 0;
}

static int request_row(struct up_reader *reader, const struct up_fields *fields)
{
	struct up_request request = { 0 };
	int64_t start_ms, end_ms;
	char name[256];
	size_t n = 0;

	if (fields->n < COLUMNS_MIN || up_text_decimal(fields->at[START], 0, &start_ms) < 0 ||
		up_text_decimal(fields->at[END], 0, &end_ms) < 0 ||
		(!up_text_is(fields->at[RESULT], "OK") && !up_text_is(fields->at[RESULT], "KO"))) {
		up_reader_bad(reader, "not a request with start, end and OK or KO");
		return 0;
	}
	for (size_t i = 0; i < fields->at[GROUPS].n && n < sizeof(name) / 2; i++)
		name[n++] = fields->at[GROUPS].at[i] == ',' ? '/' : fields->at[GROUPS].at[i];
	if (n > 0) {
		memcpy(name + n, " / ", 3);
		n += 3;
	}
	for (size_t i = 0; i < fields->at[NAME].n && n < sizeof(name); i++)
		name[n++] = fields->at[NAME].at[i];
	request.name = (struct up_text){ name, n };
	request.start_us = start_ms * 1000;
	request.latency_ns = end_ms - start_ms > INT32_MAX || end_ms < start_ms ? -1 : (end_ms - start_ms) * 1000000;
	request.flags = up_text_is(fields->at[RESULT], "OK") ? 0 : UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static void user_row(struct up_reader *reader, const struct up_fields *fields)
{
	struct gatling *g = reader->state;
	int64_t time_ms;

	if (fields->n < 4 || up_text_decimal(fields->at[3], 0, &time_ms) < 0) {
		up_reader_bad(reader, "not a user with START or END and a time");
		return;
	}
	g->users += up_text_is(fields->at[2], "START") ? 1 : -1;
	up_reader_users(reader, time_ms * 1000, g->users > 0 ? (double)g->users : 0, NAN);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_fields fields;

	/* The message is the last column of a request: a line that ends within it has its figures whole. */
	up_text_split(record->text, '\t', &fields);
	if (!record->whole && !(up_text_is(fields.at[0], "REQUEST") && fields.n > COLUMNS_MIN)) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (up_text_is(fields.at[0], "REQUEST"))
		return request_row(reader, &fields);
	if (up_text_is(fields.at[0], "USER"))
		user_row(reader, &fields);
	else if (!up_text_is(fields.at[0], "RUN") && !up_text_is(fields.at[0], "GROUP") && !up_text_is(fields.at[0], "ERROR") &&
		 !up_text_is(fields.at[0], "ASSERTION"))
		up_reader_bad(reader, "a record that is not known: %s", up_text_show(fields.at[0]).text);
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_gatling_text = {
	.id = "gatling",
	.traits = {
		.name = "Gatling log",
		.includes = "connecting (the first request of each user) to the last byte; not pauses",
		.missing = "requests in flight when the run ended",
		.stamp = UP_STAMP_START,
		.resolution_us = 1000,
		.dated = true,
	},
	.state_bytes = sizeof(struct gatling),
	.recognise = recognise,
	.feed = feed,
};
