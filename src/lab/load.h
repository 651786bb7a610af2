#ifndef LAB_LOAD_H
#define LAB_LOAD_H

#include "heap.h"
#include "record.h"
#include "response.h"
#include "work.h"

struct lab_load_options {
	struct lab_address target;
	char path[256];
	struct lab_schedule schedule;
	bool poisson;
	struct lab_dist think; /* closed loop: pause of a user between answer and next request */
	unsigned vus; /* open loop: at most so many requests at a time; beyond it they are dropped */
	uint64_t timeout_ns;
	bool new_connection; /* one connection for each request */
	uint64_t cpu_ns; /* CPU time the generator burns per request, as a script would */
	const char *out; /* borrowed; "-" = stdout, NULL = none */
	uint64_t seed;
	bool quiet;
};

/* What happened in a run. */
struct lab_load_totals {
	uint64_t planned, sent, ok, failed, dropped, timeouts;
	uint64_t late; /* requests started more than 10 ms after their planned time */
	uint64_t max_late_ns;
	bool interrupted;
};

/* Called once a second while the load runs. */
typedef void lab_load_progress(const struct lab_load_totals *totals, const struct lab_schedule *schedule, unsigned piece,
	unsigned in_flight, double elapsed_s);

/* Runs the schedule to its end, waits for the last answers, writes the file, prints the summary to SUMMARY (may be NULL).
 * SIGINT and SIGTERM, blocked by the caller, end it early. 0, or -errno with ret_error. */
int lab_load_run(const struct lab_load_options *options, lab_load_progress *progress, FILE *summary,
	struct lab_load_totals *ret_totals, struct lab_error *ret_error);

#endif
