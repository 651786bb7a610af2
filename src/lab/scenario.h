/* Scenarios: a service with one chosen bottleneck, loaded in steps with the probe beside it, and the answer of a fresh `useprobe report`
 * that knows the samples and the load file only. */
#ifndef LAB_SCENARIO_H
#define LAB_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#define SCENARIO_ARGS 20
#define SCENARIO_TEXT 96

/* What a seed draws. Arguments are kept as text, as a person would type them. */
struct scenario_plan {
	double quota_cpus; /* of the server's group, 0 = none */
	char serve[SCENARIO_ARGS][SCENARIO_TEXT]; /* [serve_count] options of uselab serve */
	unsigned serve_count;
	char db[SCENARIO_ARGS][SCENARIO_TEXT]; /* [db_count] of uselab db; 0 = no database */
	unsigned db_count;
	char load[SCENARIO_ARGS][SCENARIO_TEXT]; /* [load_count] of uselab load */
	unsigned load_count;
	unsigned decoy_percent; /* of one CPU, by an innocent neighbour; 0 = none */
	double stop_at_s, stop_for_s; /* the server is stopped (SIGSTOP) then; 0 = never */
	double capacity_per_s; /* what the drawn figures promise */
	/* The truth. */
	const char *verdict; /* "resource", "frozen", "generator", "none" */
	const char *resource; /* NULL when the verdict names none */
	const char *name_holds; /* text that the suspect's name has to hold; NULL = the group's path */
};

struct scenario {
	const char *name, *what;
	void (*draw)(uint64_t seed, struct scenario_plan *ret);
};
extern const struct scenario scenarios[]; /* name NULL at the end */

/* Address the database listens on, as it appears in rows. */
#define SCENARIO_DB "127.0.0.1:18591"
#define SCENARIO_SERVER "127.0.0.1:18590"

int lab_scenario_main(int argc, char **argv);

#endif
