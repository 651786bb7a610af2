/* What the rows of requests and dependencies have in common: figures of turns between two readings. Private to src/collect. */
#ifndef UP_TURNS_H
#define UP_TURNS_H

#include "useprobe/requests.h"
#include "useprobe/row.h"

struct turn_figures {
	struct up_value window_ns;
	struct up_value level, unread; /* time averages */
	struct up_value level_high; /* when known, LEVEL is a lower bound and this an upper one */
	struct up_value begun, ended, cut;
	struct up_value begun_per_s, ended_per_s;
	struct up_value mean_ms; /* of ended turns */
	struct up_value p50_ms, p95_ms, p99_ms;
	bool unsettled; /* begun and ended differ by more than 5 % of ended */
};

/* Figures of [P, C]; P NULL = no earlier reading. A percentile of fewer than 20 turns is left out. */
struct turn_figures turn_figures(const struct up_turns *p, const struct up_turns *c);

/* What breaks "one request at a time per connection". NAME NULL: nothing does. */
struct turn_kind {
	const char *name; /* "http2", "stream", "pipelining", "multiplexed" */
	const char *reason; /* why the level is not shown; NULL: it is right as far as it goes */
};
struct turn_kind turn_kind(const struct up_turns *p, const struct up_turns *c, const struct turn_figures *f);

/* held_by_nagle: share of the turns with a write whose end waited for the peer's acknowledgement, up to 40 ms; left out when none did. */
void turn_held(struct up_detail *detail, const struct up_turns *p, const struct up_turns *c, const struct turn_figures *f);

/* NAME: the level; or NAME_low and NAME_high where only bounds are known. */
void turn_level(struct up_detail *detail, const char *name, const struct up_turns *c, const struct turn_figures *f);

#endif
