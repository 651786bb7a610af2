#include "useprobe/queue_spec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int expected(char *message, size_t size, const char *format, ...) UP_PRINTF(3, 4);
static int expected(char *message, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, size, format, args);
	va_end(args);
	return -EINVAL;
}

/* Copies the LEN bytes at TEXT. false when they are none, too many, or hold control characters. */
static bool take(char *ret, size_t size, const char *text, size_t len)
{
	if (len == 0 || len >= size)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

/* A symbol of C, C++ (mangled), Rust or Go; ELF names hold no blank, and a comma or '@' would be ours. */
static int parse_point(const char *text, size_t len, const char *what, struct up_queue_point *ret, char *message, size_t size)
{
	static const struct {
		const char *suffix;
		enum up_queue_when when;
	} suffixes[] = { { "@begin", UP_QUEUE_AT_BEGIN }, { "@return", UP_QUEUE_AT_RETURN },
		{ "@nonnull", UP_QUEUE_AT_NONNULL } };
	const char *at = memchr(text, '@', len);
	size_t symbol_len = at ? (size_t)(at - text) : len;

	ret->when = UP_QUEUE_AT_ENTRY;
	for (size_t i = 0; at && i < UP_COUNT(suffixes); i++)
		if (strlen(suffixes[i].suffix) == len - symbol_len && memcmp(at, suffixes[i].suffix, len - symbol_len) == 0)
			ret->when = suffixes[i].when;
	if (at && ret->when == UP_QUEUE_AT_ENTRY)
		return expected(message, size, "behind a function only @begin, @return or @nonnull, not '%.*s'",
			(int)(len - symbol_len), at);
	if (symbol_len == 0)
		return expected(message, size, "the function that %s an item", what);
	if (memchr(text, ' ', symbol_len) || !take(ret->symbol, sizeof(ret->symbol), text, symbol_len))
		return expected(message, size,
			"a symbol of at most %d bytes without blanks (C++: the mangled name) for the function that %s an item",
			UP_QUEUE_SYMBOL - 1, what);
	return 0;
}

static int parse_functions(const char *text, const char *equals, struct up_queue_spec *ret, char *message, size_t size)
{
	/* A path may hold a colon, a symbol may not. */
	const char *colon = strrchr(equals + 1, ':');
	const char *comma = colon ? strchr(colon, ',') : NULL;
	int r;

	if (!colon || !comma || strchr(comma + 1, ','))
		return expected(message, size, "NAME=BINARY:ENQUEUE,DEQUEUE (two functions behind the last colon), or libuv");
	if (!take(ret->name, sizeof(ret->name), text, (size_t)(equals - text)))
		return expected(message, size, "a NAME of 1 to %d bytes before '='", UP_QUEUE_NAME - 1);
	if (!take(ret->binary, sizeof(ret->binary), equals + 1, (size_t)(colon - equals - 1)) || ret->binary[0] != '/')
		return expected(
			message, size, "the absolute path of a program or library as the target sees it, such as /usr/bin/app");
	r = parse_point(colon + 1, (size_t)(comma - colon - 1), "puts in", &ret->put, message, size);
	if (r == 0)
		r = parse_point(comma + 1, strlen(comma + 1), "takes out", &ret->take, message, size);
	if (r == 0 && strcmp(ret->put.symbol, ret->take.symbol) == 0)
		return expected(message, size, "two different functions, not '%s' twice", ret->put.symbol);
	return r;
}

int up_queue_spec_parse(const char *text, struct up_queue_spec *ret, char *message, size_t size)
{
	struct up_queue_spec spec = { .kind = UP_QUEUE_FUNCTIONS };
	const char *equals = strchr(text, '=');
	int r;

	if (strcmp(text, "libuv") == 0 || strcmp(text, UP_QUEUE_SELF_TEST) == 0) {
		spec.kind = text[0] == 'l' ? UP_QUEUE_LIBUV : UP_QUEUE_SELF;
		snprintf(spec.name, sizeof(spec.name), "%s", text);
		*ret = spec;
		return 0;
	}
	if (!equals)
		return expected(message, size, "NAME=BINARY:ENQUEUE,DEQUEUE, or libuv");
	r = parse_functions(text, equals, &spec, message, size);
	if (r == 0)
		*ret = spec;
	return r;
}
