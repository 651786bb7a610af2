/* Bars, sparklines and the words of a row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live_draw.h"
#include "useprobe/clock.h"
#include "useprobe/sink.h"

#define MINUTE_NS (60 * UP_NS_PER_S)
#define SPARK_COLUMNS_MAX UP_HISTORY

enum up_attr up_attr_of(enum up_condition condition)
{
	static const enum up_attr attrs[] = {
		[UP_COND_NONE] = UP_ATTR_DIM,
		[UP_COND_IDLE] = UP_ATTR_IDLE,
		[UP_COND_OK] = UP_ATTR_OK,
		[UP_COND_BUSY] = UP_ATTR_BUSY,
		[UP_COND_SATURATED] = UP_ATTR_SATURATED,
		[UP_COND_ERRORS] = UP_ATTR_ERRORS,
	};

	return attrs[condition];
}

const char *up_condition_word(const struct up_row *row)
{
	if (row->state != UP_OK)
		return row->state == UP_FIRST ? "init" : up_state_name(row->state);
	return row->condition == UP_COND_NONE ? "-" : up_condition_name(row->condition);
}

const char *up_condition_brief(const struct up_row *row)
{
	static const struct {
		const char *word, *brief;
	} words[] = { { "saturated", "satur" }, { "errors", "error" }, { "denied", "deny" }, { "failed", "fail" },
		{ "absent", "none" } };
	const char *word = up_condition_word(row);

	for (size_t i = 0; i < UP_COUNT(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].brief;
	return word;
}

void up_pen_value(struct up_pen *pen, struct up_value value, bool count, unsigned columns)
{
	char text[UP_NUMBER_TEXT];
	char *point;

	up_value_short(value, count, text);
	point = strchr(text, '.');
	/* "12.3k" becomes "12k", "<0.01" becomes "<.01". */
	if (strlen(text) > columns && *text == '<')
		memmove(text + 1, text + 2, strlen(text + 2) + 1);
	else if (strlen(text) > columns && up_value_ok(value) && point && point[1])
		memmove(point, point + 2, strlen(point + 2) + 1);
	up_pen_cell(pen, text, columns, true, false);
}

char *up_saturation_text(const struct up_row *row, char *ret, size_t size)
{
	const char *unit = row->saturation_unit && up_value_ok(row->saturation) ? row->saturation_unit : "ratio";
	const bool ratio = strcmp(unit, "ratio") == 0;
	/* Things that are counted need no decimals. */
	const bool count = !ratio && strcmp(unit, "ms") != 0 && strcmp(unit, "s") != 0;
	char number[UP_NUMBER_TEXT];

	snprintf(ret, size, "%s%s%s", up_value_short(row->saturation, count, number), ratio ? "" : " ", ratio ? "" : unit);
	return ret;
}

void up_pen_bar(struct up_pen *pen, struct up_value ratio, unsigned columns, enum up_attr attr)
{
	const bool fine = pen->caps.utf8 && pen->caps.blocks;
	const unsigned steps = fine ? 8 : 1;
	const enum up_attr before = pen->attr;
	unsigned filled;

	if (!up_value_ok(ratio)) {
		up_pen_blank(pen, columns);
		return;
	}
	filled = (unsigned)lround(fmin(fmax(ratio.number, 0), 1) * columns * steps);
	/* Something that is used a little must not look unused. */
	if (!filled && ratio.number > 0)
		filled = 1;
	for (unsigned i = 0; i < columns; i++) {
		const unsigned part = filled > i * steps ? filled - i * steps : 0;

		pen->attr = part ? attr : UP_ATTR_DIM;
		if (ratio.number > 1.005 && i + 1 == columns)
			up_pen_point(pen, '>');
		else if (part)
			up_pen_point(pen, fine ? 0x2590 - (part >= 8 ? 8 : part) : '#');
		else
			up_pen_point(pen, pen->caps.utf8 ? 0xb7 : '.');
	}
	pen->attr = before;
}

static double figure_of(const struct up_moment *point, enum up_spark what)
{
	switch (what) {
	case UP_SPARK_UTILIZATION:
		return (double)point->utilization;
	case UP_SPARK_SATURATION:
		return (double)point->saturation;
	default:
		return (double)point->waiting;
	}
}

/* Time one column stands for; points that are farther apart than that take a column each. */
static uint64_t bucket_ns(const struct up_tick *tick, unsigned columns, bool *ret_by_point)
{
	const uint64_t spacing_ns = tick->interval_ns > UP_POINT_NS ? tick->interval_ns : UP_POINT_NS;
	const uint64_t ns = columns ? MINUTE_NS / columns : MINUTE_NS;

	*ret_by_point = ns < spacing_ns * 3 / 2;
	return *ret_by_point ? spacing_ns : ns;
}

unsigned up_spark_seconds(const struct up_tick *tick, unsigned columns)
{
	bool by_point;

	return (unsigned)((bucket_ns(tick, columns, &by_point) * columns + UP_NS_PER_S / 2) / UP_NS_PER_S);
}

/* Highest figure of each column, NaN = nothing known. true when any is known. */
static bool gather(
	const struct up_series *series, enum up_spark what, const struct up_tick *tick, unsigned columns, double *figures)
{
	bool by_point, any = false;
	const uint64_t ns = bucket_ns(tick, columns, &by_point);
	struct up_moment point;

	for (unsigned i = 0; i < columns; i++)
		figures[i] = NAN;
	for (size_t age = 0; up_series_point(series, age, &point); age++) {
		/* Columns begin at round times, or a peak would flicker between two of them. */
		const uint64_t back = by_point ? age : tick->mono_ns / ns - point.mono_ns / ns;
		const double figure = figure_of(&point, what);

		if (point.mono_ns > tick->mono_ns || back >= columns)
			break;
		if (isnan(figure))
			continue;
		any = true;
		if (!(figures[columns - 1 - back] >= figure))
			figures[columns - 1 - back] = figure;
	}
	return any;
}

void up_pen_spark(
	struct up_pen *pen, const struct up_series *series, enum up_spark what, const struct up_tick *tick, unsigned columns)
{
	static const char ascii[] = "_.:-=+*#";
	const bool fine = pen->caps.utf8 && pen->caps.blocks;
	const enum up_spark first = what == UP_SPARK_ANY ? UP_SPARK_UTILIZATION : what;
	const enum up_spark last = what == UP_SPARK_ANY ? UP_SPARK_WAITING : what;
	double figures[SPARK_COLUMNS_MAX], highest;
	const unsigned used = columns < SPARK_COLUMNS_MAX ? columns : SPARK_COLUMNS_MAX;
	enum up_spark found = first;

	while (series && found <= last && !gather(series, found, tick, used, figures))
		found++;
	if (!series || found > last || !used) {
		up_pen_blank(pen, columns);
		return;
	}
	highest = found == UP_SPARK_UTILIZATION ? 1 : 0;
	for (unsigned i = 0; i < used; i++)
		if (figures[i] > highest)
			highest = figures[i];
	up_pen_blank(pen, columns - used);
	for (unsigned i = 0; i < used; i++) {
		const int level = figures[i] > 0 && highest > 0 ? 1 + (int)fmin(figures[i] / highest * 7, 6) : 0;

		if (isnan(figures[i]))
			up_pen_point(pen, ' ');
		else
			up_pen_point(pen, fine ? 0x2581 + (uint32_t)level : (uint32_t)ascii[level]);
	}
}
