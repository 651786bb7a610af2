#include "useprobe/sql_sample.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The JSON itself owns every string of a sample. */
struct memory {
	json_t *json;
	struct up_sql_wait *waits;
	char missing[512];
};

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static struct up_u64 count_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;

	return n >= 0 ? (struct up_u64){ (uint64_t)n, true } : (struct up_u64){ 0 };
}

static const char *text_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? json_string_value(value) : NULL;
}

static int wrong(char *error, size_t size, const char *what)
{
	snprintf(error, size, "not a sample of the SQL bridge: %s", what);
	return -EBADMSG;
}

static int by_type(const void *a, const void *b)
{
	return strcmp(((const struct up_sql_wait *)a)->type, ((const struct up_sql_wait *)b)->type);
}

const struct up_sql_wait *up_sql_wait_find(const struct up_sql_sample *sample, const char *type)
{
	const struct up_sql_wait key = { .type = type };

	return sample->wait_count ? bsearch(&key, sample->waits, sample->wait_count, sizeof(key), by_type) : NULL;
}

/* Class and ignorable come from our own table: a bridge of another version may know other types, and one run has one table. */
static bool take_type(const json_t *item, struct up_sql_wait *ret)
{
	ret->type = text_of(item, "type");
	if (!ret->type || !*ret->type)
		return false;
	ret->class = up_sql_wait_class(ret->type);
	ret->ignorable = up_sql_wait_ignorable(ret->type);
	return true;
}

static int take_waits(const json_t *list, struct up_sql_sample *s, char *error, size_t size)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		struct up_sql_wait wait = { .unfinished_ms = 0 };

		wait.wait_ms = number_of(item, "wait_ms");
		if (!take_type(item, &wait) || !(wait.wait_ms >= 0))
			return wrong(error, size, "waits[] wants a type and a wait_ms of 0 or more");
		wait.signal_ms = number_of(item, "signal_ms");
		wait.waits = count_of(item, "waits");
		if (s->wait_count == UP_SQL_WAITS_MAX)
			s->more_waits++;
		else
			s->waits[s->wait_count++] = wait;
	}
	qsort(s->waits, s->wait_count, sizeof(*s->waits), by_type);
	for (i = 1; i < s->wait_count; i++)
		if (strcmp(s->waits[i - 1].type, s->waits[i].type) == 0)
			return wrong(error, size, "a wait type stands twice in waits[]");
	return 0;
}

/* Joins what waits now to its type; a type that has completed no wait yet gets an entry. */
static int take_unfinished(const json_t *list, struct up_sql_sample *s, char *error, size_t size)
{
	const size_t completed = s->wait_count;
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		struct up_sql_wait wait = { .signal_ms = NAN };
		const struct up_sql_wait *known;
		struct up_sql_wait *to;

		wait.unfinished_tasks = number_of(item, "tasks");
		wait.unfinished_ms = number_of(item, "wait_ms");
		if (!take_type(item, &wait) || !(wait.unfinished_tasks >= 0))
			return wrong(error, size, "unfinished[] wants a type and how many tasks");
		known = completed ? bsearch(&wait, s->waits, completed, sizeof(wait), by_type) : NULL;
		if (!known && s->wait_count == UP_SQL_WAITS_MAX) {
			s->more_waits++;
			continue;
		}
		to = known ? &s->waits[known - s->waits] : &s->waits[s->wait_count++];
		if (!known)
			*to = wait;
		to->unfinished_tasks = wait.unfinished_tasks;
		to->unfinished_ms = wait.unfinished_ms;
	}
	qsort(s->waits, s->wait_count, sizeof(*s->waits), by_type);
	return 0;
}

static void take_errors(json_t *object, struct up_sql_sample *s)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) if (s->error_count < UP_SQL_ERRORS_MAX) s->errors[s->error_count++] =
		(struct up_sql_error){ key, count_of(object, key) };
}

static void take_missing(json_t *object, struct memory *memory, struct up_sql_sample *s)
{
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach(object, key, value)
	{
		if (!json_is_string(value) || n >= sizeof(memory->missing))
			continue;
		n += (size_t)snprintf(memory->missing + n, sizeof(memory->missing) - n, "%s%s: %s", n ? "; " : "", key,
			json_string_value(value));
		s->missing = memory->missing;
	}
}

static int take_state(const json_t *json, struct up_sql_sample *s)
{
	static const struct {
		const char *word;
		enum up_state state;
	} words[] = { { "ok", UP_OK }, { "stale", UP_STALE }, { "denied", UP_DENIED }, { "absent", UP_ABSENT } };
	const char *word = text_of(json, "state");

	for (size_t i = 0; word && i < UP_COUNT(words); i++) {
		if (strcmp(word, words[i].word) == 0) {
			s->state = words[i].state;
			return 0;
		}
	}
	return -EBADMSG;
}

static void take_gauges(const json_t *json, struct up_sql_sample *s)
{
	s->sequence = count_of(json, "sequence");
	s->clock_ms = number_of(json, "clock_ms");
	s->age_ms = number_of(json, "age_ms");
	s->cost_ms = number_of(json, "cost_ms");
	s->waits_complete = json_is_true(json_object_get(json, "waits_complete"));
	s->cpus = number_of(json, "cpus");
	s->schedulers = number_of(json, "schedulers");
	s->schedulers_busy = number_of(json, "schedulers_busy");
	s->runnable_tasks = number_of(json, "runnable_tasks");
	s->work_queue = number_of(json, "work_queue");
	s->pending_disk_io = number_of(json, "pending_disk_io");
	s->workers = number_of(json, "workers");
	s->workers_active = number_of(json, "workers_active");
	s->workers_max = number_of(json, "workers_max");
	s->grant_waiters = number_of(json, "grant_waiters");
}

static int take_sample(struct memory *memory, struct up_sql_sample *s, char *error, size_t size)
{
	const json_t *json = memory->json, *missing = json_object_get(json, "missing");
	const char *format = text_of(json, "format");
	int r;

	if (!format || strncmp(format, "useprobe-sql/1", 14) != 0)
		return wrong(error, size, "\"format\" is not \"useprobe-sql/1\"");
	if (take_state(json, s) < 0)
		return wrong(error, size, "\"state\" is none of ok, stale, denied, absent");
	s->reason = text_of(json, "reason");
	s->instance = text_of(json, "instance");
	s->generation = text_of(json, "generation");
	if (!s->instance || !*s->instance)
		s->instance = "database";
	if (!s->generation)
		s->generation = "";
	take_gauges(json, s);
	take_missing(json_object_get(json, "missing"), memory, s);
	r = take_waits(json_object_get(json, "waits"), s, error, size);
	/* PostgreSQL's looks see waits while they last: nothing is unfinished there. */
	s->has_unfinished = !json_object_get(missing, "unfinished");
	if (r == 0)
		r = take_unfinished(json_object_get(json, "unfinished"), s, error, size);
	take_errors(json_object_get(json, "errors"), s);
	return r;
}

int up_sql_sample_parse(const char *body, size_t len, struct up_sql_sample *ret, char *error, size_t error_size)
{
	struct up_sql_sample sample = { 0 };
	struct memory *memory = calloc(1, sizeof(*memory));
	json_error_t where;
	int r;

	if (!memory)
		return -ENOMEM;
	sample.memory = memory;
	memory->json = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
	memory->waits = malloc(UP_SQL_WAITS_MAX * sizeof(*memory->waits));
	sample.waits = memory->waits;
	if (!json_is_object(memory->json)) {
		snprintf(error, error_size, "not a sample of the SQL bridge: %.100s (line %d)",
			memory->json ? "no object" : where.text, memory->json ? 1 : where.line);
		r = -EBADMSG;
	} else {
		r = memory->waits ? take_sample(memory, &sample, error, error_size) : -ENOMEM;
	}
	if (r < 0) {
		up_sql_sample_free(&sample);
		return r;
	}
	*ret = sample;
	return 0;
}

void up_sql_sample_free(struct up_sql_sample *sample)
{
	struct memory *memory = sample->memory;

	if (!memory)
		return;
	json_decref(memory->json);
	free(memory->waits);
	free(memory);
	*sample = (struct up_sql_sample){ 0 };
}

/* NULL stays NULL. */
static bool copy_text(struct up_arena *arena, const char **text)
{
	if (*text)
		*text = up_arena_strdup(arena, *text);
	return *text != NULL;
}

int up_sql_sample_copy(const struct up_sql_sample *sample, struct up_arena *arena, struct up_sql_sample *ret)
{
	struct up_sql_sample copy = *sample;

	copy.memory = NULL;
	copy.waits = up_arena_alloc(arena, (sample->wait_count + 1) * sizeof(*copy.waits));
	if (!copy.waits || !copy_text(arena, &copy.instance) || !copy_text(arena, &copy.generation) ||
		(sample->reason && !copy_text(arena, &copy.reason)) || (sample->missing && !copy_text(arena, &copy.missing)))
		return -ENOSPC;
	for (size_t i = 0; i < sample->wait_count; i++) {
		copy.waits[i] = sample->waits[i];
		if (!copy_text(arena, &copy.waits[i].type))
			return -ENOSPC;
	}
	for (size_t i = 0; i < sample->error_count; i++)
		if (!copy_text(arena, &copy.errors[i].name))
			return -ENOSPC;
	*ret = copy;
	return 0;
}
