#include "stalled.h"

#include <stdio.h>

static const char no_window[] = "no snapshot in the window";

void stalled_read(struct up_env *env, enum up_stall stall, struct stalled *ret)
{
	*ret = (struct stalled){ 0 };
	if (env->tasks) {
		up_tasks_stall(env->tasks, (size_t)(env->target - env->targets->items), stall, &ret->sample);
		ret->source = ret->sample.method;
	} else {
		ret->sample.reason = env->tasks_reason ? env->tasks_reason : "a recorded tree has no threads";
	}
}

static struct up_value mean_of(
	const struct stalled *prev, const struct stalled *cur, const struct up_u64 *before, struct up_u64 now)
{
	return up_ratio(up_delta(before, now, cur->sample.reason),
		up_delta(prev ? &prev->sample.mono_ns : NULL, cur->sample.mono_ns, cur->sample.reason), no_window);
}

struct up_value stalled_tasks(const struct stalled *prev, const struct stalled *cur)
{
	return mean_of(prev, cur, prev ? &prev->sample.area_ns : NULL, cur->sample.area_ns);
}

struct up_value stalled_running(const struct stalled *prev, const struct stalled *cur)
{
	return mean_of(prev, cur, prev ? &prev->sample.running_area_ns : NULL, cur->sample.running_area_ns);
}

struct up_value stalled_most(const struct stalled *prev, const struct stalled *cur)
{
	return up_value_ok(stalled_tasks(prev, cur)) ? up_value(cur->sample.most) : up_none(NULL);
}

const char *stalled_method(const struct stalled *cur, const char *method, char *ret, size_t size)
{
	const bool known = cur->source && cur->sample.area_ns.has;

	snprintf(ret, size, "%s%s%s%s", method ? method : "", method && known ? "; " : "", known ? "waiting " : "",
		known ? cur->source : "");
	return ret;
}
