/* useprobe report: the load curve, the knee, and what follows from them. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "report.h"
#include "useprobe/cli.h"
#include "useprobe/sidecar.h"

struct report_args {
	struct up_load_options load;
	char *files[UP_LOAD_FILES_MAX];
	int n_files;
	const char *samples, *output, *start;
	struct up_ladder ladder;
	bool has_ladder;
	double settle_s, peak_per_s, offered_per_s[UP_OFFERED_MAX];
	size_t n_offered;
	struct up_slo slo;
	uint64_t requests;
};

static const char usage[] =
	"usage: useprobe report [SAMPLES.csv] [--load FILE]... [--steps auto|START:STEP:COUNT:HOLD[:RAMP]] [--start TIME] [--settle TIME]\n"
	"                       [--offered RATE[,RATE]...] [--slo EXPR] [--peak RATE] [--requests N] [--tz ZONE] [--columns MAP]\n"
	"                       [--format NAME] [--transactions] [-o FILE.json|FILE.csv]\n"
	"SAMPLES.csv is what `useprobe` recorded: with it the resource that hit the knee is named, with evidence.\n"
	"FILE is the output of a load generator (\"-\": standard input; .gz too). TIME takes 200ms, 1s, 2m; a bare number is seconds.\n"
	"EXPR: p95<200ms,failed<1%\n";

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "useprobe report: %s%s%s\n%s", what, value ? ": " : "", value ? value : "", usage);
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

static int take_offered(struct report_args *args, const char *value)
{
	char copy[1024], *at = copy, *part;

	if (strlen(value) >= sizeof(copy))
		return wrong("--offered is too long", NULL);
	memcpy(copy, value, strlen(value) + 1);
	while ((part = strsep(&at, ","))) {
		if (args->n_offered == UP_OFFERED_MAX || take_rate(part, &args->offered_per_s[args->n_offered++]) < 0)
			return wrong("--offered wants rates", value);
	}
	return 0;
}

/* START:STEP:COUNT:HOLD[:RAMP] */
static int take_steps(struct report_args *args, const char *value)
{
	struct up_ladder *ladder = &args->ladder;
	char copy[256], *at = copy, *part[6];
	unsigned n = 0;
	double count;

	if (strcmp(value, "auto") == 0)
		return 0;
	if (strlen(value) >= sizeof(copy))
		return wrong("--steps wants START:STEP:COUNT:HOLD[:RAMP]", value);
	memcpy(copy, value, strlen(value) + 1);
	while (n < 6 && (part[n] = strsep(&at, ":")))
		n++;
	if (n < 4 || n > 5 || take_rate(part[0], &ladder->start_per_s) < 0 || up_cli_duration(part[1], &ladder->step_per_s) < 0 ||
		up_cli_duration(part[2], &count) < 0 || count < 1 || count > UP_STEPS_MAX ||
		up_cli_duration(part[3], &ladder->hold_s) < 0 || !(ladder->hold_s > 0) ||
		(n == 5 && up_cli_duration(part[4], &ladder->ramp_s) < 0))
		return wrong("--steps wants START:STEP:COUNT:HOLD[:RAMP]", value);
	ladder->count = (unsigned)count;
	args->has_ladder = true;
	return 0;
}

static int take_slo(struct report_args *args, const char *value)
{
	const char *at;

	if (up_slo_parse(value, &args->slo, &at) == 0)
		return 0;
	fprintf(stderr, "useprobe report: --slo: not understood from here: %s\n%s", at, usage);
	return 2;
}

static int take_file(struct report_args *args, char *path)
{
	if (args->n_files == UP_LOAD_FILES_MAX)
		return wrong("too many --load", NULL);
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
	OPT_HELP
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
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int take_number(const char *option, const char *value, double lowest, double *ret)
{
	if (up_cli_duration(value, ret) < 0 || *ret < lowest)
		return wrong(option, value);
	return 0;
}

static int take_option(struct report_args *args, int option, char *value)
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
		return take_rate(value, &args->peak_per_s) < 0 ? wrong("--peak wants a rate", value) : 0;
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
	case 'o':
		args->output = value;
		return 0;
	default:
		return wrong("unknown option", NULL);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n > k && strcmp(text + n - k, end) == 0;
}

static int take_start(const struct report_args *args, struct up_report *report, struct up_curve_options *options)
{
	bool absolute = false;
	int64_t us;

	if (!args->start)
		return 0;
	if (up_cli_moment(args->start, &us, &absolute) < 0)
		return wrong("--start wants a time", args->start);
	options->start_us = absolute ? us : report->load.first_start_us / 1000000 * 1000000 + us;
	return 0;
}

static void compute_slo(struct up_report *report)
{
	bool below = true;

	report->slo_good = -1;
	for (size_t i = 0; i < report->curve.n && report->slo.n; i++) {
		report->slo_met[i] = up_slo_met(&report->slo, &report->curve.step[i].latency);
		below = below && report->slo_met[i] == 1;
		if (below)
			report->slo_good = (int)i;
	}
}

/* A queue that is as fast as the lowest step and can do as much as was ever done: M/M/c with c = capacity x service time, at least one. */
static void compute_expected(struct up_report *report)
{
	const struct up_curve *curve = &report->curve;
	double capacity = report->knee.capacity_per_s, load;

	if (report->knee.verdict != UP_KNEE_FOUND || !(capacity > 0) || curve->n == 0 || !(curve->step[0].latency.mean_ms > 0))
		return;
	load = capacity * curve->step[0].latency.mean_ms / 1e3;
	report->expected.servers = load < 1.5 ? 1 : load > 10000 ? 10000 : (unsigned)lround(load);
	report->expected.service_ms = 1e3 * report->expected.servers / capacity;
	report->expected.known = true;
	for (size_t i = 0; i < curve->n; i++) {
		struct up_queue q;

		report->expected.response_ms[i] = NAN;
		if (up_queue_mmc(curve->step[i].offered_per_s, report->expected.service_ms / 1e3, report->expected.servers, &q) ==
			0)
			report->expected.response_ms[i] = 1e3 * q.response;
	}
}

static void compute_little(struct up_report *report)
{
	report->little_worst_ratio = NAN;
	for (size_t i = 0; i < report->curve.n; i++) {
		const struct up_step *step = &report->curve.step[i];

		if (!step->balanced || !(step->little_in_flight > 0))
			continue;
		report->n_settled++;
		report->n_little_ok += step->little_ok;
		report->little_worst_ratio = fmax(report->little_worst_ratio, fabs(step->in_flight / step->little_in_flight - 1));
	}
}

static int compute(struct up_report *report, const struct report_args *args)
{
	struct up_curve_options options = up_curve_defaults;
	int r = take_start(args, report, &options);

	if (r != 0)
		return r;
	options.ladder = args->has_ladder ? &args->ladder : NULL;
	options.settle_s = args->settle_s;
	options.offered_per_s = args->offered_per_s;
	options.n_offered = args->n_offered;
	r = up_curve_build(&report->load, &options, &report->curve);
	if (r < 0 && r != -ENODATA) {
		fprintf(stderr, "useprobe: %s\n", strerror(-r));
		return 1;
	}
	up_knee_find(&report->curve, NULL, &report->knee);
	report->slo = args->slo;
	report->peak_per_s = args->peak_per_s;
	report->requested = args->requests;
	compute_slo(report);
	compute_expected(report);
	compute_little(report);
	return 0;
}

static int output(const struct up_report *report, const char *path)
{
	json_t *json = NULL;
	int r;

	if (!path) {
		up_report_print(stdout, report);
		r = fflush(stdout) == 0 ? 0 : -errno;
	} else if (ends_with(path, ".csv")) {
		r = up_report_write_csv(report, path);
	} else {
		json = up_report_json(report);
		r = json ? up_json_write(json, strcmp(path, "-.json") == 0 ? NULL : path) : -ENOMEM;
		json_decref(json);
	}
	if (r < 0)
		fprintf(stderr, "useprobe: %s: %s\n", path ? path : "standard output", strerror(-r));
	return r < 0 ? 1 : 0;
}

/* An undated file starts when --start says, if that is a moment. */
static int date_files(struct report_args *args)
{
	bool absolute = false;
	int64_t us;

	if (!args->start)
		return 0;
	if (up_cli_moment(args->start, &us, &absolute) < 0)
		return wrong("--start wants a time", args->start);
	args->load.start_us = absolute ? us : 0;
	return 0;
}

static int run(struct report_args *args)
{
	struct up_report *report = calloc(1, sizeof(*report));
	int r;

	if (!report || up_load_init(&report->load) < 0) {
		free(report);
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	report->has_load = args->n_files > 0;
	r = date_files(args);
	if (r == 0 && report->has_load)
		r = up_cli_read_load(&report->load, args->files, args->n_files, &args->load);
	if (r == 0 && report->has_load)
		r = compute(report, args);
	if (r == 0 && args->samples)
		r = up_answer_find(report, args->samples, NULL);
	if (r == 0)
		r = output(report, args->output);
	up_answer_done(report);
	up_curve_done(&report->curve);
	up_load_done(&report->load);
	free(report);
	return r;
}

/* "x.json" beside the samples "x.csv" was written by the run itself. */
static bool is_sidecar(const char *samples, const char *output)
{
	char path[4096];

	return up_sidecar_path(samples, path, sizeof(path)) == 0 && strcmp(path, output) == 0;
}

int up_cli_report(int argc, char **argv)
{
	struct report_args args = { .settle_s = NAN, .peak_per_s = NAN };
	int option, r;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "ho:", long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		r = option == '?' ? wrong("unknown option or missing value", argv[optind - 1])
				  : take_option(&args, option, optarg);
		if (r != 0)
			return r;
	}
	if (optind + 1 < argc)
		return wrong("more than one SAMPLES.csv", argv[optind + 1]);
	args.samples = argv[optind];
	if (args.n_files == 0 && !args.samples)
		return wrong("give SAMPLES.csv, --load FILE, or both", NULL);
	if (args.samples && args.output && is_sidecar(args.samples, args.output))
		return wrong("-o would overwrite the environment of the samples", args.output);
	if (args.output && !ends_with(args.output, ".json") && !ends_with(args.output, ".csv"))
		return wrong("-o wants a file ending in .json or .csv", args.output);
	return run(&args);
}
