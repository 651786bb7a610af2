/* useprobe report: the load curve, the knee, and what follows from them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "report_options.h"
#include "report_page.h"
#include "useprobe/cli.h"

static int take_start(const struct up_report_args *args, struct up_report *report, struct up_curve_options *options)
{
	bool absolute = false;
	int64_t us;

	if (!args->start)
		return 0;
	if (up_cli_moment(args->start, &us, &absolute) < 0)
		return up_report_wrong("--start wants a time", args->start);
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

static int compute(struct up_report *report, const struct up_report_args *args)
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

static int write_buffer(struct up_buffer *buffer, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int r = 0;

	if (!out)
		return -errno;
	if (fwrite(buffer->text, 1, buffer->n, out) != buffer->n || fflush(out) != 0)
		r = errno ? -errno : -EIO;
	if (path && fclose(out) != 0 && r == 0)
		r = -errno;
	return r;
}

static int output(struct up_report *report, const struct up_report_args *args)
{
	const char *path = args->output;
	struct up_buffer buffer = { 0 };
	json_t *json = NULL;
	int r;

	switch (args->kind) {
	case UP_OUTPUT_TEXT:
		up_report_print(stdout, report);
		r = fflush(stdout) == 0 ? 0 : -errno;
		break;
	case UP_OUTPUT_JSON:
		json = up_report_json(report);
		r = json ? up_json_write(json, path) : -ENOMEM;
		json_decref(json);
		break;
	case UP_OUTPUT_CSV:
		r = up_report_write_csv(report, path);
		break;
	case UP_OUTPUT_WIDE:
	case UP_OUTPUT_LONG:
		r = up_report_rows_csv(report, args, &buffer);
		break;
	default:
		r = up_report_page(report, args, &buffer);
		break;
	}
	if (r == 0 && buffer.text)
		r = write_buffer(&buffer, path);
	up_buffer_done(&buffer);
	if (r < 0)
		fprintf(stderr, "useprobe: %s: %s\n", path ? path : "standard output", strerror(-r));
	return r < 0 ? 1 : r;
}

/* An undated file starts when --start says, if that is a moment. */
static int date_files(struct up_report_args *args)
{
	bool absolute = false;
	int64_t us;

	if (!args->start)
		return 0;
	if (up_cli_moment(args->start, &us, &absolute) < 0)
		return up_report_wrong("--start wants a time", args->start);
	args->load.start_us = absolute ? us : 0;
	return 0;
}

static int run(struct up_report_args *args)
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
		r = output(report, args);
	up_answer_done(report);
	up_curve_done(&report->curve);
	up_load_done(&report->load);
	free(report);
	return r;
}

int up_cli_report(int argc, char **argv)
{
	struct up_report_args args;
	bool help;
	int r = up_report_take_args(argc, argv, &args, &help);

	return r != 0 || help ? r : run(&args);
}
