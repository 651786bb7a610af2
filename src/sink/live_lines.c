/* Which lines the list has: filter, sort, folds; and where selection and scrolling stand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "live_draw.h"
#include "useprobe/sink.h"

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
	return (hash ^ 0x1f) * 1099511628211ull;
}

uint64_t up_live_scope_id(const struct up_row *row)
{
	/* Another start than the series hashes have. */
	return hash_text(hash_text(1469598103934665603ull, row->target), up_scope_name(row->scope)) | 1;
}

uint64_t up_live_row_id(const struct up_table *table, size_t row)
{
	const struct up_series *series = up_table_series(table, row);

	return series ? series->key_hash | 1 : 0;
}

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part) != NULL;
}

static bool matches(const struct up_live *live, const struct up_labels *labels, const struct up_row *row)
{
	const char *filter = live->filter;

	return !*filter || contains(row->resource, filter) || contains(row->name, filter) || contains(row->target, filter) ||
	       contains(up_labels_of(labels, row), filter) || contains(up_scope_name(row->scope), filter) ||
	       contains(up_condition_word(row), filter);
}

/* Sort keys other than attention: higher comes first, equal ones stay in collector order. */
static double sort_key(const struct up_live *live, const struct up_row *row)
{
	struct up_value value;

	if (live->sort == UP_SORT_SCOPE)
		return -(double)row->scope;
	value = live->sort == UP_SORT_WAITING ? row->waiting : row->utilization;
	return up_value_ok(value) ? value.number : -1;
}

struct entry {
	size_t row, target;
	double key;
};

static int compare_entries(const void *a_pointer, const void *b_pointer)
{
	const struct entry *a = a_pointer, *b = b_pointer;

	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* Number of the target a row belongs to, in the order of the table; rows without one come last. */
static size_t target_number(const char **targets, size_t *count, const char *target)
{
	size_t i = 0;

	if (!target)
		return SIZE_MAX;
	while (i < *count && strcmp(targets[i], target) != 0)
		i++;
	if (i == *count && *count < UP_LABELS_MAX)
		targets[(*count)++] = target;
	return i;
}

static void order_rows(const struct up_live *live, const struct up_table *table, size_t *order)
{
	struct entry entries[UP_ROWS_MAX];
	const char *targets[UP_LABELS_MAX];
	size_t target_count = 0;
	const size_t count = table->rows.count;

	if (live->sort == UP_SORT_ATTENTION) {
		up_table_order(table, order);
		return;
	}
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct entry){
			.row = i,
			.target = live->sort == UP_SORT_SCOPE ? target_number(targets, &target_count, table->rows.items[i].target)
							      : 0,
			.key = sort_key(live, &table->rows.items[i]),
		};
	qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		order[i] = entries[i].row;
}

/* Brings the rows of the focus to the front; both halves keep their order. */
static void focus_rows(const struct up_live *live, const struct up_table *table, size_t *order)
{
	size_t others[UP_ROWS_MAX], front = 0, back = 0;

	if (!*live->focus)
		return;
	for (size_t i = 0; i < table->rows.count; i++) {
		const char *target = table->rows.items[order[i]].target;

		if (target && strcmp(target, live->focus) == 0)
			order[front++] = order[i];
		else
			others[back++] = order[i];
	}
	memcpy(order + front, others, back * sizeof(*others));
}

static bool is_folded(const struct up_live *live, uint64_t id)
{
	for (size_t i = 0; i < live->fold_count; i++)
		if (live->folds[i] == id)
			return true;
	return false;
}

static void add_line(struct up_live *live, const struct up_table *table, size_t row)
{
	const uint64_t scope = up_live_scope_id(&table->rows.items[row]);

	if (!is_folded(live, scope)) {
		live->lines[live->line_count++] = (struct up_live_line){ .id = up_live_row_id(table, row), .row = row };
		return;
	}
	for (size_t i = 0; i < live->line_count; i++) {
		if (live->lines[i].id == scope) {
			live->lines[i].count++;
			return;
		}
	}
	live->lines[live->line_count++] = (struct up_live_line){ .id = scope, .row = row, .count = 1 };
}

static void make_lines(struct up_live *live, const struct up_table *table)
{
	size_t order[UP_ROWS_MAX];
	struct up_labels labels;

	up_labels_find(table, &labels);
	order_rows(live, table, order);
	focus_rows(live, table, order);
	live->line_count = live->hidden_by_filter = 0;
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[order[i]];

		if (row->scope == UP_SCOPE_EVENT)
			continue;
		if (matches(live, &labels, row))
			add_line(live, table, order[i]);
		else
			live->hidden_by_filter++;
	}
}

/* Finds the selection again; when its row is gone the one that took its place is selected. */
static void follow_selection(struct up_live *live)
{
	if (!live->selected)
		return;
	for (size_t i = 0; i < live->line_count; i++) {
		if (live->lines[i].id == live->selected) {
			live->selected_at = i;
			return;
		}
	}
	if (!live->line_count) {
		/* Nothing is shown now (a filter that is being typed); it may come back. */
		live->selected_at = 0;
		return;
	}
	if (live->selected_at >= live->line_count)
		live->selected_at = live->line_count - 1;
	live->selected = live->lines[live->selected_at].id;
}

static void settle_list(struct up_live *live, unsigned lines)
{
	const unsigned around = up_live_header_lines(live, lines) + up_live_footer_lines(lines);

	live->page = lines > around ? lines - around : 1;
	if (live->selected) {
		if (live->selected_at < live->top)
			live->top = live->selected_at;
		if (live->selected_at >= live->top + live->page)
			live->top = live->selected_at - live->page + 1;
	}
	if (live->top + live->page > live->line_count)
		live->top = live->line_count > live->page ? live->line_count - live->page : 0;
}

void up_live_settle(
	struct up_live *live, const struct up_table *table, struct up_live_caps caps, unsigned columns, unsigned lines)
{
	size_t below = SIZE_MAX;

	make_lines(live, table);
	follow_selection(live);
	settle_list(live, lines);
	if (live->mode == UP_LIVE_DETAIL)
		below = up_live_detail_below(table, live, caps, columns, lines);
	if (live->mode == UP_LIVE_HELP)
		below = up_live_help_below(lines);
	if (live->scroll > below)
		live->scroll = below;
}

void up_live_tick(struct up_live *live, const struct up_table *table)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[i];
		struct up_live_event *event = &live->events[live->event_count % UP_LIVE_EVENTS];
		char text[UP_LIVE_TEXT];

		if (row->scope != UP_SCOPE_EVENT)
			continue;
		if (!up_detail_get(row->detail, "text", text, sizeof(text)))
			snprintf(text, sizeof(text), "%s", row->detail ? row->detail : "");
		snprintf(event->text, sizeof(event->text), "%s%s%s%s%s", row->resource, row->name && *row->name ? " " : "",
			row->name ? row->name : "", *text ? ": " : "", text);
		event->mono_ns = table->tick.mono_ns;
		event->wall_ns = table->tick.wall_ns;
		live->event_count++;
	}
}
