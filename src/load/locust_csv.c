/* Locust's CSV files: NAME_stats.csv and NAME_stats_history.csv (the row Aggregated, the last one in the history). Percentiles are rounded to 1, 10 or 100 ms and in
 * the history those of about the last 10 s, so only the cumulative columns are taken from it. The files stop up to a second early.
 *     Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,...,50%,66%,...
 *     Timestamp,User Count,Type,Name,...,Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,... */
#include <math.h>

#include "told.h"

struct locust {
	int name, n, failed, mean, min, max, median, percent[UP_QUANTILES];
	unsigned n_columns;
	bool header_read, history;
	struct up_told told;
};

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return up_text_starts(head, "Type,Name,Request Count,") || up_text_starts(head, "Timestamp,User Count,Type,Name,");
}

static void read_header(struct locust *l, const struct up_fields *fields)
{
	static const char *const percent[UP_QUANTILES] = { "50%", "90%", "95%", "99%", "99.9%" };

	l->header_read = true;
	l->history = up_text_is(fields->at[0], "Timestamp");
	l->n_columns = fields->n;
	l->name = up_fields_find(fields, "Name");
	l->n = up_fields_find(fields, l->history ? "Total Request Count" : "Request Count");
	l->failed = up_fields_find(fields, l->history ? "Total Failure Count" : "Failure Count");
	l->mean = up_fields_find(fields, l->history ? "Total Average Response Time" : "Average Response Time");
	l->min = up_fields_find(fields, l->history ? "Total Min Response Time" : "Min Response Time");
	l->max = up_fields_find(fields, l->history ? "Total Max Response Time" : "Max Response Time");
	l->median = l->history ? up_fields_find(fields, "Total Median Response Time") : -1;
	for (unsigned i = 0; i < UP_QUANTILES; i++)
		l->percent[i] = l->history ? -1 : up_fields_find(fields, percent[i]);
}

static double ms_of(const struct up_fields *fields, int index)
{
	int64_t value;

	return index >= 0 && up_text_decimal(up_fields_get(fields, index), 6, &value) == 0 ? (double)value / 1e6 : (double)NAN;
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct locust *l = reader->state;
	struct up_fields fields;
	int64_t n, failed;

	up_text_split(record->text, ',', &fields);
	if (!l->header_read) {
		read_header(l, &fields);
		return 0;
	}
	if (!record->whole || fields.n != l->n_columns) {
		reader->file->cut = reader->file->cut || !record->whole;
		up_reader_bad(
			reader, record->whole ? "%u columns instead of %u" : "the last line is cut", fields.n, l->n_columns);
		return 0;
	}
	if (!up_text_is(up_fields_get(&fields, l->name), "Aggregated"))
		return 0;
	if (up_text_decimal(up_fields_get(&fields, l->n), 0, &n) < 0 ||
		up_text_decimal(up_fields_get(&fields, l->failed), 0, &failed) < 0 || n < 0 || failed < 0 || failed > n) {
		up_reader_bad(reader, "no counts of requests and failures");
		return 0;
	}
	l->told = up_told_none();
	l->told.n = (uint64_t)n;
	l->told.failed = (uint64_t)failed;
	l->told.failed_known = true;
	l->told.mean_ms = ms_of(&fields, l->mean);
	l->told.min_ms = ms_of(&fields, l->min);
	l->told.max_ms = ms_of(&fields, l->max);
	for (unsigned i = 0; i < UP_QUANTILES; i++)
		l->told.ms[i] = ms_of(&fields, l->percent[i]);
	if (l->history)
		l->told.ms[UP_P50] = ms_of(&fields, l->median);
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

static int end(struct up_reader *reader)
{
	const struct locust *l = reader->state;

	if (l->told.n > 0)
		up_told_give(reader, &l->told, l->history ? "Locust history" : "Locust statistics",
			"connecting (when the connection is new) to the last byte; percentiles rounded to 1, 10 or 100 ms; the last second may be missing",
			false);
	return 0;
}

const struct up_load_format up_load_locust_csv = {
	.id = "locust-csv",
	.traits = {
		.name = "Locust CSV",
		.includes = "connecting (when the connection is new) to the last byte",
		.stamp = UP_STAMP_NONE,
	},
	.state_bytes = sizeof(struct locust),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
