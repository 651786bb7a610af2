/* What the walk says of the stations it passes and of the one it ends in. */
#include <math.h>
#include <stdio.h>

#include "attribution_internal.h"

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

void up_walk_note_symptom(struct up_attribution *a, const struct up_suspect *s)
{
	if (s->kind == UP_STATION_WORKERS)
		up_add_symptom(a,
			"%s %s: %.3g requests wait in front of its %.3g threads (%.3g before), each held %.4g ms instead of %.4g ms",
			s->resource, s->name, s->waiting, s->servers, or_zero(s->waiting_good), s->hold_bad_ms, s->hold_good_ms);
	else if (s->kind == UP_STATION_LOCK)
		up_add_symptom(a, "lock %s: %.3g threads sleep on a futex (%.3g before): who holds it waits too", s->name,
			s->waiting, or_zero(s->waiting_good));
	else if (s->kind == UP_STATION_CONNECTIONS)
		up_add_symptom(a,
			"connections to %s: %.3g in use of %.3g open, %.3g requests wait for one; held %.4g ms instead of %.4g ms",
			s->name, s->hold_bad_ms > 0 ? s->utilization * s->servers : NAN, s->servers, or_zero(s->waiting),
			s->hold_bad_ms, s->hold_good_ms);
}

/* Why it is the verdict, in its own figures. */
void up_walk_give_reason(const struct up_suspect *s, char *text, size_t size)
{
	if (s->kind == UP_STATION_WORKERS && s->limit)
		up_say(text, size,
			"all %.3g threads are busy (%.0f %%) and each request holds one no longer than before; %.3g requests wait for one",
			s->servers, 100 * s->utilization, s->waiting);
	else if (s->kind == UP_STATION_CONNECTIONS && s->limit)
		up_say(text, size,
			"all %.3g connections are in use (%.0f %%) and each request holds one no longer than before; %.3g requests wait for one",
			s->servers, 100 * s->utilization, or_zero(s->waiting));
	else if (s->kind == UP_STATION_DEPENDENCY)
		up_say(text, size, "it answers after %.4g ms instead of %.4g ms a request", s->hold_bad_ms, s->hold_good_ms);
	else if (!isnan(s->waiting))
		up_say(text, size, "%.3g requests or tasks wait there (%.3g before)", s->waiting, or_zero(s->waiting_good));
}
