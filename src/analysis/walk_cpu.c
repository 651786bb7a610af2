/* The CPU has three faces: the target's own quota (or all CPUs it may use), an ancestor's quota, and other users of the same CPUs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribution_internal.h"

static const double others_min_ratio = 0.25; /* of the CPUs the target may use: below it others cannot be what it waits for */
static const double throttled_share = 0.5;

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

/* Path of the group that took most CPU beside the target, from the run-queue row; the target's own name without. */
static void name_competitor(const struct up_comparison *c, struct up_suspect *suspect)
{
	const struct up_recording *r = c->recording;

	for (size_t i = 0; i < r->n_tracks; i++) {
		struct up_reading reading;

		if (r->track[i].resource != UP_RES_RUN_QUEUE ||
			(r->track[i].target && c->subject->target && strcmp(r->track[i].target, c->subject->target) != 0))
			continue;
		up_track_read(r, &r->track[i], c->bad.from_us, c->bad.to_us, &reading);
		if (reading.text)
			snprintf(suspect->name, sizeof(suspect->name), "%s", r->text[reading.text]);
	}
}

static void name_limit(const struct up_comparison *c, const struct up_station *cpu, struct up_suspect *suspect)
{
	if (cpu->limit_track == SIZE_MAX)
		return;
	snprintf(suspect->name, sizeof(suspect->name), "%s", c->recording->track[cpu->limit_track].name);
	suspect->scope = c->recording->track[cpu->limit_track].scope;
}

void up_walk_name_cpu(
	const struct up_comparison *c, const struct up_station *cpu, struct up_suspect *suspect, char *why, size_t size)
{
	const double throttled = or_zero(cpu->throttled), contended = or_zero(cpu->contended);
	const double may_use = isnan(cpu->servers) ? 1 : cpu->servers;
	const bool full = cpu->utilization >= c->rules->full_min;

	why[0] = '\0';
	if (full && throttled >= throttled_share * (throttled + contended)) {
		name_limit(c, cpu, suspect);
		up_say(why, size,
			"%.3g of %.3g CPUs used, %.3g tasks held back by the quota, %.4g ms of CPU a request (%.4g before)",
			or_zero(cpu->busy), cpu->servers, throttled, suspect->hold_bad_ms, suspect->hold_good_ms);
		return;
	}
	if (contended > throttled && c->bad.outside_cpus >= others_min_ratio * may_use && !full) {
		snprintf(suspect->resource, sizeof(suspect->resource), "run-queue");
		name_competitor(c, suspect);
		up_say(why, size,
			"%.3g tasks wait for a CPU while others use %.3g CPUs; the target has %.3g of the %.3g it may use",
			contended, c->bad.outside_cpus, or_zero(cpu->busy), cpu->servers);
		return;
	}
	if (full || throttled > contended) {
		name_limit(c, cpu, suspect);
		up_say(why, size, "%.3g of %.3g CPUs used, %.3g tasks held back by a quota and %.3g waiting for a CPU",
			or_zero(cpu->busy), cpu->servers, throttled, contended);
		return;
	}
	suspect->resource[0] = '\0';
	up_say(why, size, "%.3g tasks wait for a CPU, but the target uses %.3g of %.3g and others use %s%.3g", contended,
		or_zero(cpu->busy), cpu->servers, isnan(c->bad.outside_cpus) ? "an unknown share " : "",
		or_zero(c->bad.outside_cpus));
}
