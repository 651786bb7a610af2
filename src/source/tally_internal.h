/* What tally.c (thread, readers) and tally_pass.c (one pass) share. */
#ifndef UP_TALLY_INTERNAL_H
#define UP_TALLY_INTERNAL_H

#include "tally.h"

/* One address: a listener's, or a peer of one target. */
struct tally_entry {
	struct up_req_key key;
	bool server, counted; /* counted: some pass has seen its namespace */
	/* Of the pass under way. */
	uint32_t next_low, next_high, next_unread, next_connections;
	/* Of the last one; under tally->lock, as below. */
	uint32_t low, high, unread, connections;
	uint64_t low_ns, high_ns, unread_ns; /* levels integrated */
	uint64_t mono_ns;
};

/* Whose a connection is; made anew now and then. */
struct tally_owner {
	uint16_t number; /* of the target, UP_REQ_TARGET_HOST */
	uint64_t host_netns; /* all of this namespace are its; 0 = no */
	struct sockets_ids ids, inodes;
};

struct tally {
	const struct up_source *source; /* borrowed */
	struct up_sockets *sockets; /* borrowed */
	struct up_netns_helper *helper;
	pthread_t thread;
	bool started;

	/* The thread's own. */
	struct up_arena arena;
	struct up_target *targets; /* [target_count] copies, owned */
	size_t target_count;
	struct tally_owner owners[UP_TARGETS_MAX + 1]; /* [owner_count] */
	size_t owner_count;
	uint64_t owners_ns; /* when they were made */
	uint64_t own_inode;
	struct tally_space {
		struct up_space space;
		uint32_t mask; /* targets with a process here */
		struct up_netlink diag;
		bool wanted;
	} spaces[UP_NETNS_MAX]; /* [space_count] */
	size_t space_count;
	struct sockets_listener listeners[UP_LISTENERS_MAX]; /* [listener_count] */
	size_t listener_count;
	uint64_t ports[1024]; /* bit set: somebody listens there, in the namespace under way */

	pthread_mutex_t lock; /* all below */
	pthread_cond_t wake; /* monotonic clock */
	bool stop;
	struct up_target *pending; /* [pending_count] for the thread, owned; NULL = taken */
	size_t pending_count;
	struct tally_entry entries[UP_REQ_SLOTS]; /* [entry_count]; only the thread adds */
	size_t entry_count;
	uint64_t dropped;
};

/* One pass over all namespaces. */
void tally_pass(struct tally *tally);
/* Closes what passes have opened. */
void tally_pass_done(struct tally *tally);

#endif
