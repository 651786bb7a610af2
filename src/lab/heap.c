/* heap - which virtual user is due next. */
#include <assert.h>

#include "heap.h"

void lab_heap_push(struct lab_heap *heap, uint64_t due_ns, unsigned id)
{
	unsigned i = heap->n++;

	assert(heap->n <= heap->max);
	for (; i > 0 && heap->entries[(i - 1) / 2].due_ns > due_ns; i = (i - 1) / 2)
		heap->entries[i] = heap->entries[(i - 1) / 2];
	heap->entries[i] = (struct lab_heap_entry){ due_ns, id };
}

struct lab_heap_entry lab_heap_pop(struct lab_heap *heap)
{
	const struct lab_heap_entry first = heap->entries[0], last = heap->entries[--heap->n];
	unsigned i = 0;

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= heap->n)
			break;
		if (child + 1 < heap->n && heap->entries[child + 1].due_ns < heap->entries[child].due_ns)
			child++;
		if (heap->entries[child].due_ns >= last.due_ns)
			break;
		heap->entries[i] = heap->entries[child];
		i = child;
	}
	heap->entries[i] = last;
	return first;
}
