/* Private to src/load: readers of files that hold only the tool's own summary. */
#ifndef UP_TOLD_H
#define UP_TOLD_H

#include "reader.h"

/* Everything unknown. */
struct up_told up_told_none(void);
/* Puts TOLD into the reader's file with the traits of its tool. */
void up_told_give(struct up_reader *reader, const struct up_told *told, const char *tool, const char *includes, bool corrected);
/* "2.46ms", "1.55s", "341.62us", "12 secs" -> ms; NAN when it is no such time. */
double up_told_time_ms(struct up_text text);

#endif
