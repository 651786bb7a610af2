#include "useprobe/services.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "useprobe/blocks.h"
#include "useprobe/clock.h"
#include "useprobe/delay.h"
#include "useprobe/netspaces.h"
#include "useprobe/queues.h"
#include "useprobe/requests.h"
#include "useprobe/sockets.h"
#include "useprobe/tasks.h"

#define FIRST_SEARCH_NS (UP_NS_PER_S / 2)

/* Without these programs the rows of requests say why; the rest of the run goes on. */
static void start_requests(struct up_services *services, struct up_env *env)
{
	enum up_requests_by by;

	/* What is attached should know the listeners from its first event on. */
	if (env->sockets)
		up_sockets_wait(env->sockets, FIRST_SEARCH_NS);
	/* For tests of the fall-backs, and to compare them with the best. */
	if (up_requests_by_parse(getenv("USEPROBE_REQUESTS"), &by) < 0) {
		snprintf(services->requests_reason, sizeof(services->requests_reason),
			"USEPROBE_REQUESTS is neither events nor looks");
		env->requests_error = -EINVAL;
	} else {
		env->requests_error = up_requests_new(env->source, env->targets, env->sockets, by, &env->requests,
			services->requests_reason, sizeof(services->requests_reason));
	}
	env->requests_reason = services->requests_reason;
}

static void start_tasks(struct up_services *services, struct up_env *env)
{
	env->tasks_error =
		up_tasks_new(env->source, env->targets, &env->tasks, services->tasks_reason, sizeof(services->tasks_reason));
	env->tasks_reason = services->tasks_reason;
}

/* What --queue named, so far as it can be read; the command line has refused the rest already. */
static void start_queues(struct up_services *services, struct up_env *env)
{
	struct up_queue_spec specs[UP_QUEUE_SPECS_MAX];
	const char *value;
	size_t index = 0, count = 0;

	env->queues_reason = services->queues_reason;
	while (count < UP_QUEUE_SPECS_MAX && env->queues_error == 0 && (value = up_setting_next(env, "queue", &index)))
		env->queues_error =
			up_queue_spec_parse(value, &specs[count++], services->queues_reason, sizeof(services->queues_reason));
	if (env->queues_error == 0)
		env->queues_error = up_queues_new(env->source, env->targets, specs, count, &env->queues, services->queues_reason,
			sizeof(services->queues_reason));
}

int up_services_start(struct up_services *services, struct up_env *env, struct up_needs needs)
{
	int r = 0;

	/* A recorded tree holds files; the delay of live tasks and their sockets are not in it. */
	if (!env->source->recorded)
		r = up_delay_new(env->source, env->targets, &env->delay);
	if (r == 0 && needs.sockets && !env->source->recorded)
		r = up_sockets_new(env->source, env->targets, &env->sockets);
	if (r == 0 && needs.netspaces && !env->source->recorded)
		r = up_netspaces_new(env->source, &env->netspaces);
	if (r == 0 && needs.requests)
		start_requests(services, env);
	/* Thread pools are a target's; all threads of a machine would be too many rows. */
	if (r == 0 && needs.tasks && env->targets->count)
		start_tasks(services, env);
	if (r == 0 && needs.blocks) {
		env->blocks_error =
			up_blocks_new(env->source, &env->blocks, services->blocks_reason, sizeof(services->blocks_reason));
		env->blocks_reason = services->blocks_reason;
	}
	if (r == 0 && needs.queues)
		start_queues(services, env);
	return r;
}

void up_services_retarget(struct up_env *env)
{
	if (env->delay)
		up_delay_retarget(env->delay, env->targets);
	/* At the first tick these have just been started with the same targets. */
	if (env->tick == 0)
		return;
	if (env->sockets)
		up_sockets_retarget(env->sockets, env->targets);
	if (env->requests)
		up_requests_retarget(env->requests, env->targets);
	if (env->tasks)
		up_tasks_retarget(env->tasks, env->targets);
}

void up_services_stop(struct up_env *env)
{
	up_queues_free(env->queues);
	up_blocks_free(env->blocks);
	up_tasks_free(env->tasks);
	up_requests_free(env->requests);
	up_netspaces_free(env->netspaces);
	up_sockets_free(env->sockets);
	up_delay_free(env->delay);
	env->queues = NULL;
	env->blocks = NULL;
	env->tasks = NULL;
	env->requests = NULL;
	env->netspaces = NULL;
	env->sockets = NULL;
	env->delay = NULL;
}
