/* The row of one queue of one process between two readings. Private to src/collect. */
#ifndef UP_QUEUE_ROW_H
#define UP_QUEUE_ROW_H

#include "useprobe/queues.h"
#include "useprobe/row.h"

/* Adds the row of C, a sample without a reason; P NULL = no earlier one. Pure. */
void queue_add_row(const char *target, const struct up_queue_sample *p, const struct up_queue_sample *c, struct up_rows *out);

#endif
