/* Scrapes of a histogram to figures: increases between scrapes, sums over series, percentiles with the bucket they lie in. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "prometheus.h"

static int by_le(const void *a, const void *b)
{
	const int64_t x = ((const struct up_prom_cell *)a)->le_ns, y = ((const struct up_prom_cell *)b)->le_ns;

	return (x > y) - (x < y);
}

__attribute__((format(printf, 3, 4))) static void bad_series(
	struct up_reader *reader, const struct up_prom_series *series, const char *format, ...)
{
	const uint64_t line = reader->line;
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reader->line = series->line;
	up_reader_bad(reader, "%s: %s", series->name, text);
	reader->line = line;
}

/* +Inf from the count where there is no such bucket; whether what the scrape holds of SERIES can be used. */
static int complete(struct up_reader *reader, struct up_prom_series *series, bool *ret_usable)
{
	struct up_prom_cell *inf = NULL;
	uint64_t below = 0;

	*ret_usable = false;
	for (unsigned i = 0; i < series->n; i++)
		if (series->cell[i].le_ns == UP_PROM_INF)
			inf = &series->cell[i];
	if (!inf || !inf->has_now) {
		if (!series->has_count_now) {
			bad_series(reader, series, "no bucket +Inf and no count");
			return 0;
		}
		if (!inf) {
			struct up_prom_cell *cell = realloc(series->cell, (series->n + 1) * sizeof(*cell));

			if (!cell)
				return -ENOMEM;
			series->cell = cell;
			inf = &cell[series->n++];
			*inf = (struct up_prom_cell){ .le_ns = UP_PROM_INF };
		}
		inf->now = series->count_now;
		inf->has_now = true;
		up_reader_remark(reader, "no bucket +Inf: the count was taken for it");
	}
	if (series->has_count_now && series->count_now != inf->now)
		up_reader_remark(reader, "bucket +Inf and count differ in some series: the bucket was taken");
	qsort(series->cell, series->n, sizeof(*series->cell), by_le);
	for (unsigned i = 0; i < series->n; i++) {
		if (!series->cell[i].has_now)
			continue;
		if (series->cell[i].now < below) {
			bad_series(reader, series, "counts fall from one bucket to the next");
			return 0;
		}
		below = series->cell[i].now;
	}
	*ret_usable = true;
	return 0;
}

/* What was added since the scrape before; all of it after a restart and for a series that is new. */
static void add_increase(struct up_prom *prom, struct up_prom_series *series)
{
	bool reset = false;

	for (unsigned i = 0; i < series->n; i++) {
		const struct up_prom_cell *cell = &series->cell[i];

		reset = reset || (series->seen && cell->has_before && (!cell->has_now || cell->now < cell->before));
	}
	prom->resets += reset;
	for (unsigned i = 0; i < series->n; i++) {
		struct up_prom_cell *cell = &series->cell[i];
		const bool since = series->seen && cell->has_before && !reset;

		if (cell->has_now && prom->scrapes > 0)
			cell->total += cell->now - (since ? cell->before : 0);
		cell->before = cell->now;
		cell->has_before = cell->has_now;
	}
	if (!series->has_sum_now)
		series->sum_missing = true;
	else if (prom->scrapes > 0)
		series->sum_total_ns += (double)series->sum_now_ns -
					(series->seen && series->has_sum_before && !reset ? (double)series->sum_before_ns : 0);
	series->sum_before_ns = series->sum_now_ns;
	series->has_sum_before = series->has_sum_now;
	series->seen = true;
}

int up_prom_end_scrape(struct up_reader *reader)
{
	struct up_prom *prom = reader->state;

	for (unsigned i = 1; i < prom->n; i++) {
		struct up_prom_series *series = &prom->series[i];
		bool has = series->has_count_now || series->has_sum_now, usable;
		int r;

		for (unsigned k = 0; k < series->n; k++)
			has = has || series->cell[k].has_now;
		if (!has || series->n == 0)
			continue; /* gone from this scrape, or a summary: no buckets */
		r = complete(reader, series, &usable);
		if (r < 0)
			return r;
		if (usable)
			add_increase(prom, series);
		for (unsigned k = 0; k < series->n; k++)
			series->cell[k].has_now = false;
		series->has_sum_now = series->has_count_now = false;
	}
	prom->in_scrape = false;
	prom->scrapes++;
	return 0;
}

static uint64_t total_of(const struct up_prom_series *series)
{
	return series->seen && series->n ? series->cell[series->n - 1].total : 0;
}

/* Names under which web frameworks measure their requests, asked in this order. */
static const char *const known[] = { "http_server_request_duration_seconds", "http.server.request.duration",
	"http_request_duration_seconds", "http_server_requests_seconds", "http_server_duration_milliseconds",
	"http_request_duration_milliseconds" };

/* The one histogram that counted requests; among several one of the known names. NULL with the error set. */
static const char *choose(struct up_reader *reader)
{
	const struct up_prom *prom = reader->state;
	char *error = reader->load->error;
	const size_t size = sizeof(reader->load->error);
	const char *first = NULL, *second = NULL;

	for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
		for (unsigned i = 1; i < prom->n; i++)
			if (total_of(&prom->series[i]) > 0 && strcmp(prom->series[i].name, known[k]) == 0)
				return prom->series[i].name;
	for (unsigned i = 1; i < prom->n; i++) {
		if (total_of(&prom->series[i]) == 0 || (first && strcmp(first, prom->series[i].name) == 0))
			continue;
		if (!first)
			first = prom->series[i].name;
		else if (!second)
			second = prom->series[i].name;
	}
	if (first && !second)
		return first;
	if (first)
		snprintf(error, size,
			"%s: several histograms of times, among them %.80s and %.80s: choose one with --columns histogram=NAME",
			reader->file->path, first, second);
	else
		snprintf(error, size,
			"%s: no histogram of times that counted anything%s; --columns histogram=NAME:seconds names one whose name has no unit",
			reader->file->path, prom->scrapes > 1 ? " between the scrapes" : "");
	return NULL;
}

struct sum {
	unsigned n; /* bounds that all series have */
	int64_t le_ns[UP_PROM_CELLS_MAX];
	uint64_t count[UP_PROM_CELLS_MAX], failed;
	double sum_ns;
	unsigned series;
	bool failed_known, sum_known, dropped_bounds;
};

static const struct up_prom_cell *find_le(const struct up_prom_series *series, int64_t le_ns)
{
	for (unsigned i = 0; i < series->n; i++)
		if (series->cell[i].le_ns == le_ns)
			return &series->cell[i];
	return NULL;
}

/* Counts at a bound add up exactly when every series has that bound; other bounds are left out, which only makes the buckets wider. */
static void add_series(struct sum *sum, const struct up_prom_series *series)
{
	unsigned kept = 0;

	if (sum->series == 0)
		for (; sum->n < series->n && sum->n < UP_PROM_CELLS_MAX; sum->n++)
			sum->le_ns[sum->n] = series->cell[sum->n].le_ns;
	sum->dropped_bounds = sum->dropped_bounds || series->n != sum->n;
	for (unsigned i = 0; i < sum->n; i++) {
		const struct up_prom_cell *cell = find_le(series, sum->le_ns[i]);

		if (!cell) {
			sum->dropped_bounds = true;
			continue;
		}
		sum->le_ns[kept] = sum->le_ns[i];
		sum->count[kept++] = (sum->series ? sum->count[i] : 0) + cell->total;
	}
	sum->n = kept;
	sum->series++;
	sum->failed += series->failed ? total_of(series) : 0;
	sum->failed_known = sum->failed_known && series->failed_known;
	sum->sum_known = sum->sum_known && !series->sum_missing;
	sum->sum_ns += series->sum_total_ns;
}

/* The bucket of the nearest rank, and in it the place a straight line gives. */
static void quantile(const struct sum *sum, unsigned q, struct up_told *told)
{
	const uint64_t rank = up_rank(up_quantile_names[q].percent, told->n);
	unsigned i = 0;
	uint64_t below;

	while (i + 1 < sum->n && sum->count[i] < rank)
		i++;
	below = i ? sum->count[i - 1] : 0;
	told->lo_ms[q] = i ? (double)sum->le_ns[i - 1] / 1e6 : 0;
	if (sum->le_ns[i] == UP_PROM_INF) {
		told->hi_ms[q] = INFINITY;
		return;
	}
	told->hi_ms[q] = (double)sum->le_ns[i] / 1e6;
	told->ms[q] =
		told->lo_ms[q] + (told->hi_ms[q] - told->lo_ms[q]) * (double)(rank - below) / (double)(sum->count[i] - below);
}

int up_prom_sum(struct up_reader *reader)
{
	struct up_prom *prom = reader->state;
	struct sum sum = { .failed_known = true, .sum_known = true };
	struct up_told told = up_told_none();
	const char *name;
	int r = prom->in_scrape ? up_prom_end_scrape(reader) : 0;

	if (r < 0)
		return r;
	/* One scrape: everything since the process started. */
	for (unsigned i = 1; i < prom->n && prom->scrapes == 1; i++) {
		for (unsigned k = 0; k < prom->series[i].n; k++)
			prom->series[i].cell[k].total = prom->series[i].cell[k].before;
		prom->series[i].sum_total_ns = (double)prom->series[i].sum_before_ns;
	}
	name = choose(reader);
	if (!name)
		return -EBADMSG;
	for (unsigned i = 1; i < prom->n; i++)
		if (total_of(&prom->series[i]) > 0 && strcmp(prom->series[i].name, name) == 0)
			add_series(&sum, &prom->series[i]);
	told.n = sum.count[sum.n - 1];
	told.bucketed = true;
	told.failed_known = sum.failed_known;
	told.failed = sum.failed_known ? sum.failed : 0;
	if (sum.sum_known)
		told.mean_ms = sum.sum_ns / (double)told.n / 1e6;
	for (unsigned q = 0; q < UP_QUANTILES; q++)
		quantile(&sum, q, &told);
	up_told_give(reader, &told, reader->format->traits.name, reader->format->traits.includes, false);
	up_reader_remark(reader, "%.60s, %u series, %u buckets: %s", name, sum.series, sum.n,
		prom->scrapes == 1 ? "one scrape, so everything since the process started"
				   : "what was added between the first scrape and the last");
	if (prom->resets)
		up_reader_remark(reader,
			"counters started anew in %u series: what came between a scrape and the restart is not in it",
			prom->resets);
	if (sum.dropped_bounds)
		up_reader_remark(reader, "series have different buckets: only the bounds that all have were used");
	return 0;
}
