/* Private to src/cli: what the subcommands about load results share. */
#ifndef UP_LOAD_CLI_H
#define UP_LOAD_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "useprobe/load.h"

/* "200ms", "1s", "1.5", "2m", "1h" -> seconds. -EBADMSG, -ERANGE. */
int up_cli_duration(const char *text, double *ret_s);
/* "10s" after the beginning of the run (ret_absolute false), or a moment: "2026-11-30T20:13:59Z", unix seconds (true). In us. -EBADMSG. */
int up_cli_moment(const char *text, int64_t *ret_us, bool *ret_absolute);
/* Makes ZONE ("Europe/Berlin", "UTC") the one of times without zone. */
void up_cli_zone(const char *zone);

/* Reads files into LOAD with a progress line on a terminal and messages about bad lines; with more than one file each gets its summary.
 * 0 or the exit status. */
int up_cli_read_load(struct up_load *load, char **paths, int n, struct up_load_options *options);
/* What was odd in FILE: bad lines with their numbers, cut ends, remarks. */
void up_cli_print_notes(FILE *out, const struct up_load_file *file);

/* Numbers and text for JSON: NAN and infinities become null, bytes that are not UTF-8 become U+FFFD. New references. */
json_t *up_json_number(double value);
json_t *up_json_text(const char *text);
/* Prints JSON with a line end; PATH NULL is standard output. 0 or -errno. */
int up_json_write(const json_t *json, const char *path);

/* Width-limited number for tables: "0.044", "1.37", "4962", "-" for NAN. */
struct up_figure {
	char text[24];
};
struct up_figure up_figure(double value);
/* A moment as "20:13:59" (UTC) or, without dates, "12 s". */
struct up_figure up_clock(int64_t us, bool undated);

/* Text from a file on its way to a terminal: control bytes and broken UTF-8 are replaced, at most N - 1 bytes. */
void up_cli_clean(const char *text, char *buffer, size_t n);

#endif
