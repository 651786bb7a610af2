/* HdrHistogram percentile tables (.hgrm, the histogram log's export, and wrk2, which prints one): each line says how many values are at or below its value.
 *            Value   Percentile   TotalCount 1/(1-Percentile)
 *            0.980     0.100000        47530         1.11
 *     #[Mean    =       25.048, StdDeviation   =      120.097]
 * Values are taken as ms, which is what the writers scale to. Between two lines the larger value stands for all: percentiles are right where the table has lines. */
#include <errno.h>
#include <stdio.h>

#include "reader.h"

enum { EXPAND_MAX = 20000000 };

struct hgrm {
	bool in_table, done;
	uint64_t seen;
	int64_t last_ns;
};

static bool is_head(struct up_text line)
{
	return memmem(line.at, line.n, "Value", 5) && memmem(line.at, line.n, "Percentile", 10) &&
	       memmem(line.at, line.n, "TotalCount", 10);
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	const char *at = memmem(head.at, head.n, "TotalCount", 10);

	(void)options;
	while (at && at > head.at && at[-1] != '\n')
		at--;
	return at && is_head(up_text_line((struct up_text){ at, (size_t)(head.at + head.n - at) }));
}

/* Words of LINE. */
static unsigned words_of(struct up_text line, struct up_text *words, unsigned room)
{
	unsigned n = 0;

	for (size_t i = 0; i < line.n && n < room;) {
		size_t first;

		while (i < line.n && (line.at[i] == ' ' || line.at[i] == '\t'))
			i++;
		first = i;
		while (i < line.n && line.at[i] != ' ' && line.at[i] != '\t')
			i++;
		if (i > first)
			words[n++] = (struct up_text){ line.at + first, i - first };
	}
	return n;
}

static int row(struct up_reader *reader, struct up_text line)
{
	struct hgrm *h = reader->state;
	struct up_text words[5];
	struct up_request request = { 0 };
	int64_t percentile, total;
	unsigned n = words_of(line, words, 5);
	int r = 0;

	if (n < 3 || n > 4 || up_text_decimal(words[0], 6, &request.latency_ns) < 0 ||
		up_text_decimal(words[1], 9, &percentile) < 0 || up_text_decimal(words[2], 0, &total) < 0 || percentile < 0 ||
		percentile > 1000000000 || total < (int64_t)h->seen || request.latency_ns < h->last_ns) {
		up_reader_bad(reader, "not a value, a percentile and a growing count: %s", up_text_show(line).text);
		return 0;
	}
	if (total > EXPAND_MAX) {
		snprintf(reader->load->error, sizeof(reader->load->error), "%s: more than %d recorded values", reader->file->path,
			EXPAND_MAX);
		return -EFBIG;
	}
	h->last_ns = request.latency_ns;
	for (; r == 0 && h->seen < (uint64_t)total; h->seen++)
		r = up_reader_request(reader, &request);
	return r;
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct hgrm *h = reader->state;

	reader->file->failed_known = false;
	if (reader->line == 1 && up_text_starts(up_text_trim(record->text), "Running ")) {
		reader->file->traits.name = "wrk2 text";
		reader->file->traits.corrected = true;
	}
	if (!h->in_table) {
		h->in_table = !h->done && is_head(record->text);
		return 0;
	}
	if (up_text_starts(up_text_trim(record->text), "#[")) {
		h->in_table = false;
		h->done = true; /* a second table (wrk2 -U) is the same run told otherwise */
		return 0;
	}
	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	return row(reader, record->text);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

const struct up_load_format up_load_hgrm = {
	.id = "hgrm",
	.traits = {
		.name = "HdrHistogram table",
		.includes = "whatever was recorded, taken as ms; right where the table has a line, rounded up between two",
		.missing = "times and failures; whether it was corrected for coordinated omission",
		.stamp = UP_STAMP_NONE,
	},
	.state_bytes = sizeof(struct hgrm),
	.recognise = recognise,
	.feed = feed,
};
