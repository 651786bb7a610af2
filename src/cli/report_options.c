/* Options of `useprobe report`. */
#include "report_options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "help_text.h"
#include "useprobe/sidecar.h"

int up_report_wrong(const char *what, const char *value)
{
	fprintf(stderr, "useprobe report: %s%s%s\n`useprobe report --help` lists the options.\n", what, value ? ": " : "",
		value ? value : "");
	return 2;
}

/* "100/s" or "100" -> 100. */
static int take_rate(const char *text, double *ret_per_s)
{
	char copy[64];
	size_t n = strcspn(text, "/");

	if (n == 0 || n >= sizeof(copy) || (text[n] != '\0' && strcmp(text + n, "/s") != 0))
		return -EBADMSG;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (strspn(copy, "0123456789.") != n || up_cli_duration(copy, ret_per_s) < 0 || !(*ret_per_s > 0))
		return -EBADMSG;
	return 0;
}

static int take_offered(struct up_report_args *args, const char *value)
{
	char copy[1024], *at = copy, *part;

	if (strlen(value) >= sizeof(copy))
		return up_report_wrong("--offered is too long", NULL);
	memcpy(copy, value, strlen(value) + 1);
	while ((part = strsep(&at, ","))) {
		if (args->n_offered == UP_OFFERED_MAX || take_rate(part, &args->offered_per_s[args->n_offered++]) < 0)
			return up_report_wrong("--offered wants rates", value);
	}
	return 0;
}

/* START:STEP:COUNT:HOLD[:RAMP] */
static int take_steps(struct up_report_args *args, const char *value)
{
	struct up_ladder *ladder = &args->ladder;
	char copy[256], *at = copy, *part[6];
	unsigned n = 0;
	double count;

	if (strcmp(value, "auto") == 0)
		return 0;
	if (strlen(value) >= sizeof(copy))
		return up_report_wrong("--steps wants START:STEP:COUNT:HOLD[:RAMP]", value);
	memcpy(copy, value, strlen(value) + 1);
	while (n < 6 && (part[n] = strsep(&at, ":")))
		n++;
	if (n < 4 || n > 5 || take_rate(part[0], &ladder->start_per_s) < 0 || up_cli_duration(part[1], &ladder->step_per_s) < 0 ||
		up_cli_duration(part[2], &count) < 0 || count < 1 || count > UP_STEPS_MAX ||
		up_cli_duration(part[3], &ladder->hold_s) < 0 || !(ladder->hold_s > 0) ||
		(n == 5 && up_cli_duration(part[4], &ladder->ramp_s) < 0))
		return up_report_wrong("--steps wants START:STEP:COUNT:HOLD[:RAMP]", value);
	ladder->count = (unsigned)count;
	args->has_ladder = true;
	return 0;
}

static int take_slo(struct up_report_args *args, const char *value)
{
	const char *at;

	args->slo_text = value;
	if (up_slo_parse(value, &args->slo, &at) == 0)
		return 0;
	fprintf(stderr, "useprobe report: --slo: not understood from here: %s\nAn objective is like 'p95<200ms,failed<1%%'.\n",
		at);
	return 2;
}

static int take_file(struct up_report_args *args, char *path)
{
	if (args->n_files == UP_LOAD_FILES_MAX)
		return up_report_wrong("too many --load", NULL);
	args->files[args->n_files++] = path;
	return 0;
}

enum {
	OPT_LOAD = 256,
	OPT_STEPS,
	OPT_START,
	OPT_SETTLE,
	OPT_OFFERED,
	OPT_SLO,
	OPT_PEAK,
	OPT_TZ,
	OPT_REQUESTS,
	OPT_COLUMNS,
	OPT_FORMAT,
	OPT_TRANSACTIONS,
	OPT_WIDE,
	OPT_LONG,
	OPT_FORMULA_SAFE,
	OPT_OUTPUT_FORMAT
};

static const struct option long_options[] = {
	{ "load", required_argument, NULL, OPT_LOAD },
	{ "steps", required_argument, NULL, OPT_STEPS },
	{ "start", required_argument, NULL, OPT_START },
	{ "settle", required_argument, NULL, OPT_SETTLE },
	{ "offered", required_argument, NULL, OPT_OFFERED },
	{ "slo", required_argument, NULL, OPT_SLO },
	{ "peak", required_argument, NULL, OPT_PEAK },
	{ "tz", required_argument, NULL, OPT_TZ },
	{ "requests", required_argument, NULL, OPT_REQUESTS },
	{ "columns", required_argument, NULL, OPT_COLUMNS },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "transactions", no_argument, NULL, OPT_TRANSACTIONS },
	{ "wide", no_argument, NULL, OPT_WIDE },
	{ "long", no_argument, NULL, OPT_LONG },
	{ "formula-safe", no_argument, NULL, OPT_FORMULA_SAFE },
	{ "output-format", required_argument, NULL, OPT_OUTPUT_FORMAT },
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int take_number(const char *option, const char *value, double lowest, double *ret)
{
	if (up_cli_duration(value, ret) < 0 || *ret < lowest)
		return up_report_wrong(option, value);
	return 0;
}

static int take_output_option(struct up_report_args *args, int option, char *value)
{
	switch (option) {
	case OPT_WIDE:
		args->wide = true;
		return 0;
	case OPT_LONG:
		args->long_rows = true;
		return 0;
	case OPT_FORMULA_SAFE:
		args->formula_safe = true;
		return 0;
	case OPT_OUTPUT_FORMAT:
		args->output_format = value;
		return 0;
	case 'o':
		args->output = value;
		return 0;
	default:
		return up_report_wrong("unknown option", NULL);
	}
}

static int take_option(struct up_report_args *args, int option, char *value)
{
	double n = 0;

	switch (option) {
	case OPT_LOAD:
		return take_file(args, value);
	case OPT_STEPS:
		return take_steps(args, value);
	case OPT_START:
		args->start = value;
		return 0;
	case OPT_SETTLE:
		return take_number("--settle wants a time", value, 0, &args->settle_s);
	case OPT_OFFERED:
		return take_offered(args, value);
	case OPT_SLO:
		return take_slo(args, value);
	case OPT_PEAK:
		return take_rate(value, &args->peak_per_s) < 0 ? up_report_wrong("--peak wants a rate", value) : 0;
	case OPT_TZ:
		up_cli_zone(value);
		return 0;
	case OPT_REQUESTS:
		if (take_number("--requests wants a number", value, 1, &n) != 0)
			return 2;
		args->requests = (uint64_t)n;
		return 0;
	case OPT_COLUMNS:
		args->load.columns = value;
		return 0;
	case OPT_FORMAT:
		args->load.format = value;
		return 0;
	case OPT_TRANSACTIONS:
		args->load.keep_transactions = true;
		return 0;
	default:
		return take_output_option(args, option, value);
	}
}

/* "x.json" beside the samples "x.csv" was written by the run itself. */
static bool is_sidecar(const char *samples, const char *output)
{
	char path[4096];

	return up_sidecar_path(samples, path, sizeof(path)) == 0 && strcmp(path, output) == 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* A report never replaces what it was made from. */
static int check_output(const struct up_report_args *args)
{
	if (!args->output)
		return 0;
	if (args->samples && (is_sidecar(args->samples, args->output) || same_file(args->samples, args->output)))
		return up_report_wrong("-o would overwrite the samples or their environment", args->output);
	for (int i = 0; i < args->n_files; i++)
		if (same_file(args->files[i], args->output))
			return up_report_wrong("-o would overwrite the load file", args->output);
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n > k && strcmp(text + n - k, end) == 0;
}

/* --wide, --long and --formula-safe only mean something for a CSV. */
static int take_rows(struct up_report_args *args)
{
	if (args->wide || args->long_rows) {
		if (!args->samples)
			return up_report_wrong("--wide and --long want SAMPLES.csv", NULL);
		if ((args->wide && args->long_rows) || (args->kind != UP_OUTPUT_CSV && args->kind != UP_OUTPUT_TEXT))
			return up_report_wrong("--wide, --long: one of them, and with a CSV as output", NULL);
		args->kind = args->wide ? UP_OUTPUT_WIDE : UP_OUTPUT_LONG;
	} else if (args->formula_safe && args->kind != UP_OUTPUT_CSV) {
		return up_report_wrong("--formula-safe is for CSV output", NULL);
	}
	return 0;
}

static int take_kind(struct up_report_args *args)
{
	static const struct {
		const char *name, *suffix;
		enum up_report_output kind;
	} kinds[] = { { "html", ".html", UP_OUTPUT_HTML }, { "html", ".htm", UP_OUTPUT_HTML },
		{ "md", ".md", UP_OUTPUT_MARKDOWN }, { "markdown", ".markdown", UP_OUTPUT_MARKDOWN },
		{ "json", ".json", UP_OUTPUT_JSON }, { "csv", ".csv", UP_OUTPUT_CSV } };
	bool found = !args->output && !args->output_format;
	int r;

	for (size_t i = 0; i < UP_COUNT(kinds) && !found; i++) {
		found = args->output_format ? strcmp(args->output_format, kinds[i].name) == 0
					    : ends_with(args->output, kinds[i].suffix);
		args->kind = found ? kinds[i].kind : UP_OUTPUT_TEXT;
	}
	if (!found && args->output_format)
		return up_report_wrong("--output-format wants html, md, json or csv", args->output_format);
	if (!found)
		return up_report_wrong("-o wants a file ending in .html, .md, .json or .csv, or --output-format", args->output);
	r = take_rows(args);
	if (r != 0)
		return r;
	if (args->output && (strcmp(args->output, "-") == 0 || strncmp(args->output, "-.", 2) == 0))
		args->output = NULL;
	return 0;
}

int up_report_take_args(int argc, char **argv, struct up_report_args *args, bool *ret_help)
{
	int option, r;

	*args = (struct up_report_args){ .settle_s = NAN, .peak_per_s = NAN };
	*ret_help = false;
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "ho:", long_options, NULL)) != -1) {
		if (option == 'h') {
			printf("%s%s%s", help_report, help_readers,
				"\nExamples\n"
				"  useprobe report api.csv --load steps.csv\n"
				"  useprobe report api.csv --load steps.csv --slo 'p95<200ms' --peak 250 -o report.html\n"
				"  useprobe report --load steps.csv --steps 100:100:6:30s\n"
				"  useprobe report api.csv --wide --formula-safe -o sheet.csv\n");
			*ret_help = true;
			return 0;
		}
		r = option == '?' ? up_report_wrong("unknown option or missing value", argv[optind - 1])
				  : take_option(args, option, optarg);
		if (r != 0)
			return r;
	}
	if (optind + 1 < argc)
		return up_report_wrong("more than one SAMPLES.csv", argv[optind + 1]);
	args->samples = argv[optind];
	if (args->n_files == 0 && !args->samples)
		return up_report_wrong("give SAMPLES.csv, --load FILE, or both", NULL);
	r = check_output(args);
	return r != 0 ? r : take_kind(args);
}
