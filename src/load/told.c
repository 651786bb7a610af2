/* Summaries that a tool made itself: nothing can be recomputed from them, so they are passed on as told. */
#include <math.h>

#include "told.h"

struct up_told up_told_none(void)
{
	struct up_told told = { .mean_ms = NAN, .sd_ms = NAN, .min_ms = NAN, .max_ms = NAN };

	for (unsigned i = 0; i < UP_QUANTILES; i++)
		told.ms[i] = told.lo_ms[i] = told.hi_ms[i] = NAN;
	return told;
}

void up_told_give(struct up_reader *reader, const struct up_told *told, const char *tool, const char *includes, bool corrected)
{
	struct up_load_traits *traits = &reader->file->traits;

	reader->file->told = *told;
	reader->file->told.known = true;
	reader->file->failed_known = told->failed_known;
	traits->name = tool;
	traits->includes = includes;
	traits->corrected = corrected;
}

double up_told_time_ms(struct up_text text)
{
	static const struct {
		const char *unit;
		double ms;
	} units[] = { { "us", 1e-3 }, { "ms", 1 }, { "s", 1e3 }, { "m", 6e4 }, { "h", 3.6e6 }, { "secs", 1e3 }, { "sec", 1e3 },
		{ "ns", 1e-6 }, { "\xc2\xb5s", 1e-3 } };
	struct up_text unit, number;
	int64_t value;

	text = up_text_trim(text);
	number = unit = text;
	for (number.n = 0;
		number.n < text.n && ((text.at[number.n] >= '0' && text.at[number.n] <= '9') || text.at[number.n] == '.');)
		number.n++;
	unit.at += number.n;
	unit.n -= number.n;
	unit = up_text_trim(unit);
	if (up_text_decimal(number, 9, &value) < 0)
		return NAN;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (up_text_is(unit, units[i].unit))
			return (double)value / 1e9 * units[i].ms;
	}
	return NAN;
}

void up_told_summary(const struct up_told *told, struct up_summary *ret_summary)
{
	struct up_summary s = { .n = told->n,
		.failed = told->failed,
		.failed_known = told->failed_known,
		.mean_ms = told->mean_ms,
		.sd_ms = told->sd_ms,
		.min_ms = told->min_ms,
		.max_ms = told->max_ms,
		.mean_share = NAN };

	s.ok_only.n = told->n - told->failed;
	s.ok_only.mean_ms = s.ok_only.max_ms = NAN;
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		s.ok_only.ms[i] = NAN;
		s.q[i] = (struct up_quantile){ .ms = told->ms[i],
			.lo_ms = told->lo_ms[i],
			.hi_ms = told->hi_ms[i],
			.tail_n = told->n - up_rank(up_quantile_names[i].percent, told->n),
			.linear_ms = NAN,
			.jmeter_ms = NAN };
	}
	*ret_summary = s;
}
