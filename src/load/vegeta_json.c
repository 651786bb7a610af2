/* vegeta encode --to json: an object a line, start as RFC 3339, latency in ns:
 *     {"attack":"attack","seq":0,"code":200,"timestamp":"2026-11-30T22:21:31.528757153Z","latency":3181935,"error":"",...} */
#include <jansson.h>

#include "reader.h"

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_text line = up_text_line(head);

	(void)options;
	return line.n > 20 && line.at[0] == '{' && memmem(line.at, line.n, "\"attack\":", 9) &&
	       memmem(line.at, line.n, "\"latency\":", 10) && memmem(line.at, line.n, "\"timestamp\":\"", 13);
}

static int request(struct up_reader *reader, const json_t *json)
{
	const json_t *latency = json_object_get(json, "latency"), *code = json_object_get(json, "code");
	const char *time = json_string_value(json_object_get(json, "timestamp")),
		   *error = json_string_value(json_object_get(json, "error"));
	struct up_request request = { .latency_ns = json_is_integer(latency) ? json_integer_value(latency) : -1 };
	bool whole_s;

	if (request.latency_ns < 0 || !json_is_integer(code) || !time ||
		up_text_time((struct up_text){ time, strlen(time) }, &request.start_us, &whole_s) < 0) {
		up_reader_bad(reader, "no timestamp, code and latency");
		return 0;
	}
	if ((error && *error) || json_integer_value(code) < 100 || json_integer_value(code) >= 400)
		request.flags = UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	json_error_t error;
	json_t *json = json_loadb(record->text.at, record->text.n, 0, &error);
	int r = 0;

	if (!json && !record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
	} else if (!json) {
		up_reader_bad(reader, "not JSON: %.80s", error.text);
	} else {
		r = request(reader, json);
	}
	json_decref(json);
	return r;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_vegeta_json = {
	.id = "vegeta-json",
	.traits = {
		.name = "vegeta JSON",
		.includes = "connecting (when the connection is new) to the last byte; not waiting for a free worker",
		.stamp = UP_STAMP_START,
		.dated = true,
	},
	.recognise = recognise,
	.feed = feed,
};
