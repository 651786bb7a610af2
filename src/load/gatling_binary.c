/* Gatling simulation.log since 3.13: binary, big endian. A header (byte 0: version, class, start in ms since 1970, description, scenarios, assertions), then
 * records: 1 request (groups, name, start, end, ok, message), 2 user (scenario, started, time), 3 group (groups, start, end, cumulated, ok), 4 error (message,
 * time). Times are ms after the start of the run. A string is its length, its bytes and a coder (0 Latin-1, 1 UTF-16; none behind an empty one). A cached
 * string is an index: positive and followed by the string when new, negative when seen before. Layout found by taking files of 3.13.5, 3.14.9 and 3.15.1 apart. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "reader.h"

enum { CACHE_MAX = 1 << 20, STRING_MAX = 1 << 20, GROUPS_MAX = 64, NAME_BYTES = 256 };

struct gatling_binary {
	int64_t start_ms, users;
	bool header_read, broken;
	struct up_text *cache; /* owned, [room]; at points to owned UTF-8 or is NULL */
	size_t n_cache;
	uint64_t record;
};

/* What is left of the data of one record; short says that it ended too early. */
struct cursor {
	const unsigned char *at, *end;
	bool is_short, bad;
};

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	/* byte 0, a version of a few characters that begins with a digit, its coder */
	return head.n >= 16 && head.at[0] == 0 && head.at[1] == 0 && head.at[2] == 0 && head.at[3] == 0 && head.at[4] >= 3 &&
	       head.at[4] < 32 && head.at[5] >= '0' && head.at[5] <= '9' && memchr(head.at + 5, '.', (size_t)head.at[4]);
}

static uint64_t take(struct cursor *c, unsigned n)
{
	uint64_t value = 0;

	if (c->is_short || c->end - c->at < (ptrdiff_t)n) {
		c->is_short = true;
		return 0;
	}
	while (n-- > 0)
		value = value << 8 | *c->at++;
	return value;
}

static int32_t take_i32(struct cursor *c)
{
	return (int32_t)(uint32_t)take(c, 4);
}

/* The raw string at the cursor. */
static struct up_text take_string(struct cursor *c, unsigned *ret_coder)
{
	int32_t n = take_i32(c);
	struct up_text text = { (const char *)c->at, 0 };

	*ret_coder = 0;
	if (c->is_short || n == 0)
		return text;
	if (n < 0 || n > STRING_MAX) {
		c->bad = true;
		return text;
	}
	if (c->end - c->at < n + 1) {
		c->is_short = true;
		return text;
	}
	text.n = (size_t)n;
	c->at += n;
	*ret_coder = (unsigned)take(c, 1);
	c->bad = c->bad || *ret_coder > 1;
	return text;
}

/* Character CODE as UTF-8; surrogates are put as they come (paired ones are rare in names). */
static size_t put_utf8(char *out, unsigned code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | code >> 12);
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

static int remember(struct gatling_binary *g, int32_t index, struct up_text raw, unsigned coder)
{
	const unsigned char *bytes = (const unsigned char *)raw.at;
	char *text = malloc(2 * raw.n + 4);
	size_t n = 0;

	if (!text)
		return -ENOMEM;
	if ((size_t)index >= g->n_cache) {
		size_t room = (size_t)index + (size_t)index / 2 + 64;
		struct up_text *cache = realloc(g->cache, room * sizeof(*cache));

		if (!cache) {
			free(text);
			return -ENOMEM;
		}
		memset(cache + g->n_cache, 0, (room - g->n_cache) * sizeof(*cache));
		g->cache = cache;
		g->n_cache = room;
	}
	if (coder == 0) {
		for (size_t i = 0; i < raw.n; i++)
			n += put_utf8(text + n, bytes[i]);
	} else { /* Java's own strings, in the byte order of the machine: little endian on all that run it today */
		for (size_t i = 0; i + 1 < raw.n; i += 2)
			n += put_utf8(text + n, (unsigned)bytes[i] | (unsigned)bytes[i + 1] << 8);
	}
	free((void *)(uintptr_t)g->cache[index].at);
	g->cache[index] = (struct up_text){ text, n };
	return 0;
}

/* A cached string; new ones are put into the cache only when COMMIT (the record is whole). */
static struct up_text take_cached(struct gatling_binary *g, struct cursor *c, bool commit, int *ret_error)
{
	int32_t index = take_i32(c);
	struct up_text raw;
	unsigned coder;

	if (c->is_short || c->bad)
		return (struct up_text){ "", 0 };
	if (index < 0) {
		size_t at = (size_t)(-(int64_t)index);

		if (commit && (at >= g->n_cache || !g->cache[at].at))
			c->bad = true;
		return commit && !c->bad ? g->cache[at] : (struct up_text){ "", 0 };
	}
	raw = take_string(c, &coder);
	if (c->is_short || c->bad || !commit)
		return (struct up_text){ "", 0 };
	if (index == 0 || index >= CACHE_MAX) {
		c->bad = true;
		return (struct up_text){ "", 0 };
	}
	*ret_error = remember(g, index, raw, coder);
	return *ret_error < 0 ? (struct up_text){ "", 0 } : g->cache[index];
}

static void append(char *name, size_t *n, struct up_text text)
{
	for (size_t i = 0; i < text.n && *n < NAME_BYTES; i++)
		name[(*n)++] = text.at[i];
}

/* Groups of a request or group record, joined by " / " into NAME. */
static void take_groups(struct gatling_binary *g, struct cursor *c, bool commit, char *name, size_t *n, int *ret_error)
{
	int32_t groups = take_i32(c);

	if (groups < 0 || groups > GROUPS_MAX)
		c->bad = true;
	for (int32_t i = 0; i < groups && !c->is_short && !c->bad && *ret_error == 0; i++) {
		append(name, n, take_cached(g, c, commit, ret_error));
		append(name, n, (struct up_text){ " / ", 3 });
	}
}

static int request(struct up_reader *reader, struct cursor *c, bool commit)
{
	struct gatling_binary *g = reader->state;
	struct up_request request = { 0 };
	int64_t start_ms, end_ms;
	char name[NAME_BYTES];
	size_t n = 0;
	int r = 0;
	bool ok;

	take_groups(g, c, commit, name, &n, &r);
	append(name, &n, take_cached(g, c, commit, &r));
	start_ms = take_i32(c);
	end_ms = take_i32(c);
	ok = take(c, 1) != 0;
	take_cached(g, c, commit, &r);
	if (!commit || c->is_short || c->bad || r < 0)
		return r;
	request.name = (struct up_text){ name, n };
	request.start_us = (g->start_ms + start_ms) * 1000;
	request.latency_ns = (end_ms - start_ms) * 1000000;
	request.flags = ok ? 0 : UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static void user(struct up_reader *reader, struct cursor *c, bool commit)
{
	struct gatling_binary *g = reader->state;
	bool started;
	int64_t time_ms;

	take_i32(c);
	started = take(c, 1) != 0;
	time_ms = take_i32(c);
	if (!commit || c->is_short)
		return;
	g->users += started ? 1 : -1;
	up_reader_users(reader, (g->start_ms + time_ms) * 1000, g->users > 0 ? (double)g->users : 0, NAN);
}

static int header(struct up_reader *reader, struct cursor *c, bool commit)
{
	struct gatling_binary *g = reader->state;
	int64_t start_ms;
	int32_t n;
	unsigned coder;

	take_string(c, &coder);
	take_string(c, &coder);
	start_ms = (int64_t)take(c, 8);
	take_string(c, &coder);
	n = take_i32(c);
	for (int32_t i = 0; i < n && !c->is_short && !c->bad; i++)
		take_string(c, &coder);
	n = take_i32(c);
	for (int32_t i = 0; i < n && !c->is_short && !c->bad; i++) {
		int32_t length = take_i32(c);

		if (length < 0 || length > STRING_MAX)
			c->bad = true;
		else if (c->end - c->at < length)
			c->is_short = true;
		else
			c->at += length;
	}
	c->bad = c->bad || (!c->is_short && (start_ms < 0 || start_ms > INT64_MAX / 2000));
	if (commit && !c->is_short && !c->bad) {
		g->start_ms = start_ms;
		g->header_read = true;
	}
	return 0;
}

/* One record. First without effect, to see that it is whole, then for good. */
static int one(struct up_reader *reader, struct cursor *c, bool commit)
{
	struct gatling_binary *g = reader->state;
	char name[NAME_BYTES];
	size_t n = 0;
	int r = 0;

	switch (take(c, 1)) {
	case 0:
		return header(reader, c, commit);
	case 1:
		r = request(reader, c, commit);
		break;
	case 2:
		user(reader, c, commit);
		break;
	case 3:
		take_groups(g, c, commit, name, &n, &r);
		take(c, 8);
		take(c, 4);
		take(c, 1);
		break;
	case 4:
		take_cached(g, c, commit, &r);
		take(c, 4);
		break;
	default:
		c->bad = true;
	}
	c->bad = c->bad || (!c->is_short && !g->header_read);
	return r;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	struct gatling_binary *g = reader->state;
	struct cursor c = { (const unsigned char *)data.at, (const unsigned char *)data.at + data.n, false, false };
	int r = 0;

	while (r == 0 && c.at < c.end && !g->broken) {
		struct cursor look = c;

		r = one(reader, &look, false);
		if (look.is_short && !eof)
			break;
		reader->line = ++g->record;
		if (!look.is_short && !look.bad) {
			look = c;
			r = one(reader, &look, true);
		}
		if (look.is_short || look.bad) {
			/* Records have no marks: behind a broken one nothing can be found again. */
			g->broken = true;
			reader->file->cut = true;
			up_reader_bad(reader,
				look.is_short ? "the last record is cut" : "record %llu cannot be read; what follows it is lost",
				(unsigned long long)g->record);
			break;
		}
		c.at = look.at;
	}
	*ret_used = g->broken ? data.n : (size_t)((const char *)c.at - data.at);
	return r;
}

static void done(void *state)
{
	struct gatling_binary *g = state;

	for (size_t i = 0; i < g->n_cache; i++)
		free((void *)(uintptr_t)g->cache[i].at);
	free(g->cache);
}

const struct up_load_format up_load_gatling_binary = {
	.id = "gatling-binary",
	.traits = {
		.name = "Gatling binary log",
		.includes = "connecting (the first request of each user) to the last byte; not pauses",
		.missing = "requests in flight when the run ended",
		.stamp = UP_STAMP_START,
		.resolution_us = 1000,
		.dated = true,
	},
	.state_bytes = sizeof(struct gatling_binary),
	.recognise = recognise,
	.feed = feed,
	.done = done,
};
