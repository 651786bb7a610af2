/* Numbers, moments and CSV fields as load generators write them. No locale, no strtod: a digit is read once and kept exactly. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "reader.h"

struct up_text up_text_trim(struct up_text text)
{
	while (text.n > 0 && isspace((unsigned char)text.at[0])) {
		text.at++;
		text.n--;
	}
	while (text.n > 0 && isspace((unsigned char)text.at[text.n - 1]))
		text.n--;
	return text;
}

/* Digits of a mantissa; DROPPED counts those that did not fit, RAISE says that the first of them rounds up. */
struct mantissa {
	uint64_t value;
	int scale; /* value is mantissa / 10^scale */
	int digits;
	bool full;
};

static void mantissa_add(struct mantissa *m, char c, bool fraction)
{
	m->digits++;
	if (m->full || m->value > (UINT64_MAX - 9) / 10) {
		m->full = true; /* a 20th digit cannot change a result in ns */
		if (!fraction)
			m->scale--;
		return;
	}
	m->value = m->value * 10 + (uint64_t)(c - '0');
	if (fraction)
		m->scale++;
}

static int scan_exponent(const char *at, const char *end, int *ret_exponent)
{
	int value = 0, sign = 1;

	if (at < end && (*at == '+' || *at == '-'))
		sign = *at++ == '-' ? -1 : 1;
	if (at == end || end - at > 4)
		return -EBADMSG;
	for (; at < end; at++) {
		if (*at < '0' || *at > '9')
			return -EBADMSG;
		value = value * 10 + (*at - '0');
	}
	*ret_exponent = sign * value;
	return 0;
}

/* VALUE * 10^SCALE rounded half up. */
static int scale_u64(uint64_t value, int scale, uint64_t *ret_value)
{
	for (; scale > 0 && value > 0; scale--) {
		if (value > UINT64_MAX / 10)
			return -ERANGE;
		value *= 10;
	}
	for (; scale < -1 && value > 0; scale++)
		value /= 10;
	if (scale == -1)
		value = (value + 5) / 10;
	*ret_value = value;
	return 0;
}

int up_text_decimal(struct up_text text, int scale, int64_t *ret_value)
{
	const char *at = text.at, *end = text.at + text.n;
	struct mantissa m = { 0 };
	bool negative = false, fraction = false;
	int exponent = 0;
	uint64_t value;

	if (at < end && (*at == '-' || *at == '+'))
		negative = *at++ == '-';
	for (; at < end; at++) {
		if (*at >= '0' && *at <= '9')
			mantissa_add(&m, *at, fraction);
		else if (*at == '.' && !fraction)
			fraction = true;
		else
			break;
	}
	if (m.digits == 0)
		return -EBADMSG;
	if (at < end) {
		if ((*at != 'e' && *at != 'E') || scan_exponent(at + 1, end, &exponent) < 0)
			return -EBADMSG;
	}
	if (scale_u64(m.value, scale + exponent - m.scale, &value) < 0 || value > INT64_MAX)
		return -ERANGE;
	*ret_value = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

static int scan_fixed(const char **at, const char *end, unsigned n, int *ret_value)
{
	int value = 0;

	if (end - *at < (ptrdiff_t)n)
		return -EBADMSG;
	for (unsigned i = 0; i < n; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return -EBADMSG;
		value = value * 10 + (**at - '0');
	}
	*ret_value = value;
	return 0;
}

static bool skip(const char **at, const char *end, const char *any_of)
{
	if (*at == end || !strchr(any_of, **at))
		return false;
	(*at)++;
	return true;
}

/* "Z", "+01:00", "+0100", "+01"; *ret_known false at the end of the text. */
static int scan_zone(const char *at, const char *end, int *ret_offset_s, bool *ret_known)
{
	int sign, hours, minutes = 0;

	*ret_known = at < end;
	*ret_offset_s = 0;
	if (at == end || (end - at == 1 && (*at == 'Z' || *at == 'z')))
		return 0;
	if (*at != '+' && *at != '-')
		return -EBADMSG;
	sign = *at++ == '-' ? -1 : 1;
	if (scan_fixed(&at, end, 2, &hours) < 0)
		return -EBADMSG;
	skip(&at, end, ":");
	if (at < end && scan_fixed(&at, end, 2, &minutes) < 0)
		return -EBADMSG;
	if (at != end || hours > 23 || minutes > 59)
		return -EBADMSG;
	*ret_offset_s = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static int scan_date(const char **at, const char *end, struct tm *tm)
{
	int year, month, day;

	if (scan_fixed(at, end, 4, &year) < 0 || !skip(at, end, "-/.") || scan_fixed(at, end, 2, &month) < 0 ||
		!skip(at, end, "-/.") || scan_fixed(at, end, 2, &day) < 0 || !skip(at, end, "T t"))
		return -EBADMSG;
	if (scan_fixed(at, end, 2, &tm->tm_hour) < 0 || !skip(at, end, ":") || scan_fixed(at, end, 2, &tm->tm_min) < 0 ||
		!skip(at, end, ":") || scan_fixed(at, end, 2, &tm->tm_sec) < 0)
		return -EBADMSG;
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || tm->tm_hour > 23 || tm->tm_min > 59 ||
		tm->tm_sec > 60)
		return -EBADMSG;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	tm->tm_isdst = -1;
	return 0;
}

static int scan_calendar(struct up_text text, int64_t *ret_us, bool *ret_whole_s)
{
	const char *at = text.at, *end = text.at + text.n;
	struct tm tm = { 0 };
	int64_t us = 0, seconds;
	int offset_s;
	bool zone;

	if (scan_date(&at, end, &tm) < 0)
		return -EBADMSG;
	*ret_whole_s = !skip(&at, end, ".,:");
	if (!*ret_whole_s) {
		const char *first = at;
		int64_t unit = 100000;

		for (; at < end && *at >= '0' && *at <= '9'; at++, unit /= 10)
			us += (*at - '0') * unit;
		if (at == first)
			return -EBADMSG;
	}
	if (scan_zone(at, end, &offset_s, &zone) < 0)
		return -EBADMSG;
	seconds = zone ? (int64_t)timegm(&tm) - offset_s : (int64_t)mktime(&tm);
	*ret_us = seconds * 1000000 + us;
	return 0;
}

int up_text_time(struct up_text text, int64_t *ret_us, bool *ret_whole_s)
{
	static const struct {
		int64_t below; /* a whole part below this, in that unit */
		int to_us; /* power of ten */
	} unit[] = { { 100000000000, 6 }, { 100000000000000, 3 }, { 100000000000000000, 0 }, { INT64_MAX, -3 } };
	const char *point;
	struct up_text whole = text;
	int64_t value;

	if (text.n >= 19 && (text.at[4] == '-' || text.at[4] == '/' || text.at[4] == '.'))
		return scan_calendar(text, ret_us, ret_whole_s);
	point = memchr(text.at, '.', text.n);
	if (point)
		whole.n = (size_t)(point - text.at);
	if (up_text_decimal(whole, 0, &value) < 0 || value < 0)
		return -EBADMSG;
	for (unsigned i = 0; i < sizeof(unit) / sizeof(*unit); i++) {
		if (value >= unit[i].below)
			continue;
		*ret_whole_s = i == 0 && !point;
		if (!point && unit[i].to_us < 0) {
			*ret_us = value / 1000;
			return 0;
		}
		return up_text_decimal(text, unit[i].to_us, ret_us) < 0 ? -EBADMSG : 0;
	}
	return -EBADMSG;
}

/* The field that begins at AT with a quote: up to the closing one. What stands between that and the delimiter is kept out. */
static const char *quoted_end(const char *at, const char *end)
{
	for (; at < end; at++) {
		if (*at != '"')
			continue;
		if (at + 1 < end && at[1] == '"')
			at++;
		else
			return at;
	}
	return end;
}

void up_text_split(struct up_text record, char delimiter, struct up_fields *ret_fields)
{
	const char *at = record.at, *end = record.at + record.n;

	ret_fields->n = 0;
	ret_fields->more = false;
	for (;;) {
		const char *first = at, *last;

		if (at < end && *at == '"') {
			last = quoted_end(at + 1, end);
			first++;
			at = last;
			while (at < end && *at != delimiter)
				at++;
		} else {
			while (at < end && *at != delimiter)
				at++;
			last = at;
		}
		if (ret_fields->n == UP_FIELDS_MAX) {
			ret_fields->more = true;
			return;
		}
		ret_fields->at[ret_fields->n++] = (struct up_text){ first, (size_t)(last - first) };
		if (at == end)
			return;
		at++;
	}
}

size_t up_text_unquote(struct up_text text, char *buffer, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && n < room; i++) {
		buffer[n++] = text.at[i];
		if (text.at[i] == '"' && i + 1 < text.n && text.at[i + 1] == '"')
			i++;
	}
	return n;
}

int up_fields_find(const struct up_fields *header, const char *name)
{
	for (unsigned i = 0; i < header->n; i++) {
		if (up_text_is(header->at[i], name))
			return (int)i;
	}
	return -1;
}

struct up_text up_fields_get(const struct up_fields *fields, int index)
{
	if (index < 0 || (unsigned)index >= fields->n)
		return (struct up_text){ "", 0 };
	return fields->at[index];
}

struct up_shown up_text_show(struct up_text text)
{
	struct up_shown shown;
	size_t n = 0;

	for (size_t i = 0; i < text.n && n < 80; i++) {
		unsigned char c = (unsigned char)text.at[i];

		shown.text[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	if (n < text.n) {
		/* do not cut a UTF-8 sequence */
		while (n > 0 && ((unsigned char)shown.text[n - 1] & 0xc0) == 0x80)
			n--;
		if (n > 0 && (unsigned char)shown.text[n - 1] >= 0xc0)
			n--;
		memcpy(shown.text + n, "...", 3);
		n += 3;
	}
	shown.text[n] = '\0';
	return shown;
}

struct up_text up_text_line(struct up_text head)
{
	const char *nl = memchr(head.at, '\n', head.n);

	if (nl)
		head.n = (size_t)(nl - head.at);
	if (head.n > 0 && head.at[head.n - 1] == '\r')
		head.n--;
	return head;
}

char up_text_delimiter(struct up_text head)
{
	static const char candidates[] = ",;\t|";
	struct up_text line = up_text_line(head);
	unsigned best = 0;
	char found = ',';

	for (const char *c = candidates; *c; c++) {
		unsigned n = 0;

		for (size_t i = 0; i < line.n; i++)
			n += line.at[i] == *c;
		if (n > best) {
			best = n;
			found = *c;
		}
	}
	return found;
}
