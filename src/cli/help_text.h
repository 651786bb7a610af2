/* Help texts of the commands that read load results. */
#ifndef UP_CLI_HELP_TEXT_H
#define UP_CLI_HELP_TEXT_H

extern const char help_report[], help_latency[], help_compare[];
/* The options of a reader, the same for all three. */
extern const char help_readers[];

#endif
