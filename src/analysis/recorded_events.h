/* Private to src/analysis: the events of a recording. */
#ifndef UP_RECORDED_EVENTS_H
#define UP_RECORDED_EVENTS_H

#include "useprobe/recording.h"

/* Adds the event ROW of a tick that ended at WALL_US; beyond UP_RECORDING_EVENTS_MAX it is only counted. 0 or -ENOMEM. */
UP_MUST_CHECK int up_recorded_event_add(struct up_recording *recording, const struct up_row *row, int64_t wall_us);
void up_recorded_events_done(struct up_recording *recording);

#endif
