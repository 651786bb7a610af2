/* The answer of a fresh `useprobe report`, and what it is worth. */
#ifndef LAB_SCENARIO_ANSWER_H
#define LAB_SCENARIO_ANSWER_H

#include "scenario_run.h"

enum scenario_grade { SCENARIO_RIGHT, SCENARIO_UNKNOWN, SCENARIO_WRONG };

struct scenario_answer {
	char verdict[32], resource[64], name[256], runner_up[256], reason[512], knee[32];
	double good_per_s, bad_per_s; /* the knee's interval; NAN */
	double unexplained; /* share; NAN */
	/* The lowest ceiling that is not the suspect's. */
	char next_resource[64], next_name[256];
	double next_per_s; /* NAN */
	double seconds; /* of the whole run */
};

/* Runs `useprobe report` over the two files. 0 or -errno. */
int scenario_ask(struct scenario_run *run, const char *samples, const char *load, struct scenario_answer *ret);
enum scenario_grade scenario_judge(
	const struct scenario_run *run, const struct scenario_plan *plan, const struct scenario_answer *answer);
const char *scenario_grade_name(enum scenario_grade grade);
/* Truth and answer, for programs. 0 or -errno. */
int scenario_write_json(const char *path, const char *name, uint64_t seed, const struct scenario_run *run,
	const struct scenario_plan *plan, const struct scenario_answer *answer);

#endif
