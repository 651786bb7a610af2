/* Private to src/cli: what `useprobe report` was asked for. */
#ifndef UP_REPORT_OPTIONS_H
#define UP_REPORT_OPTIONS_H

#include "report.h"

enum up_report_output {
	UP_OUTPUT_TEXT, /* for people, on a terminal */
	UP_OUTPUT_JSON,
	UP_OUTPUT_CSV, /* a line a step */
	UP_OUTPUT_WIDE, /* a line a tick, a column a figure */
	UP_OUTPUT_LONG, /* the rows of the samples again */
	UP_OUTPUT_HTML,
	UP_OUTPUT_MARKDOWN
};

struct up_report_args {
	struct up_load_options load;
	char *files[UP_LOAD_FILES_MAX];
	int n_files;
	const char *samples, *output, *start;
	const char *output_format; /* --output-format */
	enum up_report_output kind;
	bool wide, long_rows, formula_safe;
	struct up_ladder ladder;
	bool has_ladder;
	double settle_s, peak_per_s, offered_per_s[UP_OFFERED_MAX];
	size_t n_offered;
	struct up_slo slo;
	const char *slo_text; /* as typed */
	uint64_t requests;
};

/* 0, or 2 after a message; *ret_help when only the usage was asked for (and printed). */
int up_report_take_args(int argc, char **argv, struct up_report_args *args, bool *ret_help);
/* Prints WHAT, VALUE and the usage; returns 2. */
int up_report_wrong(const char *what, const char *value);

#endif
