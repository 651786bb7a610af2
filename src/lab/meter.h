#ifndef LAB_METER_H
#define LAB_METER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define LAB_DEPENDENCIES_MAX 4

/* Levels whose integral over time is kept. The last three are arrays, one place for each dependency. */
enum lab_gauge {
	LAB_IN_FLIGHT, /* requests read and not yet answered in full */
	LAB_QUEUE, /* requests waiting for a worker */
	LAB_WORKER_BUSY, /* workers that hold a request */
	LAB_BURNING, /* requests in CPU work: running, runnable or throttled */
	LAB_WAITING, /* requests in a plain wait */
	LAB_LOCK_WAIT, /* requests waiting for a mutex */
	LAB_LOCK_HELD, /* holders of a mutex */
	LAB_DISK, /* requests in write, fsync or a page read */
	LAB_SENDING, /* requests whose answer does not fit into the socket */
	LAB_CONNECTIONS, /* accepted connections */
	LAB_POOL_WAIT,
	LAB_POOL_BUSY = LAB_POOL_WAIT + LAB_DEPENDENCIES_MAX,
	LAB_DB_BUSY = LAB_POOL_BUSY + LAB_DEPENDENCIES_MAX,
	LAB_GAUGES = LAB_DB_BUSY + LAB_DEPENDENCIES_MAX
};

/* Counters. The last five are arrays, one place for each dependency. */
enum lab_count {
	LAB_ARRIVALS,
	LAB_DEPARTURES, /* answered in full */
	LAB_FAILED, /* of the departures: answered with a status of 500 or more */
	LAB_BROKEN, /* the client was gone before its answer: an arrival without departure */
	LAB_BAD_REQUESTS, /* not understood, never an arrival */
	LAB_ACCEPTED, /* connections */
	LAB_EMFILE, /* a descriptor was wanted and there was none */
	LAB_LEAKED, /* descriptors leaked on purpose */
	LAB_THREAD_FAILURES, /* a thread was wanted and could not be created */
	LAB_RESIDENCE_NS, /* sum over departures: request read to answer written */
	LAB_POOL_WAITS, /* borrowings that had to wait */
	LAB_POOL_TIMEOUTS = LAB_POOL_WAITS + LAB_DEPENDENCIES_MAX,
	LAB_DB_QUERIES = LAB_POOL_TIMEOUTS + LAB_DEPENDENCIES_MAX,
	LAB_DB_ERRORS = LAB_DB_QUERIES + LAB_DEPENDENCIES_MAX,
	LAB_DB_CONNECTS = LAB_DB_ERRORS + LAB_DEPENDENCIES_MAX,
	LAB_COUNTS = LAB_DB_CONNECTS + LAB_DEPENDENCIES_MAX
};

/* Histogram of residence times: 8 buckets an octave (+-9 %), bucket i holds [lower(i), lower(i + 1)) nanoseconds. */
#define LAB_BUCKETS 320

/* The bucket of NS. */
unsigned lab_bucket_index(uint64_t ns);

/* The lowest value in bucket INDEX, in ns; for INDEX = LAB_BUCKETS the end of the last one. */
uint64_t lab_bucket_lower_ns(unsigned index);

/* What one thread counted. Written by that thread only, read by any. */
struct lab_tally {
	struct lab_tally *next; /* every tally of the meter; never unlinked before lab_meter_done */
	struct lab_tally *next_free; /* tallies whose thread has left; guarded by the meter's mutex */
	_Atomic uint32_t sequence; /* odd while gauges are being written */
	_Atomic int64_t level[LAB_GAUGES];
	_Atomic uint64_t
		moment_ns[LAB_GAUGES]; /* minus the sum of (change x time): level x now + moment is the integral, modulo 2^64 */
	_Atomic uint64_t count[LAB_COUNTS];
	_Atomic uint64_t bucket[LAB_BUCKETS];
};

/* All tallies of a server. */
struct lab_meter {
	pthread_mutex_t mutex;
	_Atomic(struct lab_tally *) first;
	struct lab_tally *first_free;
};

/* A consistent reading of a meter. */
struct lab_totals {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	int64_t level[LAB_GAUGES]; /* gauge */
	uint64_t area_ns[LAB_GAUGES]; /* counter, level integrated over time */
	uint64_t count[LAB_COUNTS]; /* counter */
	uint64_t bucket[LAB_BUCKETS]; /* counter */
};

void lab_meter_init(struct lab_meter *meter);

/* Frees every tally; no thread may use one any more. */
void lab_meter_done(struct lab_meter *meter);

/* A tally for the calling thread, borrowed until lab_meter_leave; NULL without memory. What is in it stays counted. */
struct lab_tally *lab_meter_join(struct lab_meter *meter);
void lab_meter_leave(struct lab_meter *meter, struct lab_tally *tally);

/* Changes a gauge by DELTA at the monotonic time NOW_NS. An entry and its exit may be written into different tallies. */
void lab_tally_gauge(struct lab_tally *tally, unsigned gauge, int delta, uint64_t now_ns);

/* Adds N to a counter. */
void lab_tally_count(struct lab_tally *tally, unsigned count, uint64_t n);

/* A request left after RESIDENCE_NS in the server: departures, their sum and the histogram. */
void lab_tally_departure(struct lab_tally *tally, uint64_t residence_ns);

/* Sums all tallies up to NOW_NS. Each tally is read consistently, so an area is exact up to the events of the few microseconds
 * that the reading takes. */
void lab_meter_read(struct lab_meter *meter, uint64_t now_ns, struct lab_totals *ret_totals);

#endif
