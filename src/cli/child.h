/* The command behind `--`: started with the default signals, its end read through waitpid. Private to src/cli. */
#ifndef UP_CHILD_H
#define UP_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	bool running;
	struct rlimit descriptors; /* limit it is given: the user's own */
	int status; /* exit status as design.md section 6 defines it: its own, 128+n for a signal, 126/127 not run */
};

/* Starts ARGV (NULL at the end). 0 or -errno of fork; a program that cannot be run ends with 126 or 127. */
int child_start(struct child *child, char **argv);
/* Notices its end without waiting. */
void child_poll(struct child *child);
/* Asks it to end (SIGTERM), waits at most two seconds, then kills it. */
void child_stop(struct child *child);

#endif
