/* queue - the application's own queues, by uprobes on the functions that put items in and take them out (--queue; bpf/queues.bpf.c): how
 * many items wait, how many come and go, how long one waits. The mean number is a time integral over the window; the mean wait follows
 * from it by Little's law, and where items are followed by their address (libuv) it is measured as well. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "queue_row.h"
#include "useprobe/collector.h"

struct raw {
	struct up_queue_sample *samples; /* [count] */
	size_t count;
	const char *targets[UP_TARGETS_MAX];
	size_t target_count;
};

static int queue_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .target_count = env->targets->count };
	int r;

	(void)state;
	if (!env->queues)
		return up_fail(env, env->queues_error ? env->queues_error : -EOPNOTSUPP, "%s",
			env->queues_reason ? env->queues_reason : "no --queue");
	r = up_queues_read(env->queues, env->targets, arena, &raw.samples, &raw.count);
	for (size_t i = 0; i < raw.target_count && r == 0; i++) {
		raw.targets[i] = up_arena_strdup(arena, env->targets->items[i].name);
		r = raw.targets[i] ? 0 : -ENOSPC;
	}
	if (r < 0)
		return up_fail(env, r, "reading the programs' counters: %s", strerror(-r));
	*(struct raw *)ret_raw = raw;
	return 0;
}

static const struct up_queue_sample *find_sample(const struct raw *raw, const struct up_queue_sample *like)
{
	for (size_t i = 0; raw && i < raw->count; i++) {
		const struct up_queue_sample *sample = &raw->samples[i];

		if (!sample->reason && sample->first_ns == like->first_ns && strcmp(sample->name, like->name) == 0)
			return sample;
	}
	return NULL;
}

static void add_gap(const struct raw *raw, const struct up_queue_sample *c, struct up_rows *out)
{
	const enum up_state state = c->error == -EACCES || c->error == -EPERM ? UP_DENIED : UP_ABSENT;
	const struct up_value none = up_value_state(state, c->reason);

	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_PROCESS,
				 .resource = "queue",
				 .name = c->name,
				 .target = raw->target_count == 1 ? raw->targets[0] : NULL,
				 .utilization = none,
				 .saturation = none,
				 .waiting = none,
				 .errors = none,
				 .method = "uprobes measured",
				 .state = state,
				 .reason = c->reason,
			 });
}

static int queue_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *c = cur;

	(void)dt_ns;
	for (size_t i = 0; i < c->count; i++) {
		const struct up_queue_sample *sample = &c->samples[i];

		if (sample->reason)
			add_gap(c, sample, out);
		else
			queue_add_row(sample->target < c->target_count ? c->targets[sample->target] : NULL,
				find_sample(prev, sample), sample, out);
	}
	return 0;
}

const struct up_collector up_collector_queue = {
	.name = "queue",
	.summary = "queues inside the targets' programs, by uprobes on the functions of --queue",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_PROCESS,
	.resource = "queue",
	.option = "queue",
	.needs_queues = true,
	.raw_bytes = sizeof(struct raw),
	.read = queue_read,
	.derive = queue_derive,
};
