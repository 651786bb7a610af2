/* Service level objectives: "p95<200ms,failed<1%". */
#ifndef UP_SLO_H
#define UP_SLO_H

#include <stdbool.h>

#include "useprobe/percentile.h"

enum { UP_SLO_MAX = 8 };
struct up_slo {
	unsigned n;
	struct {
		enum { UP_SLO_QUANTILE, UP_SLO_MEAN, UP_SLO_MAXIMUM, UP_SLO_FAILED } what;
		enum up_quantile_index quantile;
		bool inclusive; /* <= */
		double limit; /* ms, or a ratio for failed */
	} term[UP_SLO_MAX];
};
/* Parses TEXT: terms joined by ',' or "and"; p50 p90 p95 p99 p99.9 mean max with a time (a bare number is ms), failed with "%" or a ratio. 0 or -EBADMSG
 * with *ret_at the place that was not understood. */
int up_slo_parse(const char *text, struct up_slo *ret_slo, const char **ret_at);
/* 1 met, 0 missed, -1 cannot be told (no requests, or failures unknown). */
int up_slo_met(const struct up_slo *slo, const struct up_summary *summary);

#endif
