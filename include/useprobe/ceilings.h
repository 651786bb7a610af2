/* Ceilings: what each station could carry at most, from how long one request holds it in the good steps (utilization law, U = X D): m / D.
 * An upper bound: the hold time of an outer station contains what it waits for inside. In ascending order they answer "what limits next, and
 * at what rate, when the suspect is lifted". */
#ifndef UP_CEILINGS_H
#define UP_CEILINGS_H

#include "useprobe/attribution.h"

struct up_ceiling {
	enum up_station_kind kind;
	enum up_scope scope;
	char resource[32], name[256], target[256];
	double servers; /* m; NAN = not known, then there is no ceiling */
	double background; /* servers busy without any request: decoys, housekeeping */
	double hold_good_ms; /* D */
	double ceiling_per_s; /* requests of the first target per second; NAN */
	bool suspect;
};
#define UP_CEILINGS_MAX 32

/* Fills RET [max] in ascending order, those without a ceiling last. ATTRIBUTION (may be NULL) tells the suspect and, in its bad window, the size
 * of a pool that is full. Returns how many, or -ENOMEM. */
int up_ceilings_find(
	const struct up_attribution_input *input, const struct up_attribution *attribution, struct up_ceiling *ret, size_t max);

#endif
