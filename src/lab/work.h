#ifndef LAB_WORK_H
#define LAB_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "options.h"
#include "pool.h"
#include "random.h"

/* What all requests of a server share. */
struct lab_work {
	const struct lab_server_options *options; /* borrowed */
	uint64_t start_ns;
	struct lab_pool pools[LAB_DEPENDENCIES_MAX];
	unsigned n_pools;
	pthread_mutex_t report_lock, hot_lock;
	int fsync_fd, pages_fd;
	_Atomic uint64_t n_requests;
	void *ballast; /* owned, alloc_mb of touched memory */
};

/* What one thread needs to work on requests. */
struct lab_hand {
	struct lab_tally *tally; /* borrowed from the meter */
	struct lab_random random;
	double loops_per_ns; /* learned speed of lab_burn, 0 = not yet */
	int64_t burn_debt_ns; /* CPU time already burned for the next request */
};

/* Opens files, connects pools, touches memory. 0, or -errno with ret_error; *ret_missing = index of a dependency that does not
 * answer yet, or -1. On error nothing is left open. */
int lab_work_init(struct lab_work *work, const struct lab_server_options *options, int *ret_missing, struct lab_error *ret_error);
void lab_work_done(struct lab_work *work);

/* Does everything one request costs. The status to answer: 200, 502 (a dependency failed), 503 (no connection in time). */
int lab_work_run(struct lab_work *work, struct lab_hand *hand);

/* Holds the report lock once for report_hold_ns. */
void lab_work_report(struct lab_work *work, struct lab_tally *tally);

/* Burns NS of this thread's CPU time, by the thread's CPU clock; what one call burns too much the next one burns less. */
void lab_burn(struct lab_hand *hand, uint64_t ns);

#endif
