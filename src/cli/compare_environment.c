/* What differed around the runs of `useprobe compare`: CPU of others from the samples, facts from the JSON beside them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compare.h"
#include "useprobe/csv_reader.h"
#include "useprobe/recording.h"
#include "useprobe/sidecar.h"

bool up_compare_is_samples(const char *path)
{
	struct up_csv_reader *reader;
	char message[256];
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || up_csv_reader_open(path, &reader, message, sizeof(message)) < 0)
		return false;
	up_csv_reader_close(reader);
	return true;
}

static int read_recording(const char *path, struct up_recording *recording)
{
	struct up_csv_reader *reader;
	struct up_rows rows;
	struct up_tick tick;
	char message[512];
	int r = up_csv_reader_open(path, &reader, message, sizeof(message));

	if (r < 0)
		return r;
	r = up_rows_init(&rows);
	while (r == 0) {
		r = up_csv_reader_tick(reader, &rows, &tick);
		if (r <= 0)
			break;
		r = up_recording_add(recording, &tick, &rows);
	}
	up_rows_done(&rows);
	up_csv_notes_text(up_csv_reader_notes(reader), message, sizeof(message));
	up_csv_reader_close(reader);
	if (r == 0 && *message) {
		char clean[512];

		up_cli_clean(message, clean, sizeof(clean));
		fprintf(stderr, "%s: %s\n", path, clean);
	}
	return r;
}

/* Whether the cgroup INNER lies below OUTER. */
static bool lies_below(const char *inner, const char *outer)
{
	const size_t n = strlen(outer);

	return strncmp(inner, outer, n) == 0 && (inner[n] == '/' || (n > 0 && outer[n - 1] == '/' && inner[n]));
}

static bool is_target_cpu(const struct up_track *track)
{
	return track->resource == UP_RES_CPU && track->scope != UP_SCOPE_HOST && track->target;
}

/* A target's CPU time stands in its own row and in that of each ancestor that limits it, and a target may lie in another: it is counted once,
 * in the deepest row of the outermost target. */
static bool counts(const struct up_recording *recording, size_t index)
{
	const struct up_track *track = &recording->track[index];

	for (size_t i = 0; i < recording->n_tracks; i++) {
		const struct up_track *other = &recording->track[i];
		bool same;

		if (i == index || !is_target_cpu(other))
			continue;
		same = strcmp(other->target, track->target) == 0;
		if (same ? lies_below(other->name, track->name) : lies_below(track->name, other->name))
			return false;
	}
	return true;
}

/* CPUs used while the load ran; of a load file without dates, in the whole recording. */
static void take_cpus(const struct up_recording *recording, struct up_compare_run *run)
{
	const bool dated = !run->undated && !run->told;
	const int64_t from_us = dated ? run->first_start_us : INT64_MIN, to_us = dated ? run->last_end_us : INT64_MAX;
	double targets = 0;
	bool known = false;

	for (size_t i = 0; i < recording->n_tracks; i++) {
		const struct up_track *track = &recording->track[i];
		const bool outside = track->resource == UP_RES_CPU_OUTSIDE;
		struct up_reading reading;

		if (!outside && (!is_target_cpu(track) || !counts(recording, i)))
			continue;
		up_track_read(recording, track, from_us, to_us, &reading);
		if (isnan(reading.figure[UP_FIG_USED_CPUS]))
			continue;
		if (outside) {
			run->value[UP_CMP_CPU_OUTSIDE] = reading.figure[UP_FIG_USED_CPUS];
		} else {
			targets += reading.figure[UP_FIG_USED_CPUS];
			known = true;
		}
	}
	if (known)
		run->value[UP_CMP_CPU_TARGETS] = targets;
	if (dated && isnan(run->value[UP_CMP_CPU_OUTSIDE]) && recording->n_ticks > 0 &&
		(recording->tick[recording->n_ticks - 1].wall_us < from_us || recording->tick[0].wall_us > to_us))
		fprintf(stderr, "useprobe: %s: the samples were taken at another time than the requests\n", run->argument);
}

int up_compare_read_samples(struct up_compare_run *run)
{
	struct up_recording recording;
	char path[4096];
	int r = up_recording_init(&recording);

	if (r == 0) {
		r = read_recording(run->samples, &recording);
		if (r == 0)
			take_cpus(&recording, run);
		up_recording_done(&recording);
	}
	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", run->samples, strerror(-r));
		return 1;
	}
	if (up_sidecar_path(run->samples, path, sizeof(path)) == 0) {
		json_error_t error;

		run->environment = json_load_file(path, 0, &error);
		if (!run->environment && json_error_code(&error) != json_error_cannot_open_file)
			fprintf(stderr, "useprobe: %s:%d: not the JSON of a run: %s\n", path, error.line, error.text);
	}
	return 0;
}

/* Facts of one run as text by key: {"environment.kernel": "6.12.0", "limit cpu.max of api": "50000 100000", ...}. */
static void put(json_t *facts, const char *kind, const char *name, const char *of, const json_t *value)
{
	char key[512];
	char *text = NULL;

	if (!value || json_is_null(value) || json_object_size(facts) == UP_COMPARE_FACTS_MAX)
		return;
	snprintf(key, sizeof(key), "%s%s%s%s%s", kind, *kind ? " " : "", name, of ? " of " : "", of ? of : "");
	if (!json_is_string(value))
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	json_object_set_new(facts, key, json_string(json_is_string(value) ? json_string_value(value) : text ? text : ""));
	free(text);
}

static void put_all(json_t *facts, const char *kind, const char *of, const json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) put(facts, kind, key, of, value);
}

/* What a target is called in the facts: a process gets a new number with each start, so it goes by its place among the targets. NULL for NAME NULL. */
static const char *target_key(const json_t *sidecar, const char *name, char *buffer, size_t size)
{
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)json_object_get(sidecar, "targets"), i, item)
	{
		const char *kind = json_string_value(json_object_get(item, "kind"));
		const char *other = json_string_value(json_object_get(item, "name"));

		if (!name || !kind || !other || strcmp(kind, "pid") != 0 || strcmp(other, name) != 0)
			continue;
		snprintf(buffer, size, "process %zu", i + 1);
		return buffer;
	}
	return name;
}

static json_t *facts_of(const json_t *sidecar)
{
	char buffer[32];
	json_t *facts = json_object(), *machine = json_copy(json_object_get(sidecar, "environment")), *item;
	size_t i;

	if (!facts)
		return NULL;
	json_object_del(machine, "boot_id"); /* says only that the machine was started anew */
	put_all(facts, "", NULL, machine);
	json_decref(machine);
	put(facts, "useprobe", "version", NULL, json_object_get(sidecar, "version"));
	put(facts, "useprobe", "interval_s", NULL, json_object_get(json_object_get(sidecar, "run"), "interval_s"));
	put_all(facts, "version of", NULL, json_object_get(sidecar, "versions"));
	put_all(facts, "note", NULL, json_object_get(sidecar, "notes"));
	put(facts, "command", "program", NULL, json_object_get(json_object_get(sidecar, "command"), "program"));
	json_array_foreach(json_object_get(sidecar, "targets"), i, item)
	{
		const char *name = target_key(sidecar, json_string_value(json_object_get(item, "name")), buffer, sizeof(buffer));

		put(facts, "target", name ? name : "", NULL, json_object_get(item, "kind"));
		put_all(facts, "limit", name, json_object_get(item, "limits"));
	}
	json_array_foreach(json_object_get(sidecar, "collectors"), i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name"));

		put(facts, "collector", name ? name : "",
			target_key(sidecar, json_string_value(json_object_get(item, "target")), buffer, sizeof(buffer)),
			json_object_get(item, "state"));
	}
	return facts;
}

/* Distinct values of KEY among the runs of a side; null for a run that does not have it. */
static json_t *values_of(const struct up_compare_result *result, unsigned side, json_t *const facts[], const char *key)
{
	json_t *values = json_array();

	for (size_t i = 0; values && i < result->n[side]; i++) {
		json_t *value = facts[i] ? json_object_get(facts[i], key) : NULL, *known;
		bool seen = false;
		size_t k;

		if (!facts[i])
			continue;
		value = value ? value : json_null();
		json_array_foreach(values, k, known) seen = seen || json_equal(known, value);
		if (!seen)
			json_array_append(values, value);
	}
	return values;
}

static void compare_fact(struct up_compare_result *result, json_t *facts[UP_SIDES][UP_COMPARE_RUNS_MAX], const char *key)
{
	json_t *base = values_of(result, UP_BASE, facts[UP_BASE], key), *next = values_of(result, UP_NEXT, facts[UP_NEXT], key);

	/* One value everywhere is no difference; a side without any environment shows none either. */
	if (json_array_size(base) <= 1 && json_array_size(next) <= 1 &&
		(json_equal(base, next) || json_array_size(base) == 0 || json_array_size(next) == 0)) {
		result->n_same_facts++;
		json_decref(base);
		json_decref(next);
		return;
	}
	json_array_append_new(result->differences, json_pack("{s:s, s:o, s:o}", "key", key, "base", base, "new", next));
}

int up_compare_environments(struct up_compare_result *result)
{
	json_t *facts[UP_SIDES][UP_COMPARE_RUNS_MAX] = { 0 }, *keys = json_object(), *value;
	const char *key;

	result->differences = json_array();
	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			if (!result->run[side][i].environment)
				continue;
			facts[side][i] = facts_of(result->run[side][i].environment);
			result->n_environments[side]++;
			json_object_update_missing(keys, facts[side][i]);
		}
	}
	json_object_foreach(keys, key, value) compare_fact(result, facts, key);
	for (unsigned side = 0; side < UP_SIDES; side++)
		for (size_t i = 0; i < result->n[side]; i++)
			json_decref(facts[side][i]);
	json_decref(keys);
	return result->differences ? 0 : -ENOMEM;
}
