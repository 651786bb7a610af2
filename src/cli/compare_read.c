/* One run of `useprobe compare`: its files to its figures. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compare.h"

static int no_run(const char *what, const struct up_compare_run *run)
{
	fprintf(stderr, "useprobe compare: %s: %s\n", what, run->argument);
	return 2;
}

/* Seconds after the run's first request, for --from and --until. */
static int take_offset(const char *option, const char *text, int64_t first_us, int64_t *ret_us)
{
	double s;

	if (!text)
		return 0;
	if (up_cli_duration(text, &s) < 0 || s > 1e6) {
		fprintf(stderr, "useprobe compare: %s: %s\n", option, text);
		return 2;
	}
	*ret_us = first_us + (int64_t)llround(s * 1e6);
	return 0;
}

static int cut(struct up_load *load, const struct up_compare_args *args, struct up_compare_run *run)
{
	struct up_select select = up_select_all;

	if ((!args->from && !args->until) || up_points_total(&load->points) == 0)
		return 0;
	if (take_offset("--from wants a time", args->from, load->first_start_us, &select.from_us) != 0 ||
		take_offset("--until wants a time", args->until, load->first_start_us, &select.to_us) != 0)
		return 2;
	if (up_load_cut(load, &select, &run->left_out) < 0 || up_load_count(load) < 0) {
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	if (up_points_total(&load->points) > 0)
		return 0;
	fprintf(stderr, "useprobe: %s: no request starts between --from and --until\n", run->argument);
	return 2;
}

static int last_start(void *ctx, struct up_point *block, size_t n)
{
	int64_t *last_us = ctx;

	for (size_t i = 0; i < n; i++)
		if (block[i].start_us > *last_us)
			*last_us = block[i].start_us;
	return 0;
}

static int take_rates(struct up_load *load, struct up_compare_run *run)
{
	int64_t last_us = load->first_start_us;
	const double n = (double)run->summary.n, offered = n + (double)run->dropped;
	const int r = up_points_each(&load->points, 0, last_start, &last_us);

	if (r < 0)
		return r;
	run->span_s = (double)(load->last_end_us - load->first_start_us) / 1e6;
	for (unsigned i = 0; i < load->n_files; i++)
		if (load->file[i].whole_seconds)
			run->span_error_s = 1;
	if (last_us > load->first_start_us)
		run->value[UP_CMP_OFFERED] = (offered - 1) / ((double)(last_us - load->first_start_us) / 1e6);
	if (run->span_s > 0)
		run->value[UP_CMP_ACHIEVED] = n / run->span_s;
	return 0;
}

static void take_figures(struct up_compare_run *run)
{
	const struct up_summary *s = &run->summary;
	const double offered = (double)s->n + (double)run->dropped;

	run->value[UP_CMP_MEAN] = s->mean_ms;
	run->value[UP_CMP_MAX] = s->max_ms;
	for (unsigned q = 0; q < UP_QUANTILES; q++)
		run->value[UP_CMP_P50 + q] = s->q[q].ms;
	if (run->failed_total_known && s->n > 0)
		run->value[UP_CMP_FAILED] = 100 * (double)run->failed_total / (double)s->n;
	if (offered > 0 && !run->told)
		run->value[UP_CMP_DROPPED] = 100 * (double)run->dropped / offered;
}

static int take_points(struct up_load *load, struct up_compare_run *run)
{
	struct up_dist dist;
	int r = up_model_recognise(load, &run->guess);

	if (r == 0)
		r = up_load_dist(load, &up_select_all, &dist);
	if (r < 0)
		return r;
	up_dist_summary(&dist, load->failed_known, &run->summary);
	run->n_bars = up_dist_bars(&dist, run->bar);
	up_dist_done(&dist);
	if (load->failed_known)
		run->failed_total = run->summary.failed;
	if (!run->summary.exact)
		run->resolution_ms = fmax(run->resolution_ms, run->summary.max_ms / 1024);
	return take_rates(load, run);
}

static void take_files(const struct up_load *load, struct up_compare_run *run)
{
	run->traits = load->file[0].traits;
	run->undated = load->undated;
	run->first_start_us = load->first_start_us;
	run->last_end_us = load->last_end_us;
	run->span_s = NAN;
	run->failed_total_known = true;
	for (unsigned i = 0; i < load->n_files; i++) {
		const struct up_load_file *file = &load->file[i];

		run->dropped += file->dropped;
		run->skipped_lines += file->skipped_lines;
		run->intended = run->intended || file->intended;
		run->failed_total += file->failed_elsewhere;
		if (!file->failed_known && file->failed_elsewhere == 0)
			run->failed_total_known = false;
		run->resolution_ms = fmax(run->resolution_ms, file->traits.resolution_us / 1e3);
	}
}

/* A file that holds only the tool's summary is one run as it was told. */
static void take_told(const struct up_load *load, struct up_compare_run *run)
{
	const struct up_told *told = &load->file[0].told;

	run->told = true;
	up_told_summary(told, &run->summary);
	run->failed_total_known = told->failed_known;
	run->failed_total = told->failed;
	run->guess.users = NAN;
}

int up_compare_read_run(struct up_compare_run *run, struct up_compare_args *args)
{
	struct up_load load;
	int r;

	if (run->n_paths == 0)
		return no_run("a run without the output of a load generator", run);
	if (up_load_init(&load) < 0) {
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	for (unsigned i = 0; i < UP_CMP_FIGURES; i++)
		run->value[i] = NAN;
	r = up_cli_read_load(&load, run->path, run->n_paths, &args->load);
	if (r == 0)
		r = cut(&load, args, run);
	if (r == 0) {
		take_files(&load, run);
		if (up_points_total(&load.points) > 0)
			r = take_points(&load, run);
		else if (run->n_paths > 1)
			r = no_run("several summaries in one run: their percentiles do not add up", run);
		else
			take_told(&load, run);
	}
	up_load_done(&load);
	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", run->argument, strerror(-r));
		return 1;
	}
	if (r == 0)
		take_figures(run);
	return r == 0 && run->samples ? up_compare_read_samples(run) : r;
}
