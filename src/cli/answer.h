/* Private to src/cli: the answer of `useprobe report SAMPLES.csv`: which resource hit the knee. */
#ifndef UP_ANSWER_H
#define UP_ANSWER_H

#include "report.h"
#include "useprobe/attribution.h"
#include "useprobe/ceilings.h"
#include "useprobe/shift.h"

struct up_answer {
	struct up_recording recording;
	struct up_attribution attribution;
	struct up_ceiling ceiling[UP_CEILINGS_MAX];
	size_t n_ceilings;
	struct up_shift shift;
	struct up_states states[UP_STEPS_MAX]; /* [curve.n] of the first target; known is false where nothing was measured */
	struct up_row_knee row_knee; /* the knee by the kernel's counts, when no load file tells one */
	char samples[512]; /* name of the file */
	char notes[512]; /* what was left out while reading; "" = nothing */
	char target[256]; /* whose requests the states are */
};

/* Reads SAMPLES and works out the answer for REPORT's curve and knee (without load file: episodes only). 0 with report->answer set; 1 after
 * a message when the file cannot be read, 2 when it is none of ours. RULES: NULL = the product's own. */
int up_answer_find(struct up_report *report, const char *samples, const struct up_rules *rules);
void up_answer_done(struct up_report *report);

/* At most 15 lines. */
void up_answer_print(FILE *out, const struct up_report *report);
/* The objects "bottleneck", "ceilings", "clock_shift_s" of docs/DESIGN.md, and "states_ms" of one step. */
json_t *up_answer_bottleneck_json(const struct up_report *report);
json_t *up_answer_ceilings_json(const struct up_report *report);
json_t *up_answer_shift_json(const struct up_report *report);
json_t *up_answer_states_json(const struct up_report *report, size_t step);

#endif
