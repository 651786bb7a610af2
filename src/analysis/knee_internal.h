/* Private to the knee: the order of the steps by load, and what knee.c and witness.c share. */
#ifndef UP_KNEE_INTERNAL_H
#define UP_KNEE_INTERNAL_H

#include "useprobe/knee.h"

struct up_ladder_order {
	size_t n;
	size_t at[UP_STEPS_MAX]; /* indices into curve->step, by level */
};

/* What grows from step to step: the offered rate, in a closed run the users (or the requests in flight, when users are not known). */
double up_knee_level(const struct up_curve *curve, const struct up_step *step);
/* Completions that did not fail; all completions when the file does not tell. */
double up_knee_achieved(const struct up_step *step);
/* Appends to TEXT of N bytes. */
__attribute__((format(printf, 3, 4))) void up_knee_say(char *text, size_t n, const char *format, ...);
/* Fills knee->kneedle, knee->usl and knee->usl_fit; an open run without a primary answer may get its verdict from them. */
void up_knee_ask_witnesses(const struct up_curve *curve, const struct up_ladder_order *order, struct up_knee *knee);

#endif
