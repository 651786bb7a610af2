/* The samples as other CSVs: one column a figure (--wide), or the same rows again with cells no spreadsheet takes for a formula. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "report_page.h"
#include "useprobe/clock.h"
#include "useprobe/csv_reader.h"
#include "useprobe/sink.h"

enum figure { UTILIZATION, SATURATION, WAITING, ERRORS, FIGURES };

struct column {
	size_t track;
	enum figure figure;
};

struct wide {
	const struct up_recording *recording;
	struct column *column; /* owned, in the order of the tracks */
	size_t n;
	size_t *next; /* owned, [n_tracks]: first sample of a track that is not behind the current tick */
	const struct up_load *load; /* NULL when it has no place on the samples' time */
	int64_t shift_us;
	bool safe;
};

/* Excel, LibreOffice and Google Sheets take these for the beginning of a formula. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text);
}

/* TEXT as a cell: quoted where RFC 4180 wants it, with SAFE an apostrophe in front of what would be a formula. */
static void put_text(struct up_buffer *out, const char *text, bool safe)
{
	const bool formula = safe && is_formula(text);

	if (!text[strcspn(text, ",\"\r\n")]) {
		up_buffer_print(out, "%s%s", formula ? "'" : "", text);
		return;
	}
	up_buffer_add(out, formula ? "\"'" : "\"");
	for (; *text; text++)
		up_buffer_add_n(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	up_buffer_add(out, "\"");
}

/* The samples are kept as floats: seven digits are all there is. */
static void put_number(struct up_buffer *out, double value)
{
	char text[UP_NUMBER_TEXT];

	up_buffer_add(out, ",");
	if (!isfinite(value))
		return;
	if (value != 0) {
		const double scale = pow(10, 6 - floor(log10(fabs(value))));

		value = isfinite(scale) && scale > 0 ? round(value * scale) / scale : value;
	}
	up_buffer_add(out, up_number_text(value, text));
}

static double figure_of(const struct up_sample *sample, enum figure figure)
{
	return (double)(figure == UTILIZATION  ? sample->utilization
			: figure == SATURATION ? sample->saturation
			: figure == WAITING    ? sample->waiting
					       : sample->errors);
}

static int choose_columns(struct wide *wide)
{
	const struct up_recording *r = wide->recording;

	wide->column = calloc(r->n_tracks * FIGURES + 1, sizeof(*wide->column));
	wide->next = calloc(r->n_tracks + 1, sizeof(*wide->next));
	if (!wide->column || !wide->next)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_tracks; i++)
		for (int figure = 0; figure < FIGURES; figure++) {
			bool known = false;

			for (size_t k = 0; k < r->track[i].n && !known; k++)
				known = isfinite(figure_of(&r->track[i].at[k], (enum figure)figure));
			if (known)
				wide->column[wide->n++] = (struct column){ i, (enum figure)figure };
		}
	return 0;
}

/* Does another track have the same resource and name? Then only the target tells them apart. */
static bool has_twin(const struct up_recording *r, size_t track)
{
	for (size_t i = 0; i < r->n_tracks; i++)
		if (i != track && r->track[i].resource == r->track[track].resource &&
			strcmp(r->track[i].name, r->track[track].name) == 0)
			return true;
	return false;
}

/* "cpu /api utilization", "run-queue /api saturation [ms]" */
static void put_header(struct up_buffer *out, const struct wide *wide)
{
	static const char *const names[FIGURES] = { "utilization", "saturation", "waiting", "errors" };
	const struct up_recording *r = wide->recording;

	up_buffer_add(out, "time,elapsed_s");
	if (wide->load)
		up_buffer_add(out, ",load offered_per_s,load completed_per_s,load in_flight");
	for (size_t i = 0; i < wide->n; i++) {
		const struct up_track *track = &r->track[wide->column[i].track];
		const enum figure figure = wide->column[i].figure;
		const char *unit = r->text[track->unit];
		struct up_buffer name = { 0 };

		up_buffer_print(&name, "%s %s", up_resource_name(track->resource), track->name);
		if (has_twin(r, wide->column[i].track))
			up_buffer_print(&name, " of %s", track->target ? track->target : "host");
		up_buffer_print(&name, " %s", names[figure]);
		if (figure == SATURATION && *unit)
			up_buffer_print(&name, " [%s]", unit);
		up_buffer_add(out, ",");
		if (name.text)
			put_text(out, name.text, wide->safe);
		out->failed = out->failed || name.failed;
		up_buffer_done(&name);
	}
	up_buffer_add(out, ",events\n");
}

/* Means of the load's seconds over the window that ends with TICK. */
static void put_load(struct up_buffer *out, const struct wide *wide, size_t tick)
{
	const struct up_recording *r = wide->recording;
	const int64_t end_us = r->tick[tick].wall_us - wide->shift_us;
	const int64_t begin_us = tick ? r->tick[tick - 1].wall_us - wide->shift_us : end_us - 1000000;
	double offered = 0, done = 0, busy = 0, covered = 0;

	for (int64_t s = begin_us / 1000000; s * 1000000 < end_us; s++) {
		const struct up_second *second = up_seconds_find(&wide->load->seconds, s);
		const double from = fmax((double)begin_us, (double)s * 1e6), to = fmin((double)end_us, (double)(s + 1) * 1e6);

		if (!second || to <= from)
			continue;
		covered += to - from;
		offered += (to - from) * (double)(second->starts + second->dropped);
		done += (to - from) * (double)second->ends;
		busy += (to - from) * second->busy_s;
	}
	put_number(out, covered > 0 ? offered / covered : NAN);
	put_number(out, covered > 0 ? done / covered : NAN);
	put_number(out, covered > 0 ? busy / covered : NAN);
}

static void put_events(struct up_buffer *out, const struct wide *wide, size_t tick)
{
	const struct up_recording *r = wide->recording;
	const int64_t end_us = r->tick[tick].wall_us, begin_us = tick ? r->tick[tick - 1].wall_us : INT64_MIN;
	struct up_buffer text = { 0 };

	for (size_t i = 0; i < r->n_events; i++) {
		const struct up_recorded_event *event = &r->event[i];

		if (event->wall_us <= begin_us || (event->wall_us > end_us && tick + 1 < r->n_ticks))
			continue;
		up_buffer_print(&text, "%s%s%s%s%s%s", text.n ? "; " : "", event->kind, *event->name ? " " : "", event->name,
			*event->text ? ": " : "", event->text);
	}
	up_buffer_add(out, ",");
	if (text.text)
		put_text(out, text.text, wide->safe);
	out->failed = out->failed || text.failed;
	up_buffer_done(&text);
}

static void put_tick(struct up_buffer *out, struct wide *wide, size_t tick)
{
	const struct up_recording *r = wide->recording;
	char time[UP_TIME_TEXT];

	for (size_t i = 0; i < r->n_tracks; i++)
		while (wide->next[i] < r->track[i].n && r->track[i].at[wide->next[i]].tick < tick)
			wide->next[i]++;
	up_time_format((uint64_t)r->tick[tick].wall_us * 1000, time);
	up_buffer_add(out, time);
	put_number(out, r->tick[tick].elapsed_s);
	if (wide->load)
		put_load(out, wide, tick);
	for (size_t i = 0; i < wide->n; i++) {
		const struct up_track *track = &r->track[wide->column[i].track];
		const size_t at = wide->next[wide->column[i].track];

		put_number(out,
			at < track->n && track->at[at].tick == tick ? figure_of(&track->at[at], wide->column[i].figure) : NAN);
	}
	put_events(out, wide, tick);
	up_buffer_add(out, "\n");
}

static int write_wide(const struct up_report *report, bool safe, struct up_buffer *ret)
{
	const struct up_shift *shift = &report->answer->shift;
	struct wide wide = { .recording = &report->answer->recording,
		.load = report->has_load && !report->curve.undated ? &report->load : NULL,
		.shift_us = shift->known ? (int64_t)llround(shift->shift_s * 1e6) : 0,
		.safe = safe };
	int r = choose_columns(&wide);

	if (r == 0) {
		put_header(ret, &wide);
		for (size_t i = 0; i < wide.recording->n_ticks; i++)
			put_tick(ret, &wide, i);
		r = ret->failed ? -ENOMEM : 0;
	}
	free(wide.column);
	free(wide.next);
	return r;
}

/* TEXT with an apostrophe in front when it would be a formula; ROOM owns the copy. */
static const char *made_safe(const char *text, char **room)
{
	*room = NULL;
	if (!text || !is_formula(text) || asprintf(room, "'%s", text) < 0)
		return text;
	return *room;
}

enum { LINE_MAX_BYTES = 64 << 10 };

static int put_row(struct up_buffer *out, const struct up_tick *tick, const struct up_row *row, bool safe, char *line)
{
	struct up_row copy = *row;
	char *room[6] = { NULL };
	long n;

	if (safe) {
		copy.resource = made_safe(row->resource, &room[0]);
		copy.name = made_safe(row->name, &room[1]);
		copy.target = made_safe(row->target, &room[2]);
		copy.saturation_unit = made_safe(row->saturation_unit, &room[3]);
		copy.method = made_safe(row->method, &room[4]);
		copy.detail = made_safe(row->detail, &room[5]);
	}
	n = up_csv_format(tick, &copy, line, LINE_MAX_BYTES);
	if (n >= 0)
		up_buffer_add_n(out, line, (size_t)n);
	for (size_t i = 0; i < UP_COUNT(room); i++)
		free(room[i]);
	return n < 0 ? (int)n : 0;
}

static int write_long(const char *samples, bool safe, struct up_buffer *ret)
{
	struct up_csv_reader *reader = NULL;
	struct up_rows rows = { 0 };
	struct up_tick tick;
	char message[512], *line = malloc(LINE_MAX_BYTES);
	int r = line ? up_rows_init(&rows) : -ENOMEM;

	if (r == 0)
		r = up_csv_reader_open(samples, &reader, message, sizeof(message));
	up_buffer_add(ret, up_csv_header);
	while (r == 0 && (r = up_csv_reader_tick(reader, &rows, &tick)) > 0) {
		r = 0;
		for (size_t i = 0; i < rows.count && r == 0; i++)
			r = put_row(ret, &tick, &rows.items[i], safe, line);
	}
	if (reader)
		up_csv_reader_close(reader);
	up_rows_done(&rows);
	free(line);
	return r < 0 ? r : ret->failed ? -ENOMEM : 0;
}

int up_report_rows_csv(const struct up_report *report, const struct up_report_args *args, struct up_buffer *ret)
{
	if (args->kind == UP_OUTPUT_LONG)
		return write_long(args->samples, args->formula_safe, ret);
	return write_wide(report, args->formula_safe, ret);
}
