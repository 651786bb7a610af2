/* The JSON of `useprobe compare`: keys are only ever added, what is not known is null (docs/DESIGN.md). */
#include <math.h>

#include "compare.h"

static json_t *run_json(const struct up_compare_run *run)
{
	json_t *figures = json_object();

	for (unsigned i = 0; i < UP_CMP_FIGURES; i++)
		json_object_set_new(figures, up_compare_figures[i].name, up_json_number(run->value[i]));
	return json_pack("{s:o, s:o, s:o, s:I, s:s, s:o, s:o, s:I, s:I, s:o}", "run", up_json_text(run->argument), "samples",
		run->samples ? up_json_text(run->samples) : json_null(), "format", up_json_text(run->traits.name), "n",
		(json_int_t)run->summary.n, "model", up_model_name(run->guess.model), "start",
		run->undated || run->told ? json_null() : json_real((double)run->first_start_us / 1e6), "span_s",
		up_json_number(run->span_s), "left_out", (json_int_t)run->left_out, "skipped_lines",
		(json_int_t)run->skipped_lines, "figures", figures);
}

static json_t *runs_json(const struct up_compare_result *result, unsigned side)
{
	json_t *runs = json_array();

	for (size_t i = 0; i < result->n[side]; i++)
		json_array_append_new(runs, run_json(&result->run[side][i]));
	return runs;
}

static json_t *range_json(const struct up_range *range)
{
	return json_pack("{s:I, s:o, s:o, s:o}", "runs", (json_int_t)range->n, "min", up_json_number(range->min), "median",
		up_json_number(range->median), "max", up_json_number(range->max));
}

static json_t *figures_json(const struct up_compare_result *result)
{
	static const char *const kinds[] = {
		[UP_DIFFERENCE_NONE] = "none", [UP_DIFFERENCE_LOWER] = "lower", [UP_DIFFERENCE_HIGHER] = "higher"
	};
	json_t *figures = json_object();

	for (unsigned i = 0; i < UP_CMP_FIGURES; i++) {
		const struct up_difference *d = &result->figure[i];
		const int better = up_compare_figures[i].better;
		json_t *judged = json_null();

		if (d->kind != UP_DIFFERENCE_NONE && better)
			judged = json_boolean((d->kind == UP_DIFFERENCE_HIGHER) == (better > 0));
		json_object_set_new(figures, up_compare_figures[i].name,
			json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:[o,o]}", "unit", up_compare_figures[i].unit, "base",
				range_json(&d->base), "new", range_json(&d->next), "difference", kinds[d->kind], "reason",
				d->kind == UP_DIFFERENCE_NONE ? json_string(up_compare_why(d->why)) : json_null(), "better",
				judged, "change_percent", up_json_number(100 * d->change_lo),
				up_json_number(100 * d->change_hi)));
	}
	return figures;
}

static json_t *histogram_json(const struct up_compare_result *result)
{
	json_t *bars = json_array();

	for (size_t i = 0; i < result->n_bars; i++)
		json_array_append_new(bars,
			json_pack("{s:f, s:f, s:I, s:I}", "lo_ms", result->bar[i].lo_ms, "hi_ms", result->bar[i].hi_ms, "base_n",
				(json_int_t)result->bar[i].n[UP_BASE], "new_n", (json_int_t)result->bar[i].n[UP_NEXT]));
	return bars;
}

json_t *up_compare_json(const struct up_compare_result *result)
{
	json_t *warnings = json_array();

	for (size_t i = 0; i < result->n_warnings; i++)
		json_array_append_new(warnings, up_json_text(result->warning[i]));
	return json_pack("{s:{s:O, s:I, s:[I,I]}, s:o, s:o, s:i, s:o, s:I, s:o, s:o, s:o}", "environment", "differences",
		result->differences, "same_facts", (json_int_t)result->n_same_facts, "known_of_runs",
		(json_int_t)result->n_environments[UP_BASE], (json_int_t)result->n_environments[UP_NEXT], "base",
		runs_json(result, UP_BASE), "new", runs_json(result, UP_NEXT), "runs_min", UP_COMPARE_RUNS_MIN, "figures",
		figures_json(result), "claims", (json_int_t)result->n_claims, "shape",
		result->shape[0] ? up_json_text(result->shape) : json_null(), "warnings", warnings, "histogram",
		histogram_json(result));
}
