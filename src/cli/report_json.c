/* The JSON and CSV of `useprobe report`: keys are only ever added, what is not known is null (docs/DESIGN.md, section 12). */
#include <errno.h>
#include <math.h>

#include "answer.h"
#include "latency.h"
#include "report.h"

static json_t *moment_json(int64_t us)
{
	return json_real((double)us / 1e6);
}

static json_t *count_json(bool known, uint64_t n)
{
	return known ? json_integer((json_int_t)n) : json_null();
}

static json_t *why_json(unsigned why)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = { { UP_BAD_SHORT, "short" }, { UP_BAD_RISING, "rising" }, { UP_BAD_FAILING, "failing" },
		{ UP_BAD_USERS, "beyond-bounds" } };
	json_t *json = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (why & names[i].bit)
			json_array_append_new(json, json_string(names[i].name));
	}
	return json;
}

static void put_latency(json_t *json, const struct up_summary *s)
{
	json_object_set_new(json, "n", json_integer((json_int_t)s->n));
	json_object_set_new(json, "mean_ms", up_json_number(s->mean_ms));
	json_object_set_new(json, "p50_ms", up_json_number(s->q[UP_P50].ms));
	json_object_set_new(json, "p90_ms", up_json_number(s->q[UP_P90].ms));
	json_object_set_new(json, "p95_ms", up_json_number(s->q[UP_P95].ms));
	json_object_set_new(json, "p99_ms", up_json_number(s->q[UP_P99].ms));
	json_object_set_new(json, "max_ms", up_json_number(s->max_ms));
	json_object_set_new(json, "failed", count_json(s->failed_known, s->failed));
	json_object_set_new(json, "ok_only", up_ok_only_json(s));
}

static json_t *slo_json(int met)
{
	return met < 0 ? json_null() : json_boolean(met);
}

static json_t *step_json(const struct up_report *report, size_t i)
{
	static const char *const verdict[] = { "unjudged", "good", "bad" };
	const struct up_step *step = &report->curve.step[i];
	json_t *json = json_object();

	json_object_set_new(json, "start", moment_json(step->start_us));
	json_object_set_new(json, "settled_start", moment_json(step->settled_us));
	json_object_set_new(json, "end", moment_json(step->end_us));
	json_object_set_new(json, "offered_per_s", up_json_number(step->offered_per_s));
	json_object_set_new(json, "achieved_per_s", up_json_number(step->achieved_per_s));
	json_object_set_new(json, "achieved_ok_per_s", up_json_number(step->achieved_ok_per_s));
	json_object_set_new(json, "in_flight", up_json_number(step->in_flight));
	json_object_set_new(json, "users", up_json_number(step->users));
	put_latency(json, &step->latency);
	json_object_set_new(json, "dropped", json_integer((json_int_t)step->dropped));
	json_object_set_new(json, "late", json_integer((json_int_t)step->late));
	json_object_set_new(json, "settled", json_boolean(step->balanced));
	json_object_set_new(json, "arrivals", json_integer((json_int_t)step->arrivals));
	json_object_set_new(json, "departures", json_integer((json_int_t)step->ends));
	json_object_set_new(json, "verdict", json_string(verdict[step->verdict]));
	json_object_set_new(json, "why", why_json(step->why));
	json_object_set_new(json, "little",
		json_pack("{s:o, s:o, s:b}", "in_flight", up_json_number(step->in_flight), "x_times_mean",
			up_json_number(step->little_in_flight), "ok", step->little_ok));
	json_object_set_new(json, "left_out_settling",
		json_pack("{s:I, s:o}", "n", (json_int_t)step->hidden.n, "max_ms", up_json_number(step->hidden.max_ms)));
	json_object_set_new(
		json, "expected_mean_ms", report->expected.known ? up_json_number(report->expected.response_ms[i]) : json_null());
	json_object_set_new(json, "slo_met", report->slo.n ? slo_json(report->slo_met[i]) : json_null());
	json_object_set_new(json, "states_ms", report->answer ? up_answer_states_json(report, i) : json_null());
	return json;
}

static json_t *witness_json(const struct up_witness *witness)
{
	return json_pack("{s:b, s:o, s:o, s:o, s:o}", "applicable", witness->applicable, "at_per_s",
		up_json_number(witness->at_per_s), "at_users", up_json_number(witness->at_users), "agrees",
		witness->applicable ? json_boolean(witness->agrees) : json_null(), "reason", up_json_text(witness->reason));
}

static json_t *methods_json(const struct up_report *report)
{
	const struct up_knee *knee = &report->knee;
	json_t *json = json_object(), *usl = witness_json(&knee->usl);
	bool closed = report->curve.model.model == UP_MODEL_CLOSED;

	json_object_set_new(json, "primary", json_string(closed ? "asymptotic-bounds" : "balance"));
	if (knee->bounds.used)
		json_object_set_new(json, "bounds",
			json_pack("{s:o, s:o, s:o, s:o}", "x_max_per_s", up_json_number(knee->bounds.x_max_per_s), "r0_ms",
				up_json_number(1e3 * knee->bounds.r0_s), "think_ms", up_json_number(1e3 * knee->bounds.z_s),
				"n_star", up_json_number(knee->bounds.n_star)));
	json_object_set_new(json, "kneedle", witness_json(&knee->kneedle));
	json_object_set_new(usl, "lambda_per_s", up_json_number(knee->usl_fit.lambda_per_s));
	json_object_set_new(usl, "sigma", up_json_number(knee->usl_fit.sigma));
	json_object_set_new(usl, "kappa", up_json_number(knee->usl_fit.kappa));
	json_object_set_new(usl, "n_max", up_json_number(knee->usl_fit.n_max));
	json_object_set_new(usl, "rms_ratio", up_json_number(knee->usl_fit.rms_ratio));
	json_object_set_new(json, "usl", usl);
	return json;
}

static json_t *knee_json(const struct up_report *report)
{
	const struct up_knee *knee = &report->knee;
	json_t *json = json_object();

	json_object_set_new(json, "verdict", json_string(up_knee_verdict_name(knee->verdict)));
	json_object_set_new(json, "good_per_s", up_json_number(knee->good_per_s));
	json_object_set_new(json, "bad_per_s", up_json_number(knee->bad_per_s));
	json_object_set_new(json, "good_step", knee->good >= 0 ? json_integer(knee->good) : json_null());
	json_object_set_new(json, "bad_step", knee->bad >= 0 ? json_integer(knee->bad) : json_null());
	json_object_set_new(json, "collapse_per_s", up_json_number(knee->collapse_per_s));
	json_object_set_new(json, "generator_bound", json_boolean(knee->generator_bound));
	json_object_set_new(json, "capacity_per_s", up_json_number(knee->capacity_per_s));
	json_object_set_new(json, "alert_in_flight", up_json_number(knee->alert_in_flight));
	json_object_set_new(json, "methods", methods_json(report));
	json_object_set_new(json, "reason", up_json_text(knee->reason));
	return json;
}

/* Without samples no resource can be named; a generator that was the limit is known from the load file alone. */
static json_t *bottleneck_json(const struct up_report *report)
{
	static const char *const nulls[] = { "scope", "resource", "name", "hold_good_ms", "hold_bad_ms", "utilization",
		"growth_ms", "runner_up", "falsifier", "next" };
	json_t *json = json_object();

	json_object_set_new(json, "verdict", json_string(report->knee.generator_bound ? "generator" : "unknown"));
	for (size_t i = 0; i < sizeof(nulls) / sizeof(*nulls); i++)
		json_object_set_new(json, nulls[i], json_null());
	json_object_set_new(json, "symptoms", json_array());
	json_object_set_new(json, "evidence", json_array());
	json_object_set_new(json, "reason",
		report->knee.generator_bound ? up_json_text(report->knee.reason) : json_string("no samples given"));
	return json;
}

static json_t *environment_json(const struct up_report *report)
{
	json_t *json = json_object(), *files = json_array();

	for (unsigned i = 0; i < report->load.n_files; i++) {
		const struct up_load_file *file = &report->load.file[i];

		json_array_append_new(
			files, json_pack("{s:o, s:o, s:I, s:I, s:o}", "path", up_json_text(file->path), "format",
				       up_json_text(file->traits.name), "n", (json_int_t)file->n_points, "skipped_lines",
				       (json_int_t)file->skipped_lines, "latency_includes", up_json_text(file->traits.includes)));
	}
	json_object_set_new(json, "load_files", files);
	return json;
}

static json_t *headroom_json(const struct up_report *report)
{
	if (isnan(report->peak_per_s))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:b}", "peak_per_s", up_json_number(report->peak_per_s), "ceiling_per_s",
		up_json_number(report->knee.capacity_per_s), "ratio",
		up_json_number(report->knee.capacity_per_s / report->peak_per_s), "at_least",
		report->knee.verdict != UP_KNEE_FOUND);
}

json_t *up_report_json(const struct up_report *report)
{
	json_t *json = json_object(), *steps = json_array();

	for (size_t i = 0; i < report->curve.n; i++)
		json_array_append_new(steps, step_json(report, i));
	json_object_set_new(json, "environment", environment_json(report));
	json_object_set_new(json, "model", json_string(up_model_name(report->curve.model.model)));
	json_object_set_new(json, "model_reason", up_json_text(report->curve.model.reason));
	json_object_set_new(json, "undated", json_boolean(report->curve.undated));
	json_object_set_new(json, "steps", steps);
	json_object_set_new(json, "knee", knee_json(report));
	json_object_set_new(json, "little",
		json_pack("{s:i, s:i, s:o}", "balanced_steps", (int)report->n_settled, "ok", (int)report->n_little_ok,
			"worst_ratio", up_json_number(report->little_worst_ratio)));
	json_object_set_new(json, "headroom", headroom_json(report));
	json_object_set_new(
		json, "slo_good_step", report->slo.n && report->slo_good >= 0 ? json_integer(report->slo_good) : json_null());
	json_object_set_new(json, "bottleneck", report->answer ? up_answer_bottleneck_json(report) : bottleneck_json(report));
	json_object_set_new(json, "ceilings", report->answer ? up_answer_ceilings_json(report) : json_array());
	json_object_set_new(json, "clock_shift_s",
		report->answer ? up_answer_shift_json(report)
			       : json_pack("{s:n, s:n, s:s}", "value", "uncertainty", "reason", "no samples given"));
	return json;
}

static void csv_number(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, ",%.9g", value);
	else
		fputc(',', out);
}

static void csv_step(FILE *out, const struct up_step *step)
{
	static const char *const verdict[] = { "", "good", "bad" };

	fprintf(out, "%.6f,%.6f", (double)step->start_us / 1e6, (double)step->end_us / 1e6);
	csv_number(out, step->offered_per_s);
	csv_number(out, step->achieved_per_s);
	csv_number(out, step->achieved_ok_per_s);
	csv_number(out, step->in_flight);
	csv_number(out, step->users);
	csv_number(out, (double)step->latency.n);
	csv_number(out, step->latency.mean_ms);
	csv_number(out, step->latency.q[UP_P50].ms);
	csv_number(out, step->latency.q[UP_P95].ms);
	csv_number(out, step->latency.q[UP_P99].ms);
	csv_number(out, step->latency.max_ms);
	csv_number(out, step->latency.failed_known ? (double)step->latency.failed : NAN);
	csv_number(out, (double)step->dropped);
	fprintf(out, ",%s,%s\n", step->balanced ? "yes" : "no", verdict[step->verdict]);
}

int up_report_write_csv(const struct up_report *report, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int r = 0;

	if (!out)
		return -errno;
	fputs("start_s,end_s,offered_per_s,achieved_per_s,achieved_ok_per_s,in_flight,users,n,mean_ms,p50_ms,p95_ms,p99_ms,max_ms,failed,dropped,settled,verdict\n",
		out);
	for (size_t i = 0; i < report->curve.n; i++)
		csv_step(out, &report->curve.step[i]);
	if (fflush(out) != 0 || ferror(out))
		r = errno ? -errno : -EIO;
	if (path && fclose(out) != 0 && r == 0)
		r = -errno;
	return r;
}
