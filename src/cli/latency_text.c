/* The terminal view of `useprobe latency`: every percentile with what stands behind it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "latency.h"

enum { BAR_WIDTH = 40, NAMES_SHOWN = 30, WINDOWS_SHOWN = 200 };

static void print_head(FILE *out, const struct up_latency *latency)
{
	const struct up_load *load = &latency->load;
	const struct up_summary *s = &latency->summary;
	uint64_t offered = s->n + latency->dropped;
	double span_s = latency->told ? 0 : (double)(load->last_end_us - load->first_start_us) / 1e6;

	fprintf(out, "%" PRIu64 " requests", s->n);
	if (span_s > 0)
		fprintf(out, " in %s s (%s/s)", up_figure(span_s).text, up_figure((double)s->n / span_s).text);
	if (!s->failed_known && latency->failed_total_known)
		fprintf(out, ", %" PRIu64 " failed (the file does not say which)", latency->failed_total);
	else if (!s->failed_known)
		fprintf(out, ", failed: not in the file");
	else
		fprintf(out, ", %" PRIu64 " failed (%.3g %%)", s->failed, s->n ? 100 * (double)s->failed / (double)s->n : 0.0);
	if (latency->dropped)
		fprintf(out, ", %" PRIu64 " iterations dropped", latency->dropped);
	fprintf(out, "\nof the offered: %.4g %% completed (%" PRIu64 " of %" PRIu64 ")\n", 100 * (double)s->n / (double)offered,
		s->n, offered);
	if (latency->left_out)
		fprintf(out, "left out by --from and --to: %" PRIu64 " requests\n", latency->left_out);
	if (latency->requested > s->n)
		fprintf(out, "missing: %" PRIu64 " of the %" PRIu64 " requests that were sent have no row\n",
			latency->requested - s->n, latency->requested);
	if (s->late)
		fprintf(out,
			"sent late (more than %d ms after the intended start): %" PRIu64
			" requests; the latency includes that wait\n",
			UP_LATE_US / 1000, s->late);
}

static void print_file(FILE *out, const struct up_load_file *file)
{
	char name[UP_LOAD_PATH_BYTES];

	up_cli_clean(file->path, name, sizeof(name));
	fprintf(out, "%s: %s; latency = %s\n", name, file->traits.name, file->traits.includes);
	if (file->traits.missing)
		fprintf(out, "  not in the file: %s\n", file->traits.missing);
	if (file->traits.corrected)
		fprintf(out, "  the tool has corrected these latencies for coordinated omission itself\n");
	if (file->failed_elsewhere)
		fprintf(out, "  %" PRIu64 " requests failed; which ones the file does not say\n", file->failed_elsewhere);
	if (file->transactions_left_out)
		fprintf(out,
			"  left out: %" PRIu64
			" transaction rows that repeat the requests inside them (--transactions counts them)\n",
			file->transactions_left_out);
	for (size_t i = 0; i < sizeof(file->remark) / sizeof(*file->remark) && file->remark[i][0]; i++) {
		up_cli_clean(file->remark[i], name, sizeof(name));
		fprintf(out, "  %s\n", name);
	}
	if (file->skipped_lines)
		fprintf(out, "  %" PRIu64 " line%s left out\n", file->skipped_lines,
			file->skipped_lines == 1 ? " was" : "s were");
}

static const char *tail_text(const struct up_summary *s, unsigned i, char *buffer, size_t n)
{
	if (s->q[i].tail_n >= UP_TAIL_MIN)
		return "";
	if (s->q[i].tail_n == 0)
		snprintf(buffer, n, "  = the maximum: %" PRIu64 " requests are too few for it", s->n);
	else
		snprintf(buffer, n, "  unreliable: only %" PRIu64 " slower", s->q[i].tail_n);
	return buffer;
}

static void print_percentiles(FILE *out, const struct up_latency *latency)
{
	const struct up_summary *s = &latency->summary;
	bool ok = !latency->told && s->failed_known && s->failed > 0 && s->ok_only.n > 0, corrected = latency->plan.apply;
	char tail[80];

	fprintf(out, "\n%-8s %12s%s%s %12s\n", "", "ms", ok ? "   ok only ms" : "", corrected ? " corrected ms" : "", "slower");
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		fprintf(out, "%-8s %12s", up_quantile_names[i].name, up_figure(s->q[i].ms).text);
		if (ok)
			fprintf(out, " %12s", up_figure(s->ok_only.ms[i]).text);
		if (corrected)
			fprintf(out, " %12s", up_figure(latency->corrected.q[i].ms).text);
		fprintf(out, " %12" PRIu64 "%s", s->q[i].tail_n, tail_text(s, i, tail, sizeof(tail)));
		if (isinf(s->q[i].hi_ms))
			fprintf(out, "  above %s ms, the last bucket", up_figure(s->q[i].lo_ms).text);
		else if (!isnan(s->q[i].hi_ms))
			fprintf(out, "  between %s and %s ms", up_figure(s->q[i].lo_ms).text, up_figure(s->q[i].hi_ms).text);
		fputc('\n', out);
	}
	fprintf(out, "%-8s %12s", "max", up_figure(s->max_ms).text);
	if (ok)
		fprintf(out, " %12s", up_figure(s->ok_only.max_ms).text);
	fprintf(out, "\n%-8s %12s", "mean", up_figure(s->mean_ms).text);
	if (ok)
		fprintf(out, " %12s", up_figure(s->ok_only.mean_ms).text);
	if (latency->load.file[0].told.bucketed) {
		fprintf(out,
			"\nnearest rank over counts in buckets: a percentile is known to its bucket, the figure in it is a guess; the mean is exact\n");
		return;
	}
	if (latency->told) {
		fprintf(out, "\nas the tool printed them: a summary holds no requests, so nothing was computed here\n");
		return;
	}
	fprintf(out, "   the mean is the latency of nobody: %.3g %% of the requests are at or below it\n", 100 * s->mean_share);
	fprintf(out,
		"mean + 2 standard deviations = %s ms: %.3g %% are slower (2.3 %% if latencies were normal, which they are not)\n",
		up_figure(s->mean_ms + 2 * s->sd_ms).text, 100 * latency->above_2sd_share);
	fprintf(out, "pages that meet a request slower than p99: %.3g %% with %u calls, %.3g %% with %u, %.3g %% with %u\n",
		100 * up_fanout_share(s, up_fanout_calls[0]), up_fanout_calls[0], 100 * up_fanout_share(s, up_fanout_calls[1]),
		up_fanout_calls[1], 100 * up_fanout_share(s, up_fanout_calls[2]), up_fanout_calls[2]);
	fprintf(out, "nearest rank over all completed requests, failed ones too%s\n",
		s->exact ? "" : "; from a histogram, each value within 0.1 % (more than two million requests)");
}

static void print_omission(FILE *out, const struct up_latency *latency)
{
	fprintf(out, "\nmodel: %s: %s\n", up_model_name(latency->guess.model), latency->guess.reason);
	fprintf(out, "coordinated omission: %s\n", latency->plan.reason);
	if (latency->plan.apply)
		fprintf(out,
			"  corrected: %" PRIu64 " samples instead of %" PRIu64
			"; a reconstruction, the raw figures stay beside it\n",
			latency->corrected.n, latency->summary.n);
}

static void print_bars(FILE *out, const struct up_latency *latency)
{
	uint64_t most = 1;

	for (size_t i = 0; i < latency->n_bars; i++)
		most = latency->bars[i].n > most ? latency->bars[i].n : most;
	fprintf(out, "\n");
	for (size_t i = 0; i < latency->n_bars; i++) {
		const struct up_bar *bar = &latency->bars[i];
		int width =
			bar->n ? 1 + (int)((BAR_WIDTH - 1) * log((double)bar->n) / log((double)most > 1 ? (double)most : 2)) : 0;

		fprintf(out, "%9s ms %-*.*s %" PRIu64 "\n", up_figure(bar->lo_ms).text, BAR_WIDTH, width,
			"########################################", bar->n);
	}
	fprintf(out, "(bars are logarithmic)\n");
	for (size_t i = 0; i < latency->n_modes; i++) {
		const struct up_mode *mode = &latency->modes[i];

		if (mode->kind == UP_MODE_TIMEOUT)
			fprintf(out, "a pile of %" PRIu64 " requests (%.3g %%) at %.4g s: probably a time-out, not a latency\n",
				mode->n, 100 * mode->share, mode->at_ms / 1e3);
		else
			fprintf(out,
				"a cluster of %" PRIu64
				" requests (%.3g %%) around %s ms: 40 ms above the rest is a delayed TCP acknowledgement\n",
				mode->n, 100 * mode->share, up_figure(mode->at_ms).text);
	}
}

static void print_row(FILE *out, const char *label, const struct up_summary *s)
{
	fprintf(out, "%-30s %9" PRIu64 " %8s %8s %8s %8s %8s\n", label, s->n, up_figure(s->q[UP_P50].ms).text,
		up_figure(s->q[UP_P95].ms).text, up_figure(s->q[UP_P99].ms).text, up_figure(s->max_ms).text,
		up_figure(s->mean_ms).text);
}

static void print_row_head(FILE *out, const char *label)
{
	fprintf(out, "\n%-30s %9s %8s %8s %8s %8s %8s\n", label, "n", "p50", "p95", "p99", "max", "mean");
}

static void print_averages(FILE *out, const struct up_latency *latency, const double ms[UP_QUANTILES], const char *whose)
{
	fprintf(out,
		"averaging the %s percentiles would say p95 %s, p99 %s where the run has %s and %s: percentiles do not average\n",
		whose, up_figure(ms[UP_P95]).text, up_figure(ms[UP_P99]).text, up_figure(latency->summary.q[UP_P95].ms).text,
		up_figure(latency->summary.q[UP_P99].ms).text);
}

static void print_names(FILE *out, const struct up_latency *latency)
{
	unsigned shown = 0;
	char name[31];

	if (latency->load.names.n < 3)
		return; /* one name says nothing that the whole does not */
	print_row_head(out, "by name, ms");
	for (unsigned i = 0; i < latency->load.names.n && shown < NAMES_SHOWN; i++) {
		if (latency->names[i].n == 0)
			continue;
		up_cli_clean(i ? latency->load.names.name[i] : "(no name)", name, sizeof(name));
		print_row(out, name, &latency->names[i]);
		shown++;
	}
	if (latency->load.names.n > NAMES_SHOWN)
		fprintf(out, "(the first %d of %u names; --json has all)\n", NAMES_SHOWN, latency->load.names.n);
}

static void print_windows(FILE *out, const struct up_latency *latency)
{
	print_row_head(out, "window, ms");
	for (size_t i = 0; i < latency->n_windows && i < WINDOWS_SHOWN; i++)
		print_row(out, up_clock(latency->window[i].from_us, latency->load.undated).text, &latency->window_summary[i]);
	if (latency->n_windows > WINDOWS_SHOWN)
		fprintf(out, "(the first %d of %zu windows; --json has all)\n", WINDOWS_SHOWN, latency->n_windows);
	print_averages(out, latency, latency->averaged_ms, "windows'");
}

static void print_files(FILE *out, const struct up_latency *latency)
{
	char name[31];

	print_row_head(out, "by file, ms");
	for (unsigned i = 0; i < latency->load.n_files; i++) {
		const char *base = strrchr(latency->load.file[i].path, '/');

		up_cli_clean(base ? base + 1 : latency->load.file[i].path, name, sizeof(name));
		print_row(out, name, &latency->load.file[i].summary);
	}
	print_row(out, latency->told ? "together (no percentiles)" : "together, merged by counts", &latency->summary);
	if (!latency->told)
		print_averages(out, latency, latency->files_averaged_ms, "files'");
}

void up_latency_print(FILE *out, const struct up_latency *latency)
{
	for (unsigned i = 0; i < latency->load.n_files; i++)
		print_file(out, &latency->load.file[i]);
	print_head(out, latency);
	print_percentiles(out, latency);
	print_omission(out, latency);
	for (unsigned i = 0; i < latency->n_thresholds; i++)
		fprintf(out, "%sat most %s ms: %.5g %%\n", i ? "" : "\n", up_figure(latency->threshold_ms[i]).text,
			100 * latency->threshold_share[i]);
	if (!latency->told) {
		print_bars(out, latency);
		print_names(out, latency);
	}
	if (latency->n_windows)
		print_windows(out, latency);
	if (latency->load.n_files > 1)
		print_files(out, latency);
}
