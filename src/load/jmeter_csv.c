/* JMeter result file (JTL) as CSV, with or without header, comma, semicolon or tab, columns as configured (jmeter.save.saveservice.*):
 *     timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,...
 *     1796077638004,4,GET /list,200,OK,"Users, group 1 1-4",text,true,,119,121,4,4,http://127.0.0.1:5141/list,4,0,1
 * timeStamp is the START in ms unless sampleresult.timestamp.start is false, which nothing in the file tells. The row of a transaction controller
 * repeats the requests inside it ("Number of samples in transaction : 2, number of failing samples : 0"); also the parent of "generate parent sample"
 * is followed by its children. */
#include <math.h>
#include <string.h>

#include "reader.h"

struct jmeter {
	int time, elapsed, label, message, success, threads; /* columns, -1 without */
	unsigned n_columns;
	bool header_read;
	uint64_t n_plain; /* rows that are requests */
	uint64_t n_transactions;
	uint64_t n_inside; /* requests the transaction rows say they hold */
};

static const char transaction_mark[] = "Number of samples in transaction : ";

static bool is_header(const struct up_fields *fields)
{
	return up_fields_find(fields, "timeStamp") >= 0 && up_fields_find(fields, "elapsed") >= 0;
}

static bool is_bool(struct up_text text)
{
	return up_text_is(text, "true") || up_text_is(text, "false");
}

/* The default columns, in their order since 2.x: success is the eighth. */
static bool is_default_row(const struct up_fields *fields)
{
	int64_t time_us, elapsed;
	bool whole_s;

	return fields->n >= 12 && up_text_time(fields->at[0], &time_us, &whole_s) == 0 && !whole_s &&
	       up_text_decimal(fields->at[1], 0, &elapsed) == 0 && is_bool(fields->at[7]);
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_fields fields;

	(void)options;
	up_text_split(up_text_line(head), up_text_delimiter(head), &fields);
	return is_header(&fields) || is_default_row(&fields);
}

static void read_header(struct jmeter *j, const struct up_fields *fields)
{
	j->header_read = true;
	j->n_columns = fields->n;
	if (is_header(fields)) {
		j->time = up_fields_find(fields, "timeStamp");
		j->elapsed = up_fields_find(fields, "elapsed");
		j->label = up_fields_find(fields, "label");
		j->message = up_fields_find(fields, "responseMessage");
		j->success = up_fields_find(fields, "success");
		j->threads = up_fields_find(fields, "allThreads");
		return;
	}
	j->time = 0;
	j->elapsed = 1;
	j->label = 2;
	j->message = 4;
	j->success = 7;
	j->threads = fields->n == 17 ? 12 : -1;
}

/* 0 good; -1 the row was counted as bad. */
static int read_row(struct up_reader *reader, const struct up_fields *fields, struct up_request *request)
{
	const struct jmeter *j = reader->state;
	struct up_text time = up_fields_get(fields, j->time), success = up_fields_get(fields, j->success);
	bool whole_s;

	if (up_text_time(time, &request->start_us, &whole_s) < 0) {
		up_reader_bad(reader, "'%s' is not a timeStamp", up_text_show(time).text);
		return -1;
	}
	if (up_text_decimal(up_fields_get(fields, j->elapsed), 6, &request->latency_ns) < 0) {
		up_reader_bad(reader, "'%s' is not an elapsed time in ms", up_text_show(up_fields_get(fields, j->elapsed)).text);
		return -1;
	}
	if (j->success < 0) {
		reader->file->failed_known = false;
	} else if (!is_bool(success)) {
		up_reader_bad(reader, "success is '%s', not true or false", up_text_show(success).text);
		return -1;
	} else if (up_text_is(success, "false")) {
		request->flags |= UP_POINT_FAILED;
	}
	if (memchr(time.at, ':', time.n) && memchr(time.at, 'Z', time.n) == NULL && memchr(time.at, '+', time.n) == NULL)
		up_reader_remark(reader, "times without a zone were taken as local time (--tz ZONE says another)");
	return 0;
}

static void note_transaction(struct jmeter *j, struct up_text message)
{
	struct up_text count = { message.at + sizeof(transaction_mark) - 1, message.n - (sizeof(transaction_mark) - 1) };
	const char *end = memchr(count.at, ',', count.n);
	int64_t inside;

	j->n_transactions++;
	if (end)
		count.n = (size_t)(end - count.at);
	if (up_text_decimal(up_text_trim(count), 0, &inside) == 0 && inside > 0)
		j->n_inside += (uint64_t)inside;
}

static int row(struct up_reader *reader, const struct up_fields *fields)
{
	struct jmeter *j = reader->state;
	struct up_request request = { 0 };
	struct up_text message = up_fields_get(fields, j->message), threads = up_fields_get(fields, j->threads);
	char label[256];
	int64_t users;

	if (read_row(reader, fields, &request) < 0)
		return 0;
	request.name = (struct up_text){ label, up_text_unquote(up_fields_get(fields, j->label), label, sizeof(label)) };
	if (up_text_starts(message, transaction_mark)) {
		note_transaction(j, message);
		request.flags |= UP_POINT_TRANSACTION;
	} else {
		j->n_plain++;
	}
	if (threads.n && up_text_decimal(threads, 0, &users) == 0)
		up_reader_users(reader, request.start_us, (double)users, NAN);
	return up_reader_request(reader, &request);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct jmeter *j = reader->state;
	struct up_fields fields;

	if (!j->header_read)
		reader->delimiter = up_text_delimiter(record->text);
	up_text_split(record->text, reader->delimiter, &fields);
	if (!j->header_read || is_header(&fields)) {
		bool header = is_header(&fields);

		read_header(j, &fields);
		if (header)
			return 0;
	}
	/* A last line without its end is whole when nothing that is read stands in its last field. */
	if (!record->whole) {
		int last = (int)j->n_columns - 1;

		if (fields.n != j->n_columns || j->elapsed == last || j->success == last || j->message == last ||
			j->label == last || j->time == last || j->threads == last) {
			reader->file->cut = true;
			up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
			return 0;
		}
	}
	if (fields.n != j->n_columns) {
		up_reader_bad(reader, "%u columns instead of %u", fields.n, j->n_columns);
		return 0;
	}
	return row(reader, &fields);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	if (reader->line == 0 && data.n > 0)
		reader->delimiter = up_text_delimiter(data); /* before the first record: a quote opens a field only behind it */
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

/* Transactions are left out when the requests they repeat are in the file; in a file that holds only them they are all there is. */
static int end(struct up_reader *reader)
{
	const struct jmeter *j = reader->state;
	bool repeated = j->n_transactions > 0 && j->n_plain >= j->n_inside && j->n_plain > 0;

	return j->n_transactions ? up_reader_resolve_transactions(
					   reader, !repeated || (reader->options && reader->options->keep_transactions))
				 : 0;
}

const struct up_load_format up_load_jmeter_csv = {
	.id = "jmeter-csv",
	.traits = {
		.name = "JMeter CSV",
		.includes = "connecting (when the connection is new) to the last byte; not timers",
		.stamp = UP_STAMP_START,
		.resolution_us = 1000,
		.dated = true,
	},
	.state_bytes = sizeof(struct jmeter),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
