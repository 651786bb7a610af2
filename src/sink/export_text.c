/* The table as metrics: one family a column, labels for the row's identity. OpenMetrics: a counter's samples end in _total, its family does not;
 * the older format names the family as the samples are (openmetrics.io/spec, prometheus.io/docs/instrumenting/exposition_formats). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/export.h"
#include "useprobe/sink.h"

#define LABEL_BYTES 1024

struct writer {
	FILE *out;
	bool openmetrics;
};

static void family(const struct writer *w, const char *name, const char *type, const char *help)
{
	const char *suffix = strcmp(type, "counter") == 0 && !w->openmetrics ? "_total" : "";

	fprintf(w->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix, type);
}

/* Foreign bytes: first as on a terminal, which leaves valid UTF-8 without control characters, then the format's own escapes. */
static void label(const struct writer *w, const char *name, const char *value, bool first)
{
	char safe[LABEL_BYTES];

	if (!value || !*value)
		return;
	fprintf(w->out, "%s%s=\"", first ? "" : ",", name);
	up_terminal_text(value, true, safe, sizeof(safe));
	for (const char *p = safe; *p; p++) {
		if (*p == '\\' || *p == '"')
			fputc('\\', w->out);
		fputc(*p, w->out);
	}
	fputc('"', w->out);
}

static void sample(const struct writer *w, const char *metric, const struct up_row *row, const char *unit, double number)
{
	char text[UP_NUMBER_TEXT];

	fprintf(w->out, "%s{", metric);
	label(w, "resource", row->resource, true);
	label(w, "name", row->name, false);
	label(w, "scope", up_scope_name(row->scope), false);
	label(w, "target", row->target, false);
	label(w, "unit", unit, false);
	fprintf(w->out, "} %s\n", up_number_text(number, text));
}

/* Two rows of one identity would make the whole answer invalid; the first one stands. Events are no series. */
static bool is_first(const struct up_table *table, size_t index)
{
	if (table->series_of[index] == UP_SERIES_NONE)
		return false;
	for (size_t i = 0; i < index; i++)
		if (table->series_of[i] == table->series_of[index])
			return false;
	return true;
}

static const struct up_value *value_of(const struct up_row *row, int column)
{
	return column == 0 ? &row->utilization : column == 1 ? &row->saturation : &row->waiting;
}

static void write_columns(const struct writer *w, const struct up_table *table, const bool *shown)
{
	static const struct {
		const char *name, *help;
	} columns[] = {
		{ "useprobe_utilization_ratio", "Share of the resource in use, 1 = full." },
		{ "useprobe_saturation", "Saturation in the resource's own unit (label unit)." },
		{ "useprobe_waiting", "Mean number of tasks or requests in the resource's own queue." },
	};

	for (int c = 0; c < 3; c++) {
		family(w, columns[c].name, "gauge", columns[c].help);
		for (size_t i = 0; i < table->rows.count; i++) {
			const struct up_row *row = &table->rows.items[i];
			const struct up_value *value = value_of(row, c);

			if (shown[i] && up_value_ok(*value))
				sample(w, columns[c].name, row, c == 1 ? row->saturation_unit : NULL, value->number);
		}
	}
}

static void write_rest(const struct writer *w, const struct up_table *table, const bool *shown)
{
	family(w, "useprobe_errors", "counter", "Errors since the probe began to see this row.");
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_series *series = shown[i] ? up_table_series(table, i) : NULL;

		if (series && !isnan(series->errors_total))
			sample(w, "useprobe_errors_total", &table->rows.items[i], NULL, series->errors_total);
	}
	family(w, "useprobe_condition", "gauge", "1 idle, 2 ok, 3 busy, 4 saturated, 5 errors.");
	for (size_t i = 0; i < table->rows.count; i++)
		if (shown[i] && table->rows.items[i].condition != UP_COND_NONE)
			sample(w, "useprobe_condition", &table->rows.items[i], NULL, (double)table->rows.items[i].condition);
	family(w, "useprobe_row_ok", "gauge",
		"1: the row's source was read in the last tick; 0: it is absent, denied, stale or failed.");
	for (size_t i = 0; i < table->rows.count; i++)
		if (shown[i])
			sample(w, "useprobe_row_ok", &table->rows.items[i], NULL,
				table->rows.items[i].state == UP_OK || table->rows.items[i].state == UP_FIRST);
}

char *up_export_text(const struct up_table *table, bool openmetrics, size_t *ret_len)
{
	bool *shown = calloc(table->rows.count + 1, sizeof(*shown));
	char *text = NULL;
	struct writer w = { .out = shown ? open_memstream(&text, ret_len) : NULL, .openmetrics = openmetrics };

	if (!w.out) {
		free(shown);
		return NULL;
	}
	for (size_t i = 0; i < table->rows.count; i++)
		shown[i] = is_first(table, i);
	write_columns(&w, table, shown);
	write_rest(&w, table, shown);
	family(&w, "useprobe_tick_timestamp_seconds", "gauge", "End of the last tick, unix time.");
	fprintf(w.out, "useprobe_tick_timestamp_seconds %.3f\n", (double)table->tick.wall_ns / (double)UP_NS_PER_S);
	if (openmetrics)
		fputs("# EOF\n", w.out);
	free(shown);
	if (fclose(w.out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
