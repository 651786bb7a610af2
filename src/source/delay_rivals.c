/* Who had the CPUs that the targets' tasks waited for: empties the program's map once a tick and keeps the largest of each cell. */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

#include "delay_rivals.h"

/* Older kernels (before 5.14) cannot take an entry out of a hash map in one call: what is added between the two is lost. */
static bool take(int map_fd, const struct up_rival_key *key, __u64 *ret_ns)
{
	return bpf_map_lookup_and_delete_elem(map_fd, key, ret_ns) == 0 ||
	       (bpf_map_lookup_elem(map_fd, key, ret_ns) == 0 && bpf_map_delete_elem(map_fd, key) == 0);
}

void up_delay_rivals_read(struct up_delay_rivals *rivals, int map_fd)
{
	struct up_rival_key key, next;
	bool more = bpf_map_get_next_key(map_fd, NULL, &next) == 0;
	__u64 ns;

	memset(rivals->top, 0, sizeof(rivals->top));
	for (unsigned i = 0; more && i < 2 * UP_RIVALS; i++) {
		key = next;
		more = bpf_map_get_next_key(map_fd, &key, &next) == 0;
		if (!take(map_fd, &key, &ns) || key.cell >= UP_CELLS || ns <= rivals->top[key.cell].ns)
			continue;
		rivals->top[key.cell].id = key.id;
		rivals->top[key.cell].ns = ns;
	}
}

const char *up_delay_rivals_name(
	struct up_delay_rivals *rivals, unsigned cell, const struct up_hierarchy *hierarchy, uint64_t *ret_ns)
{
	struct up_delay_rival *top = &rivals->top[cell];
	struct up_delay_rival_name *name = &rivals->name[cell];

	if (!top->ns || !hierarchy)
		return NULL;
	if (!name->looked_up || name->id != top->id) {
		name->id = top->id;
		name->looked_up = true;
		name->known = top->id ? up_group_label(hierarchy, top->id, name->text, sizeof(name->text))
				      : snprintf(name->text, sizeof(name->text), "/") == 1;
	}
	*ret_ns = top->ns;
	return name->known ? name->text : NULL;
}
