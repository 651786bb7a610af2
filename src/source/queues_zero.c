/* When was the queue empty? Counting starts in the middle of its life: what was in it then has to be found out.
 *
 * The kernel sees a return only of a call that it saw begin. Threads that wait inside DEQUEUE when the probes come take their first item
 * unseen, and the level would stay too high for ever. Counted at its call, such a function counts an item when its thread comes back for
 * the next one. Of a process that was there before, a function that may wait tells rates only. */
#include "queues_internal.h"
#include "useprobe/clock.h"

#define WAITS_NS (5 * UP_NS_PER_MS) /* a call that does not wait is over long before, unless its thread lost the CPU */

const char *up_queue_zero_name(enum up_queue_zero zero)
{
	static const char *const names[] = {
		[UP_ZERO_UNKNOWN] = "lowest seen",
		[UP_ZERO_AMBIGUOUS] = "unknown",
		[UP_ZERO_START] = "process start",
		[UP_ZERO_ORDER] = "first in first out",
		[UP_ZERO_BROKEN] = "contradicted",
	};

	return names[zero];
}

/* Whether the level above its lowest is a lower bound: no item may have come out unseen, and none be counted before it comes out. */
static bool is_bound(const struct queue_zero *zero, const struct up_queue_spec *spec)
{
	if (spec->kind == UP_QUEUE_LIBUV)
		return true;
	switch (spec->take.when) {
	case UP_QUEUE_AT_BEGIN:
		return true;
	case UP_QUEUE_AT_NONNULL:
		return !zero->waits;
	case UP_QUEUE_AT_ENTRY:
	case UP_QUEUE_AT_RETURN:
		break;
	}
	return false;
}

void queue_zero_learn(
	struct queue_zero *zero, const struct up_queue_slot *slot, const struct up_queue_spec *spec, uint64_t probed_ns)
{
	zero->waits = zero->waits || slot->inside > 0 || slot->longest_ns > WAITS_NS;
	if (zero->kind <= UP_ZERO_AMBIGUOUS && slot->process_ns > probed_ns) {
		zero->kind = UP_ZERO_START;
		zero->base = 0;
	} else if (zero->kind <= UP_ZERO_AMBIGUOUS && spec->kind == UP_QUEUE_LIBUV && slot->taken > slot->cancelled) {
		/* Where items have addresses the level counts known items only: it falls short until those put before are gone. */
		zero->kind = UP_ZERO_ORDER;
		zero->base = 0;
	}
	if (zero->kind <= UP_ZERO_AMBIGUOUS) {
		zero->base = slot->lowest;
		zero->kind = is_bound(zero, spec) ? UP_ZERO_UNKNOWN : UP_ZERO_AMBIGUOUS;
	} else if (slot->lowest < zero->base) {
		zero->kind = UP_ZERO_BROKEN;
	}
}
