/* What a row is called on a screen. */
#include <stdio.h>
#include <string.h>

#include "useprobe/live.h"

static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

/* Whether another target's row has the same words. */
static bool is_ambiguous(const struct up_table *table, const struct up_row *row)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *other = &table->rows.items[i];

		if (other->scope == UP_SCOPE_NETNS && strcmp(text_or(other->target, ""), text_or(row->target, "")) != 0 &&
			strcmp(text_or(other->name, ""), row->name) == 0 && other->resource && row->resource &&
			strcmp(other->resource, row->resource) == 0)
			return true;
	}
	return false;
}

static void name_owners(const struct up_table *table, struct up_labels *ret)
{
	ret->made_count = 0;
	for (size_t i = 0; i < table->rows.count && ret->made_count < UP_LABELS_MAX; i++) {
		const struct up_row *row = &table->rows.items[i];

		if (row->scope != UP_SCOPE_NETNS || !row->name || !is_ambiguous(table, row))
			continue;
		ret->made[ret->made_count].row = row;
		snprintf(ret->made[ret->made_count].text, sizeof(ret->made[0].text), "%s of %s", row->name,
			text_or(row->target, "host"));
		ret->made_count++;
	}
}

void up_labels_find(const struct up_table *table, struct up_labels *ret)
{
	ret->count = 0;
	name_owners(table, ret);
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[i];
		size_t k = 0;

		if (row->scope != UP_SCOPE_CGROUP || !row->target || !row->name)
			continue;
		while (k < ret->count && strcmp(ret->items[k].target, row->target) != 0)
			k++;
		if (k == UP_LABELS_MAX)
			continue;
		if (k == ret->count) {
			ret->items[ret->count].target = row->target;
			ret->items[ret->count++].own = row->name;
		} else if (strlen(row->name) > strlen(ret->items[k].own)) {
			/* Ancestors have rows of their own; the target is the deepest of the paths. */
			ret->items[k].own = row->name;
		}
	}
}

const char *up_labels_of(const struct up_labels *labels, const struct up_row *row)
{
	if (!row->name)
		return "";
	/* All listeners are of this kind. */
	if (row->scope == UP_SCOPE_LISTENER && strncmp(row->name, "tcp:", 4) == 0)
		return row->name + 4;
	for (size_t k = 0; row->scope == UP_SCOPE_NETNS && k < labels->made_count; k++)
		if (labels->made[k].row == row)
			return labels->made[k].text;
	if ((row->scope != UP_SCOPE_CGROUP && row->scope != UP_SCOPE_NETNS) || !row->target)
		return row->name;
	for (size_t k = 0; k < labels->count; k++)
		if (strcmp(labels->items[k].target, row->target) == 0 && strcmp(labels->items[k].own, row->name) == 0)
			return strlen(row->target) <= strlen(row->name) ? row->target : row->name;
	return row->name;
}
