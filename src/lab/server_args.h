#ifndef LAB_SERVER_ARGS_H
#define LAB_SERVER_ARGS_H

#include "options.h"

/* Reads the command line of `uselab serve` or `uselab db` (LINE_PROTOCOL) into *ret_options, defaults included. Strings are borrowed
 * from argv. 0; 1 when --help was asked; -EINVAL with ret_error: which option, what was expected. */
int lab_server_args(
	int argc, char **argv, bool line_protocol, struct lab_server_options *ret_options, struct lab_error *ret_error);

#endif
