/* What a row is called on a screen. */
#include <string.h>

#include "useprobe/live.h"

void up_labels_find(const struct up_table *table, struct up_labels *ret)
{
	ret->count = 0;
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
	if (row->scope != UP_SCOPE_CGROUP || !row->target)
		return row->name;
	for (size_t k = 0; k < labels->count; k++)
		if (strcmp(labels->items[k].target, row->target) == 0 && strcmp(labels->items[k].own, row->name) == 0)
			return strlen(row->target) <= strlen(row->name) ? row->target : row->name;
	return row->name;
}
