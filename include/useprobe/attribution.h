/* Attribution: which resource the knee belongs to, by following the held time from the requests inwards (docs/KNEE.md).
 *
 * Input are the rows of a run and the stretches of its load curve; the answer is a suspect with its figures, the runner-up, what would
 * prove it wrong, and `unknown` where the figures do not carry a name. Pure: no files, no clock, no globals. */
#ifndef UP_ATTRIBUTION_H
#define UP_ATTRIBUTION_H

#include "useprobe/recording.h"
#include "useprobe/states.h"

enum up_stage_verdict { UP_STAGE_UNJUDGED, UP_STAGE_GOOD, UP_STAGE_BAD };

/* A stretch of even load: the settled part of a step. Times are the load file's. */
struct up_stage {
	int64_t from_us, to_us;
	double offered_per_s, achieved_per_s;
	double in_flight; /* as the generator sees it; NAN */
	double inside; /* requests inside as the kernel counts them; of up_stages_from_rows only, NAN where not known */
	enum up_stage_verdict verdict;
};

/* Constants of the walk; docs/KNEE.md has the reason of each. */
struct up_rules {
	double explains_min; /* share of the level's growth the next station must explain */
	double full_min; /* utilization from which a station may be the limit */
	double hold_max; /* hold time bad / good up to which it is the limit and does not inherit */
	double clear_min; /* growth of the winner over that of the runner-up */
	bool follow_hold; /* false: the deepest station that grew (ablation) */
	bool onset_veto;
};
extern const struct up_rules up_rules_default;

struct up_attribution_input {
	const struct up_recording *recording;
	const struct up_stage *stage; /* [n_stages] in the order of time; may be empty */
	size_t n_stages;
	int bad; /* index of the first bad stage, -1 = the curve has none */
	int collapse; /* index, -1 = none */
	bool generator_bound; /* the curve's verdict */
	const char *generator_reason; /* NULL */
	int64_t shift_us; /* to be added to the stages' times to get the rows' */
	double uncertainty_s; /* of the shift */
	const char *target; /* NULL = the first one that has requests */
	const struct up_rules *rules; /* NULL = default */
};

enum up_bottleneck_verdict {
	UP_BOTTLENECK_RESOURCE,
	UP_BOTTLENECK_GENERATOR,
	UP_BOTTLENECK_OUTSIDE, /* requests piled up and nothing that was measured explains it */
	UP_BOTTLENECK_FROZEN,
	UP_BOTTLENECK_NONE, /* no knee and no episode */
	UP_BOTTLENECK_UNKNOWN
};
const char *up_bottleneck_verdict_name(enum up_bottleneck_verdict verdict);

struct up_suspect {
	enum up_station_kind kind;
	enum up_scope scope;
	char resource[32], name[256], target[256];
	double servers; /* NAN = not known */
	double hold_good_ms, hold_bad_ms; /* NAN = not known */
	double residence_good_ms, residence_bad_ms, growth_ms;
	double share; /* of its level's growth */
	double utilization_good, utilization; /* NAN */
	double waiting_good, waiting;
	bool limit; /* full and held no longer than before; false: it inherits, or nothing inside it is measured */
};

enum { UP_WALK_MAX = 12, UP_SYMPTOMS_MAX = 8, UP_EVIDENCE_MAX = 14, UP_LINE_BYTES = 320 };

struct up_attribution {
	enum up_bottleneck_verdict verdict;
	int64_t from_us, to_us; /* bad window, in the rows' time */
	bool episode; /* an episode of a run without a knee */
	size_t episodes; /* how many there were */
	bool has_suspect, has_runner_up; /* a suspect also stands beside `unknown`, when there was one to doubt */
	struct up_suspect suspect, runner_up;
	struct up_suspect walk[UP_WALK_MAX]; /* stations stepped through, outermost first; the suspect is the last */
	size_t n_walk;
	char symptom[UP_SYMPTOMS_MAX][UP_LINE_BYTES];
	size_t n_symptoms;
	char evidence[UP_EVIDENCE_MAX][UP_LINE_BYTES];
	size_t n_evidence;
	char reason[UP_LINE_BYTES]; /* one sentence: why this verdict */
	char falsifier[UP_LINE_BYTES], next[UP_LINE_BYTES];
	double in_flight_good, in_flight_bad;
	double residence_good_ms, residence_bad_ms;
	double unexplained_share; /* of N in the bad window; NAN */
	double frozen_from_s, frozen_for_s; /* frozen: where, in seconds since the recording began */
};

/* 0 with the answer (UNKNOWN and NONE are answers), or -ENOMEM. */
UP_MUST_CHECK int up_attribution_find(const struct up_attribution_input *input, struct up_attribution *ret);

/* Stretches of a run without a knee in which the requests inside leave their usual band for a second or more: at most MAX of RET,
 * worst first. SUBJECT as of up_subjects. Returns how many there are, or -ENOMEM. */
struct up_episode {
	int64_t from_us, to_us;
	double in_flight, usual; /* mean inside; median of the run */
};
int up_episodes_find(const struct up_recording *recording, const struct up_subject *subject, int64_t from_us, int64_t to_us,
	struct up_episode *ret, size_t max);

/* Stages of a run without load file: windows of at least 5 s and five samples, longer when there are more than MAX of them. A window is bad when
 * more arrived than left (by more than 5 % and 2 sqrt), or when at least 1.5 times and two more requests are inside than in the window that
 * completed most so far, though it completes at most 5 % more; two in a row are the knee (*RET_BAD the second, which is bad all through; -1 = none). Windows
 * in the knee's future and those with fewer than five arrivals are not judged. offered_per_s is what arrived. Returns how many of RET [max], or
 * -ENOMEM. */
int up_stages_from_rows(
	const struct up_recording *recording, const struct up_subject *subject, struct up_stage *ret, size_t max, int *ret_bad);

/* The knee of a run without load file, by the stages above. */
struct up_row_knee {
	bool tried, found; /* tried: there were windows to judge */
	double good_per_s, bad_per_s; /* completed in the best window before it, and in the bad one */
	double at_s; /* when, in seconds since the recording began */
};
/* Fills STAGE [max] and RET for the first target of RECORDING that has requests, and INPUT (n_stages, bad) when there is a knee: without one the
 * episodes decide. The live view and the report both call this. Returns how many stages were cut, or -ENOMEM. */
UP_MUST_CHECK int up_row_knee_find(const struct up_recording *recording, struct up_stage *stage, size_t max,
	struct up_attribution_input *input, struct up_row_knee *ret);

#endif
