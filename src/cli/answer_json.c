/* The answer as JSON (docs/DESIGN.md, section on interfaces): keys are only ever added, what is not known is null. */
#include <math.h>
#include <string.h>

#include "answer.h"

static json_t *suspect_json(const struct up_suspect *s)
{
	json_t *json = json_object();

	json_object_set_new(json, "scope", json_string(up_scope_name(s->scope)));
	json_object_set_new(json, "resource", up_json_text(s->resource));
	json_object_set_new(json, "name", up_json_text(s->name));
	json_object_set_new(json, "target", *s->target ? up_json_text(s->target) : json_null());
	json_object_set_new(json, "servers", up_json_number(s->servers));
	json_object_set_new(json, "hold_good_ms", up_json_number(s->hold_good_ms));
	json_object_set_new(json, "hold_bad_ms", up_json_number(s->hold_bad_ms));
	json_object_set_new(json, "residence_good_ms", up_json_number(s->residence_good_ms));
	json_object_set_new(json, "residence_bad_ms", up_json_number(s->residence_bad_ms));
	json_object_set_new(json, "growth_ms", up_json_number(s->growth_ms));
	json_object_set_new(json, "share", up_json_number(s->share));
	json_object_set_new(json, "utilization_good", up_json_number(s->utilization_good));
	json_object_set_new(json, "utilization", up_json_number(s->utilization));
	json_object_set_new(json, "waiting", up_json_number(s->waiting));
	json_object_set_new(json, "limit", json_boolean(s->limit));
	return json;
}

static json_t *lines_json(const char (*lines)[UP_LINE_BYTES], size_t n)
{
	json_t *json = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(json, up_json_text(lines[i]));
	return json;
}

json_t *up_answer_bottleneck_json(const struct up_report *report)
{
	static const char *const keys[] = { "scope", "resource", "name", "hold_good_ms", "hold_bad_ms", "utilization",
		"growth_ms" };
	const struct up_attribution *a = &report->answer->attribution;
	const bool named = a->has_suspect && a->verdict != UP_BOTTLENECK_UNKNOWN;
	json_t *json = named ? suspect_json(&a->suspect) : json_object(), *walk = json_array();

	json_object_set_new(json, "verdict", json_string(up_bottleneck_verdict_name(a->verdict)));
	for (size_t i = 0; !named && i < UP_COUNT(keys); i++)
		json_object_set_new(json, keys[i], json_null());
	for (size_t i = 0; i < a->n_walk; i++)
		json_array_append_new(walk, suspect_json(&a->walk[i]));
	json_object_set_new(json, "reason", up_json_text(a->reason));
	json_object_set_new(json, "runner_up", a->has_runner_up ? suspect_json(&a->runner_up) : json_null());
	json_object_set_new(json, "doubted", a->has_suspect && !named ? suspect_json(&a->suspect) : json_null());
	json_object_set_new(json, "walk", walk);
	json_object_set_new(json, "symptoms", lines_json(a->symptom, a->n_symptoms));
	json_object_set_new(json, "evidence", lines_json(a->evidence, a->n_evidence));
	json_object_set_new(json, "falsifier", *a->falsifier ? up_json_text(a->falsifier) : json_null());
	json_object_set_new(json, "next", *a->next ? up_json_text(a->next) : json_null());
	json_object_set_new(json, "from", a->from_us ? json_real((double)a->from_us / 1e6) : json_null());
	json_object_set_new(json, "to", a->to_us ? json_real((double)a->to_us / 1e6) : json_null());
	json_object_set_new(json, "in_flight_good", up_json_number(a->in_flight_good));
	json_object_set_new(json, "in_flight_bad", up_json_number(a->in_flight_bad));
	json_object_set_new(json, "unexplained_share", up_json_number(a->unexplained_share));
	return json;
}

json_t *up_answer_ceilings_json(const struct up_report *report)
{
	json_t *json = json_array();

	for (size_t i = 0; i < report->answer->n_ceilings; i++) {
		const struct up_ceiling *c = &report->answer->ceiling[i];

		json_array_append_new(
			json, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "scope", up_scope_name(c->scope), "resource",
				      up_json_text(c->resource), "name", up_json_text(c->name), "servers",
				      up_json_number(c->servers), "hold_good_ms", up_json_number(c->hold_good_ms),
				      "ceiling_per_s", up_json_number(c->ceiling_per_s), "suspect", c->suspect));
	}
	return json;
}

json_t *up_answer_shift_json(const struct up_report *report)
{
	const struct up_shift *shift = &report->answer->shift;

	return json_pack("{s:o, s:o, s:o}", "value", shift->known ? json_real(shift->shift_s) : json_null(), "uncertainty",
		shift->known ? json_real(shift->uncertainty_s) : json_null(), "reason", up_json_text(shift->reason));
}

/* Milliseconds of a state: its share of the requests inside times the mean time of the same window. */
json_t *up_answer_states_json(const struct up_report *report, size_t step)
{
	const struct up_states *states = &report->answer->states[step];
	json_t *json;

	if (!states->known || !(states->n > 0) || !isfinite(states->residence_ms))
		return json_null();
	json = json_object();
	for (int i = 0; i < UP_REQUEST_STATES; i++)
		json_object_set_new(json, up_request_state_name((enum up_request_state)i),
			up_json_number(states->state[i] / states->n * states->residence_ms));
	return json;
}
