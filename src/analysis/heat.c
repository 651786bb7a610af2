#include "useprobe/heat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const double lowest_ms = 1e-3;

struct counting {
	struct up_heat *heat;
	int lowest, highest; /* rows seen, as powers */
	bool count; /* second pass */
};

static int power_of(const struct up_point *point)
{
	const double ms = fmax((double)up_packed_latency_ns(point->packed) / 1e6, lowest_ms);

	return (int)floor(UP_HEAT_PER_DECADE * log10(ms) + 1e-9);
}

static int visit(void *ctx, struct up_point *block, size_t n)
{
	struct counting *c = ctx;
	struct up_heat *heat = c->heat;

	for (size_t i = 0; i < n; i++) {
		const int power = power_of(&block[i]);
		int64_t column;

		if (!c->count) {
			c->lowest = power < c->lowest ? power : c->lowest;
			c->highest = power > c->highest ? power : c->highest;
			continue;
		}
		column = (block[i].start_us - heat->from_us) / heat->column_us;
		if (column < 0 || column >= heat->columns || power < heat->first_row ||
			power >= heat->first_row + (int)heat->rows)
			continue;
		heat->count[(size_t)(power - heat->first_row) * heat->columns + (size_t)column]++;
		heat->total++;
	}
	return 0;
}

/* The narrowest of 0.1, 0.2, 0.5, 1, 2, 5, 10, ... s that needs at most UP_HEAT_COLUMNS columns. */
static int64_t column_width_us(int64_t span_us)
{
	static const int64_t steps[] = { 1, 2, 5 };

	for (int64_t power = 100000;; power *= 10)
		for (unsigned i = 0; i < 3; i++)
			if (span_us / (power * steps[i]) < UP_HEAT_COLUMNS - 1)
				return power * steps[i];
}

int up_heat_build(struct up_load *load, struct up_heat *ret)
{
	struct up_heat heat = { .from_us = load->first_start_us };
	struct counting c = { .heat = &heat, .lowest = 10000, .highest = -10000 };
	int r;

	if (up_points_total(&load->points) == 0)
		return -ENODATA;
	r = up_points_each(&load->points, 0, visit, &c);
	if (r < 0)
		return r;
	heat.column_us = column_width_us(load->last_end_us - load->first_start_us);
	heat.from_us = load->first_start_us / heat.column_us * heat.column_us;
	heat.columns = (unsigned)((load->last_end_us - heat.from_us) / heat.column_us) + 1;
	heat.rows = (unsigned)(c.highest - c.lowest) + 1;
	heat.first_row = c.lowest;
	if (heat.rows > UP_HEAT_ROWS)
		heat.rows = UP_HEAT_ROWS;
	heat.count = calloc((size_t)heat.rows * heat.columns, sizeof(*heat.count));
	if (!heat.count)
		return -ENOMEM;
	c.count = true;
	r = up_points_each(&load->points, 0, visit, &c);
	if (r < 0) {
		free(heat.count);
		return r;
	}
	*ret = heat;
	return 0;
}

void up_heat_done(struct up_heat *heat)
{
	if (!heat)
		return;
	free(heat->count);
	*heat = (struct up_heat){ 0 };
}

double up_heat_edge_ms(const struct up_heat *heat, unsigned row)
{
	return pow(10, (double)(heat->first_row + (int)row) / UP_HEAT_PER_DECADE);
}
