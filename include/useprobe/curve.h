/* The load curve: for each step what was offered, what was achieved, what was in flight and how long it took. */
#ifndef UP_CURVE_H
#define UP_CURVE_H

#include "useprobe/load.h"
#include "useprobe/omission.h"
#include "useprobe/steps.h"

enum up_step_verdict { UP_STEP_UNJUDGED, UP_STEP_GOOD, UP_STEP_BAD };
/* Why a step is bad; several may hold. */
enum {
	UP_BAD_SHORT = 1, /* departures fall short of arrivals */
	UP_BAD_RISING = 2, /* requests in flight keep rising */
	UP_BAD_FAILING = 4, /* answers that are errors, beyond those of the lowest steps */
	UP_BAD_USERS = 8, /* closed: more users than the bounds' crossing */
};

struct up_step {
	int64_t start_us, end_us; /* whole step, unix time (or since the beginning of an undated run) */
	int64_t settled_us; /* what follows the settling time: everything below is measured in [settled_us, end_us) */
	double offered_per_s; /* (starts + dropped) / time; --offered overrides it */
	double achieved_per_s; /* all completions by their end */
	double achieved_ok_per_s; /* those that did not fail; NAN when the file does not tell */
	double in_flight; /* mean, from the area under the requests */
	double users; /* mean as the generator reports them; NAN */
	double users_max; /* its ceiling; NAN */
	uint64_t arrivals; /* starts + dropped */
	uint64_t starts, ends, ends_failed, late;
	uint64_t dropped; /* in the whole step, the settling time included */
	uint64_t dropped_settled;
	double late_mean_ms; /* mean time a request was sent after its intended start */
	double in_flight_third[3]; /* mean of each third of the settled part: does it rise? */
	struct up_summary latency; /* of the requests that START in the settled part */
	struct up_summary hidden; /* of those in the settling time: what leaving it out hides */
	double little_in_flight; /* X times the mean of all outcomes */
	bool balanced; /* |arrivals - departures| <= 5 % */
	bool little_ok; /* in flight within 5 % of little_in_flight */
	enum up_step_verdict verdict;
	unsigned why; /* UP_BAD_*, when bad */
};

struct up_curve {
	struct up_step *step; /* owned, [n] in the order of time */
	size_t n;
	struct up_model_guess model;
	bool by_users; /* steps are levels of users */
	bool undated;
	double settle_share; /* share of each step that was left out; NAN when given as a time */
};

struct up_curve_options {
	const struct up_ladder *ladder; /* --steps, or NULL to find them */
	double settle_s; /* left out at the beginning of each step; NAN = 30 % of it */
	const double *offered_per_s; /* [n_offered] of each step, or one for all; NULL = counted */
	size_t n_offered;
	int64_t start_us; /* where the ladder begins; INT64_MIN = first request */
};
extern const struct up_curve_options up_curve_defaults;

/* Builds the curve of a LOAD that was counted; sorts its points by start. 0, -ENOMEM, -ENODATA (not one step; ret_curve has the model), or the
 * error of the temporary file. Free with up_curve_done. */
int up_curve_build(struct up_load *load, const struct up_curve_options *options, struct up_curve *ret_curve);
void up_curve_done(struct up_curve *curve);

#endif
