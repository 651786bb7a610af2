/* Which steps the service followed, and the interval in which it stopped. The witnesses are in witness.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "knee_internal.h"

static const double slack_ratio = 0.05, slack_sigmas = 2;
static const double band_ratio = 1.5; /* latencies up to this times those of the good steps have not grown */
static const double bound_ratio = 0.01; /* drops or late sends below this share of the arrivals are not a limit */
static const double kernel_ratio = 0.7;
static const double collapse_ratio = 0.5;
enum { ARRIVALS_MIN = 20 };

const char *up_knee_verdict_name(enum up_knee_verdict verdict)
{
	static const char *const name[] = { "knee", "no knee reached", "no single knee", "invalid" };

	return name[verdict];
}

double up_knee_slack(double arrivals)
{
	return fmax(slack_ratio * arrivals, slack_sigmas * sqrt(arrivals));
}

void up_knee_say(char *text, size_t n, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, n - used, format, args);
	va_end(args);
}

double up_knee_level(const struct up_curve *curve, const struct up_step *step)
{
	if (curve->model.model != UP_MODEL_CLOSED)
		return step->offered_per_s;
	return isnan(step->users) ? step->in_flight : step->users;
}

double up_knee_achieved(const struct up_step *step)
{
	return isnan(step->achieved_ok_per_s) ? step->achieved_per_s : step->achieved_ok_per_s;
}

static void sort_by_level(const struct up_curve *curve, struct up_ladder_order *order)
{
	order->n = curve->n;
	for (size_t i = 0; i < curve->n; i++) {
		size_t k = i;

		for (; k > 0 && up_knee_level(curve, &curve->step[order->at[k - 1]]) > up_knee_level(curve, &curve->step[i]); k--)
			order->at[k] = order->at[k - 1];
		order->at[k] = i;
	}
}

static double failed_share(const struct up_step *step)
{
	return step->ends > 0 && !isnan(step->achieved_ok_per_s) ? (double)step->ends_failed / (double)step->ends : 0;
}

/* Open model: a step is bad when what leaves falls short of what arrives, or what is inside keeps rising. */
static void judge_open(struct up_step *step, double base_failed_share)
{
	double arrivals = (double)step->arrivals, slack = up_knee_slack(arrivals);
	double ok = (double)(step->ends - step->ends_failed);
	const double *third = step->in_flight_third;

	step->why = 0;
	if (arrivals - (double)step->ends > slack)
		step->why |= UP_BAD_SHORT;
	if (third[0] < third[1] && third[1] < third[2] && third[2] - third[0] > slack)
		step->why |= UP_BAD_RISING;
	if (!isnan(step->achieved_ok_per_s) && arrivals * (1 - base_failed_share) - ok > slack)
		step->why |= UP_BAD_FAILING;
	if (step->why & UP_BAD_SHORT)
		step->why &= ~(unsigned)UP_BAD_FAILING; /* said by the stronger sign already */
	step->verdict = step->why ? UP_STEP_BAD : UP_STEP_GOOD;
}

/* Closed model: the lines X_max and N / (R0 + Z) that bound any closed system (Denning and Buzen 1978) cross at N*. */
static bool judge_closed(struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	const struct up_step *first = &curve->step[order->at[0]], *last = &curve->step[order->at[order->n - 1]];
	double n_first = up_knee_level(curve, first), n_last = up_knee_level(curve, last), gain;
	const struct up_step *before_last = order->n > 1 ? &curve->step[order->at[order->n - 2]] : NULL;

	for (size_t i = 0; i < order->n; i++)
		knee->bounds.x_max_per_s = fmax(knee->bounds.x_max_per_s, curve->step[order->at[i]].achieved_per_s);
	knee->bounds.r0_s = first->latency.mean_ms / 1e3;
	if (!(first->achieved_per_s > 0) || isnan(knee->bounds.r0_s))
		return false;
	knee->bounds.z_s = isnan(first->users) ? 0 : fmax(0, n_first / first->achieved_per_s - knee->bounds.r0_s);
	knee->bounds.n_star = knee->bounds.x_max_per_s * (knee->bounds.r0_s + knee->bounds.z_s);
	knee->bounds.used = true;
	for (size_t i = 0; i < order->n; i++) {
		struct up_step *step = &curve->step[order->at[i]];
		bool beyond = up_knee_level(curve, step) > knee->bounds.n_star * (1 + 1e-6);

		step->why = beyond ? UP_BAD_USERS : 0;
		step->verdict = beyond ? UP_STEP_BAD : UP_STEP_GOOD;
	}
	if (!before_last)
		return false;
	/* X_max is a bound only once more users no longer bring more: the last step gains less than half of what the first users brought. */
	gain = (last->achieved_per_s - before_last->achieved_per_s) / (n_last - up_knee_level(curve, before_last));
	return n_last >= 1.2 * knee->bounds.n_star && gain < 0.5 * first->achieved_per_s / n_first;
}

static void good_again(struct up_curve *curve, const struct up_ladder_order *order)
{
	for (size_t i = 0; i < order->n; i++) {
		curve->step[order->at[i]].verdict = UP_STEP_GOOD;
		curve->step[order->at[i]].why = 0;
	}
}

static bool is_bad(const struct up_curve *curve, const struct up_ladder_order *order, size_t i)
{
	return curve->step[order->at[i]].verdict == UP_STEP_BAD;
}

/* First bad step that the next one confirms, or that is the last; order->n without. */
static size_t first_confirmed(const struct up_curve *curve, const struct up_ladder_order *order)
{
	for (size_t i = 0; i < order->n; i++) {
		if (is_bad(curve, order, i) && (i + 1 == order->n || is_bad(curve, order, i + 1)))
			return i;
	}
	return order->n;
}

static void set_interval(const struct up_curve *curve, const struct up_ladder_order *order, size_t bad, struct up_knee *knee)
{
	knee->bad = (int)order->at[bad];
	knee->bad_per_s = curve->step[knee->bad].offered_per_s;
	knee->good = -1;
	for (size_t i = 0; i < bad && !is_bad(curve, order, i); i++)
		knee->good = (int)order->at[i];
	if (knee->good >= 0)
		knee->good_per_s = curve->step[knee->good].offered_per_s;
}

/* Latencies of STEP against the slowest good step before it (one behind it may still drain what it left): did the server itself get slower? Unknown without
 * good steps. */
static bool within_good_band(const struct up_curve *curve, const struct up_step *step)
{
	double p50 = 0, p95 = 0, service = 0;
	bool known = false;

	for (size_t i = 0; i < curve->n; i++) {
		const struct up_step *good = &curve->step[i];

		if (good->verdict != UP_STEP_GOOD || good->latency.n == 0 || good > step)
			continue;
		known = true;
		p50 = fmax(p50, good->latency.q[UP_P50].ms);
		p95 = fmax(p95, good->latency.q[UP_P95].ms);
		service = fmax(service, good->latency.mean_ms - good->late_mean_ms);
	}
	if (!known || step->latency.n == 0)
		return false;
	if (step->late_mean_ms > 0) /* the wait before a late send is in the percentiles but not the server's doing */
		return step->latency.mean_ms - step->late_mean_ms <= band_ratio * service;
	return step->latency.q[UP_P50].ms <= band_ratio * p50 && step->latency.q[UP_P95].ms <= band_ratio * p95;
}

static void check_generator(const struct up_curve *curve, const struct up_knee_options *options, struct up_knee *knee)
{
	const struct up_step *bad = &curve->step[knee->bad];
	double lost = (double)(bad->dropped_settled + bad->late), needed = bad->offered_per_s * bad->latency.mean_ms / 1e3;
	bool in_band = within_good_band(curve, bad);
	bool not_arrived = options->kernel_in_flight_ratio < kernel_ratio && !(bad->users_max < needed);

	if (lost < bound_ratio * (double)bad->arrivals || !(in_band || not_arrived))
		return;
	knee->generator_bound = true;
	knee->verdict = UP_KNEE_INVALID;
	knee->reason[0] = '\0';
	up_knee_say(knee->reason, sizeof(knee->reason),
		"generator-bound: at %.4g/s %llu iterations were dropped and %llu sent late, ", bad->offered_per_s,
		(unsigned long long)bad->dropped_settled, (unsigned long long)bad->late);
	if (in_band)
		up_knee_say(knee->reason, sizeof(knee->reason),
			"while the answers came as fast as in the good steps (p50 %.3g ms, p95 %.3g ms)%s",
			bad->latency.q[UP_P50].ms, bad->latency.q[UP_P95].ms,
			bad->users_max < needed ? ": too few users for that rate" : "");
	else
		up_knee_say(knee->reason, sizeof(knee->reason),
			"while the kernel saw only %.0f %% of what the generator had in flight",
			100 * options->kernel_in_flight_ratio);
}

static void find_collapse(const struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	double best = 0;

	for (size_t i = 0; i < order->n; i++) {
		double later = 0;

		for (size_t k = i; k < order->n; k++)
			later = fmax(later, up_knee_achieved(&curve->step[order->at[k]]));
		if (best > 0 && later < collapse_ratio * best) {
			knee->collapse = (int)order->at[i];
			knee->collapse_per_s = curve->step[knee->collapse].offered_per_s;
			return;
		}
		best = fmax(best, up_knee_achieved(&curve->step[order->at[i]]));
	}
}

static void explain_open(const struct up_curve *curve, const struct up_ladder_order *order, size_t bad_at, struct up_knee *knee)
{
	const struct up_step *bad = &curve->step[knee->bad];
	char *text = knee->reason;
	size_t n = sizeof(knee->reason);

	up_knee_say(text, n, "%s model: at %.4g/s ", up_model_name(curve->model.model), bad->offered_per_s);
	if (bad->why & UP_BAD_SHORT)
		up_knee_say(text, n, "only %.4g/s were completed", bad->achieved_per_s);
	else if (bad->why & UP_BAD_FAILING)
		up_knee_say(text, n, "%.3g %% of the answers were errors", 100 * failed_share(bad));
	if (bad->why & UP_BAD_RISING)
		up_knee_say(text, n, "%sthe requests in flight rose from %.4g to %.4g", bad->why == UP_BAD_RISING ? "" : " and ",
			bad->in_flight_third[0], bad->in_flight_third[2]);
	if (bad->dropped)
		up_knee_say(text, n, "; %llu iterations dropped", (unsigned long long)bad->dropped);
	up_knee_say(text, n,
		bad_at + 1 < order->n ? "; the next step confirms it" : "; it is the last step, nothing behind it confirms it");
	if (knee->good < 0)
		up_knee_say(text, n, "; already the lowest step is bad");
}

static size_t count_good_above(const struct up_curve *curve, const struct up_ladder_order *order, size_t bad_at)
{
	size_t n = 0;

	for (size_t i = bad_at + 1; i < order->n; i++)
		n += !is_bad(curve, order, i);
	return n;
}

static void not_reached(const struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	const struct up_step *top = &curve->step[order->at[order->n - 1]];

	knee->verdict = UP_KNEE_NOT_REACHED;
	knee->good = (int)order->at[order->n - 1];
	knee->good_per_s = top->offered_per_s;
	if (knee->bounds.used && curve->model.model == UP_MODEL_CLOSED)
		up_knee_say(knee->reason, sizeof(knee->reason),
			"closed model: throughput still grows with the users at the last step (%.4g users, %.4g/s)",
			up_knee_level(curve, top), top->achieved_per_s);
	else
		up_knee_say(knee->reason, sizeof(knee->reason), "up to %.4g/s what was offered was served", top->offered_per_s);
}

static void find_open(
	struct up_curve *curve, const struct up_ladder_order *order, const struct up_knee_options *options, struct up_knee *knee)
{
	size_t bad, above;

	for (size_t i = 0; i < order->n; i++)
		judge_open(&curve->step[order->at[i]], failed_share(&curve->step[order->at[0]]));
	bad = first_confirmed(curve, order);
	if (bad == order->n) {
		not_reached(curve, order, knee);
		return;
	}
	set_interval(curve, order, bad, knee);
	above = count_good_above(curve, order, bad);
	knee->verdict = above >= 2 ? UP_KNEE_NOT_SINGLE : UP_KNEE_FOUND;
	explain_open(curve, order, bad, knee);
	if (above)
		up_knee_say(knee->reason, sizeof(knee->reason), "; but %zu step%s above it %s good", above, above == 1 ? "" : "s",
			above == 1 ? "is" : "are");
	check_generator(curve, options, knee);
	if (knee->verdict == UP_KNEE_FOUND && curve->step[knee->bad].arrivals < ARRIVALS_MIN) {
		knee->verdict = UP_KNEE_INVALID;
		snprintf(knee->reason, sizeof(knee->reason),
			"too few samples: %llu requests in the settled part of the step at %.4g/s",
			(unsigned long long)curve->step[knee->bad].arrivals, knee->bad_per_s);
	}
}

static void find_closed(struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee)
{
	size_t bad = 0;

	if (!judge_closed(curve, order, knee)) {
		good_again(curve, order);
		not_reached(curve, order, knee);
		return;
	}
	while (bad < order->n && !is_bad(curve, order, bad))
		bad++;
	set_interval(curve, order, bad, knee);
	knee->verdict = UP_KNEE_FOUND;
	up_knee_say(knee->reason, sizeof(knee->reason),
		"closed model: the bounds X_max = %.4g/s and N / (R0 + Z) with R0 = %.4g ms, Z = %.4g ms cross at %.4g users",
		knee->bounds.x_max_per_s, 1e3 * knee->bounds.r0_s, 1e3 * knee->bounds.z_s, knee->bounds.n_star);
}

static void set_lines(const struct up_curve *curve, struct up_knee *knee)
{
	for (size_t i = 0; i < curve->n; i++)
		knee->capacity_per_s = fmax(knee->capacity_per_s, up_knee_achieved(&curve->step[i]));
	if (knee->verdict == UP_KNEE_FOUND && knee->good >= 0) {
		double good = curve->step[knee->good].in_flight, bad = curve->step[knee->bad].in_flight;

		if (good > 0 && bad > good)
			knee->alert_in_flight = sqrt(good * bad);
	}
}

void up_knee_find(struct up_curve *curve, const struct up_knee_options *options, struct up_knee *ret_knee)
{
	struct up_knee knee = { .good = -1,
		.bad = -1,
		.collapse = -1,
		.good_per_s = NAN,
		.bad_per_s = NAN,
		.collapse_per_s = NAN,
		.capacity_per_s = NAN,
		.alert_in_flight = NAN };
	static const struct up_knee_options unknown = { .kernel_in_flight_ratio = NAN };
	struct up_ladder_order order;

	sort_by_level(curve, &order);
	if (curve->n == 0) {
		knee.verdict = UP_KNEE_INVALID;
		snprintf(knee.reason, sizeof(knee.reason),
			"too few samples: no step of 5 s or more with a constant rate was found");
		up_knee_ask_witnesses(curve, &order, &knee);
		*ret_knee = knee;
		return;
	}
	if (curve->model.model == UP_MODEL_CLOSED)
		find_closed(curve, &order, &knee);
	else
		find_open(curve, &order, options ? options : &unknown, &knee);
	if (curve->n == 1 && knee.verdict == UP_KNEE_FOUND) {
		knee.verdict = UP_KNEE_INVALID;
		knee.good_per_s = knee.bad_per_s = NAN;
		snprintf(knee.reason, sizeof(knee.reason), "one step only, and that one is bad: a knee needs a good step too");
	}
	find_collapse(curve, &order, &knee);
	set_lines(curve, &knee);
	up_knee_ask_witnesses(curve, &order, &knee);
	*ret_knee = knee;
}
