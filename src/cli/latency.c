/* useprobe latency FILE...: percentiles of load results, by nearest rank, with what they leave out. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "help_text.h"
#include "useprobe/cli.h"

struct latency_args {
	struct up_load_options load;
	bool json;
	double window_s, expected_ms;
	const char *from, *to;
	unsigned n_thresholds;
	double threshold_ms[UP_THRESHOLDS_MAX];
	uint64_t requests;
};

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "useprobe latency: %s%s%s\n`useprobe latency --help` lists the options.\n", what, value ? ": " : "",
		value ? value : "");
	return 2;
}

static int take_time(const char *option, const char *text, double scale, double *ret)
{
	double s;

	if (up_cli_duration(text, &s) < 0 || s <= 0)
		return wrong(option, text);
	*ret = s * scale;
	return 0;
}

static int take_threshold(struct latency_args *args, const char *text)
{
	if (args->n_thresholds == UP_THRESHOLDS_MAX)
		return wrong("too many --threshold", NULL);
	return take_time("--threshold wants a time", text, 1e3, &args->threshold_ms[args->n_thresholds++]);
}

enum {
	OPT_WINDOW = 256,
	OPT_FROM,
	OPT_TO,
	OPT_EXPECTED,
	OPT_THRESHOLD,
	OPT_REQUESTS,
	OPT_COLUMNS,
	OPT_FORMAT,
	OPT_TRANSACTIONS,
	OPT_TZ,
	OPT_JSON,
	OPT_HELP
};

static const struct option long_options[] = {
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "to", required_argument, NULL, OPT_TO },
	{ "expected-interval", required_argument, NULL, OPT_EXPECTED },
	{ "threshold", required_argument, NULL, OPT_THRESHOLD },
	{ "requests", required_argument, NULL, OPT_REQUESTS },
	{ "columns", required_argument, NULL, OPT_COLUMNS },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "transactions", no_argument, NULL, OPT_TRANSACTIONS },
	{ "tz", required_argument, NULL, OPT_TZ },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

/* 0, or the exit status plus one (so that --help, exit status 0, ends the run too). */
static int take_option(struct latency_args *args, int option, const char *value)
{
	double n;

	switch (option) {
	case OPT_WINDOW:
		return take_time("--window wants a time", value, 1, &args->window_s);
	case OPT_FROM:
		args->from = value;
		return 0;
	case OPT_TO:
		args->to = value;
		return 0;
	case OPT_EXPECTED:
		return take_time("--expected-interval wants a time", value, 1e3, &args->expected_ms);
	case OPT_THRESHOLD:
		return take_threshold(args, value);
	case OPT_REQUESTS:
		if (up_cli_duration(value, &n) < 0 || n < 1 || n > 1e15)
			return wrong("--requests wants a number", value);
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
	case OPT_TZ:
		up_cli_zone(value);
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	default:
		return wrong("unknown option", NULL);
	}
}

/* --from and --to: relative to the first request, or moments. */
static int cut(struct up_latency *latency, const struct latency_args *args)
{
	struct up_select select = up_select_all;
	struct up_load *load = &latency->load;
	bool absolute;

	if (args->from) {
		if (up_cli_moment(args->from, &select.from_us, &absolute) < 0)
			return wrong("--from wants a time", args->from);
		select.from_us += absolute ? 0 : load->first_start_us;
	}
	if (args->to) {
		if (up_cli_moment(args->to, &select.to_us, &absolute) < 0)
			return wrong("--to wants a time", args->to);
		select.to_us += absolute ? 0 : load->first_start_us;
	}
	if ((!args->from && !args->to) || up_points_total(&load->points) == 0)
		return 0;
	if (up_load_cut(load, &select, &latency->left_out) < 0 || up_load_count(load) < 0) {
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	if (up_points_total(&load->points) > 0)
		return 0;
	fprintf(stderr, "useprobe: no request starts between --from and --to; the run goes from %s to %s\n",
		up_clock(load->first_start_us, load->undated).text, up_clock(load->last_end_us, load->undated).text);
	return 1;
}

static void average(const struct up_summary *summaries, size_t n, double ret_ms[UP_QUANTILES])
{
	size_t used = 0;

	memset(ret_ms, 0, UP_QUANTILES * sizeof(*ret_ms));
	for (size_t i = 0; i < n; i++) {
		if (summaries[i].n == 0)
			continue;
		used++;
		for (unsigned q = 0; q < UP_QUANTILES; q++)
			ret_ms[q] += summaries[i].q[q].ms;
	}
	for (unsigned q = 0; q < UP_QUANTILES; q++)
		ret_ms[q] = used ? ret_ms[q] / (double)used : NAN;
}

static int compute_windows(struct up_latency *latency, double window_s)
{
	const struct up_load *load = &latency->load;
	int64_t width_us = (int64_t)llround(window_s * 1e6), at_us;
	size_t n = (size_t)((load->last_end_us - load->first_start_us) / width_us) + 1;

	if (n > UP_WINDOWS_MAX)
		return -E2BIG;
	latency->window = calloc(n, sizeof(*latency->window));
	latency->window_summary = calloc(n, sizeof(*latency->window_summary));
	if (!latency->window || !latency->window_summary)
		return -ENOMEM;
	/* On multiples of the width, as anyone would cut by hand: a one-second window is a second of the clock. */
	at_us = load->first_start_us - (load->first_start_us % width_us + width_us) % width_us;
	for (; at_us <= load->last_end_us && latency->n_windows < n; at_us += width_us)
		latency->window[latency->n_windows++] =
			(struct up_select){ .from_us = at_us, .to_us = at_us + width_us, .name = -1 };
	latency->window_s = window_s;
	return up_load_summaries(&latency->load, latency->window, latency->n_windows, latency->window_summary);
}

static int compute_names(struct up_latency *latency)
{
	latency->names = calloc(latency->load.names.n, sizeof(*latency->names));
	if (!latency->names)
		return -ENOMEM;
	return latency->load.names.n > 1 ? up_load_summaries_by_name(&latency->load, latency->names) : 0;
}

static int compute_corrected(struct up_latency *latency, const struct up_dist *raw)
{
	struct up_dist dist;
	int r = up_omission_correct(raw, (uint64_t)llround(latency->plan.interval_ms * 1e6), &dist);

	if (r < 0)
		return r;
	up_dist_summary(&dist, latency->summary.failed_known, &latency->corrected);
	up_dist_done(&dist);
	return 0;
}

static int compute_whole(struct up_latency *latency, const struct latency_args *args)
{
	struct up_dist dist;
	int r = up_load_dist(&latency->load, &up_select_all, &dist);

	if (r < 0)
		return r;
	up_dist_summary(&dist, latency->load.failed_known, &latency->summary);
	latency->n_bars = up_dist_bars(&dist, latency->bars);
	latency->n_modes = up_dist_modes(&dist, latency->modes);
	latency->above_2sd_share = 1 - up_dist_share_le(&dist, latency->summary.mean_ms + 2 * latency->summary.sd_ms);
	latency->n_thresholds = args->n_thresholds;
	for (unsigned i = 0; i < args->n_thresholds; i++) {
		latency->threshold_ms[i] = args->threshold_ms[i];
		latency->threshold_share[i] = up_dist_share_le(&dist, args->threshold_ms[i]);
	}
	up_omission_plan(&latency->load, &latency->guess, latency->summary.mean_ms, args->expected_ms, &latency->plan);
	if (latency->plan.apply)
		r = compute_corrected(latency, &dist);
	up_dist_done(&dist);
	return r;
}

/* Failures that the files count without saying which requests they were. */
static void count_failures(struct up_latency *latency)
{
	const struct up_load *load = &latency->load;

	latency->failed_total_known = true;
	for (unsigned i = 0; i < load->n_files; i++) {
		const struct up_load_file *file = &load->file[i];

		if (!file->failed_known && file->failed_elsewhere == 0)
			latency->failed_total_known = false;
		latency->failed_total += file->failed_elsewhere;
	}
	if (load->failed_known)
		latency->failed_total = latency->summary.failed;
}

static int compute(struct up_latency *latency, const struct latency_args *args)
{
	struct up_summary *files = calloc(latency->load.n_files, sizeof(*files));
	int r = files ? 0 : -ENOMEM;

	for (unsigned i = 0; i < latency->load.n_files && r == 0; i++) {
		latency->dropped += latency->load.file[i].dropped;
		files[i] = latency->load.file[i].summary;
	}
	if (r == 0)
		average(files, latency->load.n_files, latency->files_averaged_ms);
	free(files);
	latency->requested = args->requests;
	/* What sorts by start comes before what sorts by name and by latency: each sort is done once. */
	if (r == 0 && args->window_s > 0) {
		r = compute_windows(latency, args->window_s);
		if (r == 0)
			average(latency->window_summary, latency->n_windows, latency->averaged_ms);
	}
	if (r == 0)
		r = up_model_recognise(&latency->load, &latency->guess);
	if (r == 0)
		r = compute_names(latency);
	if (r == 0)
		r = compute_whole(latency, args);
	if (r == 0)
		count_failures(latency);
	return r;
}

const unsigned up_fanout_calls[UP_FANOUTS] = { 10, 50, 100 };

double up_fanout_share(const struct up_summary *summary, unsigned calls)
{
	return summary->n ? 1 - pow(1 - (double)summary->q[UP_P99].tail_n / (double)summary->n, calls) : (double)NAN;
}

/* Files that hold only the tool's own summary: it is passed on as told. Of several the counts add up, the percentiles do not. */
static int take_told(struct up_latency *latency, const struct latency_args *args)
{
	struct up_load *load = &latency->load;
	struct up_told all = load->file[0].told;

	for (unsigned i = 0; i < load->n_files; i++) {
		/* Each holds counts since its process started: adding them up would count most requests twice. */
		if (load->n_files > 1 && load->file[i].told.bucketed)
			return wrong(
				"scrapes of one server belong into one file, the older one first: cat BEFORE AFTER | useprobe latency -",
				NULL);
		up_told_summary(&load->file[i].told, &load->file[i].summary);
		if (i == 0)
			continue;
		all.mean_ms = (all.mean_ms * (double)all.n + load->file[i].told.mean_ms * (double)load->file[i].told.n) /
			      (double)(all.n + load->file[i].told.n);
		all.n += load->file[i].told.n;
		all.failed += load->file[i].told.failed;
		all.failed_known = all.failed_known && load->file[i].told.failed_known;
		all.max_ms = fmax(all.max_ms, load->file[i].told.max_ms);
		all.min_ms = fmin(all.min_ms, load->file[i].told.min_ms);
		all.sd_ms = NAN;
		for (unsigned q = 0; q < UP_QUANTILES; q++)
			all.ms[q] = all.lo_ms[q] = all.hi_ms[q] = NAN;
	}
	latency->told = true;
	latency->above_2sd_share = NAN;
	latency->requested = args->requests;
	up_told_summary(&all, &latency->summary);
	latency->guess.users = NAN;
	snprintf(latency->guess.reason, sizeof(latency->guess.reason), "a summary does not tell when requests were sent");
	latency->plan.interval_ms = NAN;
	snprintf(latency->plan.reason, sizeof(latency->plan.reason), "%s",
		load->file[0].traits.corrected ? "refused: the tool has corrected these latencies already"
					       : "not possible: a summary holds no requests");
	return 0;
}

static int run(struct up_latency *latency, struct latency_args *args, char **paths, int n)
{
	int r = up_cli_read_load(&latency->load, paths, n, &args->load);

	if (r == 0)
		r = cut(latency, args);
	if (r != 0)
		return r;
	r = up_points_total(&latency->load.points) > 0 ? compute(latency, args) : take_told(latency, args);
	if (r == -E2BIG)
		return wrong("--window is too short for the run: more than 100000 windows", NULL);
	if (r < 0) {
		fprintf(stderr, "useprobe: %s\n", strerror(-r));
		return 1;
	}
	if (args->json) {
		json_t *json = up_latency_json(latency);

		r = json ? up_json_write(json, NULL) : -ENOMEM;
		json_decref(json);
	} else {
		up_latency_print(stdout, latency);
		r = fflush(stdout) == 0 ? 0 : -errno;
	}
	if (r < 0)
		fprintf(stderr, "useprobe: standard output: %s\n", strerror(-r));
	return r < 0 ? 1 : 0;
}

int up_cli_latency(int argc, char **argv)
{
	struct latency_args args = { 0 };
	struct up_latency *latency;
	int option, r = 0;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == OPT_HELP || option == 'h') {
			printf("%s%s%s", help_latency, help_readers,
				"\nExamples\n"
				"  useprobe latency k6.csv --threshold 200ms --threshold 1s\n"
				"  useprobe latency jmeter.jtl --from 1m --to 5m --window 30s\n"
				"  wrk -t1 -c20 -d30 --latency http://127.0.0.1:8080/ | useprobe latency -\n");
			return 0;
		}
		r = option == '?' ? wrong("unknown option or missing value", argv[optind - 1])
				  : take_option(&args, option, optarg);
		if (r != 0)
			return r;
	}
	if (optind == argc)
		return wrong("no file given", NULL);
	latency = calloc(1, sizeof(*latency));
	if (!latency || up_load_init(&latency->load) < 0) {
		free(latency);
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	r = run(latency, &args, argv + optind, argc - optind);
	up_load_done(&latency->load);
	free(latency->names);
	free(latency->window);
	free(latency->window_summary);
	free(latency);
	return r;
}
