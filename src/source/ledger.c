#include "ledger.h"

#include <errno.h>
#include <stdlib.h>

void up_ledger_done(struct up_ledger *ledger)
{
	free(ledger->entries);
	free(ledger->spare);
	*ledger = (struct up_ledger){ 0 };
}

bool up_ledger_knows(const struct up_ledger *ledger, int32_t id)
{
	size_t low = 0, high = ledger->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ledger->entries[middle].id == id)
			return true;
		if (ledger->entries[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static int by_id(const void *a, const void *b)
{
	const struct up_ledger_item *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int spare_reserve(struct up_ledger *ledger, size_t count)
{
	struct up_ledger_entry *grown;
	size_t capacity = ledger->spare_capacity ? ledger->spare_capacity : 64;

	if (count > UP_LEDGER_MAX)
		return -E2BIG;
	if (count <= ledger->spare_capacity)
		return 0;
	while (capacity < count)
		capacity *= 2;
	grown = realloc(ledger->spare, capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	ledger->spare = grown;
	ledger->spare_capacity = capacity;
	return 0;
}

static void entry_bury(struct up_ledger *ledger, const struct up_ledger_entry *entry)
{
	for (size_t i = 0; i < UP_LEDGER_COUNTERS; i++)
		ledger->gone[i] += entry->last[i] - entry->base[i];
	ledger->left++;
}

static bool went_back(const struct up_ledger_entry *entry, const struct up_ledger_item *item)
{
	for (size_t i = 0; i < UP_LEDGER_COUNTERS; i++)
		if (item->counter[i] < entry->last[i])
			return true;
	return false;
}

/* New entry of ITEM, whose earlier life OLD (may be NULL) is known. */
static struct up_ledger_entry entry_make(
	struct up_ledger *ledger, const struct up_ledger_entry *old, const struct up_ledger_item *item)
{
	struct up_ledger_entry entry = { .id = item->id };
	const bool reused = old && went_back(old, item);

	if (reused)
		entry_bury(ledger, old);
	for (size_t i = 0; i < UP_LEDGER_COUNTERS; i++) {
		entry.last[i] = item->counter[i];
		if (old && !reused)
			entry.base[i] = old->base[i];
		else if (!reused && !(ledger->started && item->born_since))
			entry.base[i] = item->counter[i];
	}
	return entry;
}

int up_ledger_update(struct up_ledger *ledger, struct up_ledger_item *items, size_t count, uint64_t ret[UP_LEDGER_COUNTERS])
{
	size_t old = 0, made = 0;
	const int r = spare_reserve(ledger, count);

	if (r < 0)
		return r;
	if (count > 1)
		qsort(items, count, sizeof(*items), by_id);
	ledger->left = 0;
	for (size_t i = 0; i < count; i++) {
		if (made > 0 && ledger->spare[made - 1].id == items[i].id)
			continue;
		while (old < ledger->count && ledger->entries[old].id < items[i].id)
			entry_bury(ledger, &ledger->entries[old++]);
		const bool known = old < ledger->count && ledger->entries[old].id == items[i].id;

		ledger->spare[made++] = entry_make(ledger, known ? &ledger->entries[old] : NULL, &items[i]);
		old += known;
	}
	while (old < ledger->count)
		entry_bury(ledger, &ledger->entries[old++]);

	struct up_ledger_entry *const entries = ledger->entries;
	const size_t capacity = ledger->capacity;

	ledger->entries = ledger->spare;
	ledger->capacity = ledger->spare_capacity;
	ledger->spare = entries;
	ledger->spare_capacity = capacity;
	ledger->count = made;
	ledger->started = true;
	for (size_t k = 0; k < UP_LEDGER_COUNTERS; k++) {
		ret[k] = ledger->gone[k];
		for (size_t i = 0; i < made; i++)
			ret[k] += ledger->entries[i].last[k] - ledger->entries[i].base[k];
	}
	return 0;
}
