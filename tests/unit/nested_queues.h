/* A simulated service: requests hold a worker, use CPUs, a lock, and a connection to a database, and each of these may be short. Its truth
 * is known by construction; its figures come out as the rows that the collectors write. */
#ifndef UP_TESTS_NESTED_QUEUES_H
#define UP_TESTS_NESTED_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "useprobe/recording.h"

enum nq_station { NQ_WORKER, NQ_CPU, NQ_LOCK, NQ_POOL, NQ_DB, NQ_STATIONS };

struct nq_service {
	unsigned servers[NQ_STATIONS];
	double cpu_s, lock_s, db_s; /* mean service times: exponential, lock constant */
};

/* What the rows tell; real collectors differ in it. */
struct nq_view {
	bool queue_counted; /* the worker queue has a counter; else it follows from what is left */
	bool pool_counted; /* waiters for a connection have a counter; else they are seen sleeping on a lock */
	bool decoy; /* a pool of threads that is always busy and serves nobody */
	bool unread; /* requests wait in the socket instead of the process's own queue */
};

/* Runs SERVICE at RATE_PER_S for SECONDS after a warm-up of WARM_S, and adds a tick with rows for each second, beginning at *WALL_US, which is
 * moved on. 0 or -ENOMEM. */
int nq_run(const struct nq_service *service, const struct nq_view *view, double rate_per_s, double warm_s, unsigned seconds,
	uint64_t seed, int64_t *wall_us, struct up_recording *recording);

#endif
