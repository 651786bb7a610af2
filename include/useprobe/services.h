/* Services: what several collectors share over a run, started once and told when targets come and go. They stand in struct up_env, where
 * the collectors find them; a service that cannot work here leaves its place NULL and its reason beside it. */
#ifndef UP_SERVICES_H
#define UP_SERVICES_H

#include <stdbool.h>

#include "useprobe/collector.h"

/* Which of them some collector of the run asks for. The delay service is cheap and always there. */
struct up_needs {
	bool sockets, netspaces, requests, tasks, queues, blocks;
};

/* Text the reasons in the environment point at. */
struct up_services {
	char requests_reason[256], tasks_reason[256], queues_reason[256], blocks_reason[256];
};

/* Starts what is needed and works here. They are started with the run, not with the first read: what they load and enter needs rights
 * that are given up later. SERVICES has to live as long as ENV. 0 or -errno (out of memory, no thread). */
UP_MUST_CHECK int up_services_start(struct up_services *services, struct up_env *env, struct up_needs needs);
/* Tells them that targets appeared, came back or went. */
void up_services_retarget(struct up_env *env);
void up_services_stop(struct up_env *env);

#endif
