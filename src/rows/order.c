/* Order of need of attention. Rows that swap places every second cannot be read, so utilization is averaged and rounded first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/table.h"

#define AVERAGED_TICKS 10
#define STEP 0.05

struct rank {
	int condition; /* events -1, else enum up_condition */
	int steps; /* utilization in steps, -1 = not known */
	size_t leader; /* row that the order is decided by: the cpu row for its run-queue row */
	size_t index;
};

static int steps_of(const struct up_table *table, size_t index)
{
	const struct up_series *series = up_table_series(table, index);
	struct up_moment point;
	double sum = 0;
	int n = 0;

	for (size_t age = 0; series && age < AVERAGED_TICKS && up_series_point(series, age, &point); age++) {
		if (isnan(point.utilization))
			continue;
		sum += (double)point.utilization;
		n++;
	}
	/* A burst may exceed 1; nothing sensible exceeds a million. */
	return n ? (int)(fmin(sum / n, 1e6) / STEP + 0.5) : -1;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is(const struct up_row *row, const char *resource)
{
	return row->resource && strcmp(row->resource, resource) == 0;
}

/* Index of the cpu row that the run-queue row INDEX belongs to, else INDEX. */
static size_t leader_of(const struct up_table *table, size_t index)
{
	const struct up_row *rows = table->rows.items;

	if (!is(&rows[index], "run-queue"))
		return index;
	for (size_t i = 0; i < table->rows.count; i++)
		if (is(&rows[i], "cpu") && rows[i].scope == rows[index].scope && same_text(rows[i].name, rows[index].name) &&
			same_text(rows[i].target, rows[index].target))
			return i;
	return index;
}

static int compare(const void *a_pointer, const void *b_pointer)
{
	const struct rank *a = a_pointer, *b = b_pointer;

	if (a->condition != b->condition)
		return a->condition > b->condition ? -1 : 1;
	if (a->steps != b->steps)
		return a->steps > b->steps ? -1 : 1;
	if (a->leader != b->leader)
		return a->leader < b->leader ? -1 : 1;
	/* Inside a pair the leader comes first. */
	if ((a->index == a->leader) != (b->index == b->leader))
		return a->index == a->leader ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

void up_table_order(const struct up_table *table, size_t *order)
{
	struct rank ranks[UP_ROWS_MAX];
	const size_t count = table->rows.count;

	for (size_t i = 0; i < count; i++) {
		const struct up_row *row = &table->rows.items[i];

		ranks[i] = (struct rank){
			.condition = row->scope == UP_SCOPE_EVENT ? -1 : (int)row->condition,
			.steps = steps_of(table, i),
			.leader = leader_of(table, i),
			.index = i,
		};
	}
	/* A pair stands where its more urgent half would. */
	for (size_t i = 0; i < count; i++) {
		struct rank *leader = &ranks[ranks[i].leader];

		if (leader->condition < ranks[i].condition)
			leader->condition = ranks[i].condition;
	}
	for (size_t i = 0; i < count; i++) {
		if (ranks[i].leader == i)
			continue;
		ranks[i].condition = ranks[ranks[i].leader].condition;
		ranks[i].steps = ranks[ranks[i].leader].steps;
	}
	/* cppcheck-suppress uninitvar ; the first COUNT are filled above */
	qsort(ranks, count, sizeof(*ranks), compare);
	for (size_t i = 0; i < count; i++)
		order[i] = ranks[i].index;
}
