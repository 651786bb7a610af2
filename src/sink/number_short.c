/* Numbers short enough for a column. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/number.h"
#include "useprobe/sink.h"

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
		up_number_fixed(magnitude, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0, ret, UP_NUMBER_TEXT);
		return ret;
	}
	for (magnitude /= 1000; magnitude >= 999.95 && suffix + 2 < sizeof(suffixes); suffix++)
		magnitude /= 1000;
	if (magnitude >= 999.95)
		return memcpy(ret, ">999E", 6);
	up_number_fixed(magnitude, 1, ret, UP_NUMBER_TEXT - 1);
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
		up_number_fixed(value.number, 0, ret, UP_NUMBER_TEXT);
		return ret;
	}
	return up_number_short(value.number, ret);
}
