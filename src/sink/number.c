/* Numbers as text. snprintf would put the locale's decimal point, so the digits are made from integers here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/sink.h"

#define EXACT_BELOW 9007199254740992.0 /* 2^53 */
#define DECIMALS_MAX 15
#define SMALLEST "0.000000000000001" /* what is not zero must not look like it */

/* Digits behind the point that give 6 significant ones. */
static int decimals_for(double magnitude)
{
	int decimals = 6;

	for (double limit = 1; decimals > 1 && magnitude >= limit; limit *= 10)
		decimals--;
	for (double limit = 0.1; decimals < DECIMALS_MAX && magnitude < limit; limit /= 10)
		decimals++;
	return decimals;
}

/* MAGNITUDE with exactly DECIMALS digits behind the point; it must stay below 2^64 when scaled. */
static void fixed(double magnitude, int decimals, char *ret, size_t size)
{
	unsigned long long scale = 1, n;

	for (int i = 0; i < decimals; i++)
		scale *= 10;
	/* round() and not + 0.5, which is lost or carried over beyond 2^52. */
	n = (unsigned long long)round(magnitude * (double)scale);
	if (decimals)
		snprintf(ret, size, "%llu.%0*llu", n / scale, decimals, n % scale);
	else
		snprintf(ret, size, "%llu", n);
}

static void trim_zeros(char *text)
{
	char *end = text + strlen(text);

	if (!strchr(text, '.'))
		return;
	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		end[-1] = '\0';
}

char *up_number_text(double number, char ret[UP_NUMBER_TEXT])
{
	const double magnitude = fabs(number);
	char *digits = ret + (number < 0);
	const size_t size = UP_NUMBER_TEXT - 1;

	*ret = '\0';
	if (!isfinite(number) || magnitude >= 1e40)
		return ret;
	*ret = number < 0 ? '-' : '0';
	if (magnitude >= 1e18)
		snprintf(digits, size, "%.0f", magnitude);
	else if (magnitude >= EXACT_BELOW || magnitude == floor(magnitude))
		fixed(magnitude, 0, digits, size);
	else
		fixed(magnitude, decimals_for(magnitude), digits, size);
	trim_zeros(digits);
	if (magnitude > 0 && strcmp(digits, "0") == 0)
		memcpy(digits, SMALLEST, sizeof(SMALLEST));
	return ret;
}

char *up_number_short(double number, char ret[UP_NUMBER_TEXT])
{
	static const char suffixes[] = "kMGTPE";
	double magnitude = fabs(number);
	size_t suffix = 0;

	if (!isfinite(number) || number < 0)
		return up_number_text(number, ret);
	if (magnitude > 0 && magnitude < 0.005)
		return memcpy(ret, "<0.01", 6);
	if (magnitude < 9999.5) {
		fixed(magnitude, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0, ret, UP_NUMBER_TEXT);
		return ret;
	}
	for (magnitude /= 1000; magnitude >= 999.95 && suffix + 2 < sizeof(suffixes); suffix++)
		magnitude /= 1000;
	if (magnitude >= 999.95)
		return memcpy(ret, ">999E", 6);
	fixed(magnitude, 1, ret, UP_NUMBER_TEXT - 1);
	strncat(ret, &suffixes[suffix], 1);
	return ret;
}

char *up_value_short(struct up_value value, bool count, char ret[UP_NUMBER_TEXT])
{
	static const char *const words[] = {
		[UP_ABSENT] = "-",
		[UP_FIRST] = "init",
		[UP_RESET] = "reset",
		[UP_STALE] = "stale",
		[UP_DENIED] = "denied",
		[UP_FAILED] = "failed",
	};

	if (!up_value_ok(value)) {
		snprintf(ret, UP_NUMBER_TEXT, "%s", words[value.state]);
		return ret;
	}
	if (count && value.number >= 0 && value.number < 10000 && value.number == floor(value.number)) {
		fixed(value.number, 0, ret, UP_NUMBER_TEXT);
		return ret;
	}
	return up_number_short(value.number, ret);
}
