#ifndef LAB_LAB_H
#define LAB_LAB_H

#include "options.h"

/* Runs one server until a signal or its duration ends it; prints to stdout and stderr. Exit status 0 or 1. */
int lab_serve(const struct lab_server_options *options);

struct lab_load_options;

/* Runs one load; prints to stdout and stderr. Exit status 0 or 1. */
int lab_load(const struct lab_load_options *options);

/* The sub-commands of uselab. Exit status: 0 done, 1 failed while running, 2 wrong use. argv[0] is the sub-command's name. */
int lab_serve_main(int argc, char **argv);
int lab_db_main(int argc, char **argv);
int lab_load_main(int argc, char **argv);
int lab_burn_main(int argc, char **argv);

#endif
