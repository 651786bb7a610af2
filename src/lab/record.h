#ifndef LAB_RECORD_H
#define LAB_RECORD_H

#include <stdio.h>

#include "options.h"
#include "schedule.h"

/* How a request ended, beside HTTP statuses (100 ... 599). */
enum lab_outcome {
	LAB_OUTCOME_DROPPED = -1, /* never sent: no virtual user was free */
	LAB_OUTCOME_ERROR = -2, /* no connection, reset, or no HTTP */
	LAB_OUTCOME_TIMEOUT = -3, /* no answer in time, or before the run was interrupted */
};

/* One finished request; times are monotonic ns, 0 = did not happen. sent_ns of a request that got no connection is the attempt. */
struct lab_result {
	uint64_t planned_ns, sent_ns, end_ns;
	int outcome;
	unsigned vu; /* 1, 2, ...; 0 = none */
	unsigned piece;
};

/* What is known of one piece of the schedule. */
struct lab_piece_result {
	uint64_t planned, ok, failed, dropped; /* by planned time */
	uint64_t ended; /* completions (ok and failed) whose end lies in the piece */
	uint32_t *latency_us; /* owned, [n_latencies] of max_latencies, from planned start to end; completions only */
	size_t n_latencies, max_latencies;
};

/* Writes the CSV and keeps what the summary needs. */
struct lab_record {
	const struct lab_schedule *schedule; /* borrowed */
	FILE *out; /* owned, NULL = no file */
	int64_t wall_offset_ns; /* wall clock minus monotonic clock, taken once: latencies survive a clock step */
	uint64_t start_ns;
	unsigned ending_piece; /* completions come in order of their end */
	struct lab_piece_result pieces[LAB_PIECES_MAX];
};

/* PATH: "-" = stdout, NULL = no file. 0, or -errno with ret_error. */
int lab_record_init(struct lab_record *record, const struct lab_schedule *schedule, const char *path, uint64_t start_ns,
	struct lab_error *ret_error);

/* Takes one result. 0, -EIO when the file cannot be written, -ENOMEM. */
int lab_record_add(struct lab_record *record, const struct lab_result *result);

/* Writes out what is buffered and frees. 0, or -errno when the file is not complete. */
int lab_record_done(struct lab_record *record);

/* Nearest-rank percentile of SORTED[0 .. N-1]: the value with rank ceil(P / 100 x N). N > 0, 0 < P <= 100. */
uint32_t lab_nearest_rank(const uint32_t *sorted, size_t n, double p);

/* Prints one line for each piece that was reached. */
void lab_record_summary(struct lab_record *record, FILE *out);

#endif
