/* Collector: one file in src/collect, one line in collectors.def, one test, one row in docs/COLLECTORS.md. */
#ifndef UP_COLLECTOR_H
#define UP_COLLECTOR_H

#include <stdint.h>

#include "useprobe/arena.h"
#include "useprobe/row.h"
#include "useprobe/source.h"
#include "useprobe/target.h"

struct up_blocks; /* useprobe/blocks.h: how long disks take for a request */
struct up_queues; /* useprobe/queues.h: queues inside the targets' programs (--queue) */
struct up_tasks; /* useprobe/tasks.h: threads of the targets in pools */
struct up_requests; /* useprobe/requests.h: turns of connections, shared by requests and dependency */
struct up_sockets; /* useprobe/sockets.h: sockets of all targets, shared by listen, requests and the others */
struct up_netspaces; /* useprobe/netspaces.h: queues and sockets of network namespaces */
struct up_delay; /* useprobe/delay.h: run-queue wait per target, shared by cpu and run-queue */

/* How many instances a run has. */
enum up_per {
	UP_PER_HOST, /* one; env->target is NULL */
	UP_PER_TARGET, /* one for each target; env->target is set */
	UP_PER_RUN, /* one that looks at all env->targets itself */
};

/* Options that only some collectors know (--queue, --conn-max, --name, ...): one entry for each time an option was given. */
struct up_setting {
	const char *key; /* option name without dashes */
	const char *value; /* borrowed from argv */
};

/* What a collector gets. Everything is borrowed; error is filled on failure with what was read and what was expected. */
struct up_env {
	const struct up_source *source;
	struct up_targets *targets;
	const struct up_target *target; /* UP_PER_TARGET only */
	struct up_delay *delay; /* NULL on a recorded tree without delay data */
	struct up_sockets *sockets; /* NULL on a recorded tree, and when no collector of the run needs it */
	struct up_netspaces *netspaces; /* likewise */
	struct up_requests *requests; /* NULL: requests_reason says why */
	const char *requests_reason;
	int requests_error; /* -errno behind the reason */
	struct up_tasks *tasks; /* NULL: tasks_reason says why */
	const char *tasks_reason;
	int tasks_error;
	struct up_queues *queues; /* NULL: queues_reason says why */
	const char *queues_reason;
	int queues_error;
	struct up_blocks *blocks; /* NULL: blocks_reason says why */
	const char *blocks_reason;
	int blocks_error;
	const struct up_setting *settings; /* [setting_count] */
	size_t setting_count;
	uint64_t interval_ns;
	uint64_t tick; /* number of this tick, 0 first */
	uint64_t late_ticks; /* ticks so far that began more than 10 % of the interval late, or were skipped */
	uint64_t dropped_rows; /* rows so far that did not fit a tick */
	char error[256]; /* reason of a failed open or read */
};

struct up_collector {
	const char *name; /* same word as file, line, test and docs row */
	const char *summary; /* one line for doctor and docs */
	enum up_per per;
	enum up_scope scope; /* scope and resource of the row that stands in when read fails */
	const char *resource;
	const char *option; /* only part of a run that has a setting with this key; NULL = always */
	bool needs_sockets; /* reads env->sockets */
	bool needs_netspaces; /* reads env->netspaces */
	bool needs_requests; /* reads env->requests */
	bool needs_tasks; /* reads env->tasks */
	bool needs_queues; /* reads env->queues */
	bool needs_blocks; /* reads env->blocks */
	size_t state_bytes; /* kept over the run, zeroed before open */
	size_t raw_bytes; /* one sample, zeroed before read */
	/* Finds and opens what is read. 0 or -errno with env->error; a failed open is tried again when the target comes back. NULL: none. */
	int (*open)(struct up_env *env, void *state);
	/* I/O only, no arithmetic. Memory of the sample comes from ARENA. 0 or -errno with env->error. */
	int (*read)(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw);
	/* Pure: no I/O, no clock, no globals. PREV is NULL on the first sample. DT_NS is the monotonic time between the two reads. */
	int (*derive)(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out);
	/* Frees what state holds; safe after a failed open and on zeroed state. NULL: nothing to free. */
	void (*close)(void *state);
};

/* All collectors in the order of collectors.def, NULL at the end. */
extern const struct up_collector *const up_collectors[];

/* First setting with KEY behind *INDEX (start with 0); NULL when there is none left. */
const char *up_setting_next(const struct up_env *env, const char *key, size_t *index);
/* Records why: "PATH: what". Returns ERROR unchanged, so that `return up_fail(env, -EBADMSG, ...)` reads as one line. */
UP_PRINTF(3, 4) int up_fail(struct up_env *env, int error, const char *format, ...);

#endif
