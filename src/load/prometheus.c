/* A scrape of a Prometheus endpoint with a histogram of latencies, or several scrapes one after the other (text format 0.0.4 and OpenMetrics 1.0):
 *     # TYPE http_request_duration_seconds histogram
 *     http_request_duration_seconds_bucket{code="200",le="0.1"} 2840 [time]
 *     http_request_duration_seconds_bucket{code="200",le="+Inf"} 2951
 *     http_request_duration_seconds_sum{code="200"} 160.5
 *     http_request_duration_seconds_count{code="200"} 2951
 * A new scrape begins behind "# EOF", where the first "# TYPE" comes again, and where time moves on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "prometheus.h"

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	const char *at = memmem(head.at, head.n, "_bucket", 7);
	const size_t left = at ? (size_t)(head.at + head.n - at) : 0;

	(void)options;
	/* The histogram may stand far behind the first lines. */
	return up_text_starts(head, "# HELP ") || up_text_starts(head, "# TYPE ") ||
	       (at && (memmem(at, left, "le=\"", 4) || memmem(at, left, "le = \"", 6)));
}

static const struct {
	const char *end;
	int ns_scale;
} units[] = { { "_seconds", 9 }, { "_milliseconds", 6 }, { "_ms", 6 }, { "_microseconds", 3 }, { "_us", 3 },
	{ "_nanoseconds", 0 }, { "_ns", 0 }, { ".duration", 9 } };

/* What le and sum of the histogram NAME times 10^*RET are ns; false when it measures no time. */
static bool scale_of(const struct up_reader *reader, struct up_text name, int *ret)
{
	const char *told = reader->options ? reader->options->columns : NULL;

	/* --columns histogram=NAME[:UNIT] */
	if (told && strncmp(told, "histogram=", 10) == 0) {
		const size_t n = strcspn(told + 10, ":");

		if (n != name.n || memcmp(told + 10, name.at, n) != 0)
			return false;
		*ret = 9;
		for (size_t i = 0; told[10 + n] && i < sizeof(units) / sizeof(*units); i++)
			if (strcmp(units[i].end + 1, told + 10 + n + 1) == 0)
				*ret = units[i].ns_scale;
		if (told[10 + n])
			return true;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		const size_t n = strlen(units[i].end);

		if (name.n > n && memcmp(name.at + name.n - n, units[i].end, n) == 0) {
			*ret = units[i].ns_scale;
			return true;
		}
	}
	return told && strncmp(told, "histogram=", 10) == 0;
}

static int by_label(const void *a, const void *b)
{
	const struct up_text *x = &((const struct up_prom_label *)a)->name, *y = &((const struct up_prom_label *)b)->name;
	const int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* A status that says whether the request failed: "503", "5xx". */
static void take_status(struct up_prom_series *series, const struct up_prom_label *label)
{
	static const char *const names[] = { "code", "status", "status_code", "http_status_code", "http_response_status_code",
		"http.response.status_code", "http.status_code" };
	const struct up_text value = label->value;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!up_text_is(label->name, names[i]) || value.n != 3 || value.at[0] < '1' || value.at[0] > '5')
			continue;
		series->failed_known = true;
		series->failed = value.at[0] >= '4';
	}
}

static int series_of(
	struct up_reader *reader, struct up_text name, int ns_scale, struct up_prom_sample *sample, struct up_prom_series **ret)
{
	struct up_prom *prom = reader->state;
	char key[4096];
	size_t n = (size_t)snprintf(key, sizeof(key), "%.*s", (int)name.n, name.at);
	int index;

	qsort(sample->label, sample->n_labels, sizeof(*sample->label), by_label);
	for (unsigned i = 0; i < sample->n_labels && n < sizeof(key); i++)
		if (!up_text_is(sample->label[i].name, "le"))
			n += (size_t)snprintf(key + n, sizeof(key) - n, "\n%.*s=%.*s", (int)sample->label[i].name.n,
				sample->label[i].name.at, (int)sample->label[i].value.n, sample->label[i].value.at);
	if (n >= sizeof(key)) {
		up_reader_bad(reader, "labels above 4 KiB");
		return 0;
	}
	index = up_names_get(&prom->keys, key, n);
	if (index < 0)
		return index;
	if ((unsigned)index >= UP_PROM_SERIES_MAX) {
		snprintf(reader->load->error, sizeof(reader->load->error), "%s: more than %d series", reader->file->path,
			UP_PROM_SERIES_MAX);
		return -E2BIG;
	}
	if ((unsigned)index >= prom->n) {
		struct up_prom_series *series = realloc(prom->series, ((size_t)index + 1) * sizeof(*series));

		if (!series)
			return -ENOMEM;
		prom->series = series;
		memset(series + prom->n, 0, ((size_t)index + 1 - prom->n) * sizeof(*series));
		prom->n = (unsigned)index + 1;
		series[index].ns_scale = ns_scale;
		series[index].name = strndup(name.at, name.n);
		if (!series[index].name)
			return -ENOMEM;
		for (unsigned i = 0; i < sample->n_labels; i++)
			take_status(&series[index], &sample->label[i]);
	}
	*ret = &prom->series[index];
	return 0;
}

/* A counter of events: a whole number, perhaps written as 12.0 or 1.2e+01. */
static bool take_count(struct up_text text, uint64_t *ret)
{
	int64_t thousandths;

	if (up_text_decimal(text, 3, &thousandths) < 0 || thousandths < 0 || thousandths % 1000 != 0)
		return false;
	*ret = (uint64_t)thousandths / 1000;
	return true;
}

/* The bound of a bucket; -1 without le, -2 when it is none. */
static int64_t le_of(const struct up_prom_series *series, const struct up_prom_sample *sample)
{
	int64_t le_ns = -1;

	for (unsigned k = 0; k < sample->n_labels; k++) {
		const struct up_text le = sample->label[k].value;

		if (!up_text_is(sample->label[k].name, "le"))
			continue;
		if (up_text_is(le, "+Inf") || up_text_is(le, "Inf"))
			le_ns = UP_PROM_INF;
		else if (up_text_decimal(le, series->ns_scale, &le_ns) < 0 || le_ns < 0 || le_ns == UP_PROM_INF)
			le_ns = -2;
	}
	return le_ns;
}

static bool has_part(const struct up_prom_series *series, enum up_prom_part part, int64_t le_ns)
{
	if (part != UP_PROM_BUCKET)
		return part == UP_PROM_SUM ? series->has_sum_now : series->has_count_now;
	for (unsigned i = 0; i < series->n; i++)
		if (series->cell[i].le_ns == le_ns)
			return series->cell[i].has_now;
	return false;
}

static int take_bucket(
	struct up_reader *reader, struct up_prom_series *series, const struct up_prom_sample *sample, int64_t le_ns)
{
	uint64_t count;
	unsigned i = 0;

	if (le_ns < 0 || !take_count(sample->value, &count)) {
		up_reader_bad(reader,
			le_ns == -1 ? "a bucket without le: %s"
			: le_ns < 0 ? "le is no bound of a time: %s"
				    : "expected a count, got %s",
			le_ns < 0 ? up_text_show(sample->name).text : up_text_show(sample->value).text);
		return 0;
	}
	while (i < series->n && series->cell[i].le_ns != le_ns)
		i++;
	if (i == series->n) {
		struct up_prom_cell *cell = realloc(series->cell, (series->n + 1) * sizeof(*cell));

		if (!cell || series->n == UP_PROM_CELLS_MAX) {
			series->cell = cell ? cell : series->cell;
			return cell ? -E2BIG : -ENOMEM;
		}
		series->cell = cell;
		series->cell[series->n++] = (struct up_prom_cell){ .le_ns = le_ns };
	}
	if (series->cell[i].has_now) {
		up_reader_bad(reader, "the same bucket twice in a scrape: the first one counts");
		return 0;
	}
	series->cell[i].now = count;
	series->cell[i].has_now = true;
	return 0;
}

static void take_sum(struct up_reader *reader, struct up_prom_series *series, const struct up_prom_sample *sample)
{
	if (series->has_sum_now)
		up_reader_bad(reader, "the same sum twice in a scrape: the first one counts");
	else if (up_text_decimal(sample->value, series->ns_scale, &series->sum_now_ns) < 0 || series->sum_now_ns < 0)
		up_reader_bad(reader, "expected a sum, got %s", up_text_show(sample->value).text);
	else
		series->has_sum_now = true;
}

static void take_total(struct up_reader *reader, struct up_prom_series *series, const struct up_prom_sample *sample)
{
	if (series->has_count_now)
		up_reader_bad(reader, "the same count twice in a scrape: the first one counts");
	else if (!take_count(sample->value, &series->count_now))
		up_reader_bad(reader, "expected a count, got %s", up_text_show(sample->value).text);
	else
		series->has_count_now = true;
}

/* In us, 0 without one. Seconds with a fraction in OpenMetrics, whole ms before it. */
static bool take_time(struct up_text time, int64_t *ret_us)
{
	bool whole;

	*ret_us = 0;
	return time.n == 0 || up_text_time(time, ret_us, &whole) == 0;
}

/* A series that comes again with a later time begins the next scrape. 0 or a fatal error. */
static int check_time(
	struct up_reader *reader, struct up_prom_series *series, enum up_prom_part part, int64_t le_ns, int64_t time_us)
{
	struct up_prom *prom = reader->state;

	if (time_us && time_us < prom->scrape_us) {
		snprintf(reader->load->error, sizeof(reader->load->error),
			"%s:%llu: an older sample behind a newer one: expected one scrape after the other, not series by series",
			reader->file->path, (unsigned long long)reader->line);
		return -EBADMSG;
	}
	if (time_us > series->time_us && series->time_us && has_part(series, part, le_ns)) {
		prom->scrape_us = time_us;
		return up_prom_end_scrape(reader);
	}
	return 0;
}

static int take_part(
	struct up_reader *reader, enum up_prom_part part, struct up_text name, int ns_scale, struct up_prom_sample *sample)
{
	struct up_prom *prom = reader->state;
	struct up_prom_series *series = NULL;
	int64_t time_us, le_ns = 0;
	int r;

	if (!take_time(sample->time, &time_us)) {
		up_reader_bad(reader, "no time: %s", up_text_show(sample->time).text);
		return 0;
	}
	r = series_of(reader, name, ns_scale, sample, &series);
	if (r < 0 || !series)
		return r;
	if (part == UP_PROM_BUCKET)
		le_ns = le_of(series, sample);
	r = check_time(reader, series, part, le_ns, time_us);
	if (r < 0)
		return r;
	prom->in_scrape = true;
	series->line = reader->line;
	series->time_us = time_us;
	if (part == UP_PROM_BUCKET)
		return take_bucket(reader, series, sample, le_ns);
	if (part == UP_PROM_SUM)
		take_sum(reader, series, sample);
	else
		take_total(reader, series, sample);
	return 0;
}

static int take_line(struct up_reader *reader, struct up_text line)
{
	static const char *const ends[] = { [UP_PROM_BUCKET] = "_bucket", [UP_PROM_SUM] = "_sum", [UP_PROM_COUNT] = "_count" };
	struct up_prom_sample sample;
	const char *wrong = up_prom_sample_parse(line, &sample);
	int ns_scale;

	if (wrong) {
		up_reader_bad(reader, "%s: %s", wrong, up_text_show(line).text);
		return 0;
	}
	for (unsigned part = 0; part < sizeof(ends) / sizeof(*ends); part++) {
		const size_t n = strlen(ends[part]);
		const struct up_text name = { sample.name.at, sample.name.n - n };

		if (sample.name.n > n && memcmp(name.at + name.n, ends[part], n) == 0 && scale_of(reader, name, &ns_scale))
			return take_part(reader, part, name, ns_scale, &sample);
	}
	return 0;
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct up_prom *prom = reader->state;
	struct up_text line = up_text_trim(record->text);
	int r = 0;

	if (prom->keys.n == 0)
		r = up_names_init(&prom->keys);
	if (r < 0 || line.n == 0)
		return r;
	if (!record->whole) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(line).text);
		return 0;
	}
	if (*line.at != '#')
		return take_line(reader, line);
	if (up_text_is(line, "# EOF"))
		return prom->in_scrape ? up_prom_end_scrape(reader) : 0;
	if (!up_text_starts(line, "# TYPE ") || line.n >= sizeof(prom->typed))
		return 0;
	if (!prom->typed[0])
		snprintf(prom->typed, sizeof(prom->typed), "%.*s", (int)line.n, line.at);
	else if (up_text_is(line, prom->typed) && prom->in_scrape)
		return up_prom_end_scrape(reader);
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

static void done(void *state)
{
	struct up_prom *prom = state;

	for (unsigned i = 0; i < prom->n; i++) {
		free(prom->series[i].name);
		free(prom->series[i].cell);
	}
	free(prom->series);
	up_names_done(&prom->keys);
}

const struct up_load_format up_load_prometheus = {
	.id = "prometheus",
	.traits = {
		.name = "Prometheus histogram",
		.includes = "what the server measures: from its own start of a request to its end; not waiting in sockets or on the way",
		.missing = "single requests and their times",
		.stamp = UP_STAMP_NONE,
	},
	.state_bytes = sizeof(struct up_prom),
	.recognise = recognise,
	.feed = feed,
	.end = up_prom_sum,
	.done = done,
};
