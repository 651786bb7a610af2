/* Coordinated omission: a closed generator waits for its answers, so a stall of the server also stops the questions that would have met it. */
#ifndef UP_OMISSION_H
#define UP_OMISSION_H

#include "useprobe/load.h"

enum up_model { UP_MODEL_UNKNOWN, UP_MODEL_OPEN, UP_MODEL_CLOSED };
struct up_model_guess {
	enum up_model model;
	double users; /* of a closed run, as the file reports them or as the most requests ever in flight; NAN unknown */
	char reason[160]; /* what the guess rests on */
};
const char *up_model_name(enum up_model model);
/* Tells how the load was made. LOAD must have been counted; sorts its points by start. 0, -ENOMEM or the error of the temporary file. */
int up_model_recognise(struct up_load *load, struct up_model_guess *ret_guess);

/* Whether a correction applies, and with which interval. */
struct up_omission_plan {
	bool apply;
	double interval_ms; /* NAN when not known */
	char reason[240]; /* why it applies or why it is refused */
};
/* REQUESTED_MS > 0 asks for that interval; else closed runs with think time get users / throughput, the interval of one user. Files with intended
 * starts and files that are corrected already are always refused. MEAN_MS is the mean of the raw latencies. */
void up_omission_plan(const struct up_load *load, const struct up_model_guess *guess, double mean_ms, double requested_ms,
	struct up_omission_plan *ret_plan);
/* The corrected distribution: every sample L of RAW, and for each also L - i, L - 2i, ... while that is at least i (i = INTERVAL_NS): what the
 * requests that were not sent would have met, after Gil Tene's HdrHistogram (recordValueWithExpectedInterval). Keeps all raw samples and the
 * maximum. Exact up to UP_POINTS_MAX samples, else a histogram. 0; -EINVAL for
 * no interval; -ERANGE for one absurdly short; -ENOMEM. Free with up_dist_done. */
int up_omission_correct(const struct up_dist *raw, uint64_t interval_ns, struct up_dist *ret_dist);

#endif
