#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char unknown[] = "\xe2\x80\x93"; /* en dash */
static const char thin[] = "\xe2\x80\xaf"; /* narrow space that does not break */

static struct up_amount dash(void)
{
	struct up_amount a;

	memcpy(a.text, unknown, sizeof(unknown));
	return a;
}

/* VALUE without decimals, a narrow space between thousands. */
static struct up_amount whole(double value)
{
	char digits[40];
	struct up_amount a = { "" };
	size_t n, used = 0;

	n = (size_t)snprintf(digits, sizeof(digits), "%.0f", fabs(value));
	if (value < 0)
		a.text[used++] = '-';
	if (n > 15) {
		snprintf(a.text, sizeof(a.text), "%.3e", value);
		return a;
	}
	for (size_t i = 0; i < n; i++) {
		if (i && n > 4 && (n - i) % 3 == 0) {
			memcpy(a.text + used, thin, 3);
			used += 3;
		}
		a.text[used++] = digits[i];
	}
	a.text[used] = '\0';
	return a;
}

struct up_amount up_amount(double value)
{
	const double size = fabs(value);
	struct up_amount a;

	if (!isfinite(value))
		return dash();
	if (size >= 99.95 || value == 0)
		return whole(value);
	if (size < 0.0005)
		snprintf(a.text, sizeof(a.text), "%s<0.001", value < 0 ? "-" : "");
	else
		snprintf(a.text, sizeof(a.text), "%.*f", size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3, value);
	return a;
}

struct up_amount up_count(double value)
{
	return isfinite(value) ? whole(value) : dash();
}

static struct up_amount with_unit(struct up_amount number, const char *unit)
{
	struct up_amount a;

	snprintf(a.text, sizeof(a.text), "%.24s %s", number.text, unit);
	return a;
}

struct up_amount up_ms(double ms)
{
	if (!isfinite(ms))
		return dash();
	return fabs(ms) < 9999.5 ? with_unit(up_amount(ms), "ms") : with_unit(up_amount(ms / 1e3), "s");
}

struct up_amount up_percent(double ratio)
{
	const double percent = 100 * ratio;
	struct up_amount a;

	if (!isfinite(ratio))
		return dash();
	if (percent > 0 && percent < 0.1)
		snprintf(a.text, sizeof(a.text), "<0.1 %%");
	else
		snprintf(a.text, sizeof(a.text), "%.*f %%", percent > 0 && percent < 9.95 ? 1 : 0, percent);
	return a;
}

struct up_amount up_tick(double value)
{
	struct up_amount a;

	if (fabs(value) >= 9999.5)
		return whole(value);
	snprintf(a.text, sizeof(a.text), "%.6g", value);
	return a;
}

struct up_amount up_ms_tick(double ms)
{
	return ms >= 1000 ? with_unit(up_tick(ms / 1e3), "s")
	       : ms < 1   ? with_unit(up_tick(ms * 1e3), "us")
			  : with_unit(up_tick(ms), "ms");
}

struct up_amount up_span_text(double seconds)
{
	struct up_amount a;

	if (!isfinite(seconds))
		return dash();
	if (seconds < 120)
		return with_unit(up_tick(round(seconds * 10) / 10), "s");
	snprintf(a.text, sizeof(a.text), "%.0f min %02.0f s", floor(seconds / 60), fmod(seconds, 60));
	return a;
}

struct up_amount up_bytes_text(double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	while (bytes >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
		bytes /= 1000;
		unit++;
	}
	return with_unit(up_amount(bytes), units[unit]);
}
