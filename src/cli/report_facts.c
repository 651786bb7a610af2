/* The environment out of the JSON beside the samples. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"
#include "useprobe/scan.h"
#include "useprobe/sidecar.h"

void up_report_facts_done(struct up_report_facts *facts)
{
	for (size_t i = 0; i < facts->n; i++) {
		free((char *)facts->fact[i].group);
		free((char *)facts->fact[i].key);
		free((char *)facts->fact[i].value);
	}
	free(facts->fact);
	*facts = (struct up_report_facts){ 0 };
}

static int add(struct up_report_facts *facts, enum up_page_mark mark, const char *group, const char *key, const char *value)
{
	struct up_page_fact fact = { strdup(group), strdup(key), strdup(value), mark };

	if (facts->n == facts->room) {
		const size_t more = facts->room ? 2 * facts->room : 64;
		struct up_page_fact *bigger = realloc(facts->fact, more * sizeof(*bigger));

		if (bigger) {
			facts->fact = bigger;
			facts->room = more;
		}
	}
	if (!fact.group || !fact.key || !fact.value || facts->n == facts->room) {
		free((char *)fact.group);
		free((char *)fact.key);
		free((char *)fact.value);
		return -ENOMEM;
	}
	facts->fact[facts->n++] = fact;
	return 0;
}

/* A JSON value as text; "" for null and what is no plain value. */
static void text_of(const json_t *value, char *ret, size_t size)
{
	if (json_is_string(value))
		snprintf(ret, size, "%s", json_string_value(value));
	else if (json_is_integer(value))
		snprintf(ret, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value) && json_real_value(value) != 0 && fabs(json_real_value(value)) < 1e-6)
		snprintf(ret, size, "less than 0.000001");
	else if (json_is_real(value))
		snprintf(ret, size, "%.6g", json_real_value(value));
	else
		snprintf(ret, size, "%s", json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "");
}

/* "23.5 GiB (25276063744 bytes)"; v1 writes its largest page count where there is no limit. */
static void gibibytes(const char *text, char *ret, size_t size)
{
	const char *cursor = text;
	uint64_t bytes;

	if (up_scan_u64(&cursor, &bytes) < 0 || *cursor)
		snprintf(ret, size, "%s", text);
	else if (bytes >= UINT64_C(1) << 62)
		snprintf(ret, size, "no limit (%s)", text);
	else
		snprintf(ret, size, "%.3g GiB (%s bytes)", (double)bytes / (1 << 30), text);
}

/* Adds OBJECT's KEY as WHAT, when it is known. */
static int take(struct up_report_facts *facts, const json_t *object, const char *key, const char *group, const char *what,
	const char *unit)
{
	char value[1024], whole[1100];

	text_of(json_object_get(object, key), value, sizeof(value));
	if (!*value)
		return 0;
	if (strcmp(unit, " bytes") == 0)
		gibibytes(value, whole, sizeof(whole));
	else
		snprintf(whole, sizeof(whole), "%s%s", value, unit);
	return add(facts, UP_MEASURED, group, what, whole);
}

static int take_host(struct up_report_facts *facts, const json_t *root)
{
	static const struct {
		const char *object, *key, *what, *unit;
	} keys[] = { { "environment", "host", "host", "" }, { "environment", "distribution", "distribution", "" },
		{ "environment", "kernel", "kernel", "" }, { "environment", "machine", "machine", "" },
		{ "environment", "cpu_count", "CPUs online", "" }, { "environment", "memory_bytes", "memory", " bytes" },
		{ "environment", "cgroup_mode", "cgroups", "" }, { "run", "start", "samples from", "" },
		{ "run", "end", "samples to", "" }, { "run", "end_reason", "ended by", "" },
		{ "run", "interval_s", "interval", " s" }, { "run", "ticks", "ticks", "" },
		{ "run", "late_ticks", "late ticks", "" },
		{ "clock", "wall_gained_s", "wall clock gained on the monotonic one", " s" },
		{ "command", "program", "command", "" }, { "command", "argument_count", "its arguments (not kept)", "" },
		{ NULL, "version", "useprobe", "" } };
	int r = 0;

	for (size_t i = 0; i < UP_COUNT(keys) && r == 0; i++)
		r = take(facts, keys[i].object ? json_object_get(root, keys[i].object) : root, keys[i].key, "host and run",
			keys[i].what, keys[i].unit);
	return r;
}

static int take_pairs(
	struct up_report_facts *facts, enum up_page_mark mark, const char *group, const char *prefix, json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		char raw[1024], text[1100], what[300];

		text_of(value, raw, sizeof(raw));
		if (strncmp(key, "memory.", 7) == 0)
			gibibytes(raw, text, sizeof(text));
		else if (strcmp(key, "cpu.cfs_quota_us") == 0 && strcmp(raw, "-1") == 0)
			snprintf(text, sizeof(text), "no limit (-1)");
		else
			snprintf(text, sizeof(text), "%s", raw);
		snprintf(what, sizeof(what), "%s%.250s", prefix, key);
		if (add(facts, mark, group, what, text) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_targets(struct up_report_facts *facts, const json_t *targets)
{
	size_t i;
	json_t *target;

	json_array_foreach(targets, i, target)
	{
		char name[512], group[600];
		int r;

		text_of(json_object_get(target, "name"), name, sizeof(name));
		snprintf(group, sizeof(group), "target %s", name);
		r = take(facts, target, "label", group, "path or process", "");
		if (r == 0)
			r = take(facts, target, "found_as", group, "found as", "");
		if (r == 0)
			r = take(facts, target, "container_id", group, "container", "");
		if (r == 0)
			r = take_pairs(facts, UP_MEASURED, group, "limit at the start: ", json_object_get(target, "limits"));
		if (r < 0)
			return r;
	}
	return 0;
}

/* What could not be measured, and why: the reader must know what the report is blind to. */
static int take_collectors(struct up_report_facts *facts, const json_t *collectors)
{
	size_t i;
	json_t *collector;

	json_array_foreach(collectors, i, collector)
	{
		char name[128], state[64], reason[1024], value[1200];

		text_of(json_object_get(collector, "name"), name, sizeof(name));
		text_of(json_object_get(collector, "state"), state, sizeof(state));
		text_of(json_object_get(collector, "reason"), reason, sizeof(reason));
		if (strcmp(state, "ok") == 0)
			continue;
		snprintf(value, sizeof(value), "%s%s%s", state, *reason ? ": " : "", reason);
		if (add(facts, UP_MEASURED, "not measured", name, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

int up_report_facts_read(const char *samples, struct up_report_facts *ret)
{
	char path[4096];
	json_error_t error;
	json_t *root;
	int r = 0;

	*ret = (struct up_report_facts){ 0 };
	if (up_sidecar_path(samples, path, sizeof(path)) < 0)
		return 0;
	root = json_load_file(path, 0, &error);
	if (!root) {
		if (json_error_code(&error) != json_error_cannot_open_file)
			r = add(ret, UP_MEASURED, "host and run", "environment", "the JSON beside the samples cannot be read");
		return r;
	}
	r = take_host(ret, root);
	if (r == 0)
		r = take_targets(ret, json_object_get(root, "targets"));
	if (r == 0)
		r = take_pairs(ret, UP_MEASURED, "versions", "", json_object_get(root, "versions"));
	if (r == 0)
		r = take_pairs(ret, UP_ASSUMED, "notes of whoever ran it", "", json_object_get(root, "notes"));
	if (r == 0)
		r = take_collectors(ret, json_object_get(root, "collectors"));
	json_decref(root);
	if (r < 0)
		up_report_facts_done(ret);
	return r;
}
