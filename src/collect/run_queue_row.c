#include "run_queue_row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"

static int read_failed(struct up_env *env, struct up_arena *arena, int r)
{
	char hidepid[32];
	const char *label = env->target ? env->target->label : "host";
	const char *bpf = up_delay_reason(env->delay, UP_DELAY_BPF);
	const char *taskstats = up_delay_reason(env->delay, UP_DELAY_TASKSTATS);

	if (r == -ENOENT && !env->target)
		return up_fail(env, r, "host: no /proc/schedstat (CONFIG_SCHEDSTATS); eBPF: %s; taskstats: %s",
			bpf ? bpf : "no data", taskstats ? taskstats : "too many processes to ask");
	if (r == -ENOENT && up_source_hidepid(env->source, arena, hidepid, sizeof(hidepid)))
		return up_fail(env, -EACCES,
			"%s: its processes are hidden (/proc is mounted with hidepid=%s): CAP_SYS_PTRACE is missing", label,
			hidepid);
	if (r == -ENOENT)
		return up_fail(
			env, r, "%s: no process, or a kernel that keeps no /proc/PID/schedstat (CONFIG_SCHED_INFO)", label);
	return up_fail(env, r, "%s: run-queue wait: %s", label, strerror(-r));
}

int run_queue_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct run_queue_raw raw = { .scope = UP_SCOPE_HOST, .label = "host" };
	int r;

	(void)state;
	if (!env->delay)
		return up_fail(env, -ENOENT, "a recorded tree holds no run-queue wait");
	r = up_delay_read(env->delay, env->source, arena, env->target, env->tick, &raw.sample);
	if (r < 0)
		return read_failed(env, arena, r);
	if (env->target) {
		raw.scope = env->target->kind == UP_TARGET_PID ? UP_SCOPE_PROCESS : UP_SCOPE_CGROUP;
		raw.label = up_arena_strdup(arena, env->target->label);
		raw.generation = env->target->generation;
	}
	if (raw.sample.competitor)
		raw.sample.competitor = up_arena_strdup(arena, raw.sample.competitor);
	if (!raw.sample.buckets) {
		const char *why = up_delay_reason(env->delay, UP_DELAY_BPF);

		raw.no_histogram = up_arena_printf(arena, "single waits are seen only by eBPF: %s", why ? why : "no data");
	}
	if (!raw.label || (!raw.sample.buckets && !raw.no_histogram))
		return -ENOSPC;
	*(struct run_queue_raw *)ret_raw = raw;
	return 0;
}

static const char *method_of(const struct up_delay_sample *sample, char *text, size_t size)
{
	const char *kind = sample->lower_bound ? "lower bound" : sample->method == UP_DELAY_BPF ? "measured" : "computed";

	snprintf(text, size, "%s %s", sample->source, kind);
	return text;
}

/* Length of waits in ms at percentile P of the window. */
static struct up_value percentile_ms(const struct run_queue_raw *p, const struct run_queue_raw *c, double percent)
{
	if (!c->sample.buckets)
		return up_none(c->no_histogram);
	if (!p)
		return up_value_state(UP_FIRST, NULL);
	const double ns = up_delay_percentile_ns(p->sample.buckets, c->sample.buckets, percent);

	return isnan(ns) ? up_none("no task was put on a CPU") : up_value(ns / (double)UP_NS_PER_MS);
}

/* Tasks held back by a quota, as much of them as this method can tell. */
static struct up_value throttled_tasks(const struct up_delay_sample *p, const struct up_delay_sample *c, double dt_ns)
{
	if (c->throttled_ns.has)
		return up_scaled(up_delta(p ? &p->throttled_ns : NULL, c->throttled_ns, NULL), 1, dt_ns, "no time passed");
	return up_scaled(up_delta(p ? &p->throttled_bound_ns : NULL, c->throttled_bound_ns, "no quota figures"), 1, dt_ns,
		"no time passed");
}

static void describe(struct up_detail *detail, const struct run_queue_raw *p, const struct run_queue_raw *c,
	struct up_value delayed, struct up_value throttled, double dt_ns)
{
	const struct up_delay_sample *prev = p ? &p->sample : NULL, *cur = &c->sample;
	const struct up_value waits = up_delta(prev ? &prev->waits : NULL, cur->waits, "not counted");

	if (cur->left_out)
		up_detail_text(detail, "left_out", cur->left_out);
	if (!p)
		return;
	up_detail_value(detail, "run_delay_s_per_s", delayed);
	if (cur->throttled_ns.has)
		up_detail_value(detail, "throttled_tasks", throttled);
	else if (cur->throttled_bound_ns.has)
		up_detail_value(detail, "throttled_tasks_min", throttled);
	up_detail_value(detail, "waits_per_s", up_scaled(waits, 1e9, dt_ns, "no time passed"));
	up_detail_value(
		detail, "wait_mean_ms", up_ratio(up_scaled(delayed, dt_ns / 1e6, 1, NULL), waits, "no task was put on a CPU"));
	up_detail_value(detail, "on_cpu",
		up_scaled(up_delta(prev ? &prev->on_cpu_ns : NULL, cur->on_cpu_ns, "not counted"), 1, dt_ns, "no time passed"));
	if (cur->buckets) {
		up_detail_value(detail, "wait_p50_ms", percentile_ms(p, c, 50));
		up_detail_value(detail, "wait_p99_ms", percentile_ms(p, c, 99));
	} else {
		up_detail_value(detail, "saturation", percentile_ms(p, c, 95));
	}
	if (cur->competitor) {
		up_detail_text(detail, "competitor", cur->competitor);
		up_detail_value(
			detail, "competitor_tasks", up_scaled(up_value((double)cur->competitor_ns), 1, dt_ns, "no time passed"));
	}
	if (cur->dropped.has)
		up_detail_value(detail, "dropped", up_delta(prev ? &prev->dropped : NULL, cur->dropped, NULL));
}

int run_queue_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct run_queue_raw *p = prev, *c = cur;
	struct up_detail detail = { 0 };
	struct up_value delayed, throttled;
	char method[96];

	/* Another method, or another life of the target: its counters began anew. */
	if (p && (p->sample.method != c->sample.method || p->generation != c->generation))
		p = NULL;
	delayed = up_scaled(
		up_delta(p ? &p->sample.wait_ns : NULL, c->sample.wait_ns, "not counted"), 1, (double)dt_ns, "no time passed");
	throttled = throttled_tasks(p ? &p->sample : NULL, &c->sample, (double)dt_ns);
	describe(&detail, p, c, delayed, throttled, (double)dt_ns);
	return up_rows_add(out, &(struct up_row){
					.scope = c->scope,
					.resource = "run-queue",
					.name = c->label,
					.saturation = percentile_ms(p, c, 95),
					.saturation_unit = "ms",
					/* A quota that nobody counts takes nothing away. */
					.waiting = throttled.state == UP_ABSENT ? delayed : up_minus(delayed, throttled),
					.errors = up_none("not applicable"),
					.utilization = up_none("not applicable"),
					.method = method_of(&c->sample, method, sizeof(method)),
					.detail = detail.text,
					.state = p      ? UP_OK
						 : prev ? UP_RESET
							: UP_FIRST,
					.reason = c->sample.left_out,
				});
}
