/* The JSON of `useprobe latency`: keys are only ever added, what is not known is null (docs/DESIGN.md). */
#include <math.h>

#include "latency.h"

json_t *up_ok_only_json(const struct up_summary *summary)
{
	json_t *percentiles;

	if (!summary->failed_known || summary->failed == 0)
		return json_null();
	percentiles = json_object();
	for (unsigned i = 0; i < UP_QUANTILES; i++)
		json_object_set_new(
			percentiles, up_quantile_names[i].name, json_pack("{s:o}", "ms", up_json_number(summary->ok_only.ms[i])));
	return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)summary->ok_only.n, "mean_ms",
		up_json_number(summary->ok_only.mean_ms), "max_ms", up_json_number(summary->ok_only.max_ms), "percentiles",
		percentiles);
}

static json_t *failed_json(const struct up_summary *summary)
{
	return summary->failed_known ? json_integer((json_int_t)summary->failed) : json_null();
}

static json_t *percentiles_json(const struct up_summary *summary)
{
	json_t *percentiles = json_object();

	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		const struct up_quantile *q = &summary->q[i];

		json_object_set_new(percentiles, up_quantile_names[i].name,
			json_pack("{s:o, s:I, s:b, s:o, s:o, s:o, s:o}", "ms", up_json_number(q->ms), "tail_n",
				(json_int_t)q->tail_n, "reliable", q->tail_n >= UP_TAIL_MIN, "linear_ms",
				up_json_number(q->linear_ms), "jmeter_ms", up_json_number(q->jmeter_ms), "lo_ms",
				up_json_number(q->lo_ms), "hi_ms", up_json_number(q->hi_ms)));
	}
	return percentiles;
}

json_t *up_summary_json(const struct up_summary *summary)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "n", (json_int_t)summary->n, "failed",
		failed_json(summary), "ok_only", up_ok_only_json(summary), "mean_ms", up_json_number(summary->mean_ms), "sd_ms",
		up_json_number(summary->sd_ms), "min_ms", up_json_number(summary->min_ms), "max_ms",
		up_json_number(summary->max_ms), "mean_at_share", up_json_number(summary->mean_share), "exact", summary->exact,
		"percentiles", percentiles_json(summary));
}

static json_t *corrected_json(const struct up_latency *latency)
{
	json_t *json = latency->plan.apply ? up_summary_json(&latency->corrected) : json_object();

	json_object_set_new(json, "applied", json_boolean(latency->plan.apply));
	json_object_set_new(json, "interval_ms", up_json_number(latency->plan.interval_ms));
	json_object_set_new(json, "reason", up_json_text(latency->plan.reason));
	return json;
}

static json_t *averages_json(const double ms[UP_QUANTILES])
{
	json_t *json = json_object();

	for (unsigned i = 0; i < UP_QUANTILES; i++)
		json_object_set_new(json, up_quantile_names[i].name, up_json_number(ms[i]));
	return json;
}

static json_t *file_json(const struct up_load_file *file)
{
	json_t *json = json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:b}", "path", up_json_text(file->path), "format",
		up_json_text(file->traits.name), "n", (json_int_t)file->n_points, "skipped_lines",
		(json_int_t)file->skipped_lines, "dropped", (json_int_t)file->dropped, "latency_includes",
		up_json_text(file->traits.includes), "cut", file->cut);
	json_t *notes = json_array();

	for (unsigned i = 0; i < file->n_notes; i++)
		json_array_append_new(notes, json_pack("{s:I, s:o}", "line", (json_int_t)file->note[i].line, "reason",
						     up_json_text(file->note[i].text)));
	json_object_set_new(json, "notes", notes);
	json_object_set_new(json, "left_out_by_tool", file->traits.missing ? up_json_text(file->traits.missing) : json_null());
	if (file->summary.n > 0)
		json_object_set_new(json, "latency", up_summary_json(&file->summary));
	return json;
}

static json_t *windows_json(const struct up_latency *latency)
{
	json_t *json = json_array();

	for (size_t i = 0; i < latency->n_windows; i++) {
		const struct up_summary *s = &latency->window_summary[i];

		json_array_append_new(
			json, json_pack("{s:f, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "start",
				      (double)latency->window[i].from_us / 1e6, "end", (double)latency->window[i].to_us / 1e6,
				      "n", (json_int_t)s->n, "failed", failed_json(s), "mean_ms", up_json_number(s->mean_ms),
				      "p50_ms", up_json_number(s->q[UP_P50].ms), "p90_ms", up_json_number(s->q[UP_P90].ms),
				      "p95_ms", up_json_number(s->q[UP_P95].ms), "p99_ms", up_json_number(s->q[UP_P99].ms),
				      "max_ms", up_json_number(s->max_ms)));
	}
	return json;
}

static json_t *names_json(const struct up_latency *latency)
{
	json_t *json = json_object();

	for (unsigned i = 1; latency->names && i < latency->load.names.n; i++) {
		json_t *name = latency->names[i].n ? up_json_text(latency->load.names.name[i]) : NULL;

		if (name)
			json_object_set_new(json, json_string_value(name), up_summary_json(&latency->names[i]));
		json_decref(name);
	}
	return json;
}

static json_t *modes_json(const struct up_latency *latency)
{
	json_t *json = json_array();

	for (size_t i = 0; i < latency->n_modes; i++) {
		const struct up_mode *mode = &latency->modes[i];

		json_array_append_new(
			json, json_pack("{s:s, s:o, s:I, s:o}", "kind", mode->kind == UP_MODE_TIMEOUT ? "timeout" : "delayed-ack",
				      "at_ms", up_json_number(mode->at_ms), "n", (json_int_t)mode->n, "share",
				      up_json_number(mode->share)));
	}
	return json;
}

static json_t *fanout_json(const struct up_latency *latency)
{
	json_t *json = json_array();

	for (unsigned i = 0; i < UP_FANOUTS && !latency->told; i++)
		json_array_append_new(json, json_pack("{s:i, s:o}", "calls", (int)up_fanout_calls[i], "share",
						    up_json_number(up_fanout_share(&latency->summary, up_fanout_calls[i]))));
	return json;
}

json_t *up_latency_json(const struct up_latency *latency)
{
	json_t *json = up_summary_json(&latency->summary), *thresholds = json_array(), *files = json_array();
	const struct up_load *load = &latency->load;
	uint64_t offered = latency->summary.n + latency->dropped;
	uint64_t skipped = 0;

	for (unsigned i = 0; i < latency->n_thresholds; i++)
		json_array_append_new(thresholds, json_pack("{s:f, s:o}", "ms", latency->threshold_ms[i], "share",
							  up_json_number(latency->threshold_share[i])));
	for (unsigned i = 0; i < load->n_files; i++) {
		json_array_append_new(files, file_json(&load->file[i]));
		skipped += load->file[i].skipped_lines;
	}
	if (latency->failed_total_known)
		json_object_set_new(json, "failed", json_integer((json_int_t)latency->failed_total));
	json_object_set_new(json, "dropped", json_integer((json_int_t)latency->dropped));
	json_object_set_new(
		json, "completed_of_offered", up_json_number(offered ? (double)latency->summary.n / (double)offered : NAN));
	json_object_set_new(json, "model", json_string(up_model_name(latency->guess.model)));
	json_object_set_new(json, "model_reason", up_json_text(latency->guess.reason));
	json_object_set_new(json, "users", up_json_number(latency->guess.users));
	json_object_set_new(json, "corrected", corrected_json(latency));
	json_object_set_new(json, "thresholds", thresholds);
	json_object_set_new(json, "names", names_json(latency));
	json_object_set_new(json, "windows", windows_json(latency));
	if (latency->n_windows)
		json_object_set_new(json, "averaged_window_percentiles_ms", averages_json(latency->averaged_ms));
	if (load->n_files > 1 && !latency->told)
		json_object_set_new(json, "averaged_file_percentiles_ms", averages_json(latency->files_averaged_ms));
	json_object_set_new(json, "modes", modes_json(latency));
	json_object_set_new(json, "fanout_p99", fanout_json(latency));
	json_object_set_new(json, "mean_plus_2sd",
		json_pack("{s:o, s:o}", "ms", up_json_number(latency->summary.mean_ms + 2 * latency->summary.sd_ms),
			"share_above", up_json_number(latency->above_2sd_share)));
	json_object_set_new(json, "told_by_tool", json_boolean(latency->told));
	json_object_set_new(json, "undated", json_boolean(load->undated));
	json_object_set_new(json, "files", files);
	json_object_set_new(json, "skipped_lines", json_integer((json_int_t)skipped));
	return json;
}
