/* Cells of our CSV and the words about what was left out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "csv_record.h"
#include "useprobe/clock.h"
#include "useprobe/csv_reader.h"

#define EXACT_DIGITS 18

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int up_csv_cell_seconds(const char *text, uint64_t *ret_ns)
{
	uint64_t whole, fraction = 0, scale = UP_NS_PER_S;

	if (up_scan_u64(&text, &whole) < 0 || whole > UINT64_MAX / UP_NS_PER_S - 1 || (*text == '.' && !text[1]))
		return -EBADMSG;
	for (text += *text == '.'; is_digit(*text) && scale > 1; text++) {
		scale /= 10;
		fraction += (uint64_t)(*text - '0') * scale;
	}
	if (*text)
		return -EBADMSG;
	*ret_ns = whole * UP_NS_PER_S + fraction;
	return 0;
}

/* COUNT digits at *CURSOR, then the byte AFTER. */
static bool scan_digits(const char **cursor, int count, char after, int *ret)
{
	int n = 0;

	for (int i = 0; i < count; i++, (*cursor)++) {
		if (!is_digit(**cursor))
			return false;
		n = n * 10 + (**cursor - '0');
	}
	*ret = n;
	if (**cursor != after)
		return false;
	(*cursor)++;
	return true;
}

int up_csv_cell_time(const char *text, uint64_t *ret_wall_ns)
{
	struct tm tm = { 0 };
	int ms;
	time_t seconds;

	if (!scan_digits(&text, 4, '-', &tm.tm_year) || !scan_digits(&text, 2, '-', &tm.tm_mon) ||
		!scan_digits(&text, 2, 'T', &tm.tm_mday) || !scan_digits(&text, 2, ':', &tm.tm_hour) ||
		!scan_digits(&text, 2, ':', &tm.tm_min) || !scan_digits(&text, 2, '.', &tm.tm_sec) ||
		!scan_digits(&text, 3, 'Z', &ms) || *text)
		return -EBADMSG;
	if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
		tm.tm_sec > 60)
		return -EBADMSG;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	seconds = timegm(&tm);
	if (seconds < 0)
		return -EBADMSG;
	*ret_wall_ns = (uint64_t)seconds * UP_NS_PER_S + (uint64_t)ms * UP_NS_PER_MS;
	return 0;
}

/* Digits are gathered as an integer and divided once, so that up to 15 digits come back exactly as they were written. */
int up_csv_cell_number(const char *text, double *ret)
{
	const bool negative = *text == '-';
	uint64_t mantissa = 0;
	double number, scale = 1, beyond = 1;
	int digits = 0;
	bool point = false;

	text += negative;
	if (!is_digit(*text))
		return -EBADMSG;
	for (; is_digit(*text) || (*text == '.' && !point && is_digit(text[1])); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		if (digits == EXACT_DIGITS) {
			beyond *= point ? 1 : 10;
			continue;
		}
		mantissa = mantissa * 10 + (uint64_t)(*text - '0');
		digits += mantissa > 0;
		scale *= point ? 10 : 1;
	}
	number = (double)mantissa / scale * beyond;
	if (*text || !(number < 1e300))
		return -EBADMSG;
	*ret = negative ? -number : number;
	return 0;
}

char *up_csv_notes_text(const struct up_csv_notes *notes, char *ret, size_t size)
{
	size_t len = 0;

	*ret = '\0';
	if (notes->cut_line)
		len += (size_t)snprintf(ret, size, "line %llu is cut off (the run was killed, or is still going on): left out",
			(unsigned long long)notes->cut_line);
	if (notes->skipped_rows && len < size)
		len += (size_t)snprintf(ret + len, size - len, "%s%llu malformed row%s left out, the first in line %llu: %s",
			len ? "; " : "", (unsigned long long)notes->skipped_rows, notes->skipped_rows == 1 ? "" : "s",
			(unsigned long long)notes->first_skipped_line, notes->first_skipped);
	if (notes->dropped_rows && len < size)
		len += (size_t)snprintf(ret + len, size - len, "%s%llu rows beyond %d in one tick left out", len ? "; " : "",
			(unsigned long long)notes->dropped_rows, UP_ROWS_MAX);
	if (notes->step_back && len < size)
		snprintf(ret + len, size - len, "%selapsed_s goes backwards: several runs in one file?", len ? "; " : "");
	return ret;
}
