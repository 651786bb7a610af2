/* probe - what useprobe itself costs and misses: it is a load like any other, so its figures stand in the table.
 * Reads getrusage (all threads) and /proc/self/statm ("2207 513 411 ...": pages, second column resident). */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/delay.h"

struct state {
	struct up_file statm;
};

struct raw {
	struct up_u64 cpu_ns; /* counter, user and system */
	struct up_u64 resident_bytes; /* gauge */
	struct up_u64 late_ticks; /* counter */
	struct up_u64 dropped_rows; /* counter */
	struct up_u64 dropped_updates; /* counter, BPF map updates */
	struct up_u64 bpf_ns; /* counter, run time of our programs */
};

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * UP_NS_PER_S + (uint64_t)tv.tv_usec * UP_NS_PER_US;
}

static int probe_open(struct up_env *env, void *opaque)
{
	(void)env;
	((struct state *)opaque)->statm.path = "proc/self/statm";
	return 0;
}

static void probe_close(void *opaque)
{
	up_file_close(&((struct state *)opaque)->statm);
}

static int probe_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = {
		.late_ticks = { .n = env->late_ticks, .has = true },
		.dropped_rows = { .n = env->dropped_rows, .has = true },
	};
	struct up_delay_sample delay;
	struct rusage usage;
	char *text;

	/* A recorded tree says nothing about this process, and this process nothing about the recording. */
	if (env->source->recorded)
		return up_fail(env, -ENOENT, "a recorded tree has no probe");
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		raw.cpu_ns = (struct up_u64){ .n = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime), .has = true };
	if (up_file_read(env->source, &state->statm, arena, &text, NULL) == 0) {
		const char *cursor = text;
		uint64_t total, resident;

		if (up_scan_u64(&cursor, &total) == 0 && up_scan_literal(&cursor, " ") && up_scan_u64(&cursor, &resident) == 0)
			raw.resident_bytes = (struct up_u64){ .n = resident * (uint64_t)sysconf(_SC_PAGESIZE), .has = true };
	}
	if (env->delay && up_delay_read(env->delay, env->source, arena, NULL, env->tick, &delay) == 0) {
		raw.dropped_updates = delay.dropped;
		raw.bpf_ns = delay.bpf_run_ns;
	}
	*(struct raw *)ret_raw = raw;
	return 0;
}

static int probe_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	struct up_detail detail = { 0 };
	struct up_value errors = up_delta(p ? &p->dropped_rows : NULL, c->dropped_rows, NULL);

	if (c->dropped_updates.has)
		errors = up_plus(errors, up_delta(p ? &p->dropped_updates : NULL, c->dropped_updates, NULL));
	if (c->resident_bytes.has)
		up_detail_count(&detail, "resident_bytes", c->resident_bytes.n);
	if (c->bpf_ns.has)
		up_detail_value(&detail, "bpf_cpu_ratio",
			up_scaled(up_delta(p ? &p->bpf_ns : NULL, c->bpf_ns, NULL), 1, (double)dt_ns, NULL));
	up_detail_count(&detail, "late_ticks_total", c->late_ticks.n);
	return up_rows_add(out, &(struct up_row){
					.scope = UP_SCOPE_PROBE,
					.resource = "probe",
					.name = "useprobe",
					.utilization = up_scaled(up_delta(p ? &p->cpu_ns : NULL, c->cpu_ns, "getrusage failed"),
						1, (double)dt_ns, NULL),
					.saturation = up_delta(p ? &p->late_ticks : NULL, c->late_ticks, NULL),
					.saturation_unit = "late ticks",
					.waiting = up_none("the probe serves nobody"),
					.errors = errors,
					.servers = 1,
					.method = "getrusage measured",
					.detail = detail.text,
					.state = p ? UP_OK : UP_FIRST,
				});
}

const struct up_collector up_collector_probe = {
	.name = "probe",
	.summary = "useprobe's own CPU, memory, late ticks and lost updates",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_PROBE,
	.resource = "probe",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = probe_open,
	.read = probe_read,
	.derive = probe_derive,
	.close = probe_close,
};
