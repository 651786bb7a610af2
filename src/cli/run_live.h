/* The live view of a run. Private to src/cli. */
#ifndef UP_RUN_LIVE_H
#define UP_RUN_LIVE_H

#include "run.h"

/* Opens the view as a sink of the probe when this run is to have one. 1 when it has; 0 when the batch table is to be used, after
 * a word about why; -errno. */
int run_live_open(struct run *run);
/* Gives the terminal back; messages can be printed afterwards. */
void run_live_close(struct run *run);
/* Reads all keys that are there and does what they ask for. */
void run_live_keys(struct run *run);
/* Tells the person that a mark was set. Nothing without a view. */
void run_live_marked(struct run *run, const char *text);
/* true when SIGNAL belongs to the view (size, ctrl-Z). */
bool run_live_signal(struct run *run, unsigned signal);

#endif
