/* sql - what the tasks of a database wait for: the SQL bridge's samples (--sql URL; docs/SQL.md), asked for by a thread of its own. Nothing
 * waits for the database here: a bridge or server that hangs makes the row `stale`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_row.h"
#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/http_source.h"
#include "useprobe/sql_address.h"

#define TIMEOUT_MS 2000
#define ANSWER_BYTES_MAX ((size_t)4 << 20)
/* A bridge whose last answer is older than this says nothing about the window any more. */
#define STALE_NS (3 * UP_NS_PER_S)

struct one_source {
	struct up_http_source *http;
	struct up_sql_sample sample; /* the last one */
	bool has;
	char name[UP_SQL_NAME]; /* of --sql NAME=URL; "" = as the bridge calls it */
};

struct state {
	struct one_source sources[UP_SQL_SOURCES_MAX];
	size_t count;
};

struct raw {
	struct {
		const char *name; /* NULL = as the sample says */
		struct up_sql_sample sample;
	} sources[UP_SQL_SOURCES_MAX];
	size_t count;
};

static void *parse(const char *body, size_t len, char *error, size_t error_size)
{
	struct up_sql_sample *sample = malloc(sizeof(*sample));

	if (sample && up_sql_sample_parse(body, len, sample, error, error_size) == 0)
		return sample;
	free(sample);
	return NULL;
}

static void free_parsed(void *parsed)
{
	up_sql_sample_free(parsed);
	free(parsed);
}

static int open_source(struct up_env *env, const char *value, const char *token, struct one_source *ret)
{
	const uint64_t ask_ns = env->interval_ns < UP_NS_PER_S ? env->interval_ns : UP_NS_PER_S;
	struct up_sql_address address;
	char error[256];
	int r = up_sql_address_parse(value, &address, error, sizeof(error));
	struct up_http_source_config config = {
		.bearer = token,
		.thread_name = "up-sql",
		.interval_ns = ask_ns,
		.timeout_ms = TIMEOUT_MS,
		.max_bytes = ANSWER_BYTES_MAX,
		.parse = parse,
		.free = free_parsed,
	};

	if (r < 0)
		return up_fail(env, r, "--sql: expected %s", error);
	config.url = address.url;
	snprintf(ret->name, sizeof(ret->name), "%s", address.name);
	r = up_http_source_new(&config, &ret->http);
	return r < 0 ? up_fail(env, r, "cannot start a thread: %s", strerror(-r)) : 0;
}

static int sql_open(struct up_env *env, void *state)
{
	struct state *s = state;
	char token[4096], error[256];
	const char *value, *file;
	size_t index = 0;
	int r = 0;

	if (env->source->recorded)
		return up_fail(env, -EOPNOTSUPP, "a recorded tree holds no database");
	file = up_setting_next(env, "sql-token-file", &index);
	if (file && up_http_token_read(file, token, sizeof(token), error, sizeof(error)) < 0)
		return up_fail(env, -EACCES, "%s: %s", file, error);
	index = 0;
	while (r == 0 && s->count < UP_SQL_SOURCES_MAX && (value = up_setting_next(env, "sql", &index))) {
		r = open_source(env, value, file ? token : NULL, &s->sources[s->count]);
		s->count += r == 0;
	}
	explicit_bzero(token, sizeof(token));
	return r;
}

/* The newest sample, or the reason why there is none, in the form of a sample. */
static int look(struct one_source *one, struct up_arena *arena, struct up_sql_sample *ret)
{
	struct up_http_source_status status;
	struct up_sql_sample *fresh = up_http_source_take(one->http, &status);
	const uint64_t now_ns = up_clock_real.mono_ns(up_clock_real.self);
	char text[320];

	if (fresh) {
		up_sql_sample_free(&one->sample);
		one->sample = *fresh;
		one->has = true;
		free(fresh);
	}
	if (one->has && status.error == 0)
		return up_sql_sample_copy(&one->sample, arena, ret);
	if (one->has && now_ns - status.answered_ns < STALE_NS)
		return up_sql_sample_copy(&one->sample, arena, ret);
	*ret = (struct up_sql_sample){ .instance = one->has ? one->sample.instance : "database", .generation = "" };
	ret->instance = up_arena_strdup(arena, ret->instance);
	ret->state = status.error == -EACCES ? UP_DENIED : one->has ? UP_STALE : UP_ABSENT;
	if (one->has)
		snprintf(text, sizeof(text), "no answer for %.0f s: %s",
			(double)(now_ns - status.answered_ns) / (double)UP_NS_PER_S, status.reason);
	else
		snprintf(text, sizeof(text), "%s", status.reason);
	ret->reason = up_arena_strdup(arena, text);
	return ret->instance && ret->reason ? 0 : -ENOSPC;
}

static int sql_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct state *s = state;
	struct raw raw = { .count = s->count };
	int r = 0;

	for (size_t i = 0; i < s->count && r == 0; i++) {
		r = look(&s->sources[i], arena, &raw.sources[i].sample);
		raw.sources[i].name = *s->sources[i].name ? up_arena_strdup(arena, s->sources[i].name) : NULL;
	}
	if (r < 0)
		return up_fail(env, r, "the sample does not fit: %s", strerror(-r));
	*(struct raw *)ret_raw = raw;
	return 0;
}

static int sql_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;

	(void)dt_ns;
	for (size_t i = 0; i < c->count; i++)
		sql_add_rows(c->sources[i].name ? c->sources[i].name : c->sources[i].sample.instance,
			p && i < p->count ? &p->sources[i].sample : NULL, &c->sources[i].sample, out);
	return 0;
}

static void sql_close(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->count; i++) {
		up_http_source_free(s->sources[i].http);
		up_sql_sample_free(&s->sources[i].sample);
	}
}

const struct up_collector up_collector_sql = {
	.name = "sql",
	.summary = "what the tasks of a database wait for, from the SQL bridge (--sql)",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_DATABASE,
	.resource = "sql",
	.option = "sql",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = sql_open,
	.read = sql_read,
	.derive = sql_derive,
	.close = sql_close,
};
