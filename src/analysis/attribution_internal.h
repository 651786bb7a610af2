/* Shared by the files of the attribution. */
#ifndef UP_ATTRIBUTION_INTERNAL_H
#define UP_ATTRIBUTION_INTERNAL_H

#include "useprobe/attribution.h"

#define UP_GOOD_MAX 64
#define UP_GOOD_MIN 2
#define UP_TICKS_MIN 5

#define UP_SUBJECTS_MAX 16

/* What one call works with. */
struct up_job {
	const struct up_attribution_input *in;
	const struct up_rules *rules;
	struct up_subject subject[UP_SUBJECTS_MAX];
	size_t n_subjects, chosen;
	int64_t bad[2];
	int64_t good[UP_GOOD_MAX][2];
	size_t n_good;
};

/* Bad and good windows from the curve; or, without a knee, the worst episode and what lies between the N episodes. */
void up_job_take_stages(struct up_job *job);
void up_job_take_slices(struct up_job *job, const struct up_episode *episodes, size_t n);
/* Time of the stages, or of the whole recording without any. */
void up_job_span(const struct up_attribution_input *in, int64_t *ret_from_us, int64_t *ret_to_us);

/* One target's states in the bad window and in the good ones. */
struct up_comparison {
	const struct up_recording *recording;
	const struct up_subject *subject;
	const struct up_rules *rules;
	struct up_states bad;
	struct up_states *good; /* [n_good] owned */
	size_t n_good;
};

/* Computes the states of all windows; good windows without enough samples are left out. 0 or -ENOMEM. Free with up_comparison_done. */
int up_comparison_make(struct up_comparison *ret, const struct up_recording *recording, const struct up_subject *subject,
	const struct up_rules *rules, const int64_t bad[2], const int64_t (*good)[2], size_t n_good);
void up_comparison_done(struct up_comparison *c);

/* Median over the good windows of what OF gives for STATION; NAN when no window has it. */
double up_good_median(const struct up_comparison *c, const struct up_station *station,
	double (*of)(const struct up_states *states, const struct up_station *station));
/* Median over the good windows of a figure of the whole window. */
double up_good_states_median(const struct up_comparison *c, double (*of)(const struct up_states *states));
double up_states_residence_ms(const struct up_states *states);
double up_states_in_flight(const struct up_states *states);

/* Describes STATION of the bad window. LEVEL_MS: growth of the level it stands in. */
struct up_suspect up_suspect_of(const struct up_comparison *c, const struct up_station *station, double level_ms);

/* The walk: fills verdict, walk, suspect, runner-up, symptoms and reason. */
void up_walk(const struct up_comparison *c, struct up_attribution *a);
/* Its words: SUSPECT waits for what lies inside it; and why it is the verdict. */
void up_walk_note_symptom(struct up_attribution *a, const struct up_suspect *suspect);
void up_walk_give_reason(const struct up_suspect *suspect, char *text, size_t size);
/* Which of the CPU's faces it is: quota, an ancestor's quota, or other users of the same CPUs. */
void up_walk_name_cpu(
	const struct up_comparison *c, const struct up_station *cpu, struct up_suspect *suspect, char *why, size_t size);

/* false: the suspect's own queue began to grow clearly later than the requests inside; WHY gets the two times. */
bool up_onset_agrees(const struct up_comparison *c, const struct up_attribution *a, int64_t from_us, double uncertainty_s,
	char *why, size_t size);
/* Errors that move the verdict one station inwards. */
void up_error_evidence(const struct up_comparison *c, struct up_attribution *a);
/* A suspected dependency that is a database whose waits are known: the class that grew most, and what to do about it. After up_explain. */
void up_database_evidence(const struct up_comparison *c, struct up_attribution *a);
/* Acquittals, unexplained rest, falsifier and next step. */
void up_explain(const struct up_comparison *c, struct up_attribution *a);

double up_median(double *values, size_t n);
__attribute__((format(printf, 3, 4))) void up_say(char *text, size_t size, const char *format, ...);
__attribute__((format(printf, 2, 3))) void up_add_evidence(struct up_attribution *a, const char *format, ...);
__attribute__((format(printf, 2, 3))) void up_add_symptom(struct up_attribution *a, const char *format, ...);

#endif
