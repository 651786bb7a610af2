/* Bad window against the good ones: medians, and a station's figures in both. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_internal.h"

void up_say(char *text, size_t size, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

void up_add_evidence(struct up_attribution *a, const char *format, ...)
{
	va_list args;

	if (a->n_evidence == UP_EVIDENCE_MAX)
		return;
	va_start(args, format);
	vsnprintf(a->evidence[a->n_evidence++], UP_LINE_BYTES, format, args);
	va_end(args);
}

void up_add_symptom(struct up_attribution *a, const char *format, ...)
{
	va_list args;

	if (a->n_symptoms == UP_SYMPTOMS_MAX)
		return;
	va_start(args, format);
	vsnprintf(a->symptom[a->n_symptoms++], UP_LINE_BYTES, format, args);
	va_end(args);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double up_median(double *values, size_t n)
{
	if (n == 0)
		return NAN;
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int up_comparison_make(struct up_comparison *ret, const struct up_recording *recording, const struct up_subject *subject,
	const struct up_rules *rules, const int64_t bad[2], const int64_t (*good)[2], size_t n_good)
{
	struct up_comparison c = { .recording = recording, .subject = subject, .rules = rules };

	c.good = calloc(n_good + 1, sizeof(*c.good));
	if (!c.good)
		return -ENOMEM;
	up_states_compute(recording, subject, bad[0], bad[1], &c.bad);
	for (size_t i = 0; i < n_good; i++) {
		up_states_compute(recording, subject, good[i][0], good[i][1], &c.good[c.n_good]);
		if (c.good[c.n_good].known && c.good[c.n_good].ticks >= UP_TICKS_MIN && c.good[c.n_good].x_per_s > 0)
			c.n_good++;
	}
	*ret = c;
	return 0;
}

void up_comparison_done(struct up_comparison *c)
{
	free(c->good);
	c->good = NULL;
}

double up_good_median(const struct up_comparison *c, const struct up_station *station,
	double (*of)(const struct up_states *states, const struct up_station *station))
{
	double values[UP_GOOD_MAX];
	size_t n = 0;

	for (size_t i = 0; i < c->n_good && n < UP_GOOD_MAX; i++) {
		const struct up_station *same = up_states_find(&c->good[i], station);
		const double value = same ? of(&c->good[i], same) : NAN;

		if (!isnan(value))
			values[n++] = value;
	}
	return up_median(values, n);
}

double up_good_states_median(const struct up_comparison *c, double (*of)(const struct up_states *states))
{
	double values[UP_GOOD_MAX];
	size_t n = 0;

	for (size_t i = 0; i < c->n_good && n < UP_GOOD_MAX; i++) {
		values[n] = of(&c->good[i]);
		n += !isnan(values[n]);
	}
	return up_median(values, n);
}

double up_states_residence_ms(const struct up_states *states)
{
	return states->residence_ms;
}

double up_states_in_flight(const struct up_states *states)
{
	return states->n;
}

static double utilization_of(const struct up_states *states, const struct up_station *station)
{
	(void)states;
	return station->utilization;
}

static double waiting_of(const struct up_states *states, const struct up_station *station)
{
	(void)states;
	return station->waiting;
}

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

struct up_suspect up_suspect_of(const struct up_comparison *c, const struct up_station *station, double level_ms)
{
	struct up_suspect s = {
		.kind = station->kind,
		.servers = station->servers,
		.hold_good_ms = up_good_median(c, station, up_station_hold_ms),
		.hold_bad_ms = up_station_hold_ms(&c->bad, station),
		.residence_good_ms = up_good_median(c, station, up_station_residence_ms),
		.residence_bad_ms = up_station_residence_ms(&c->bad, station),
		.utilization_good = up_good_median(c, station, utilization_of),
		.utilization = station->utilization,
		.waiting_good = up_good_median(c, station, waiting_of),
		.waiting = station->waiting,
	};
	size_t named = station->track;

	if (station->kind == UP_STATION_CONNECTIONS && station->limit_track != SIZE_MAX)
		named = station->limit_track;
	s.growth_ms = s.residence_bad_ms - or_zero(s.residence_good_ms);
	s.share = level_ms > 0 ? s.growth_ms / level_ms : NAN;
	snprintf(s.resource, sizeof(s.resource), "%s", up_station_resource(station->kind));
	snprintf(s.target, sizeof(s.target), "%s", c->subject->target ? c->subject->target : "");
	s.scope = UP_SCOPE_CGROUP;
	if (named != SIZE_MAX) {
		snprintf(s.name, sizeof(s.name), "%s", c->recording->track[named].name);
		s.scope = c->recording->track[named].scope;
	} else {
		snprintf(s.name, sizeof(s.name), "%s", c->subject->target ? c->subject->target : "host");
	}
	if (station->kind == UP_STATION_CONNECTIONS && station->limit_track == SIZE_MAX)
		s.scope = UP_SCOPE_PROCESS;
	return s;
}
