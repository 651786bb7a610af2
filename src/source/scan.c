#include "useprobe/scan.h"

#include <errno.h>
#include <string.h>

static int digit_value(char c, unsigned base)
{
	unsigned value = 99;

	if (c >= '0' && c <= '9')
		value = (unsigned)(c - '0');
	else if (c >= 'a' && c <= 'f')
		value = (unsigned)(c - 'a') + 10;
	else if (c >= 'A' && c <= 'F')
		value = (unsigned)(c - 'A') + 10;
	return value < base ? (int)value : -1;
}

static int scan_base(const char **cursor, unsigned base, uint64_t *ret)
{
	const char *p = *cursor;
	uint64_t n = 0;

	if (digit_value(*p, base) < 0)
		return -EBADMSG;
	for (; digit_value(*p, base) >= 0; p++) {
		const unsigned value = (unsigned)digit_value(*p, base);

		if (n > (UINT64_MAX - value) / base)
			return -ERANGE;
		n = n * base + value;
	}
	*cursor = p;
	*ret = n;
	return 0;
}

int up_scan_u64(const char **cursor, uint64_t *ret)
{
	return scan_base(cursor, 10, ret);
}

int up_scan_hex(const char **cursor, uint64_t *ret)
{
	return scan_base(cursor, 16, ret);
}

int up_scan_i64(const char **cursor, int64_t *ret)
{
	const char *p = *cursor;
	const bool negative = *p == '-';
	uint64_t n;
	int r;

	if (negative)
		p++;
	r = up_scan_u64(&p, &n);
	if (r < 0)
		return r;
	if (n > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*cursor = p;
	*ret = negative ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

int up_scan_decimal(const char **cursor, double *ret)
{
	const char *p = *cursor;
	double number, scale = 1;
	uint64_t whole;
	int r = up_scan_u64(&p, &whole);

	if (r < 0)
		return r;
	number = (double)whole;
	if (*p == '.') {
		if (digit_value(*++p, 10) < 0)
			return -EBADMSG;
		for (; digit_value(*p, 10) >= 0; p++) {
			scale /= 10;
			number += scale * digit_value(*p, 10);
		}
	}
	*cursor = p;
	*ret = number;
	return 0;
}

int up_scan_whole_u64(const char *text, uint64_t *ret)
{
	uint64_t n;
	int r = up_scan_u64(&text, &n);

	if (r < 0)
		return r;
	if (*text)
		return -EBADMSG;
	*ret = n;
	return 0;
}

int up_scan_whole_decimal(const char *text, double *ret)
{
	double number;
	int r = up_scan_decimal(&text, &number);

	if (r < 0)
		return r;
	if (*text)
		return -EBADMSG;
	*ret = number;
	return 0;
}

bool up_scan_line(const char **cursor, const char **ret_line, size_t *ret_len, bool *ret_cut)
{
	const char *end = strchr(*cursor, '\n');

	if (!end) {
		if (ret_cut && **cursor)
			*ret_cut = true;
		return false;
	}
	*ret_line = *cursor;
	*ret_len = (size_t)(end - *cursor);
	*cursor = end + 1;
	return true;
}

int up_scan_key(const char *text, const char *key, struct up_u64 *ret)
{
	const size_t key_len = strlen(key);
	const char *cursor = text;

	*ret = (struct up_u64){ 0 };
	while (*cursor) {
		const char *end = strchr(cursor, '\n');

		if (strncmp(cursor, key, key_len) == 0 && (cursor[key_len] == ' ' || cursor[key_len] == '\t')) {
			const char *p = cursor + key_len;
			uint64_t n;
			int r;

			up_scan_blanks(&p);
			r = up_scan_u64(&p, &n);
			if (r < 0 || *p != '\n')
				return r < 0 ? r : -EBADMSG;
			*ret = (struct up_u64){ .n = n, .has = true };
			return 0;
		}
		/* A cut line may be the beginning of the key's: then nobody can say that the key is missing. */
		if (!end)
			return -EBADMSG;
		cursor = end + 1;
	}
	return 0;
}

int up_scan_single(const char *text, struct up_u64 *ret, bool *ret_max)
{
	uint64_t n = 0;
	int r;

	if (strcmp(text, "max\n") == 0 || strcmp(text, "-1\n") == 0) {
		*ret = (struct up_u64){ 0 };
		*ret_max = true;
		return 0;
	}
	r = up_scan_u64(&text, &n);
	if (r < 0)
		return r;
	if (strcmp(text, "\n") != 0)
		return -EBADMSG;
	*ret = (struct up_u64){ .n = n, .has = true };
	*ret_max = false;
	return 0;
}

void up_scan_blanks(const char **cursor)
{
	while (**cursor == ' ' || **cursor == '\t')
		(*cursor)++;
}

bool up_scan_literal(const char **cursor, const char *literal)
{
	const size_t len = strlen(literal);

	if (strncmp(*cursor, literal, len) != 0)
		return false;
	*cursor += len;
	return true;
}

int up_scan_cpu_list(const char *text, unsigned *ret_count)
{
	uint64_t count = 0;

	while (*text && *text != '\n') {
		uint64_t first, last;
		int r = up_scan_u64(&text, &first);

		if (r < 0)
			return r;
		last = first;
		if (*text == '-') {
			text++;
			r = up_scan_u64(&text, &last);
			if (r < 0)
				return r;
		}
		if (last < first || last > 1u << 20)
			return -EBADMSG;
		count += last - first + 1;
		if (*text == ',')
			text++;
		else if (*text != '\n')
			return -EBADMSG;
	}
	if (*text != '\n')
		return -EBADMSG;
	*ret_count = (unsigned)count;
	return 0;
}

int up_scan_unescape(const char *field, size_t len, char *ret, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		char c = field[i];

		if (c == '\\' && len - i >= 4 && digit_value(field[i + 1], 4) >= 0 && digit_value(field[i + 2], 8) >= 0 &&
			digit_value(field[i + 3], 8) >= 0) {
			c = (char)(digit_value(field[i + 1], 8) * 64 + digit_value(field[i + 2], 8) * 8 +
				   digit_value(field[i + 3], 8));
			i += 3;
		}
		if (out + 1 >= size)
			return -ENAMETOOLONG;
		ret[out++] = c;
	}
	ret[out] = '\0';
	return 0;
}
