/* Hands the targets to a BPF program that includes match.bpf.h. Private to src/source. */
#ifndef UP_BPF_MATCH_USER_H
#define UP_BPF_MATCH_USER_H

#include <stddef.h>
#include <stdint.h>

#include "match.h"
#include "useprobe/target.h"

/* What is in the program's map now, so that the next call can take it out. */
struct up_match {
	struct up_match_key keys[2 * UP_TARGETS_MAX];
	size_t count;
};

/* Writes the present TARGETS into the map GROUPS_FD and CONFIG (the program's variable `match`). */
void up_match_write(struct up_match *match, int groups_fd, struct up_match_config *config, const struct up_targets *targets);

/* A task is counted for the innermost target it belongs to. RET: bit set of the targets that lie inside each one, itself included. */
void up_match_members(const struct up_targets *targets, uint32_t ret[UP_TARGETS_MAX]);

#endif
