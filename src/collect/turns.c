#include "turns.h"

#include <math.h>

#include "useprobe/clock.h"
#include "useprobe/delay.h"

#define TURNS_MIN 20 /* below it a percentile is one of a handful of values */
#define UNSETTLED 0.05 /* docs/DESIGN.md: Little needs balance */

_Static_assert(UP_REQUESTS_BUCKETS == UP_DELAY_BUCKETS, "one kind of histogram");

static struct up_value percentile(const struct up_turns *p, const struct up_turns *c, struct up_value ended, double rank)
{
	if (!p || !up_value_ok(ended)) /* without a sample before ENDED says so */
		return ended;
	if (ended.number < TURNS_MIN)
		return up_none("fewer than 20 in the window");
	return up_value(up_delay_percentile_ns(p->buckets, c->buckets, rank) / (double)UP_NS_PER_MS);
}

struct turn_figures turn_figures(const struct up_turns *p, const struct up_turns *c)
{
	struct turn_figures f = {
		.window_ns = up_delta(p ? &p->mono_ns : NULL, c->mono_ns, NULL),
		.begun = up_delta(p ? &p->begun : NULL, c->begun, NULL),
		.ended = up_delta(p ? &p->ended : NULL, c->ended, NULL),
		.cut = up_delta(p ? &p->cut : NULL, c->cut, NULL),
	};
	const struct up_value area = up_delta(p ? &p->area_ns : NULL, c->area_ns, NULL);
	const struct up_value unread = up_delta(p ? &p->unread_area_ns : NULL, c->unread_area_ns, NULL);
	const struct up_value residence = up_delta(p ? &p->residence_ns : NULL, c->residence_ns, NULL);
	const struct up_value window_s = up_scaled(f.window_ns, 1, (double)UP_NS_PER_S, NULL);

	f.level = up_ratio(area, f.window_ns, "no time passed");
	f.unread = up_ratio(unread, f.window_ns, "no time passed");
	f.begun_per_s = up_ratio(f.begun, window_s, "no time passed");
	f.ended_per_s = up_ratio(f.ended, window_s, "no time passed");
	f.mean_ms = up_scaled(up_ratio(residence, f.ended, "none ended in the window"), 1, (double)UP_NS_PER_MS, NULL);
	f.p50_ms = percentile(p, c, f.ended, 50);
	f.p95_ms = percentile(p, c, f.ended, 95);
	f.p99_ms = percentile(p, c, f.ended, 99);
	f.unsettled = up_value_ok(f.begun) && up_value_ok(f.ended) &&
		      fabs(f.begun.number - f.ended.number) > UNSETTLED * f.ended.number;
	return f;
}
