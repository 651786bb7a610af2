/* k6 --out csv. A header names the columns (which ones depends on the version and on --system-tags), then one row a metric sample, 14 a request:
 *     metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,status,...
 *     http_req_duration,1796076285,20.622520,,,,true,,GET,GET /item/{id},HTTP/1.1,closed,,200,,,GET /item/{id},,
 * The time is that of the request's END (lib/netext/httpext/tracer.go), whole seconds unless K6_CSV_TIME_FORMAT says otherwise; the duration is
 * sending + waiting + receiving. expected_response came with 0.31; before that the status decides. */
#include <math.h>
#include <string.h>

#include "reader.h"

struct k6_csv {
	int time, value, name, expected, status, error_code; /* columns, -1 without */
	unsigned n_columns;
	uint64_t n_failed_rows, n_failed; /* http_req_failed: rows, and those that say 1 */
	uint64_t n_duration;
	bool seen_fraction;
};

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return up_text_starts(head, "metric_name,timestamp,metric_value");
}

static void read_header(struct k6_csv *k6, struct up_text line)
{
	struct up_fields fields;

	up_text_split(line, ',', &fields);
	k6->n_columns = fields.n;
	k6->time = up_fields_find(&fields, "timestamp");
	k6->value = up_fields_find(&fields, "metric_value");
	k6->name = up_fields_find(&fields, "name");
	k6->expected = up_fields_find(&fields, "expected_response");
	k6->status = up_fields_find(&fields, "status");
	k6->error_code = up_fields_find(&fields, "error_code");
}

/* A row of interest: its moment, in the middle of its second when the file has whole seconds. False: the row is bad and was counted. */
static bool read_time(struct up_reader *reader, const struct up_fields *fields, int64_t *ret_us)
{
	struct k6_csv *k6 = reader->state;
	struct up_text text = up_fields_get(fields, k6->time);
	bool whole_s;

	if (up_text_time(text, ret_us, &whole_s) < 0) {
		up_reader_bad(reader, "'%s' is not a timestamp", up_text_show(text).text);
		return false;
	}
	if (whole_s && !k6->seen_fraction) {
		reader->file->whole_seconds = true;
		*ret_us += 500000;
	}
	k6->seen_fraction = k6->seen_fraction || !whole_s;
	return true;
}

static bool failed(const struct k6_csv *k6, const struct up_fields *fields, bool *ret_known)
{
	struct up_text expected = up_fields_get(fields, k6->expected), status = up_fields_get(fields, k6->status);
	int64_t code;

	*ret_known = true;
	if (expected.n > 0)
		return !up_text_is(expected, "true");
	if (status.n > 0 && up_text_decimal(status, 0, &code) == 0)
		return code < 100 || code >= 400;
	if (up_fields_get(fields, k6->error_code).n > 0)
		return true;
	*ret_known = false;
	return false;
}

static int duration_row(struct up_reader *reader, const struct up_fields *fields)
{
	struct k6_csv *k6 = reader->state;
	struct up_request request = { .name = up_fields_get(fields, k6->name) };
	struct up_text value = up_fields_get(fields, k6->value);
	int64_t end_us;
	bool known;

	if (up_text_decimal(value, 6, &request.latency_ns) < 0) {
		up_reader_bad(reader, "'%s' is not a duration in ms", up_text_show(value).text);
		return 0;
	}
	if (!read_time(reader, fields, &end_us))
		return 0;
	if (failed(k6, fields, &known))
		request.flags |= UP_POINT_FAILED;
	if (!known)
		reader->file->failed_known = false;
	request.start_us = end_us - request.latency_ns / 1000;
	k6->n_duration++;
	return up_reader_request(reader, &request);
}

static void other_row(struct up_reader *reader, const struct up_fields *fields, struct up_text metric)
{
	struct up_text text = up_fields_get(fields, ((struct k6_csv *)reader->state)->value);
	struct k6_csv *k6 = reader->state;
	int64_t value, time_us;

	if (up_text_decimal(text, 0, &value) < 0 || value < 0) {
		up_reader_bad(reader, "'%s' is not a value of %s", up_text_show(text).text, up_text_show(metric).text);
		return;
	}
	if (up_text_is(metric, "http_req_failed")) {
		k6->n_failed_rows++;
		k6->n_failed += value != 0;
		return;
	}
	if (!read_time(reader, fields, &time_us))
		return;
	if (up_text_is(metric, "dropped_iterations"))
		up_reader_dropped(reader, time_us, (uint64_t)value);
	else
		up_reader_users(reader, time_us, up_text_is(metric, "vus") ? (double)value : NAN,
			up_text_is(metric, "vus_max") ? (double)value : NAN);
}

/* The metrics that matter, by their first bytes: most rows are passed over after one look. */
static bool wanted(struct up_text line, bool *ret_duration)
{
	*ret_duration = false;
	switch (line.n > 4 ? line.at[0] : 0) {
	case 'h': /* nine of fourteen rows begin with http_req_: the letter behind it decides */
		if (line.n < 18 || (line.at[9] != 'd' && line.at[9] != 'f'))
			return false;
		*ret_duration = up_text_starts(line, "http_req_duration,");
		return *ret_duration || up_text_starts(line, "http_req_failed,");
	case 'g':
		*ret_duration = up_text_starts(line, "grpc_req_duration,");
		return *ret_duration;
	case 'd':
		return up_text_starts(line, "dropped_iterations,");
	case 'v':
		return up_text_starts(line, "vus,") || up_text_starts(line, "vus_max,");
	case 'm':
		return up_text_starts(line, "metric_name,");
	default:
		return false;
	}
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct k6_csv *k6 = reader->state;
	struct up_fields fields;
	bool duration;

	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (!wanted(record->text, &duration))
		return 0;
	if (record->text.at[0] == 'm') { /* also in the middle: files put one behind the other */
		read_header(k6, record->text);
		return 0;
	}
	up_text_split(record->text, ',', &fields);
	if (fields.n != k6->n_columns) {
		up_reader_bad(reader, "%u columns instead of %u", fields.n, k6->n_columns);
		return 0;
	}
	if (duration)
		return duration_row(reader, &fields);
	other_row(reader, &fields, fields.at[0]);
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

static int end(struct up_reader *reader)
{
	struct k6_csv *k6 = reader->state;

	if (!reader->file->failed_known && k6->n_failed_rows > 0) {
		reader->file->failed_elsewhere = k6->n_failed;
		if (k6->n_failed == 0)
			reader->file->failed_known = true; /* none failed, so each of them is known */
	}
	if (reader->file->whole_seconds)
		up_reader_remark(reader, "times are whole seconds (+-0.5 s); K6_CSV_TIME_FORMAT=unix_nano gives exact ones");
	return 0;
}

const struct up_load_format up_load_k6_csv = {
	.id = "k6-csv",
	.traits = {
		.name = "k6 CSV",
		.includes = "sending, waiting and receiving; not connecting, TLS or waiting for a free user",
		.stamp = UP_STAMP_END,
		.dated = true,
	},
	.state_bytes = sizeof(struct k6_csv),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
