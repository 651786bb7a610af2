/* Fills and writes the JSON beside the CSV. Private to src/cli. */
#ifndef UP_RUN_SIDECAR_H
#define UP_RUN_SIDECAR_H

#include "run.h"

/* Writes it: at the start with END_REASON NULL (never over an existing file unless --force), at the end with the reason. 0 or -errno
 * after a message. Without a CSV there is none: 0. */
int run_sidecar_write(struct run *run, const char *end_reason);

#endif
