/* Subcommands: each parses its own arguments, prints its own messages and returns the exit status
 * (0 done, 1 failed while running, 2 wrong use or target not found). argv[0] is the subcommand's name. */
#ifndef UP_CLI_H
#define UP_CLI_H

int up_cli_run(int argc, char **argv);
int up_cli_latency(int argc, char **argv);
int up_cli_report(int argc, char **argv);
int up_cli_compare(int argc, char **argv);
int up_cli_replay(int argc, char **argv);
int up_cli_list(int argc, char **argv);
int up_cli_doctor(int argc, char **argv);
int up_cli_mark(int argc, char **argv);

#endif
