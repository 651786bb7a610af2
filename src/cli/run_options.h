/* Options of `useprobe run`. Private to src/cli. */
#ifndef UP_RUN_OPTIONS_H
#define UP_RUN_OPTIONS_H

#include "useprobe/collector.h"
#include "useprobe/http_guard.h"

#define UP_SETTINGS_MAX 64
#define UP_NOTES_MAX 32

struct run_options {
	const char *names[UP_TARGETS_MAX]; /* -c, borrowed from argv */
	size_t name_count;
	int pid; /* -p, 0 = none */
	bool host, wait, batch, no_csv, force;
	uint64_t interval_ns;
	uint64_t duration_ns; /* 0 = until stopped */
	bool export;
	struct up_http_guard export_guard;
	const char *csv; /* -o, NULL = default name */
	const char *load_file; /* -l */
	const char *notes[UP_NOTES_MAX]; /* KEY=VALUE */
	size_t note_count;
	const char *focus;
	const char *only, *skip, *root;
	struct up_setting settings[UP_SETTINGS_MAX]; /* options that belong to one collector */
	size_t setting_count;
	char **command; /* behind --, NULL = none */
};

/* Fills RET. 0; 1 when help or the version was printed (exit 0); -EINVAL after a message on stderr (exit 2). */
int run_options_parse(int argc, char **argv, struct run_options *ret);

#endif
