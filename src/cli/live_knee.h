/* The load curve and its knee while the test goes on, without a load file: what `useprobe report` would say of the CSV so far. Private to
 * src/cli. */
#ifndef UP_LIVE_KNEE_H
#define UP_LIVE_KNEE_H

#include "useprobe/attribution.h"
#include "useprobe/live.h"

struct live_knee {
	struct up_recording recording; /* of the run, at most LIVE_KNEE_TICKS of it */
	bool begun, found;
	uint64_t looked_ns, last_ns; /* time of a run: the last look, the last tick */
};

/* Adds a tick; every five seconds looks for the knee and writes curve and knee into LIVE. What was found stays. A replay that goes back
 * begins anew. */
void live_knee_tick(struct live_knee *knee, const struct up_table *table, struct up_live *live);
void live_knee_done(struct live_knee *knee);

#endif
