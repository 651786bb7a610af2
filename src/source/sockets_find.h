/* State of the find thread. */
#ifndef UP_SOCKETS_FIND_H
#define UP_SOCKETS_FIND_H

#include "sockets_internal.h"

/* One target of a search; lists are filled when first asked for. */
struct finder_target {
	unsigned bit; /* in masks */
	bool host;
	pid_t *pids; /* [pid_count] ascending, in the arena */
	size_t pid_count;
	bool has_ids, has_inodes;
	struct sockets_ids ids, inodes;
};

struct finder {
	struct up_sockets *sockets; /* borrowed */
	struct up_arena arena;
	struct up_target *copies; /* [copy_count], owned with their paths */
	size_t copy_count;
	uint64_t own_inode; /* namespace of the probe */
	struct finder_target targets[UP_TARGETS_MAX + 1];
	size_t target_count;
	char reasons[UP_TARGETS_MAX + 1][SOCKETS_REASON];
	struct sockets_rows rows;
	struct decision {
		struct sockets_known known;
		struct up_endpoint endpoint;
	} * decisions; /* [decision_count], owned */
	size_t decision_count, decision_capacity;
	uint64_t pid_hash; /* of all pids: another one = somebody may have inherited a socket */
	bool forget_strangers; /* look again at sockets of nobody */
	bool forget_all; /* targets have changed */
	uint64_t rechecked_ns;
};

/* Copies the targets when they have changed since the last search. Called with the lock held. */
void finder_take_targets(struct finder *finder);
/* Processes of every target. */
void finder_begin(struct finder *finder);
/* Bits of the targets PID belongs to. */
uint32_t finder_mask_of_pid(const struct finder *finder, pid_t pid);
/* Whose ROW is; noted for finder_publish. */
void finder_decide(struct finder *finder, const struct sockets_space *space, const struct sockets_row *row);
/* Hands the result to the poll thread and the readers. */
void finder_publish(struct finder *finder);

int finder_new(struct up_sockets *sockets, struct finder **ret);
void finder_free(struct finder *finder);

#endif
