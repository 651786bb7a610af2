#ifndef LAB_POOL_H
#define LAB_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "meter.h"
#include "net.h"

struct lab_pool_waiter;

/* A pool of persistent connections to one dependency. Who comes first is served first. */
struct lab_pool {
	const struct lab_address *address; /* borrowed */
	unsigned index; /* which of the meter's dependency gauges */
	unsigned size;
	uint64_t wait_max_ns; /* 0: wait for ever */
	pthread_mutex_t mutex;
	pthread_condattr_t clock; /* waiting by the monotonic clock */
	int *fd; /* [size] owned, -1 while not connected */
	unsigned *idle; /* [n_idle] slots free to borrow, the last used on top */
	unsigned n_idle;
	struct lab_pool_waiter *first, *last;
	bool closed; /* by lab_pool_cancel */
};

/* Sets up SIZE places and connects them; a dependency that is not there yet is tried again at the first use.
 * The number of connections that stand, or -ENOMEM (then lab_pool_done is not needed). */
int lab_pool_init(struct lab_pool *pool, const struct lab_address *address, unsigned index, unsigned size, uint64_t wait_max_ns);
void lab_pool_done(struct lab_pool *pool);

/* Ends all waiting, for a connection and for answers, and refuses what comes later: the server is to stop. */
void lab_pool_cancel(struct lab_pool *pool);

/* Sends one query over a borrowed connection and waits for its answer; waits, times and errors are counted in TALLY.
 * 0; -ETIMEDOUT when no connection came free in time; -EIO when the dependency failed; -ECANCELED. */
int lab_pool_query(struct lab_pool *pool, struct lab_tally *tally);

#endif
