/* Outputs of a run. */
#ifndef UP_CLI_RUN_OUTPUT_H
#define UP_CLI_RUN_OUTPUT_H

#include "run.h"

/* Opens the CSV of the run and adds it to the probe; a refused one leaves no file behind. 0 or -errno, said. */
int run_open_csv(struct run *run);
/* What --export asked for. 0 or -errno, said. */
int run_open_export(struct run *run);
/* The live view, or the table of a batch run. 0 or -errno. */
int run_open_view(struct run *run);
/* Prints what limits, from the CSV just written, after a command or when a load file was named. */
void run_print_answer(struct run *run);

#endif
