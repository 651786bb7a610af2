/* Ledger: sums over a set of counters whose owners (processes, threads) come and go, as one counter that never falls.
 * What an owner had counted before it was first seen is left out unless it was born since the last update; what it had counted when it
 * was last seen stays in after it is gone. */
#ifndef UP_SOURCE_LEDGER_H
#define UP_SOURCE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

#define UP_LEDGER_COUNTERS 3
#define UP_LEDGER_MAX 262144 /* owners */

struct up_ledger_item {
	int32_t id;
	bool born_since; /* after the previous update: everything it counted is ours */
	uint64_t counter[UP_LEDGER_COUNTERS];
};

struct up_ledger_entry {
	int32_t id;
	uint64_t base[UP_LEDGER_COUNTERS], last[UP_LEDGER_COUNTERS];
};

struct up_ledger {
	struct up_ledger_entry *entries; /* [count], ascending by id, owned */
	size_t count;
	struct up_ledger_entry *spare; /* owned; the next update is built here */
	size_t capacity, spare_capacity;
	uint64_t gone[UP_LEDGER_COUNTERS]; /* of owners that left */
	size_t left; /* owners that left in the last update */
	bool started;
};

void up_ledger_done(struct up_ledger *ledger);

bool up_ledger_knows(const struct up_ledger *ledger, int32_t id);

/* Takes the counters of all owners there are now; ITEMS [count] is sorted in place, of equal ids the first counts. Writes the sums to
 * RET. 0, -ENOMEM, -E2BIG beyond UP_LEDGER_MAX. A counter that fell is a new owner of a reused id. */
UP_MUST_CHECK int up_ledger_update(
	struct up_ledger *ledger, struct up_ledger_item *items, size_t count, uint64_t ret[UP_LEDGER_COUNTERS]);

#endif
