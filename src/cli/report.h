/* Private to src/cli: what `useprobe report` found out, for its printers. The answer from SAMPLES.csv (which resource hit the knee) joins here: it
 * reads `curve` and `knee` and fills fields of its own, and each printer gets one call for it. */
#ifndef UP_REPORT_H
#define UP_REPORT_H

#include "load_cli.h"
#include "useprobe/knee.h"
#include "useprobe/queueing.h"
#include "useprobe/slo.h"

enum { UP_OFFERED_MAX = UP_STEPS_MAX };

struct up_report {
	struct up_load load;
	struct up_curve curve;
	struct up_knee knee;
	bool has_load;
	struct up_slo slo; /* n = 0: none given */
	int slo_met[UP_STEPS_MAX]; /* by step: 1, 0, -1 unknown */
	int slo_good; /* highest step that meets it with all steps below; -1 */
	double peak_per_s; /* --peak; NAN */
	uint64_t requested; /* --requests; 0 */
	struct { /* a queue with the measured capacity: what latency to expect below it */
		bool known;
		unsigned servers;
		double service_ms;
		double response_ms[UP_STEPS_MAX]; /* by step; NAN where it has no steady state */
	} expected;
	double little_worst_ratio; /* of the settled steps, the largest |N / (X R) - 1|; NAN without one */
	unsigned n_settled, n_little_ok;
	struct up_answer *answer; /* owned; NULL without SAMPLES.csv (answer.h) */
};

void up_report_print(FILE *out, const struct up_report *report);
json_t *up_report_json(const struct up_report *report);
/* One line a step, for spreadsheets; PATH NULL is standard output. 0 or -errno. */
int up_report_write_csv(const struct up_report *report, const char *path);
/* "300/s", or "24 users" in a closed run. */
struct up_figure up_report_level(const struct up_report *report, int step);

#endif
