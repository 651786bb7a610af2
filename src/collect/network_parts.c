/* What the collectors of a network namespace have in common. */
#include "network_parts.h"

#include <errno.h>
#include <stdio.h>

int network_find(struct up_env *env, struct up_arena *arena, pid_t *ret_pid, char ret_dir[32])
{
	pid_t *pids;
	size_t count;

	if (!env->target) {
		*ret_pid = 0;
		snprintf(ret_dir, 32, "proc/self/net");
		return 0;
	}
	if (up_target_pids(env->target, env->source, arena, &pids, &count) < 0 || count == 0)
		return up_fail(env, -ENOENT, "%s has no process whose network could be looked at", env->target->label);
	*ret_pid = pids[0];
	snprintf(ret_dir, 32, "proc/%d/net", (int)pids[0]);
	return 0;
}

/* A recorded tree has the sysctls of one namespace. */
static int read_limits(struct up_env *env, struct up_arena *arena, struct network_space *ret)
{
	struct up_netlimits *limits = up_arena_alloc(arena, sizeof(*limits));
	const char *texts[UP_NETLIMIT_COUNT] = { 0 };

	if (!limits)
		return -ENOSPC;
	for (int i = 0; i < UP_NETLIMIT_COUNT; i++) {
		char *text;

		if (up_source_read(env->source, arena, up_netlimit_path((enum up_netlimit)i), &text, NULL) == 0)
			texts[i] = text;
	}
	up_netlimits_parse(texts, limits);
	ret->limits = limits;
	return 0;
}

int network_look(struct up_env *env, struct up_arena *arena, pid_t pid, struct network_space *ret)
{
	char reason[192];
	int r;

	*ret = (struct network_space){ .state = UP_ABSENT, .reason = "a recorded tree has no sockets" };
	if (!env->netspaces)
		return read_limits(env, arena, ret);
	r = up_netspaces_look(env->netspaces, pid, env->tick, arena, &ret->space, reason, sizeof(reason));
	if (r < 0) {
		ret->state = r == -EPERM || r == -EACCES ? UP_DENIED : UP_ABSENT;
		ret->reason = up_arena_strdup(arena, reason);
		return ret->reason ? 0 : -ENOSPC;
	}
	ret->state = UP_OK;
	ret->limits = ret->space.limits;
	return 0;
}

struct up_value network_unknown(const struct network_space *space, const char *otherwise)
{
	return space->state == UP_OK ? up_none(otherwise) : up_value_state(space->state, space->reason);
}
