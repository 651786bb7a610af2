#include "turns.h"

#include <math.h>
#include <stdio.h>

#include "useprobe/clock.h"
#include "useprobe/delay.h"

#define TURNS_MIN 20 /* below it a percentile is one of a handful of values */
#define UNSETTLED 0.05 /* docs/DESIGN.md: Little needs balance */

#define SEVERAL_SHARE 0.1 /* of the turns: beyond it a connection carries several requests at once */
#define KIND_SHARE 0.5 /* of the connections: beyond it the address is one of HTTP/2, or of streams */
#define KIND_TURNS_MIN 20

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
		.begun = up_delta(p ? &p->begun : NULL, c->begun, c->uncounted),
		.ended = up_delta(p ? &p->ended : NULL, c->ended, c->uncounted),
		.cut = up_delta(p ? &p->cut : NULL, c->cut, c->uncounted),
	};
	const struct up_value area = up_delta(p ? &p->area_ns : NULL, c->area_ns, NULL);
	const struct up_value unread = up_delta(p ? &p->unread_area_ns : NULL, c->unread_area_ns, NULL);
	const struct up_value residence = up_delta(p ? &p->residence_ns : NULL, c->residence_ns, c->uncounted);
	const struct up_value window_s = up_scaled(f.window_ns, 1, (double)UP_NS_PER_S, NULL);

	f.level = up_ratio(area, f.window_ns, "no time passed");
	f.level_high = up_ratio(up_delta(p ? &p->area_high_ns : NULL, c->area_high_ns, NULL), f.window_ns, "no time passed");
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

void turn_level(struct up_detail *detail, const char *name, const struct up_turns *c, const struct turn_figures *f)
{
	char key[32];

	if (!c->area_high_ns.has) {
		up_detail_value(detail, name, f->level);
		return;
	}
	snprintf(key, sizeof(key), "%s_low", name);
	up_detail_value(detail, key, f->level);
	snprintf(key, sizeof(key), "%s_high", name);
	up_detail_value(detail, key, f->level_high);
}

void turn_held(struct up_detail *detail, const struct up_turns *p, const struct up_turns *c, const struct turn_figures *f)
{
	const struct up_value held = up_delta(p ? &p->held : NULL, c->held, NULL);

	if (up_value_ok(held) && held.number > 0)
		up_detail_value(detail, "held_by_nagle", up_ratio(held, f->ended, "no turn ended"));
}

struct turn_kind turn_kind(const struct up_turns *p, const struct up_turns *c, const struct turn_figures *f)
{
	const struct up_value piled = up_ratio(up_delta(p ? &p->piled : NULL, c->piled, NULL), f->ended, "");
	const struct up_value pipelined = up_ratio(up_delta(p ? &p->pipelined : NULL, c->pipelined, NULL), f->ended, "");
	const double connections = (double)c->connections;

	if ((double)c->http2_connections > KIND_SHARE * connections)
		return (struct turn_kind){ "http2", "HTTP/2: many requests share a connection" };
	if ((double)c->stream_connections > KIND_SHARE * connections)
		return (struct turn_kind){ "stream", "streams: requests and answers do not alternate" };
	if (!up_value_ok(f->ended) || f->ended.number < KIND_TURNS_MIN)
		return (struct turn_kind){ 0 };
	if (up_value_ok(pipelined) && pipelined.number > SEVERAL_SHARE)
		return (struct turn_kind){ "pipelining", "pipelining: several requests at a time on one connection" };
	if (up_value_ok(piled) && piled.number > SEVERAL_SHARE)
		return (struct turn_kind){ "multiplexed", "several requests at a time on one connection" };
	return (struct turn_kind){ 0 };
}
