#include "useprobe/netfiles.h"

#include <errno.h>
#include <string.h>

#define FIELDS_MAX 32

/* Next word of [*CURSOR, END); false at the end. */
static bool next_word(const char **cursor, const char *end, const char **ret_word, size_t *ret_len)
{
	const char *begin = *cursor;

	while (begin < end && *begin == ' ')
		begin++;
	*cursor = begin;
	while (*cursor < end && **cursor != ' ')
		++*cursor;
	*ret_word = begin;
	*ret_len = (size_t)(*cursor - begin);
	return *ret_len > 0;
}

static bool same(const char *word, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(word, text, len) == 0;
}

static int take_value(const char *word, size_t len, struct up_u64 *ret)
{
	const char *cursor = word;
	uint64_t number;

	if (*word == '-') {
		int64_t negative;

		return up_scan_i64(&cursor, &negative) == 0 && cursor == word + len ? 0 : -EBADMSG;
	}
	if (up_scan_u64(&cursor, &number) < 0 || cursor != word + len)
		return -EBADMSG;
	*ret = (struct up_u64){ .n = number, .has = true };
	return 0;
}

/* One pair of lines, both with the prefix taken off. */
static int take_pair(const char *names, const char *names_end, const char *values, const char *values_end, const char *prefix,
	size_t prefix_len, const struct up_net_field *fields, size_t count, struct up_u64 *found)
{
	for (;;) {
		const char *name, *value;
		size_t name_len, value_len;
		const bool has_name = next_word(&names, names_end, &name, &name_len);

		if (has_name != next_word(&values, values_end, &value, &value_len))
			return -EBADMSG;
		if (!has_name)
			return 0;
		for (size_t i = 0; i < count; i++) {
			if (!same(prefix, prefix_len, fields[i].prefix) || !same(name, name_len, fields[i].name))
				continue;
			if (take_value(value, value_len, &found[i]) < 0)
				return -EBADMSG;
		}
	}
}

int up_net_fields(const char *text, const struct up_net_field *fields, size_t count)
{
	struct up_u64 found[FIELDS_MAX] = { 0 };
	const char *cursor = text, *names, *values;
	size_t names_len, values_len;
	bool cut = false;

	if (count > FIELDS_MAX)
		return -E2BIG;
	while (up_scan_line(&cursor, &names, &names_len, &cut)) {
		const char *colon = memchr(names, ':', names_len);
		size_t prefix_len;

		if (!colon || !up_scan_line(&cursor, &values, &values_len, &cut))
			return -EBADMSG;
		prefix_len = (size_t)(colon - names);
		if (values_len <= prefix_len || memcmp(values, names, prefix_len + 1) != 0)
			return -EBADMSG;
		if (take_pair(colon + 1, names + names_len, values + prefix_len + 1, values + values_len, names, prefix_len,
			    fields, count, found) < 0)
			return -EBADMSG;
	}
	if (cut)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		if (found[i].has)
			*fields[i].ret = found[i];
	return 0;
}

/* One line behind its prefix. */
static int take_sockstat(const char *cursor, const char *end, const char *prefix, size_t prefix_len,
	const struct up_net_field *fields, size_t count, struct up_u64 *found)
{
	const char *name, *value;
	size_t name_len, value_len;

	while (next_word(&cursor, end, &name, &name_len)) {
		if (!next_word(&cursor, end, &value, &value_len))
			return -EBADMSG;
		for (size_t i = 0; i < count; i++) {
			if (!same(prefix, prefix_len, fields[i].prefix) || !same(name, name_len, fields[i].name))
				continue;
			if (take_value(value, value_len, &found[i]) < 0)
				return -EBADMSG;
		}
	}
	return 0;
}

int up_net_sockstat(const char *text, const struct up_net_field *fields, size_t count)
{
	struct up_u64 found[FIELDS_MAX] = { 0 };
	const char *cursor = text, *line;
	bool cut = false;
	size_t len;

	if (count > FIELDS_MAX)
		return -E2BIG;
	while (up_scan_line(&cursor, &line, &len, &cut)) {
		const char *colon = memchr(line, ':', len);

		if (!colon || take_sockstat(colon + 1, line + len, line, (size_t)(colon - line), fields, count, found) < 0)
			return -EBADMSG;
	}
	if (cut)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		if (found[i].has)
			*fields[i].ret = found[i];
	return 0;
}
