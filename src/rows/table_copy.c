/* A table that stands still. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/table.h"

/* Where TEXT of the pool FROM is in the pool TO; static strings stay where they are. */
static const char *moved(const char *text, const struct up_rows *from, const struct up_rows *to)
{
	const uintptr_t at = (uintptr_t)text, base = (uintptr_t)from->text;

	return text && at >= base && at - base < from->text_used_bytes ? to->text + (at - base) : text;
}

static void move_row(struct up_row *row, const struct up_rows *from, const struct up_rows *to)
{
	const char **const texts[] = { &row->resource, &row->name, &row->target, &row->saturation_unit, &row->method,
		&row->detail, &row->reason, &row->utilization.reason, &row->saturation.reason, &row->waiting.reason,
		&row->waiting_max.reason, &row->errors.reason };

	for (size_t i = 0; i < UP_COUNT(texts); i++)
		*texts[i] = moved(*texts[i], from, to);
}

int up_table_copy(const struct up_table *table, struct up_table *ret)
{
	struct up_series *series = calloc(table->rows.count + 1, sizeof(*series));

	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < ret->series_count; i++)
		free(ret->series[i].key);
	free(ret->series);
	ret->series = series;
	ret->series_count = ret->series_capacity = table->rows.count;
	memset(ret->buckets, 0, sizeof(ret->buckets));
	memcpy(ret->rows.text, table->rows.text, table->rows.text_used_bytes);
	ret->rows.text_used_bytes = table->rows.text_used_bytes;
	ret->rows.count = table->rows.count;
	ret->rows.dropped = table->rows.dropped;
	ret->tick = table->tick;
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_series *from = up_table_series(table, i);

		ret->rows.items[i] = table->rows.items[i];
		move_row(&ret->rows.items[i], &table->rows, &ret->rows);
		ret->series_of[i] = from ? i : UP_SERIES_NONE;
		if (!from)
			continue;
		series[i] = *from;
		series[i].key = NULL;
	}
	return 0;
}
