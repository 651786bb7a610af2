/* What /sample and /health say. Pure: a view and the time in, text out. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "bridge.h"
#include "useprobe/clock.h"
#include "useprobe/sql_waits.h"

enum bridge_state bridge_view_state(
	const struct bridge_view *view, uint64_t now_ns, char *text, size_t size, const char **ret_reason)
{
	uint64_t age_ns = now_ns > view->sample_ns ? now_ns - view->sample_ns : 0;

	*ret_reason = view->reason[0] ? view->reason : NULL;
	if (view->state != BRIDGE_OK) {
		if (!*ret_reason)
			*ret_reason = "not connected yet";
		return view->state;
	}
	if (age_ns <= view->stale_after_ns) {
		*ret_reason = NULL;
		return BRIDGE_OK;
	}
	if (!*ret_reason && view->call_ns && now_ns > view->call_ns) {
		snprintf(text, size, "the database has not answered for %.1f s",
			(double)(now_ns - view->call_ns) / (double)UP_NS_PER_S);
		*ret_reason = text;
	}
	return BRIDGE_STALE;
}

static const char *state_name(enum bridge_state state)
{
	static const char *const names[] = {
		[BRIDGE_ABSENT] = "absent", [BRIDGE_OK] = "ok", [BRIDGE_STALE] = "stale", [BRIDGE_DENIED] = "denied"
	};

	return names[state];
}

static json_t *number(struct bridge_number n)
{
	if (!n.has || !isfinite(n.n))
		return json_null();
	if (n.n == trunc(n.n) && fabs(n.n) < 9007199254740992.0)
		return json_integer((json_int_t)n.n);
	return json_real(n.n);
}

static json_t *milliseconds(bool has, double ns)
{
	/* A microsecond is fine enough, and keeps the text short. */
	return number((struct bridge_number){ .n = round(ns / 1000) / 1000, .has = has });
}

/* Text of the database or the driver in any encoding: what is no UTF-8 becomes '?' byte by byte. */
static json_t *text_or_null(const char *text)
{
	char plain[1024];
	json_t *json;
	size_t n = 0;

	if (!text || !*text)
		return json_null();
	json = json_string(text);
	if (json)
		return json;
	for (; *text && n + 1 < sizeof(plain); text++)
		plain[n++] = (unsigned char)*text < 0x80 ? *text : '?';
	plain[n] = '\0';
	return json_string(plain);
}

static void set_type(json_t *object, const char *type)
{
	json_object_set_new(object, "type", text_or_null(type));
	json_object_set_new(object, "class", json_string(up_sql_class_name(up_sql_wait_class(type))));
	json_object_set_new(object, "ignorable", json_boolean(up_sql_wait_ignorable(type)));
}

static void set_lists(json_t *root, const struct bridge_sample *sample)
{
	json_t *waits = json_array(), *unfinished = json_array();

	for (size_t i = 0; sample && i < sample->n_waits; i++) {
		json_t *one = json_object();

		set_type(one, sample->waits[i].type);
		json_object_set_new(one, "waits", number(sample->waits[i].waits));
		json_object_set_new(one, "wait_ms", number(sample->waits[i].wait_ms));
		json_object_set_new(one, "signal_ms", number(sample->waits[i].signal_ms));
		json_object_set_new(one, "max_ms", number(sample->waits[i].max_ms));
		json_array_append_new(waits, one);
	}
	for (size_t i = 0; sample && i < sample->n_unfinished; i++) {
		json_t *one = json_object();

		set_type(one, sample->unfinished[i].type);
		json_object_set_new(one, "tasks", number(sample->unfinished[i].tasks));
		json_object_set_new(one, "wait_ms", number(sample->unfinished[i].wait_ms));
		json_object_set_new(one, "longest_ms", number(sample->unfinished[i].longest_ms));
		json_object_set_new(one, "blocked", number(sample->unfinished[i].blocked));
		json_array_append_new(unfinished, one);
	}
	json_object_set_new(root, "waits_complete", json_boolean(sample && sample->waits_complete));
	json_object_set_new(root, "waits", waits);
	json_object_set_new(root, "unfinished", unfinished);
}

static void set_numbers(json_t *root, const struct bridge_sample *sample)
{
	static const struct bridge_number none;
	json_t *errors = json_object();

	for (unsigned i = 0; i < BRIDGE_FIELDS; i++)
		json_object_set_new(
			i < BRIDGE_FIRST_ERROR ? root : errors, bridge_field_names[i], number(sample ? sample->fields[i] : none));
	json_object_set_new(root, "errors", errors);
}

static char *text_of(json_t *root)
{
	char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));

	json_decref(root);
	return text;
}

char *bridge_sample_json(const struct bridge_view *view, uint64_t now_ns)
{
	static const char *const databases[] = {
		[BRIDGE_UNKNOWN] = NULL, [BRIDGE_SQLSERVER] = "sqlserver", [BRIDGE_POSTGRESQL] = "postgresql"
	};
	char said[128], generation[32];
	const char *reason;
	enum bridge_state state = bridge_view_state(view, now_ns, said, sizeof(said), &reason);
	const struct bridge_sample *sample = state == BRIDGE_OK || state == BRIDGE_STALE ? view->sample : NULL;
	json_t *root = json_object(), *missing = json_object();

	snprintf(generation, sizeof(generation), "%08x-%u", view->id, view->generation);
	json_object_set_new(root, "format", json_string("useprobe-sql/1"));
	json_object_set_new(root, "bridge", json_string(UP_VERSION));
	json_object_set_new(root, "state", json_string(state_name(state)));
	json_object_set_new(root, "reason", text_or_null(reason));
	json_object_set_new(root, "database", text_or_null(databases[view->database]));
	json_object_set_new(root, "product", text_or_null(view->product));
	json_object_set_new(root, "instance", text_or_null(view->instance));
	json_object_set_new(root, "method", json_string(view->database == BRIDGE_POSTGRESQL ? "sampled" : "counters"));
	json_object_set_new(root, "generation", sample ? json_string(generation) : json_null());
	json_object_set_new(root, "server_start", text_or_null(sample ? sample->server_start : NULL));
	json_object_set_new(root, "server_time", text_or_null(sample ? sample->server_time : NULL));
	json_object_set_new(root, "sequence", sample ? json_integer((json_int_t)view->sequence) : json_null());
	json_object_set_new(root, "age_ms", milliseconds(sample != NULL, (double)now_ns - (double)view->sample_ns));
	set_numbers(root, sample);
	set_lists(root, sample);
	for (size_t i = 0; sample && i < view->n_missing; i++)
		json_object_set_new(missing, view->missing[i][0], text_or_null(view->missing[i][1]));
	json_object_set_new(root, "missing", missing);
	return text_of(root);
}

char *bridge_health_json(const struct bridge_view *view, uint64_t now_ns)
{
	char said[128];
	const char *reason;
	enum bridge_state state = bridge_view_state(view, now_ns, said, sizeof(said), &reason);
	bool sampled = view->samples > 0;
	json_t *root = json_object();

	json_object_set_new(root, "state", json_string(state_name(state)));
	json_object_set_new(root, "reason", text_or_null(reason));
	json_object_set_new(root, "age_ms", milliseconds(view->sample_ns != 0, (double)now_ns - (double)view->sample_ns));
	json_object_set_new(
		root, "cost_ms", milliseconds(sampled, view->sample ? view->sample->fields[BRIDGE_COST_MS].n * 1e6 : 0));
	json_object_set_new(
		root, "cost_mean_ms", milliseconds(sampled, sampled ? view->cost_sum_ms * 1e6 / (double)view->samples : 0));
	json_object_set_new(root, "cost_max_ms", milliseconds(sampled, view->cost_max_ms * 1e6));
	json_object_set_new(root, "samples", json_integer((json_int_t)view->samples));
	json_object_set_new(root, "failures", json_integer((json_int_t)view->failures));
	json_object_set_new(root, "connections", json_integer((json_int_t)view->connections));
	json_object_set_new(root, "hung_ms",
		milliseconds(view->call_ns != 0 && now_ns > view->call_ns, (double)now_ns - (double)view->call_ns));
	return text_of(root);
}
