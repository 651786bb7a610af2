/* Runs one collector on a fixture tree as the tick would: open, then read and derive once a frame.
 *
 *	struct fake fake;
 *	fake_init(&fake, &up_collector_memory, "memory_v2", FAKE_V2, "/api");   tests/fixtures/memory_v2/{t0,t1}/sys/fs/cgroup/api/...
 *	assert_int_equal(fake_tick(&fake, 1), 0);                               frame t0
 *	assert_int_equal(fake_tick(&fake, 1), 0);                               frame t1, one second later
 *	fake_value(fake_row(&fake, "memory", "/api")->utilization, UP_OK, 0.5, "512 MiB of 1 GiB");
 *	fake_done(&fake);
 *
 * Every helper fails the running test with a message; none returns an error of its own. */
#ifndef UP_TESTS_FAKE_H
#define UP_TESTS_FAKE_H

#include "check.h"
#include "useprobe/collector.h"

/* Where the cgroup file systems are, so that a fixture needs no mountinfo. Controllers the collector asks for:
 *   FAKE_V2      all of them at /sys/fs/cgroup
 *   FAKE_V1      each at /sys/fs/cgroup/NAME (cpu, cpuacct, cpuset, memory, pids, blkio, freezer), no v2
 *   FAKE_HYBRID  the same, and v2 without controllers at /sys/fs/cgroup/unified */
enum fake_layout { FAKE_V2, FAKE_V1, FAKE_HYBRID };

struct fake {
	char dir[256]; /* the tree: the fixture itself or its copy */
	bool copied; /* dir is ours to change and to remove */
	enum fake_layout layout;
	char cgroup[256]; /* "" for the host */
	const struct up_collector *collector;
	struct up_source source;
	struct up_targets targets;
	struct up_env env;
	struct up_arena arenas[2];
	void *state, *raw[2];
	bool has[2], open;
	uint64_t ticks;
	struct up_rows rows; /* of the last tick */
};

/* FIXTURE is a directory below tests/fixtures. CGROUP ("/api") is the target, NULL for a host collector. */
void fake_init(struct fake *fake, const struct up_collector *collector, const char *fixture, enum fake_layout layout,
	const char *cgroup);
/* The same on a copy of the fixture, which fake_put and fake_remove may change. "" as FIXTURE starts with an empty tree. */
void fake_init_copy(struct fake *fake, const struct up_collector *collector, const char *fixture, enum fake_layout layout,
	const char *cgroup);
void fake_done(struct fake *fake);
/* Another target of the same tree, for collectors that look at all of them. */
struct up_target *fake_add_target(struct fake *fake, const char *cgroup);
/* Makes the target the process PID of its cgroup, labelled LABEL ("java[12]"). */
void fake_make_pid(struct fake *fake, int pid, const char *label);

/* PATH from the top of the tree, "t1/sys/fs/cgroup/api/memory.max"; missing directories are made. */
void fake_put(struct fake *fake, const char *path, const char *text);
void fake_remove(struct fake *fake, const char *path);

/* One tick, DT_S seconds after the one before; moves to the next frame after the first. Returns what open, read or derive returned;
 * the reason is in fake->env.error. */
int fake_tick(struct fake *fake, double dt_s);
/* Closes and opens again at the next tick, as after a restart of the target. */
void fake_reopen(struct fake *fake);

/* Row of the last tick; fake_row fails the test when there is none, naming those that are there. */
const struct up_row *fake_find(const struct fake *fake, const char *resource, const char *name);
const struct up_row *fake_row(const struct fake *fake, const char *resource, const char *name);
/* State and, for UP_OK, number within one part in a million. */
void fake_value(struct up_value value, enum up_state state, double number, const char *why);
/* The value is not there and its reason holds PART. */
void fake_absent(struct up_value value, const char *part, const char *why);
/* Detail of the row holds KEY with this number or text; fake_no_detail: does not hold KEY. */
void fake_detail(const struct up_row *row, const char *key, double number);
void fake_detail_text(const struct up_row *row, const char *key, const char *text);
void fake_no_detail(const struct up_row *row, const char *key);

/* Runs TICKS ticks over the tree once for every proper prefix of every file in it, each cut alone. Whatever a run then says with
 * state ok (numbers of rows and of their details) has to be what the whole tree gives. Returns the number of prefixes that gave a
 * wrong number, and prints the first few. SKIP (may be NULL): files whose name ends so are left whole. */
size_t fake_count_wrong(const struct up_collector *collector, const char *fixture, enum fake_layout layout, const char *cgroup,
	unsigned ticks, const char *skip);
/* Fails unless fake_count_wrong finds none. */
void fake_sweep(const struct up_collector *collector, const char *fixture, enum fake_layout layout, const char *cgroup,
	unsigned ticks, const char *skip);

#endif
