/* Processes and groups of a scenario; everything made here is undone by scenario_cleanup. */
#ifndef LAB_SCENARIO_RUN_H
#define LAB_SCENARIO_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "scenario.h"

#define SCENARIO_PROCESSES 8
#define SCENARIO_GROUPS 8

struct scenario_run {
	char self[512], probe[512]; /* programs */
	char dir[256]; /* where the files go */
	char group[64]; /* name of the server's group, "" without the right to make one */
	char groups[SCENARIO_GROUPS][256]; /* directories that were made */
	unsigned group_count;
	pid_t pids[SCENARIO_PROCESSES];
	unsigned pid_count;
};

/* Makes the server's group with its quota (0 = none) in every hierarchy that has cpu, cpuacct or memory. 0 or -errno. */
int scenario_group(struct scenario_run *run, double quota_cpus);
/* Starts ARGV (NULL at the end), its output in LOG below run->dir, in the server's group when INSIDE. Process id or -errno. */
pid_t scenario_start(struct scenario_run *run, char *const argv[], const char *log, bool inside);
/* Waits for PID at most SECONDS. Exit status, 128+n for a signal, -1 when it had to be ended. */
int scenario_wait(struct scenario_run *run, pid_t pid, double seconds);
/* Ends what still runs, removes the groups. */
void scenario_cleanup(struct scenario_run *run);
void scenario_sleep(double seconds);

#endif
