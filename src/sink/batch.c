/* Batch view: one block a tick.
 *   2026-11-30T19:50:00.123Z  +12.0 s  api
 *   RESOURCE      NAME              UTIL SATURATION     WAIT    MAX   ERR CONDITION
 *   cpu           /api              0.97 0.45           1.52      3     0 saturated */
#include <errno.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/live.h"
#include "useprobe/sink.h"

#define COLUMNS_DEFAULT 120
#define CELL 512

/* Widths for a terminal of some columns. The name takes what the others leave. */
struct widths {
	size_t resource, name, saturation;
	bool highest; /* column MAX */
};

static struct widths widths_for(unsigned columns)
{
	const bool narrow = columns && columns < 76;
	struct widths widths = { .resource = narrow                     ? 10
					     : columns && columns < 100 ? 13
									: 15,
		.saturation = narrow                     ? 10
			      : columns && columns < 100 ? 14
							 : 18,
		.highest = !narrow };
	/* Three numbers of 6, 6 and 5, the condition of 9, blanks between them. */
	const size_t others = widths.resource + widths.saturation + (widths.highest ? 7 : 0) + 6 + 6 + 5 + 9 + 6;
	const size_t total = columns ? columns : COLUMNS_DEFAULT;

	widths.name = total > others + 8 ? total - others : 8;
	return widths;
}

/* TEXT, made safe, in exactly COLUMNS columns: cut or padded behind it. */
static void put_cell(const struct up_batch *batch, const char *text, size_t columns, enum up_cut cut)
{
	char safe[CELL * 4], fit[CELL * 4];
	size_t width;

	up_terminal_text(text ? text : "", batch->utf8, safe, sizeof(safe));
	up_terminal_fit(safe, columns, cut, batch->utf8, fit, sizeof(fit));
	width = up_terminal_width(fit);
	fprintf(batch->out, "%s%*s", fit, (int)(columns - width), "");
}

/* Saturation in its own unit; a ratio needs no word, things that are counted need no decimals. */
static void put_saturation(const struct up_batch *batch, const struct up_row *row, size_t columns)
{
	const bool unit = up_value_ok(row->saturation) && row->saturation_unit && strcmp(row->saturation_unit, "ratio") != 0;
	char number[UP_NUMBER_TEXT], text[128];
	const bool count = unit && strcmp(row->saturation_unit, "ms") != 0 && strcmp(row->saturation_unit, "s") != 0;

	snprintf(text, sizeof(text), "%s%s%s", up_value_short(row->saturation, count, number), unit ? " " : "",
		unit ? row->saturation_unit : "");
	put_cell(batch, text, columns, UP_CUT_END);
}

static uint64_t hash_of(const struct up_row *row, const char *text)
{
	const char *const parts[] = { row->target, row->resource, row->name, text };
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < UP_COUNT(parts); i++) {
		for (const char *p = parts[i] ? parts[i] : ""; *p; p++)
			hash = (hash ^ (unsigned char)*p) * 1099511628211ull;
		hash = (hash ^ 0x1f) * 1099511628211ull;
	}
	return hash;
}

/* The limiting ancestor, told when it is new: it has a row of its own in every tick. */
static void put_limit(struct up_batch *batch, const struct up_row *row)
{
	char limit[CELL], safe[CELL * 4];
	uint64_t hash;

	if (!up_detail_get(row->detail, "limited_by", limit, sizeof(limit)) || strcmp(limit, row->name ? row->name : "") == 0)
		return;
	hash = hash_of(row, limit);
	for (size_t i = 0; i < batch->told_count; i++)
		if (batch->told[i] == hash)
			return;
	if (batch->told_count < UP_COUNT(batch->told))
		batch->told[batch->told_count++] = hash;
	fprintf(batch->out, "  limited by %s\n", up_terminal_text(limit, batch->utf8, safe, sizeof(safe)));
}

/* A source without figures says why in their place. */
static bool put_reason(const struct up_batch *batch, const struct up_row *row, size_t columns)
{
	char text[CELL], safe[CELL * 4], fit[CELL * 4 + 8];

	if (row->state != UP_ABSENT && row->state != UP_DENIED && row->state != UP_FAILED)
		return false;
	snprintf(
		text, sizeof(text), "%s%s%s", up_state_name(row->state), row->reason ? ": " : "", row->reason ? row->reason : "");
	up_terminal_text(text, batch->utf8, safe, sizeof(safe));
	fprintf(batch->out, " %s\n", up_terminal_fit(safe, columns, UP_CUT_END, batch->utf8, fit, sizeof(fit)));
	return true;
}

static const char *condition_word(const struct up_row *row)
{
	if (row->state != UP_OK)
		return row->state == UP_FIRST ? "init" : up_state_name(row->state);
	return row->condition == UP_COND_NONE ? "-" : up_condition_name(row->condition);
}

static void put_row(struct up_batch *batch, const struct up_row *row, const struct up_labels *labels, const struct widths *widths)
{
	char number[UP_NUMBER_TEXT];

	put_cell(batch, row->resource, widths->resource, UP_CUT_END);
	fputc(' ', batch->out);
	put_cell(batch, up_labels_of(labels, row), widths->name, UP_CUT_BEGINNING);
	if (put_reason(batch, row, 24 + widths->saturation + (widths->highest ? 7 : 0)))
		return;
	fprintf(batch->out, " %6s ", up_value_short(row->utilization, false, number));
	put_saturation(batch, row, widths->saturation);
	fprintf(batch->out, " %6s", up_value_short(row->waiting, false, number));
	if (widths->highest)
		fprintf(batch->out, " %6s", up_value_short(row->waiting_max, true, number));
	fprintf(batch->out, " %5s %s\n", up_value_short(row->errors, true, number), condition_word(row));
	put_limit(batch, row);
}

static void put_event(const struct up_batch *batch, const struct up_row *row)
{
	char text[CELL], safe[CELL * 4];

	if (!row->detail || !up_detail_get(row->detail, "text", text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", row->detail ? row->detail : "");
	fprintf(batch->out, "! %s", row->resource);
	if (row->name && *row->name)
		fprintf(batch->out, " %s", up_terminal_text(row->name, batch->utf8, safe, sizeof(safe)));
	if (*text)
		fprintf(batch->out, ": %s", up_terminal_text(text, batch->utf8, safe, sizeof(safe)));
	fputc('\n', batch->out);
}

/* Distinct targets of this tick, in their order. */
static void put_targets(const struct up_batch *batch, const struct up_table *table)
{
	const struct up_row *rows = table->rows.items;
	char safe[CELL * 4];

	for (size_t i = 0; i < table->rows.count; i++) {
		size_t j = 0;

		if (!rows[i].target || !*rows[i].target)
			continue;
		while (j < i && (!rows[j].target || strcmp(rows[j].target, rows[i].target) != 0))
			j++;
		if (j == i)
			fprintf(batch->out, "  %s", up_terminal_text(rows[i].target, batch->utf8, safe, sizeof(safe)));
	}
}

static void put_titles(const struct up_batch *batch, const struct widths *widths)
{
	fprintf(batch->out, "%-*s %-*s %6s %-*s %6s", (int)widths->resource, "RESOURCE", (int)widths->name, "NAME", "UTIL",
		(int)widths->saturation, "SATURATION", "WAIT");
	if (widths->highest)
		fprintf(batch->out, " %6s", "MAX");
	fprintf(batch->out, " %5s %s\n", "ERR", "CONDITION");
}

int up_batch_tick(void *self, const struct up_table *table)
{
	struct up_batch *batch = self;
	const struct widths widths = widths_for(batch->columns);
	const struct up_row *rows = table->rows.items;
	size_t order[UP_ROWS_MAX];
	struct up_labels labels;
	char time[UP_TIME_TEXT];

	up_table_order(table, order);
	up_labels_find(table, &labels);
	up_time_format(table->tick.wall_ns, time);
	fprintf(batch->out, "%s  +%llu.%llu s", time, (unsigned long long)(table->tick.elapsed_ns / UP_NS_PER_S),
		(unsigned long long)(table->tick.elapsed_ns / (UP_NS_PER_S / 10) % 10));
	put_targets(batch, table);
	if (table->tick.late_ns >= 10 * UP_NS_PER_MS)
		fprintf(batch->out, "  (%llu ms late)", (unsigned long long)(table->tick.late_ns / UP_NS_PER_MS));
	fputc('\n', batch->out);
	put_titles(batch, &widths);
	for (size_t i = 0; i < table->rows.count; i++)
		if (rows[order[i]].scope != UP_SCOPE_EVENT)
			put_row(batch, &rows[order[i]], &labels, &widths);
	for (size_t i = 0; i < table->rows.count; i++)
		if (rows[i].scope == UP_SCOPE_EVENT)
			put_event(batch, &rows[i]);
	fputc('\n', batch->out);
	if (fflush(batch->out) != 0 || ferror(batch->out))
		return errno ? -errno : -EIO;
	return 0;
}
