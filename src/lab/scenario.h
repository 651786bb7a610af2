/* Scenarios: a service with one chosen bottleneck, loaded in steps with the probe beside it, and the answer of a fresh `useprobe report`
 * that knows the samples and the load file only. The truth is written here, before anything runs. */
#ifndef LAB_SCENARIO_H
#define LAB_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define SCENARIO_TEXT 512

/* What a seed draws. Options are kept as text with blanks, as a person would type them; an empty text means that nobody is started. */
struct scenario_plan {
	double quota_cpus, parent_quota_cpus; /* of the server's group and of one around it alone, 0 = none */
	unsigned memory_mb; /* limit of the server's group, 0 = none */
	char serve
		[SCENARIO_TEXT]; /* uselab serve; @DB and @OTHER stand for the addresses of the dependencies, @DIR for the scratch directory */
	char db[SCENARIO_TEXT], other[SCENARIO_TEXT]; /* uselab db, twice */
	char decoy[SCENARIO_TEXT]; /* uselab burn, in a group of its own on the load's CPU */
	char rival[SCENARIO_TEXT]; /* uselab burn, in a group of its own on the server's CPU */
	char load[SCENARIO_TEXT]; /* uselab load */
	bool db_is_target; /* the probe watches the database's group too */
	double stop_at_s, stop_for_s; /* the server is stopped (SIGSTOP) so long after the load began; 0 = never */
	double capacity_per_s; /* what the drawn figures promise */
	/* The truth. */
	const char *verdict; /* "resource", "frozen", "generator", "none", "unknown" */
	const char *resource; /* NULL when the verdict names none */
	const char
		*name; /* end of the suspect's name; @SERVER, @PARENT, @RIVAL stand for group paths, @DB, @OTHER for addresses */
};

struct scenario {
	const char *name, *what;
	/* LIFT multiplies what limits: 4 = the second run of a ceiling's test, loaded around the next limit. */
	void (*draw)(struct lab_random *random, double lift, struct scenario_plan *ret);
	bool liftable;
};
/* The INDEX-th of all; NULL past the end. */
const struct scenario *scenario_at(unsigned index);

int lab_scenario_main(int argc, char **argv);

#endif
