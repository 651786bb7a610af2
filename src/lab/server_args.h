#ifndef LAB_SERVER_ARGS_H
#define LAB_SERVER_ARGS_H

#include "options.h"

/* A command line being read. */
struct lab_server_args {
	struct lab_server_options *options;
	unsigned pool, queries; /* for dependencies that name none of their own */
};

/* Reads the command line of `uselab serve` or `uselab db` (LINE_PROTOCOL) into *ret_options, defaults included. Strings are borrowed
 * from argv. 0; 1 when --help was asked; -EINVAL with ret_error: which option, what was expected. */
int lab_server_args(
	int argc, char **argv, bool line_protocol, struct lab_server_options *ret_options, struct lab_error *ret_error);

/* server_args_set.c: one option each, TEXT as given (NULL when it has none). 0, or -EINVAL and nothing changed. */
int lab_server_set_miss(struct lab_server_args *args, const char *text);
int lab_server_set_report(struct lab_server_args *args, const char *text);
int lab_server_set_freeze(struct lab_server_args *args, const char *text);
int lab_server_set_slow(struct lab_server_args *args, const char *text);
int lab_server_set_mode(struct lab_server_args *args, const char *text);
int lab_server_set_single(struct lab_server_args *args, const char *text);
int lab_server_set_pages(struct lab_server_args *args, const char *text);
int lab_server_set_decoys(struct lab_server_args *args, const char *text);
int lab_server_set_db(struct lab_server_args *args, const char *text);
int lab_server_set_pool(struct lab_server_args *args, const char *text);
int lab_server_set_queries(struct lab_server_args *args, const char *text);
int lab_server_set_quiet(struct lab_server_args *args, const char *text);

#endif
