/* Inside of the delay service: the competitors of each target for the CPU. */
#ifndef UP_SOURCE_DELAY_RIVALS_H
#define UP_SOURCE_DELAY_RIVALS_H

#include "delay.h"
#include "useprobe/target.h"

struct up_delay_rival {
	uint64_t id; /* of the group; 0: an autogroup's, which belongs to the root */
	uint64_t ns; /* of waits, since the last read; 0 = nobody */
};
struct up_delay_rival_name {
	uint64_t id; /* whose name it is */
	bool looked_up, known;
	char text[UP_PATH_MAX];
};
struct up_delay_rivals {
	struct up_delay_rival top[UP_CELLS];
	struct up_delay_rival_name name[UP_CELLS]; /* looked up when the top changes */
};

/* Empties the map. Once a tick. */
void up_delay_rivals_read(struct up_delay_rivals *rivals, int map_fd);
/* The largest rival of CELL; NULL without one, or when its group is gone. Borrowed until the next call for the cell. */
const char *up_delay_rivals_name(
	struct up_delay_rivals *rivals, unsigned cell, const struct up_hierarchy *hierarchy, uint64_t *ret_ns);

#endif
