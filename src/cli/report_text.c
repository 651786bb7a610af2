/* The terminal view of `useprobe report`: the steps, the knee between two of them, and what else the load file tells. */
#include <inttypes.h>
#include <math.h>

#include "answer.h"
#include "report.h"

struct up_figure up_report_level(const struct up_report *report, int index)
{
	struct up_figure figure;
	const struct up_step *step = &report->curve.step[index];

	if (report->curve.model.model != UP_MODEL_CLOSED)
		snprintf(figure.text, sizeof(figure.text), "%.4g/s", step->offered_per_s);
	else if (!isnan(step->users))
		snprintf(figure.text, sizeof(figure.text), "%.4g users", step->users);
	else
		snprintf(figure.text, sizeof(figure.text), "%.4g in flight", step->in_flight);
	return figure;
}

static const char *verdict_text(const struct up_report *report, size_t i)
{
	const struct up_step *step = &report->curve.step[i];

	if (report->knee.collapse == (int)i)
		return "collapse";
	if (step->verdict != UP_STEP_BAD)
		return step->verdict == UP_STEP_GOOD ? "good" : "";
	return step->why & UP_BAD_SHORT     ? "bad: short"
	       : step->why & UP_BAD_FAILING ? "bad: errors"
	       : step->why & UP_BAD_RISING  ? "bad: rising"
					    : "beyond";
}

static void print_steps(FILE *out, const struct up_report *report)
{
	bool failed = report->load.failed_known;

	fprintf(out, "\n%-9s%9s%9s%9s%9s%9s%9s%8s%8s\n", "start", "offered/s", failed ? "ok/s" : "done/s", "in flt", "mean ms",
		"p95 ms", "p99 ms", "failed", "dropped");
	for (size_t i = 0; i < report->curve.n; i++) {
		const struct up_step *step = &report->curve.step[i];

		fprintf(out, "%-9s%9s%9s%9s%9s%9s%9s", up_clock(step->start_us, report->curve.undated).text,
			up_figure(step->offered_per_s).text,
			up_figure(failed ? step->achieved_ok_per_s : step->achieved_per_s).text, up_figure(step->in_flight).text,
			up_figure(step->latency.mean_ms).text, up_figure(step->latency.q[UP_P95].ms).text,
			up_figure(step->latency.q[UP_P99].ms).text);
		if (failed)
			fprintf(out, "%8" PRIu64, step->latency.failed);
		else
			fprintf(out, "%8s", "-");
		fprintf(out, "%8" PRIu64 "  %s\n", step->dropped, verdict_text(report, i));
	}
	if (!isnan(report->curve.settle_share))
		fprintf(out,
			"settled parts: the first %.0f %% of each step is left out; latencies by the start of the request, failed ones too\n",
			100 * report->curve.settle_share);
}

static void print_hidden(FILE *out, const struct up_report *report)
{
	uint64_t n = 0;
	double max_ms = NAN, settled_max_ms = NAN;

	for (size_t i = 0; i < report->curve.n; i++) {
		n += report->curve.step[i].hidden.n;
		max_ms = fmax(max_ms, report->curve.step[i].hidden.max_ms);
		settled_max_ms = fmax(settled_max_ms, report->curve.step[i].latency.max_ms);
	}
	if (n)
		fprintf(out, "left out while settling: %" PRIu64 " requests, the slowest %s ms (slowest settled %s ms)\n", n,
			up_figure(max_ms).text, up_figure(settled_max_ms).text);
}

static void print_witness(FILE *out, const char *name, const struct up_witness *witness)
{
	fprintf(out, "  %s: %s%s\n", name, witness->reason,
		!witness->applicable ? ""
		: witness->agrees    ? " (agrees)"
				     : " (DISAGREES)");
}

static void print_knee(FILE *out, const struct up_report *report)
{
	const struct up_knee *knee = &report->knee;

	if (knee->verdict == UP_KNEE_FOUND && knee->good >= 0)
		fprintf(out, "\nknee: between %s and %s", up_report_level(report, knee->good).text,
			up_report_level(report, knee->bad).text);
	else if (knee->verdict == UP_KNEE_FOUND)
		fprintf(out, "\nknee: below %s", up_report_level(report, knee->bad).text);
	else
		fprintf(out, "\nknee: %s", up_knee_verdict_name(knee->verdict));
	if (knee->verdict == UP_KNEE_FOUND && report->curve.model.model == UP_MODEL_CLOSED && knee->good >= 0)
		fprintf(out, " (%.4g/s and %.4g/s)", knee->good_per_s, knee->bad_per_s);
	fprintf(out, "\n  %s\n", knee->reason);
	if (knee->collapse >= 0)
		fprintf(out, "collapse: at %s, from there on less than half of what was achieved before\n",
			up_report_level(report, knee->collapse).text);
	print_witness(out, "Kneedle", &knee->kneedle);
	print_witness(out, "USL", &knee->usl);
	if (knee->usl.applicable)
		fprintf(out, "    lambda %.4g/s, sigma %.4g, kappa %.4g, peak at N = %.4g\n", knee->usl_fit.lambda_per_s,
			knee->usl_fit.sigma, knee->usl_fit.kappa, knee->usl_fit.n_max);
}

static void print_checks(FILE *out, const struct up_report *report)
{
	const struct up_knee *knee = &report->knee;

	if (report->n_settled)
		fprintf(out,
			"Little's law (N = X R, with the mean): holds within 5 %% in %u of %u balanced steps, worst %.2g %%\n",
			report->n_little_ok, report->n_settled, 100 * report->little_worst_ratio);
	else
		fprintf(out, "Little's law: no step was in balance\n");
	if (report->expected.known && knee->good >= 0)
		fprintf(out, "an M/M/%u queue with this capacity would answer in %s ms on average at %s; measured %s ms\n",
			report->expected.servers, up_figure(report->expected.response_ms[knee->good]).text,
			up_report_level(report, knee->good).text, up_figure(report->curve.step[knee->good].latency.mean_ms).text);
}

static void print_lines(FILE *out, const struct up_report *report)
{
	const struct up_knee *knee = &report->knee;

	if (knee->verdict == UP_KNEE_FOUND && knee->good >= 0) {
		const struct up_step *good = &report->curve.step[knee->good];

		fprintf(out, "safe operating point: %s (p95 %s ms, %s in flight); the most ever achieved was %s/s\n",
			up_report_level(report, knee->good).text, up_figure(good->latency.q[UP_P95].ms).text,
			up_figure(good->in_flight).text, up_figure(knee->capacity_per_s).text);
		if (!isnan(knee->alert_in_flight))
			fprintf(out,
				"alert on saturation, not on CPU: more than %s requests in flight for 10 s (%s held at the safe point, %s beyond)\n",
				up_figure(knee->alert_in_flight).text, up_figure(good->in_flight).text,
				up_figure(report->curve.step[knee->bad].in_flight).text);
	}
	if (!isnan(report->peak_per_s) && !isnan(knee->capacity_per_s))
		fprintf(out, "headroom over the planned peak of %s/s: %s%.3g (%s/s)\n", up_figure(report->peak_per_s).text,
			knee->verdict == UP_KNEE_FOUND ? "" : "at least ", knee->capacity_per_s / report->peak_per_s,
			up_figure(knee->capacity_per_s).text);
	if (report->slo.n == 0)
		return;
	if (report->slo_good < 0)
		fprintf(out, "objective: missed already at the first step\n");
	else if ((size_t)report->slo_good + 1 == report->curve.n)
		fprintf(out, "objective: met at every step, up to %s\n", up_report_level(report, report->slo_good).text);
	else
		fprintf(out, "objective: met up to %s, %s at %s\n", up_report_level(report, report->slo_good).text,
			report->slo_met[report->slo_good + 1] == 0 ? "missed" : "not to be told",
			up_report_level(report, report->slo_good + 1).text);
}

static void print_files(FILE *out, const struct up_report *report)
{
	char name[UP_LOAD_PATH_BYTES];
	uint64_t n = 0;

	for (unsigned i = 0; i < report->load.n_files; i++) {
		const struct up_load_file *file = &report->load.file[i];

		n += file->n_points;
		up_cli_clean(file->path, name, sizeof(name));
		fprintf(out, "%s: %s, %" PRIu64 " requests; latency = %s\n", name, file->traits.name, file->n_points,
			file->traits.includes);
		if (file->traits.missing)
			fprintf(out, "  not in the file: %s\n", file->traits.missing);
		for (size_t k = 0; k < sizeof(file->remark) / sizeof(*file->remark) && file->remark[k][0]; k++) {
			up_cli_clean(file->remark[k], name, sizeof(name));
			fprintf(out, "  %s\n", name);
		}
	}
	if (report->requested > n)
		fprintf(out, "missing: %" PRIu64 " of the %" PRIu64 " requests that were sent have no row\n",
			report->requested - n, report->requested);
	fprintf(out, "model: %s: %s\n", up_model_name(report->curve.model.model), report->curve.model.reason);
}

void up_report_print(FILE *out, const struct up_report *report)
{
	if (report->has_load) {
		print_files(out, report);
		if (report->curve.n)
			print_steps(out, report);
		print_hidden(out, report);
		print_knee(out, report);
		print_checks(out, report);
		print_lines(out, report);
	}
	if (report->answer)
		up_answer_print(out, report);
}
