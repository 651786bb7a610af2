#include "queue_row.h"

#include <math.h>

#include "useprobe/clock.h"

#define UNSETTLED 0.05 /* docs/DESIGN.md: Little needs balance */

/* Why the level cannot be told; NULL when it can, if only as a lower bound. */
static const char *why_no_level(const struct up_queue_sample *c)
{
	if (c->zero == UP_ZERO_BROKEN)
		return "more items came out than went in: DEQUEUE waits inside (use @return) or finds nothing (use @nonnull), or ENQUEUE is not "
		       "the only way in";
	if (c->zero == UP_ZERO_AMBIGUOUS)
		return "what was in it before the probe is not known: DEQUEUE may wait inside. Start the program after the probe, or name "
		       "the function that works on an item (@begin)";
	return NULL;
}

/* Integral above BASE up to the sample's time: it only grows, since the level is never below. */
static struct up_u64 area_above(const struct up_queue_sample *sample, int64_t base)
{
	return (struct up_u64){ .n = sample->area_ns - (uint64_t)base * sample->mono_ns.n, .has = true };
}

/* Mean wait by Little's law: the area over the departures; bounds while arrivals and departures differ. */
static void describe_wait(
	struct up_detail *detail, struct up_value area_ns, struct up_value put, struct up_value taken, bool bound)
{
	const struct up_value ms = up_scaled(area_ns, 1, (double)UP_NS_PER_MS, NULL);
	const char *mean = bound ? "mean_wait_ms_at_least" : "mean_wait_ms";

	if (!up_value_ok(put) || !up_value_ok(taken) || fabs(put.number - taken.number) <= UNSETTLED * taken.number) {
		up_detail_value(detail, mean, up_ratio(ms, taken, "no item came out"));
		return;
	}
	up_detail_text(detail, "unsettled", "yes");
	up_detail_value(detail, "wait_ms_low", up_ratio(ms, up_value(fmax(put.number, taken.number)), NULL));
	if (!bound)
		up_detail_value(detail, "wait_ms_high",
			up_ratio(ms, up_value(fmin(put.number, taken.number)), "no item went all the way"));
}

static struct up_value grown(const struct up_queue_sample *p, const struct up_u64 *before, struct up_u64 now)
{
	return up_delta(p ? before : NULL, now, "items have no address here");
}

/* What the probes cost the callers: share of one CPU. */
static void describe_cost(struct up_detail *detail, const struct up_queue_sample *c, struct up_value put, struct up_value taken,
	struct up_value window_ns)
{
	const struct up_value unknown = up_none("the probe's cost was not measured");

	if (isnan(c->put_cost_ns) || isnan(c->take_cost_ns)) {
		up_detail_value(detail, "probe_cost_ratio", unknown);
		return;
	}
	up_detail_number(detail, "put_cost_us", c->put_cost_ns / 1e3);
	up_detail_number(detail, "take_cost_us", c->take_cost_ns / 1e3);
	up_detail_value(detail, "probe_cost_ratio",
		up_ratio(up_plus(up_scaled(put, c->put_cost_ns, 1, NULL), up_scaled(taken, c->take_cost_ns, 1, NULL)), window_ns,
			"no time passed"));
	if (c->slow)
		up_detail_text(detail, "single_stepped", c->slow);
}

static void describe_followed(
	struct up_detail *detail, const struct up_queue_sample *p, const struct up_queue_sample *c, struct up_value taken)
{
	if (!c->waited_ns.has)
		return;
	up_detail_value(detail, "measured_wait_ms",
		up_scaled(up_ratio(grown(p, p ? &p->waited_ns : NULL, c->waited_ns), taken, "no item came out"), 1,
			(double)UP_NS_PER_MS, NULL));
	up_detail_value(detail, "cancelled", grown(p, p ? &p->cancelled : NULL, c->cancelled));
	if (c->earlier.n)
		up_detail_count(detail, "put_before_the_probe", c->earlier.n);
}

void queue_add_row(const char *target, const struct up_queue_sample *p, const struct up_queue_sample *c, struct up_rows *out)
{
	const bool bound = c->zero == UP_ZERO_UNKNOWN;
	const struct up_value window_ns = up_delta(p ? &p->mono_ns : NULL, c->mono_ns, NULL);
	const struct up_value window_s = up_scaled(window_ns, 1, (double)UP_NS_PER_S, NULL);
	const struct up_value put = up_delta(p ? &p->put : NULL, c->put, NULL),
			      taken = up_delta(p ? &p->taken : NULL, c->taken, NULL);
	const struct up_u64 before = p ? area_above(p, c->base) : (struct up_u64){ 0 };
	const char *no_level = why_no_level(c);
	const struct up_value area_ns = no_level ? up_none(no_level) : up_delta(p ? &before : NULL, area_above(c, c->base), NULL);
	const struct up_value highest = no_level ? up_none(no_level) : up_value((double)c->highest);
	const struct up_value waiting = up_ratio(area_ns, window_ns, "no time passed");
	struct up_detail detail = { 0 };

	if (!no_level)
		up_detail_number(&detail, "now", (double)c->level);
	up_detail_value(&detail, "enqueues_per_s", up_ratio(put, window_s, "no time passed"));
	up_detail_value(&detail, "dequeues_per_s", up_ratio(taken, window_s, "no time passed"));
	up_detail_value(&detail, "enqueues", put);
	up_detail_value(&detail, "dequeues", taken);
	describe_wait(&detail, area_ns, put, taken, bound);
	describe_followed(&detail, p, c, taken);
	up_detail_text(&detail, "empty_known_by", up_queue_zero_name(c->zero));
	if (c->lost.n)
		up_detail_count(&detail, "lost", c->lost.n);
	describe_cost(&detail, c, put, taken, window_ns);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_PROCESS,
				 .resource = "queue",
				 .name = c->name,
				 .target = target,
				 .utilization = up_none("a queue has no servers; see the thread-pool row"),
				 .saturation = up_value_ok(waiting) ? highest : waiting,
				 .saturation_unit = "items",
				 .waiting = waiting,
				 .waiting_max = up_value_ok(waiting) ? highest : waiting,
				 .errors = up_none("a queue has no errors"),
				 .method = bound ? "uprobes lower bound" : "uprobes measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
				 .window_ns = up_value_ok(window_ns) ? (uint64_t)window_ns.number : 0,
			 });
}
