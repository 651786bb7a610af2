#ifndef LAB_HEAP_H
#define LAB_HEAP_H

#include <stdint.h>

struct lab_heap_entry {
	uint64_t due_ns;
	unsigned id;
};

/* Smallest due time first. Room for max entries, given by the owner. */
struct lab_heap {
	struct lab_heap_entry *entries; /* borrowed, [n] of max */
	unsigned n, max;
};

/* Adds an entry; the caller sees to it that there is room. */
void lab_heap_push(struct lab_heap *heap, uint64_t due_ns, unsigned id);

/* Removes the first entry; n > 0. */
struct lab_heap_entry lab_heap_pop(struct lab_heap *heap);

#endif
