/* Any names, figures and keys: nothing outside the grid, nothing in a cell that a terminal would obey.
 * Bytes: a key each until 0xff, then rows of "resource NUL name NUL target NUL detail NUL byte". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *take(const char **cursor, const char *end)
{
	const char *text = *cursor, *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return "";
	*cursor = nul + 1;
	return text;
}

static struct up_value value_of(unsigned byte)
{
	return byte % 7 == 6 ? up_value((double)byte / 100)
			     : up_value_state((enum up_state)(byte % 6 == 1 ? 0 : byte % 6), "reason\x1b");
}

static void add_rows(struct up_table *table, const char *cursor, const char *end)
{
	up_rows_clear(&table->rows);
	while (cursor < end && table->rows.count < 40) {
		struct up_row row = { .resource = take(&cursor, end),
			.name = take(&cursor, end),
			.target = take(&cursor, end),
			.detail = take(&cursor, end) };
		const unsigned byte = cursor < end ? (unsigned char)*cursor : 0;

		cursor++;
		row.scope = (enum up_scope)(byte % UP_SCOPE_COUNT);
		row.utilization = value_of(byte);
		row.saturation = value_of(byte / 3);
		row.waiting = value_of(byte / 5);
		row.errors = value_of(byte / 7);
		row.saturation_unit = row.resource;
		row.method = row.name;
		row.reason = row.detail;
		row.state = (enum up_state)(byte % (UP_FAILED + 1));
		if (up_rows_add(&table->rows, &row) < 0)
			return;
	}
}

static void check(const struct up_grid *grid)
{
	for (size_t i = 0; i < (size_t)grid->columns * grid->lines; i++) {
		const struct up_cell *cell = &grid->cells[i];

		if ((cell->point && cell->point < 0x20) || (cell->point >= 0x7f && cell->point < 0xa0) ||
			cell->attr >= UP_ATTR_COUNT || (cell->point >= 0x202a && cell->point <= 0x202e))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned sizes[][2] = { { 80, 24 }, { 20, 5 }, { 200, 60 }, { 1, 1 }, { 44, 9 } };
	const char *bytes = (const char *)data, *end = bytes + size, *rows = memchr(data, 0xff, size);
	static struct up_live live;
	struct up_grid grid = { 0 };
	struct up_table table;

	if (!rows || up_table_init(&table) < 0)
		return 0;
	live = (struct up_live){ .replay = size % 2 };
	for (uint64_t tick = 0; tick < 3; tick++) {
		add_rows(&table, rows + 1, end);
		if (up_table_commit(
			    &table, &(struct up_tick){
					    .number = tick, .mono_ns = (1 + tick) * 1000000000ull, .interval_ns = 1000000000 }))
			abort();
		up_live_tick(&live, &table);
	}
	for (const char *p = bytes; p <= rows; p++) {
		const unsigned *dimensions = sizes[(size_t)(p - bytes) % 5];
		const struct up_live_caps caps = { .utf8 = *p & 1, .blocks = *p & 1 };
		const uint32_t key = (unsigned char)*p;

		up_live_settle(&live, &table, caps, dimensions[0], dimensions[1]);
		if (p < rows)
			up_live_key(&live, &table, key < 0x20 && key % 2 ? UP_KEY_UP + key / 2 : key);
		if (up_grid_resize(&grid, dimensions[0], dimensions[1]) < 0)
			abort();
		up_live_settle(&live, &table, caps, dimensions[0], dimensions[1]);
		up_live_layout(&table, &live, caps, &grid);
		check(&grid);
	}
	up_grid_done(&grid);
	up_table_done(&table);
	return 0;
}
