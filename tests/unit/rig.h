/* A whole probe on a recorded tree with a fake clock: what a collector's rows look like when the tick makes them. */
#ifndef UP_TESTS_RIG_H
#define UP_TESTS_RIG_H

#include "useprobe/probe.h"

struct rig {
	struct up_source source;
	struct up_arena arena;
	struct up_targets targets;
	struct up_fake_clock fake;
	struct up_clock clock;
	struct up_probe *probe;
};

/* Opens ROOT (frames t0, t1, ... or one tree) with target NAME (NULL: the host) and the collectors in ONLY. Fails the test on error. */
void rig_open(struct rig *rig, const char *root, const char *name, uint64_t interval_ns, const char *only);
void rig_close(struct rig *rig);
/* Waits for the deadline and ticks. */
void rig_tick(struct rig *rig);
/* Moves on to the next frame and ticks; fails the test when there is none. */
void rig_next(struct rig *rig);
/* First row of the tick with RESOURCE and NAME (NULL: any); NULL when there is none. */
const struct up_row *rig_row(const struct rig *rig, const char *resource, const char *name);

#endif
