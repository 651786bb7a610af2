/* Plain latencies, one number a line, in ms. */
#include <string.h>

#include "reader.h"

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_text first = up_text_line(head), second;
	const char *nl = memchr(head.at, '\n', head.n);
	int64_t value;

	(void)options;
	if (!nl || up_text_decimal(up_text_trim(first), 6, &value) < 0 || value < 0)
		return false;
	second = up_text_line((struct up_text){ nl + 1, head.n - (size_t)(nl + 1 - head.at) });
	return second.n == 0 || second.at[0] == '#' || up_text_decimal(up_text_trim(second), 6, &value) == 0;
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_request request = { 0 };
	struct up_text text = up_text_trim(record->text);

	reader->file->failed_known = false;
	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line has no end, its number may be cut: %s", up_text_show(text).text);
		return 0;
	}
	if (text.n == 0 || text.at[0] == '#')
		return 0;
	if (up_text_decimal(text, 6, &request.latency_ns) < 0) {
		up_reader_bad(reader, "'%s' is not a latency in ms", up_text_show(text).text);
		return 0;
	}
	return up_reader_request(reader, &request);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_values = {
	.id = "values",
	.traits = {
		.name = "plain numbers",
		.includes = "whatever was measured, taken as ms",
		.stamp = UP_STAMP_NONE,
	},
	.recognise = recognise,
	.feed = feed,
};
