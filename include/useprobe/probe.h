/* Probe: one run. The tick reads the collectors, fills the table and feeds the sinks; it alone asks for the time. */
#ifndef UP_PROBE_H
#define UP_PROBE_H

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/sink.h"
#include "useprobe/table.h"

#define UP_SINKS_MAX 8

struct up_probe_config {
	struct up_source *source; /* borrowed */
	const struct up_clock *clock; /* borrowed */
	struct up_targets *targets; /* borrowed; none = the host */
	const struct up_setting *settings;
	size_t setting_count;
	uint64_t interval_ns; /* 100 ms to 1 h */
	const char *only, *skip; /* comma-separated resources or collectors, NULL = all */
	bool host_rows; /* host collectors too (default) */
};

struct up_probe;

UP_MUST_CHECK int up_probe_new(const struct up_probe_config *config, struct up_probe **ret);
void up_probe_free(struct up_probe *probe);
int up_probe_add_sink(struct up_probe *probe, struct up_sink sink);
/* Closes all sinks, in order. 0 or the first -errno (a file that could not be finished). */
int up_probe_close_sinks(struct up_probe *probe);

/* Reads once, now. Rows, table and sinks are up to date afterwards. 0, or -errno of a sink (*ret_sink names it). */
int up_probe_tick(struct up_probe *probe, const char **ret_sink);
/* When the next tick is due (monotonic): start + n * interval, never drifting; deadlines that have passed are skipped and counted. */
uint64_t up_probe_deadline_ns(const struct up_probe *probe);
void up_probe_set_interval(struct up_probe *probe, uint64_t interval_ns);
/* Puts an event row into the next tick (mark, knee, ...), with the time of this call in its detail (at=...) when the tick comes
 * later. RESOURCE static; text copied. */
void up_probe_event(struct up_probe *probe, const char *resource, const char *name, const char *text, const char *target);
/* The run's delay service; NULL on a recorded tree. */
const struct up_delay *up_probe_delay(const struct up_probe *probe);
/* Why the latency of disks is not measured; NULL when it is. */
const char *up_probe_blocks_reason(const struct up_probe *probe);
/* Ticks so far that began late or were skipped. */
uint64_t up_probe_late_ticks(const struct up_probe *probe);
/* Events that wait for the next tick: a run that ends makes one more tick for them. */
size_t up_probe_pending_events(const struct up_probe *probe);
const struct up_table *up_probe_table(const struct up_probe *probe);
/* State of each collector instance, for the sidecar and doctor. Index from 0; false past the end. */
struct up_probe_instance {
	const struct up_collector *collector;
	const struct up_target *target; /* NULL for host */
	enum up_state state;
	const char *reason; /* NULL when fine; borrowed until the next tick */
	uint64_t read_cost_ns; /* of the last read */
};
bool up_probe_instance(const struct up_probe *probe, size_t index, struct up_probe_instance *ret);

#endif
