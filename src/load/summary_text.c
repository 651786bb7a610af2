/* Summaries that tools print: wrk, hey, bombardier, oha, ab. Read line by line: a few words in front of a figure are the same in all of them. */
#include <math.h>

#include "told.h"

enum tool { TOOL_WRK, TOOL_BOMBARDIER, TOOL_HEY, TOOL_OHA, TOOL_AB, TOOLS };

struct summary {
	enum tool tool;
	bool begun;
	bool ended; /* the line was seen that such a summary ends with */
	double total_s, per_s; /* hey, oha: length and rate, whose product is the number of answers */
	uint64_t unanswered; /* hey, oha: those in the distribution of errors */
	uint64_t answers; /* sum of the status codes */
	struct up_told told;
};

static const struct {
	const char *name, *includes, *mark;
	bool corrected;
} tools[TOOLS] = {
	[TOOL_WRK] = { "wrk text", "from the write to the end of the answer; not connecting; time-outs are not in the latencies",
		"  Thread Stats", true },
	[TOOL_BOMBARDIER] = { "bombardier text", "connecting (when the connection is new) to the last byte", "  Reqs/sec ",
		false },
	[TOOL_HEY] = { "hey text", "connecting (when the connection is new) to the last byte", "Latency distribution:", false },
	[TOOL_OHA] = { "oha text", "connecting (when the connection is new) to the last byte",
		"Response time distribution:", false },
	[TOOL_AB] = { "ab text", "connecting to the last byte, whole ms", "This is ApacheBench", false },
};

static enum tool tool_of(struct up_text head)
{
	enum tool tool = 0;

	while (tool < TOOLS && !memmem(head.at, head.n, tools[tool].mark, strlen(tools[tool].mark)))
		tool++;
	return tool;
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return tool_of(head) < TOOLS;
}

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

static bool count_of(struct up_text word, uint64_t *ret_n)
{
	int64_t n;

	while (word.n > 0 && (word.at[word.n - 1] == ',' || word.at[word.n - 1] == ':'))
		word.n--;
	if (up_text_decimal(word, 0, &n) < 0 || n < 0)
		return false;
	*ret_n = (uint64_t)n;
	return true;
}

/* "50%", "99.90%", "50%%" with the time behind it (hey and oha say "in" between; ab gives bare ms). */
static void percentile(struct summary *s, const struct up_text *words, unsigned n)
{
	struct up_text percent = words[0], joined;
	unsigned at = n > 1 && up_text_is(words[1], "in") ? 2 : 1;
	int64_t thousandths;
	double ms;

	while (percent.n > 0 && percent.at[percent.n - 1] == '%')
		percent.n--;
	if (percent.n == words[0].n || n <= at || up_text_decimal(percent, 3, &thousandths) < 0)
		return;
	joined = words[at];
	if (n > at + 1 && s->tool != TOOL_AB)
		joined.n = (size_t)(words[at + 1].at + words[at + 1].n - joined.at); /* number and unit as two words */
	ms = s->tool == TOOL_AB && up_text_decimal(joined, 6, &thousandths) == 0 ? (double)thousandths / 1e6
										 : up_told_time_ms(joined);
	if (s->tool == TOOL_AB)
		up_text_decimal(percent, 3, &thousandths);
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		if (fabs((double)thousandths / 1000 - up_quantile_names[i].percent) < 1e-9)
			s->told.ms[i] = ms;
	}
	if (thousandths == 100000 && isnan(s->told.max_ms))
		s->told.max_ms = ms;
}

/* hey and oha: "[500]  30 responses", and among the errors "[10] aborted due to deadline" */
static void status_code(struct summary *s, const struct up_text *words, unsigned n)
{
	struct up_text code = words[0];
	int64_t value;
	uint64_t count;

	if (n < 2 || code.n < 3 || code.at[0] != '[' || code.at[code.n - 1] != ']')
		return;
	code.at++;
	code.n -= 2;
	if (up_text_decimal(code, 0, &value) < 0 || value < 0)
		return;
	if (!count_of(words[1], &count)) {
		s->unanswered += (uint64_t)value;
		return;
	}
	s->answers += count;
	s->told.failed += value < 100 || value >= 400 ? count : 0;
}

/* bombardier: "1xx - 0, 2xx - 30915, 3xx - 0, 4xx - 0, 5xx - 630" and "others - 0" */
static void bombardier_codes(struct summary *s, const struct up_text *words, unsigned n)
{
	for (unsigned i = 0; i + 2 < n; i += 3) {
		uint64_t count;

		if (!up_text_is(words[i + 1], "-") || !count_of(words[i + 2], &count))
			return;
		s->answers += count;
		if (words[i].at[0] == '4' || words[i].at[0] == '5' || up_text_is(words[i], "others"))
			s->told.failed += count;
	}
}

/* "Name: value" of wrk, hey, oha and bombardier. */
static void field(struct summary *s, struct up_text line, struct up_text rest)
{
	int64_t micro;

	if (up_text_starts(line, "Transfer/sec:") || up_text_starts(line, "Throughput:"))
		s->ended = true;
	else if (up_text_starts(line, "Total:"))
		s->total_s = up_told_time_ms(rest) / 1e3;
	else if (up_text_starts(line, "Requests/sec:") && up_text_decimal(up_text_trim(rest), 6, &micro) == 0)
		s->per_s = (double)micro / 1e6;
	else if (up_text_starts(line, "Slowest:"))
		s->told.max_ms = up_told_time_ms(rest);
	else if (up_text_starts(line, "Fastest:"))
		s->told.min_ms = up_told_time_ms(rest);
	else if (up_text_starts(line, "Average:"))
		s->told.mean_ms = up_told_time_ms(rest);
}

static double bare_ms(struct up_text word)
{
	int64_t ns;

	return up_text_decimal(word, 6, &ns) == 0 ? (double)ns / 1e6 : (double)NAN;
}

/* ab: counts, and "Total:  4  8  42.4  7  1505" (min, mean, deviation, median, max) in ms. */
static void ab_field(struct summary *s, struct up_text line, const struct up_text *words, unsigned n)
{
	uint64_t count;

	if (up_text_starts(line, "Transfer rate:")) {
		s->ended = true;
	} else if (up_text_starts(line, "Total:") && n >= 6) {
		s->told.min_ms = bare_ms(words[1]);
		s->told.mean_ms = bare_ms(words[2]);
		s->told.max_ms = bare_ms(words[5]);
	} else if (!count_of(words[n - 1], &count)) {
		return;
	} else if (up_text_starts(line, "Complete requests:")) {
		s->told.n = count;
	} else if (up_text_starts(line, "Failed requests:") || up_text_starts(line, "Non-2xx responses:")) {
		s->told.failed += count;
	}
}

/* A line with a name in front of a colon. */
static void named(struct summary *s, struct up_text line, const struct up_text *words, unsigned n)
{
	const char *colon = memchr(line.at, ':', line.n);
	uint64_t count;

	if (!colon)
		return;
	if (s->tool == TOOL_AB)
		ab_field(s, line, words, n);
	else if (up_text_starts(line, "Non-2xx or 3xx responses:") && count_of(words[n - 1], &count))
		s->told.failed += count;
	else
		field(s, line, (struct up_text){ colon + 1, (size_t)(line.at + line.n - colon - 1) });
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct summary *s = reader->state;
	struct up_text line = record->text, words[24];
	const char *cr = memrchr(line.at, '\r', line.n);
	unsigned n;

	if (!record->whole) { /* the last figure may be cut */
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (cr) { /* a progress bar in front of the line */
		line.n -= (size_t)(cr + 1 - line.at);
		line.at = cr + 1;
	}
	line = up_text_trim(line);
	n = words_of(line, words, 24);
	if (n == 0)
		return 0;
	if (n >= 4 && up_text_is(words[0], "Latency") &&
		!isnan(up_told_time_ms(words[1]))) { /* wrk, bombardier: average, deviation, maximum */
		s->told.mean_ms = up_told_time_ms(words[1]);
		s->told.sd_ms = up_told_time_ms(words[2]);
		s->told.max_ms = up_told_time_ms(words[3]);
	} else if (words[0].at[words[0].n - 1] == '%') {
		percentile(s, words, n);
	} else if (words[0].at[0] == '[') {
		status_code(s, words, n);
	} else if (s->tool == TOOL_BOMBARDIER && n >= 3 && up_text_is(words[1], "-")) {
		bombardier_codes(s, words, n);
	} else if (s->tool == TOOL_WRK && n >= 4 && up_text_is(words[1], "requests") && up_text_is(words[2], "in")) {
		count_of(words[0], &s->told.n);
	} else {
		named(s, line, words, n);
	}
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	struct summary *s = reader->state;

	if (!s->begun) {
		s->begun = true;
		s->told = up_told_none();
		s->tool = tool_of(data);
		s->tool = s->tool == TOOLS ? TOOL_WRK : s->tool;
	}
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

static int end(struct up_reader *reader)
{
	struct summary *s = reader->state;

	if (s->answers > 0)
		s->told.n = s->answers;
	if (s->told.n == 0 || s->told.failed > s->told.n)
		return 0; /* nothing that could be counted on */
	s->told.failed_known = s->ended;
	if (s->tool == TOOL_HEY || s->tool == TOOL_OHA) {
		double gap = fabs((double)(s->told.n + s->unanswered) - s->total_s * s->per_s);

		if (!(gap <= 1 + 2e-4 * (double)s->told.n))
			return 0; /* status codes are missing at the end */
		s->told.failed_known = true;
		if (s->unanswered)
			up_reader_remark(
				reader, "%llu requests without an answer are in no figure", (unsigned long long)s->unanswered);
	}
	up_told_give(reader, &s->told, tools[s->tool].name, tools[s->tool].includes, tools[s->tool].corrected);
	return 0;
}

const struct up_load_format up_load_summary_text = {
	.id = "summary-text",
	.traits = {
		.name = "summary text",
		.includes = "see the tool",
		.stamp = UP_STAMP_NONE,
	},
	.state_bytes = sizeof(struct summary),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
