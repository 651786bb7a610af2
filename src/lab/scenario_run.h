/* Processes and groups of a scenario; everything made here is undone by scenario_cleanup. */
#ifndef LAB_SCENARIO_RUN_H
#define LAB_SCENARIO_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "scenario.h"

#define SCENARIO_PROCESSES 10
#define SCENARIO_DIRS 64

enum scenario_role { SCENARIO_SERVER, SCENARIO_DB, SCENARIO_LOAD, SCENARIO_DECOY, SCENARIO_RIVAL, SCENARIO_ROLES };

struct scenario_run {
	char self[512], probe[512]; /* programs */
	char dir[256]; /* where the files go */
	char group[64]; /* around the roles' groups */
	bool nested; /* the server's group stands in one more, which has the quota */
	char dirs[SCENARIO_DIRS][256]; /* directories that were made, outer ones first */
	enum scenario_role dir_role[SCENARIO_DIRS]; /* whose it is; SCENARIO_ROLES for the outer ones */
	unsigned dir_count;
	unsigned ports[3]; /* server, db, other */
	pid_t pids[SCENARIO_PROCESSES];
	unsigned pid_count;
	double cpu_s[SCENARIO_ROLES]; /* used by each group, read by scenario_cpu */
};

/* Makes GROUP with a group for each role inside, in every hierarchy that has cpu, cpuacct, cpuset, memory or freezer; limits as planned, the server
 * and its rival on the first CPU, everyone else on the last. 0 or -errno. */
int scenario_groups(struct scenario_run *run, const struct scenario_plan *plan);
/* Path of ROLE's group below the hierarchy's root; SCENARIO_ROLES: the one right around the server's. */
char *scenario_path(const struct scenario_run *run, enum scenario_role role, char *ret, size_t size);
/* Free ports of the loopback address. */
int scenario_ports(struct scenario_run *run);
/* TEXT with its @WORDs replaced. */
char *scenario_expand(const struct scenario_run *run, const char *text, char *ret, size_t size);
/* Starts PROGRAM with HEAD's arguments and those of OPTIONS (text with blanks and @WORDs, may be ""), its output in LOG below run->dir, in ROLE's group
 * (SCENARIO_ROLES: none). Process id or -errno. */
pid_t scenario_start(
	struct scenario_run *run, const char *const *head, const char *options, const char *log, enum scenario_role role);
/* Waits for PID at most SECONDS. Exit status, 128+n for a signal, -1 when it had to be ended. */
int scenario_wait(struct scenario_run *run, pid_t pid, double seconds);
/* Reads the CPU time of each group. */
void scenario_cpu(struct scenario_run *run);
/* Ends what still runs, removes the groups. */
void scenario_cleanup(struct scenario_run *run);
void scenario_sleep(double seconds);

#endif
