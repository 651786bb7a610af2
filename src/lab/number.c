/* number - strict numbers, times and distributions of the command line. The C library's readers accept leading blanks, signs,
 * hexadecimal and the locale's decimal comma; a load test started with a misread rate is a wrong load test. */
#include <errno.h>
#include <string.h>

#include "number.h"

#define MAX_TIME_S (30.0 * 24 * 3600)
#define MAX_DIST_MS 3600000.0

int lab_number_scan(const char *begin, const char *end, double *ret_value)
{
	double value = 0, scale = 1;
	bool point = false, digit = false;

	for (const char *p = begin; p < end; p++) {
		if (*p == '.' && !point) {
			point = true;
		} else if (*p >= '0' && *p <= '9') {
			digit = true;
			value = value * 10 + (*p - '0');
			scale *= point ? 10 : 1;
		} else {
			return -EINVAL;
		}
	}
	if (!digit || end - begin > 18) /* 18 characters stay exact enough, and far from overflow */
		return -EINVAL;
	*ret_value = value / scale;
	return 0;
}

int lab_number_read(const char *text, double *ret_value)
{
	return lab_number_scan(text, text + strlen(text), ret_value);
}

int lab_count_read(const char *text, uint64_t min, uint64_t max, uint64_t *ret_count)
{
	uint64_t count = 0;

	if (!*text)
		return -EINVAL;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		if (count > (UINT64_MAX - 9) / 10)
			return -ERANGE;
		count = count * 10 + (uint64_t)(*p - '0');
	}
	if (count < min || count > max)
		return -ERANGE;
	*ret_count = count;
	return 0;
}

int lab_time_scan(const char *begin, const char *end, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double s;
	} units[] = { { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	const char *digits_end = begin;
	double value, unit_s = 1;

	while (digits_end < end && ((*digits_end >= '0' && *digits_end <= '9') || *digits_end == '.'))
		digits_end++;
	if (digits_end < end) {
		const size_t length = (size_t)(end - digits_end);

		unit_s = 0;
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (strlen(units[i].name) == length && memcmp(units[i].name, digits_end, length) == 0)
				unit_s = units[i].s;
	}
	if (unit_s <= 0 || lab_number_scan(begin, digits_end, &value) < 0 || value * unit_s > MAX_TIME_S)
		return -EINVAL;
	*ret_ns = (uint64_t)(value * unit_s * 1e9 + 0.5);
	return 0;
}

int lab_time_read(const char *text, uint64_t *ret_ns)
{
	return lab_time_scan(text, text + strlen(text), ret_ns);
}

int lab_dist_read(const char *text, struct lab_dist *ret_dist)
{
	bool exponential = false;
	double ms;

	if (strncmp(text, "exp:", 4) == 0) {
		exponential = true;
		text += 4;
	} else if (strncmp(text, "const:", 6) == 0) {
		text += 6;
	}
	if (lab_number_read(text, &ms) < 0 || ms > MAX_DIST_MS)
		return -EINVAL;
	*ret_dist = (struct lab_dist){ .mean_ns = ms * (double)LAB_NS_PER_MS, .exponential = exponential };
	return 0;
}

int lab_fields_split(const char *text, char separator, int max, const char **fields)
{
	int n = 1;

	fields[0] = text;
	for (; *text; text++) {
		if (*text != separator)
			continue;
		if (n == max)
			return -E2BIG;
		fields[n++] = text + 1;
	}
	fields[n] = text + 1; /* one past the end, as if a separator stood there */
	return n;
}
