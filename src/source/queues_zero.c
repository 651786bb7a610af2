/* When was the queue empty? Counting starts in the middle of its life: what was in it then has to be found out. */
#include "queues_internal.h"
#include "useprobe/clock.h"

#define STILL_NS UP_NS_PER_S

const char *up_queue_zero_name(enum up_queue_zero zero)
{
	static const char *const names[] = {
		[UP_ZERO_UNKNOWN] = "lowest seen",
		[UP_ZERO_AMBIGUOUS] = "unknown",
		[UP_ZERO_START] = "process start",
		[UP_ZERO_WAITED] = "thread waited inside",
		[UP_ZERO_ORDER] = "first in first out",
		[UP_ZERO_BROKEN] = "contradicted",
	};

	return names[zero];
}

/* A thread that has been inside DEQUEUE for a whole second in which no item came or went found none there. */
static bool waited_inside(struct queue_zero *zero, const struct up_queue_slot *slot, uint64_t now_ns)
{
	if (!zero->seen || zero->put != slot->put || zero->taken != slot->taken || slot->inside <= 0) {
		zero->put = slot->put;
		zero->taken = slot->taken;
		zero->still_ns = now_ns;
		zero->seen = slot->inside > 0;
		return false;
	}
	return now_ns - zero->still_ns >= STILL_NS;
}

/* Nothing tells how many items were there at the start. Where a function counts when it has really given an item away, the level cannot
 * fall below empty: what stands above its lowest are items. A DEQUEUE that waits inside and counts at its entry does fall below. */
static void keep_bound(struct queue_zero *zero, const struct up_queue_slot *slot, const struct up_queue_spec *spec)
{
	zero->base = slot->lowest;
	zero->kind = slot->lowest < 0 && spec->kind == UP_QUEUE_FUNCTIONS && spec->take.when == UP_QUEUE_AT_ENTRY
			     ? UP_ZERO_AMBIGUOUS
			     : UP_ZERO_UNKNOWN;
}

void queue_zero_learn(struct queue_zero *zero, const struct up_queue_slot *slot, const struct up_queue_spec *spec,
	uint64_t probed_ns, uint64_t now_ns)
{
	const bool followed = spec->kind == UP_QUEUE_LIBUV;

	if (zero->kind <= UP_ZERO_AMBIGUOUS && slot->process_ns > probed_ns) {
		zero->kind = UP_ZERO_START;
		zero->base = 0;
	} else if (zero->kind <= UP_ZERO_AMBIGUOUS && followed && slot->taken > slot->cancelled) {
		/* Where items have addresses the level counts known items only: it falls short until those put before are gone. */
		zero->kind = UP_ZERO_ORDER;
		zero->base = 0;
	} else if (zero->kind <= UP_ZERO_AMBIGUOUS && !followed && waited_inside(zero, slot, now_ns)) {
		zero->kind = UP_ZERO_WAITED;
		zero->base = (int64_t)(slot->put - slot->taken);
	}
	if (zero->kind <= UP_ZERO_AMBIGUOUS)
		keep_bound(zero, slot, spec);
	else if (slot->lowest < zero->base)
		zero->kind = UP_ZERO_BROKEN;
}
