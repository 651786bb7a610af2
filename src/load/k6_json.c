/* k6 --out json: a line a metric sample, full time resolution, the END of the request; keys in either order:
 *     {"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-30T20:13:59.389+01:00","value":57.07,"tags":{"status":"200",...}}}
 *     {"type":"Metric","data":{...},"metric":"http_req_duration"}                                            (once a metric; passed over) */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "reader.h"

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_text line = up_text_line(head);

	(void)options;
	return line.n > 20 && line.at[0] == '{' && memmem(line.at, line.n, "\"metric\":\"", 10) &&
	       (memmem(line.at, line.n, "\"type\":\"Point\"", 14) || memmem(line.at, line.n, "\"type\":\"Metric\"", 15));
}

/* Name of the metric, found without parsing: 13 of 14 lines are passed over by it. */
static struct up_text metric_of(struct up_text line)
{
	static const char key[] = "\"metric\":\"";
	const char *at = memmem(line.at, line.n, key, sizeof(key) - 1), *end;

	if (!at)
		return (struct up_text){ "", 0 };
	at += sizeof(key) - 1;
	end = memchr(at, '"', (size_t)(line.at + line.n - at));
	return end ? (struct up_text){ at, (size_t)(end - at) } : (struct up_text){ "", 0 };
}

static const char *tag(const json_t *tags, const char *name)
{
	const char *text = json_string_value(json_object_get(tags, name));

	return text ? text : "";
}

static struct up_text text_of(const char *text)
{
	return (struct up_text){ text, strlen(text) };
}

static int duration(struct up_reader *reader, const json_t *tags, double value, int64_t end_us)
{
	const char *expected = tag(tags, "expected_response"), *status = tag(tags, "status");
	struct up_request request = { .name = text_of(tag(tags, "name")), .latency_ns = llround(value * 1e6) };
	int64_t code;

	if (*expected)
		request.flags = strcmp(expected, "true") == 0 ? 0 : UP_POINT_FAILED;
	else if (*status && up_text_decimal(text_of(status), 0, &code) == 0)
		request.flags = code >= 100 && code < 400 ? 0 : UP_POINT_FAILED;
	else
		reader->file->failed_known = false;
	request.start_us = end_us - request.latency_ns / 1000;
	return up_reader_request(reader, &request);
}

static int point(struct up_reader *reader, const char *metric, const json_t *data)
{
	const json_t *value = json_object_get(data, "value");
	const char *time = json_string_value(json_object_get(data, "time"));
	double number = json_is_number(value) ? json_number_value(value) : NAN;
	int64_t time_us;
	bool whole_s;

	if (isnan(number) || number < 0 || number > 2.8e8) {
		up_reader_bad(reader, "no usable value of %s", metric);
		return 0;
	}
	if (!time || up_text_time(text_of(time), &time_us, &whole_s) < 0) {
		up_reader_bad(reader, "no usable time of %s", metric);
		return 0;
	}
	if (strcmp(metric, "dropped_iterations") == 0)
		up_reader_dropped(reader, time_us, (uint64_t)llround(number));
	else if (strcmp(metric, "vus") == 0 || strcmp(metric, "vus_max") == 0)
		up_reader_users(reader, time_us, metric[3] ? (double)NAN : number, metric[3] ? number : (double)NAN);
	else
		return duration(reader, json_object_get(data, "tags"), number, time_us);
	return 0;
}

static bool wanted(struct up_text metric)
{
	return up_text_is(metric, "http_req_duration") || up_text_is(metric, "grpc_req_duration") ||
	       up_text_is(metric, "dropped_iterations") || up_text_is(metric, "vus") || up_text_is(metric, "vus_max");
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	json_t *json;
	json_error_t error;
	int r = 0;

	if (record->whole && !wanted(metric_of(record->text)))
		return 0;
	json = json_loadb(record->text.at, record->text.n, 0, &error);
	if (!json && !record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
	} else if (!json) {
		up_reader_bad(reader, "not JSON: %.80s", error.text);
	} else if (strcmp(tag(json, "type"), "Point") == 0 && wanted(text_of(tag(json, "metric")))) {
		r = point(reader, tag(json, "metric"), json_object_get(json, "data"));
	}
	json_decref(json);
	return r;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_k6_json = {
	.id = "k6-json",
	.traits = {
		.name = "k6 JSON",
		.includes = "sending, waiting and receiving; not connecting, TLS or waiting for a free user",
		.stamp = UP_STAMP_END,
		.dated = true,
	},
	.recognise = recognise,
	.feed = feed,
};
