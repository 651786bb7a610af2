/* The correction for coordinated omission, and when it is allowed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "useprobe/omission.h"

/* A closed run without think time has no schedule that a stall could break; below this share of the interval nothing was thought. */
static const double think_share_min = 0.1;

enum { STEPS_MAX = 200000000 }; /* an interval of microseconds against a latency of minutes: not a schedule, a typing error */

/* Samples that LATENCY_NS stands for besides itself. */
static uint64_t missing(uint64_t latency_ns, uint64_t interval_ns)
{
	return latency_ns < 2 * interval_ns ? 0 : latency_ns / interval_ns - 1;
}

static uint64_t total_exact(const struct up_dist *raw, uint64_t interval_ns)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < raw->n && n <= UP_POINTS_MAX; i++)
		n += 1 + missing(up_packed_latency_ns(raw->sorted[i * raw->stride]), interval_ns);
	return n;
}

static int correct_exact(const struct up_dist *raw, uint64_t interval_ns, uint64_t n, struct up_dist *ret_dist)
{
	uint64_t *packed = malloc((n ? n : 1) * sizeof(*packed)), at = 0;

	if (!packed)
		return -ENOMEM;
	for (uint64_t i = 0; i < raw->n; i++) {
		uint64_t sample = raw->sorted[i * raw->stride], latency_ns = up_packed_latency_ns(sample);
		uint64_t flags = sample & (((uint64_t)1 << UP_POINT_LATENCY_SHIFT) - 1);

		packed[at++] = sample;
		for (uint64_t k = missing(latency_ns, interval_ns); k > 0; k--) {
			latency_ns -= interval_ns;
			packed[at++] = latency_ns << UP_POINT_LATENCY_SHIFT | flags;
		}
	}
	up_sort_u64(packed, at);
	*ret_dist = (struct up_dist){ .n = at, .sorted = packed, .stride = 1, .owned = packed };
	return 0;
}

struct spread {
	struct up_hist *into;
	uint64_t interval_ns, steps;
	int error;
};

static void count_steps(void *ctx, uint64_t lo_ns, uint64_t hi_ns, uint64_t count)
{
	struct spread *spread = ctx;

	(void)count;
	spread->steps += missing(lo_ns + (hi_ns - lo_ns) / 2, spread->interval_ns);
}

static void spread_bucket(void *ctx, uint64_t lo_ns, uint64_t hi_ns, uint64_t count)
{
	struct spread *spread = ctx;
	uint64_t latency_ns = lo_ns + (hi_ns - lo_ns) / 2;

	for (uint64_t k = missing(latency_ns, spread->interval_ns); k > 0 && spread->error == 0; k--) {
		latency_ns -= spread->interval_ns;
		spread->error = up_hist_add(spread->into, latency_ns, count);
	}
}

/* Raw samples bucket by bucket (exact ones are put in a histogram first), then what they stand for. */
static int correct_hist(const struct up_dist *raw, uint64_t interval_ns, struct up_hist *into)
{
	struct up_hist copy = { 0 };
	const struct up_hist *from = raw->hist;
	struct spread spread = { .into = into, .interval_ns = interval_ns };
	int r = 0;

	for (uint64_t i = 0; !from && r == 0 && i < raw->n; i++)
		r = up_hist_add(&copy, up_packed_latency_ns(raw->sorted[i * raw->stride]), 1);
	if (!from)
		from = &copy;
	if (r == 0)
		r = up_hist_merge(into, from);
	if (r == 0) {
		up_hist_each(from, count_steps, &spread);
		if (spread.steps <= STEPS_MAX)
			up_hist_each(from, spread_bucket, &spread);
		r = spread.steps > STEPS_MAX ? -ERANGE : spread.error;
	}
	up_hist_done(&copy);
	return r;
}

int up_omission_correct(const struct up_dist *raw, uint64_t interval_ns, struct up_dist *ret_dist)
{
	struct up_dist dist = { .own_hist = true };
	int r;

	if (interval_ns == 0)
		return -EINVAL;
	if (!raw->hist) {
		uint64_t n = total_exact(raw, interval_ns);

		if (n <= UP_POINTS_MAX)
			return correct_exact(raw, interval_ns, n, ret_dist);
	}
	dist.hist = calloc(1, sizeof(*dist.hist));
	r = dist.hist ? correct_hist(raw, interval_ns, dist.hist) : -ENOMEM;
	if (r < 0) {
		up_dist_done(&dist);
		return r;
	}
	dist.n = dist.hist->n;
	*ret_dist = dist;
	return 0;
}

static bool any_file(const struct up_load *load, bool (*is)(const struct up_load_file *file))
{
	for (unsigned i = 0; i < load->n_files; i++) {
		if (is(&load->file[i]))
			return true;
	}
	return false;
}

static bool is_intended(const struct up_load_file *file)
{
	return file->intended;
}

static bool is_corrected(const struct up_load_file *file)
{
	return file->traits.corrected;
}

/* Completions per second between the first and the last one: what a stamp of the end, even a rounded one, gives without bias. */
static double throughput_per_s(const struct up_load *load)
{
	double span_s = (double)(load->last_end_us - load->first_end_us) / 1e6;

	return span_s > 0 ? (double)up_points_total(&load->points) / span_s : NAN;
}

static void plan_closed(
	const struct up_load *load, const struct up_model_guess *guess, double mean_ms, struct up_omission_plan *plan)
{
	double interval_ms = guess->users / throughput_per_s(load) * 1e3;

	if (isnan(interval_ms)) {
		snprintf(plan->reason, sizeof(plan->reason),
			"closed run, but how many users it had is not known: give --expected-interval");
		return;
	}
	if (interval_ms - mean_ms < think_share_min * interval_ms) {
		snprintf(plan->reason, sizeof(plan->reason),
			"closed run without think time: no intended rate that a stall could have broken; these are closed-loop percentiles "
			"(--expected-interval sets a rate)");
		return;
	}
	plan->apply = true;
	plan->interval_ms = interval_ms;
	snprintf(plan->reason, sizeof(plan->reason),
		"estimate: closed run, one user sends every %.4g ms (%.4g users / %.4g requests/s)", interval_ms, guess->users,
		throughput_per_s(load));
}

void up_omission_plan(const struct up_load *load, const struct up_model_guess *guess, double mean_ms, double requested_ms,
	struct up_omission_plan *ret_plan)
{
	struct up_omission_plan plan = { .interval_ms = NAN };

	if (any_file(load, is_corrected)) {
		snprintf(plan.reason, sizeof(plan.reason), "refused: the tool has corrected these latencies already");
	} else if (any_file(load, is_intended)) {
		snprintf(plan.reason, sizeof(plan.reason),
			"refused: the file has intended starts and the latencies run from them");
	} else if (requested_ms > 0) {
		plan.apply = true;
		plan.interval_ms = requested_ms;
		snprintf(plan.reason, sizeof(plan.reason), "estimate: on request, with an interval of %.6g ms%s", requested_ms,
			guess->model == UP_MODEL_OPEN ? "; but the run looks open, where nothing was omitted" : "");
	} else if (guess->model == UP_MODEL_OPEN) {
		snprintf(plan.reason, sizeof(plan.reason), "refused: open model (%s)", guess->reason);
	} else if (guess->model == UP_MODEL_CLOSED) {
		plan_closed(load, guess, mean_ms, &plan);
	} else {
		snprintf(plan.reason, sizeof(plan.reason), "not applied: %s; --expected-interval corrects on request",
			guess->reason);
	}
	*ret_plan = plan;
}
