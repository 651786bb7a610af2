/* Sidecar: the JSON beside the CSV that holds the environment of a run (docs/CSV.md). Written at the start, rewritten at the end. */
#ifndef UP_SIDECAR_H
#define UP_SIDECAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/row.h"

/* Everything is borrowed. Text may hold any bytes: what is no UTF-8 becomes \xNN. NULL and unknown values become null, never 0. */
struct up_sidecar_pair {
	const char *key, *value;
};

struct up_sidecar_target {
	const char *name; /* as typed */
	const char *kind; /* "host", "cgroup", "pid" */
	const char *label; /* name in the CSV */
	const char *how; /* class of the lookup */
	const char *container_id;
	const struct up_sidecar_pair *limits; /* [limit_count] "cpu.max" = "50000 100000", as read at the start */
	size_t limit_count;
};

struct up_sidecar_collector {
	const char *name;
	const char *target; /* NULL for host */
	enum up_state state;
	const char *reason; /* NULL when fine */
	const char *method; /* NULL when not known */
};

struct up_sidecar {
	const char *csv; /* name of the CSV file */
	const char *version; /* of useprobe */
	const char *host, *kernel, *machine, *distribution; /* uname and os-release */
	struct up_value cpu_count; /* online */
	struct up_value memory_bytes;
	const char *cgroup_mode; /* "v1", "v2", "hybrid" */
	const char *boot_id;
	const char *locale_zone; /* TZ offset of the machine at the start, "+01:00" */
	uint64_t start_wall_ns, start_mono_ns; /* one instant in both clocks */
	uint64_t end_wall_ns, end_mono_ns; /* 0 = still running (or killed) */
	uint64_t interval_ns;
	uint64_t ticks, late_ticks; /* written when end_wall_ns is set */
	const char *end_reason; /* "duration", "signal", "command ended", ...; NULL while running */
	const char *command; /* program after --, NULL = none; never its arguments */
	size_t command_argument_count;
	const struct up_sidecar_target *targets;
	size_t target_count;
	const struct up_sidecar_collector *collectors;
	size_t collector_count;
	const struct up_sidecar_pair *versions; /* of what is measured, when known: "dotnet" = "8.0.11" */
	size_t version_count;
	const struct up_sidecar_pair *notes; /* --note K=V */
	size_t note_count;
};

/* Name of the sidecar of a CSV: "x.csv" -> "x.json", "x" -> "x.json". 0, or -ENAMETOOLONG. */
UP_MUST_CHECK int up_sidecar_path(const char *csv_path, char *ret, size_t size);

/* Writes PATH through a temporary file beside it and rename(2), so that a reader or a crash never meets half a file. With FRESH an
 * existing PATH is left alone: -EEXIST. 0 or -errno. */
UP_MUST_CHECK int up_sidecar_write(const char *path, bool fresh, const struct up_sidecar *sidecar);

/* The same as text; the caller frees it. NULL without memory. */
char *up_sidecar_text(const struct up_sidecar *sidecar);

#endif
