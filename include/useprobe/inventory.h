/* Inventory: what can be targeted on this machine, for `useprobe list`. */
#ifndef UP_INVENTORY_H
#define UP_INVENTORY_H

#include "useprobe/scan.h"
#include "useprobe/target.h"

struct up_inventory_item {
	const char *path; /* below the hierarchy's mount, "/api" */
	const char *kind; /* "unit", "slice", "cgroup", static */
	const char *container; /* name of the container or pod it is, NULL = none */
	size_t own_processes; /* in the group itself */
	size_t processes; /* with those below */
	struct up_u64 cpu_quota_us, cpu_period_us; /* quota not there = no limit */
	struct up_u64 memory_bytes; /* not there = no limit */
};

/* All cgroups in the order of the tree, borrowed from ARENA. At most a second is spent on container daemons. 0, -ENOENT without a cgroup
 * file system, -ENOSPC. */
UP_MUST_CHECK int up_inventory_read(const struct up_source *source, struct up_arena *arena,
	const struct up_hierarchies *hierarchies, struct up_inventory_item **ret, size_t *ret_count);

#endif
