/* HdrHistogram interval logs (jHiccup, YCSB, wrk2 wrappers, ...): comments, a legend, then an interval a line:
 *     #[StartTime: 1438869961.225 (seconds since epoch), Thu Aug 06 07:06:01 PDT 2015]
 *     "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
 *     Tag=read,0.116,1.005,3.031,HISTiQAAAG54...
 * Timestamps are seconds, since 1970 or since StartTime. What unit the values have the file does not say; Interval_Max is in ms by convention, so the largest value
 * of a line over its Interval_Max tells (YCSB is known by a comment). The requests of an interval are spread evenly over it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "hdr_decode.h"

enum { EXPAND_MAX = 20000000 }; /* requests in one file */
static const double calendar_s = 9e8; /* earlier than this (1998) is no start of a run */

struct hdr_log {
	double start_s; /* StartTime; 0 none */
	double base_s; /* added to the timestamps */
	bool base_known;
	double per_ms; /* values in a ms; 0 not known yet */
	uint64_t expanded;
};

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	if (memmem(head.at, head.n, "Interval_Compressed_Histogram", 29))
		return true;
	return up_text_starts(head, "#[") && memmem(head.at, head.n, ",HIST", 5);
}

struct emission {
	struct up_reader *reader;
	uint64_t total, given, largest;
	double from_us, length_us, per_ms;
	struct up_text tag;
};

static int count_value(void *ctx, uint64_t value, uint64_t count)
{
	struct emission *e = ctx;

	if (count > EXPAND_MAX - e->total)
		return -EFBIG;
	e->total += count;
	e->largest = value > e->largest ? value : e->largest;
	return 0;
}

static int give_value(void *ctx, uint64_t value, uint64_t count)
{
	struct emission *e = ctx;
	double ns = (double)value / e->per_ms * 1e6;
	struct up_request request = { .latency_ns = ns < (double)UP_HIST_MAX_NS ? llround(ns) : -1, .name = e->tag };
	int r = 0;

	for (uint64_t i = 0; i < count && r == 0; i++) {
		/* Spread by the golden ratio: values of all sizes everywhere in the interval, and the same each time. */
		double place = fmod((double)e->given++ * 0.6180339887498949, 1);

		request.start_us = llround(e->from_us + place * e->length_us);
		r = up_reader_request(e->reader, &request);
	}
	return r;
}

static void comment(struct up_reader *reader, struct up_text text)
{
	static const char key[] = "#[StartTime: ";
	struct hdr_log *log = reader->state;
	size_t n = sizeof(key) - 1;
	int64_t us;

	if (up_text_starts(
		    text, "#[Logging for: ")) { /* YCSB, which records us and divides Interval_Max by a million all the same */
		log->per_ms = 1e3;
		up_reader_remark(reader, "written by YCSB: values are us");
	}
	if (!up_text_starts(text, key))
		return;
	while (n < text.n && ((text.at[n] >= '0' && text.at[n] <= '9') || text.at[n] == '.'))
		n++;
	if (up_text_decimal((struct up_text){ text.at + sizeof(key) - 1, n - (sizeof(key) - 1) }, 6, &us) < 0)
		up_reader_bad(reader, "no time in %s", up_text_show(text).text);
	else
		log->start_s = (double)us / 1e6;
}

/* Whether timestamps are absolute is told by the first: one that is more than a year before StartTime counts from it (as HdrHistogram's own reader has it). */
static void settle_base(struct up_reader *reader, double first_s)
{
	struct hdr_log *log = reader->state;

	log->base_known = true;
	log->base_s = log->start_s > 0 && first_s < log->start_s - 365 * 86400.0 ? log->start_s : 0;
	if (log->base_s == 0 && log->start_s > 0 && first_s < calendar_s)
		log->base_s = log->start_s;
	if (log->base_s + first_s >= calendar_s)
		return;
	reader->file->traits.dated = false;
	log->base_s = -first_s;
	if (log->start_s > 0)
		up_reader_remark(reader,
			"start time inconsistent: StartTime %.3f and a first timestamp of %.3f give no date; times count from the first interval",
			log->start_s, first_s);
}

/* Values in a ms, from the largest value and Interval_Max in ms: a power of ten. */
static void settle_unit(struct up_reader *reader, uint64_t largest, double max_ms)
{
	struct hdr_log *log = reader->state;
	double ratio = max_ms > 0 ? (double)largest / max_ms : 0;

	if (log->per_ms > 0 || ratio <= 0)
		return;
	log->per_ms = pow(10, round(log10(ratio) / 3) * 3);
	log->per_ms = log->per_ms < 1 ? 1 : log->per_ms > 1e6 ? 1e6 : log->per_ms;
	up_reader_remark(reader, "values were taken as %s (the largest value against Interval_Max in ms)",
		log->per_ms > 1e5   ? "ns"
		: log->per_ms > 100 ? "us"
				    : "ms");
}

static int interval(struct up_reader *reader, const struct up_fields *fields, unsigned first)
{
	struct hdr_log *log = reader->state;
	struct emission e = { .reader = reader, .total = log->expanded };
	int64_t start_us, length_us, max;
	int r;

	if (fields->n < first + 4 || up_text_decimal(fields->at[first], 6, &start_us) < 0 ||
		up_text_decimal(fields->at[first + 1], 6, &length_us) < 0 ||
		up_text_decimal(fields->at[first + 2], 6, &max) < 0) {
		up_reader_bad(reader, "not a start, a length, a maximum and a histogram");
		return 0;
	}
	r = up_hdr_decode(fields->at[first + 3], count_value, &e);
	if (r == -EFBIG) {
		snprintf(reader->load->error, sizeof(reader->load->error), "%s: more than %d recorded values", reader->file->path,
			EXPAND_MAX);
		return r;
	}
	if (r < 0) {
		up_reader_bad(reader, "the histogram cannot be decoded (cut or damaged)");
		return r == -ENOMEM ? r : 0;
	}
	log->expanded = e.total;
	settle_unit(reader, e.largest, (double)max / 1e6);
	if (!log->base_known)
		settle_base(reader, (double)start_us / 1e6);
	e.from_us = log->base_s * 1e6 + (double)start_us;
	e.length_us = (double)length_us;
	e.per_ms = log->per_ms > 0 ? log->per_ms : 1e6;
	if (first == 1)
		e.tag = (struct up_text){ fields->at[0].at + 4, fields->at[0].n - 4 };
	return up_hdr_decode(fields->at[first + 3], give_value, &e);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_fields fields;

	reader->file->failed_known = false;
	if (record->text.at[0] == '#') {
		comment(reader, record->text);
		return 0;
	}
	up_text_split(record->text, ',', &fields);
	if (up_text_is(fields.at[0], "StartTimestamp"))
		return 0;
	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut");
		return 0;
	}
	return interval(reader, &fields, up_text_starts(fields.at[0], "Tag=") ? 1 : 0);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

const struct up_load_format up_load_hdr_log = {
	.id = "hdr-log",
	.traits = {
		.name = "HdrHistogram log",
		.includes = "whatever was recorded; each value within its bucket (the highest of it is taken); places within an interval are not known",
		.missing = "failures, unless they were recorded as values",
		.stamp = UP_STAMP_NONE,
		.dated = true,
	},
	.state_bytes = sizeof(struct hdr_log),
	.recognise = recognise,
	.feed = feed,
};
