/* Small things all subcommands need: times on the command line, figures in tables, numbers in JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../load/reader.h"
#include "load_cli.h"

int up_cli_duration(const char *text, double *ret_s)
{
	static const struct {
		const char *unit;
		double s;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "m", 60 }, { "min", 60 }, { "h", 3600 } };
	size_t n = strspn(text, "0123456789.");
	int64_t value_us;

	if (n == 0 || up_text_decimal((struct up_text){ text, n }, 9, &value_us) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(text + n, units[i].unit) == 0) {
			*ret_s = (double)value_us / 1e9 * units[i].s;
			return 0;
		}
	}
	return -EBADMSG;
}

int up_cli_moment(const char *text, int64_t *ret_us, bool *ret_absolute)
{
	struct up_text whole = { text, strlen(text) };
	bool whole_s;
	double s;

	if (up_cli_duration(text, &s) == 0 && s < 1e9) {
		*ret_us = (int64_t)llround(s * 1e6);
		*ret_absolute = false;
		return 0;
	}
	if (whole.n == 0 || up_text_time(whole, ret_us, &whole_s) < 0)
		return -EBADMSG;
	*ret_absolute = true;
	return 0;
}

void up_cli_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

struct up_figure up_figure(double value)
{
	struct up_figure figure;
	double size = fabs(value);

	if (isnan(value))
		snprintf(figure.text, sizeof(figure.text), "-");
	else if (isinf(value))
		snprintf(figure.text, sizeof(figure.text), "%sinf", value < 0 ? "-" : "");
	else
		snprintf(figure.text, sizeof(figure.text), "%.*f",
			size >= 1000 || size == 0 ? 0
			: size >= 100             ? 1
			: size >= 1               ? 2
						  : 3,
			value);
	return figure;
}

struct up_figure up_clock(int64_t us, bool undated)
{
	struct up_figure figure;
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;

	if (undated || !gmtime_r(&seconds, &tm))
		snprintf(figure.text, sizeof(figure.text), "%.6g s", (double)us / 1e6);
	else
		snprintf(figure.text, sizeof(figure.text), "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	return figure;
}

/* Length of the UTF-8 character at AT, 0 when it is none. */
static size_t utf8_length(const unsigned char *at)
{
	size_t n = at[0] < 0x80                    ? 1
		   : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
		   : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
		   : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
						   : 0;

	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
		(at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return n;
}

static void clean(const char *text, char *buffer, size_t n, bool keep_controls)
{
	size_t at = 0;

	while (*text) {
		size_t length = utf8_length((const unsigned char *)text);
		bool control = length == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f);
		bool c1 = length == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0;
		size_t put = length == 0 ? 3 : length;

		if (at + put >= n)
			break;
		if (length == 0)
			memcpy(buffer + at, "\xef\xbf\xbd", 3);
		else if ((control || c1) && !keep_controls)
			memset(buffer + at, '?', length);
		else
			memcpy(buffer + at, text, length);
		at += put;
		text += length ? length : 1;
	}
	buffer[at] = '\0';
}

void up_cli_clean(const char *text, char *buffer, size_t n)
{
	clean(text, buffer, n, false);
}

json_t *up_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *up_json_text(const char *text)
{
	size_t room = 3 * strlen(text) + 4;
	char *copy = malloc(room);
	json_t *json;

	if (!copy)
		return NULL;
	clean(text, copy, room, true);
	json = json_string(copy);
	free(copy);
	return json;
}

int up_json_write(const json_t *json, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int r = 0;

	if (!out)
		return -errno;
	if (json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) < 0 || fputc('\n', out) == EOF || fflush(out) != 0)
		r = errno ? -errno : -EIO;
	if (path && fclose(out) != 0 && r == 0)
		r = -errno;
	return r;
}
