/* Numbers as text. snprintf would put the locale's decimal point, so the digits are made from integers here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/number.h"

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
void up_number_fixed(double magnitude, int decimals, char *ret, size_t size)
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
		up_number_fixed(magnitude, 0, digits, size);
	else
		up_number_fixed(magnitude, decimals_for(magnitude), digits, size);
	trim_zeros(digits);
	if (magnitude > 0 && strcmp(digits, "0") == 0)
		memcpy(digits, SMALLEST, sizeof(SMALLEST));
	return ret;
}
