/* What the scenarios' plans are put together from. */
#ifndef LAB_SCENARIO_PLANS_H
#define LAB_SCENARIO_PLANS_H

#include "scenario.h"

extern const struct scenario scenarios[], scenarios_more[]; /* name NULL at the end */
double scenario_between(struct lab_random *random, double low, double high);
unsigned scenario_one_of(struct lab_random *random, unsigned low, unsigned high);
/* Appends to TEXT. */
__attribute__((format(printf, 2, 3))) void scenario_add(char text[SCENARIO_TEXT], const char *format, ...);
/* Five open steps of 8 s around CAPACITY_PER_S; five levels of users who think, around the same. */
void scenario_ladder(struct scenario_plan *plan, struct lab_random *random, double capacity_per_s);
void scenario_sweep(struct scenario_plan *plan, struct lab_random *random, double capacity_per_s, double response_ms);
/* Something that is busy and innocent. CPU_IS_SHORT: not inside the server's quota. */
void scenario_decoy(struct scenario_plan *plan, struct lab_random *random, bool cpu_is_short);

#endif
