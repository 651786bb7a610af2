/* One track over a stretch of time. */
#include <math.h>

#include "useprobe/recording.h"

/* Sum of value times time, and the time where the value was known. */
struct mean {
	double sum, seconds, max;
};

static void mean_add(struct mean *mean, double value, double seconds)
{
	if (isnan(value))
		return;
	mean->max = mean->seconds > 0 ? fmax(mean->max, value) : value;
	mean->sum += value * seconds;
	mean->seconds += seconds;
}

static double mean_of(const struct mean *mean)
{
	return mean->seconds > 0 ? mean->sum / mean->seconds : NAN;
}

static void read_figure(const struct up_track *track, size_t first, size_t last, struct up_reading *ret)
{
	for (size_t f = 0; f < UP_FIGURES; f++) {
		double sum = 0, seconds = 0, min = NAN, max = NAN;

		for (size_t i = first; i < last; i++) {
			const double value = (double)track->figure[i * UP_FIGURES + f];
			const double window_s = (double)track->at[i].window_s;

			if (isnan(value))
				continue;
			sum += up_figure_is_count((enum up_row_figure)f) ? value : value * window_s;
			seconds += window_s;
			min = fmin(min, value);
			max = fmax(max, value);
		}
		ret->figure_min[f] = min;
		ret->figure_max[f] = max;
		if (seconds > 0)
			ret->figure[f] = up_figure_is_count((enum up_row_figure)f) ? sum : sum / seconds;
	}
}

static int64_t middle_us(const struct up_recording *recording, const struct up_sample *sample)
{
	return recording->tick[sample->tick].wall_us - (int64_t)((double)sample->window_s * 5e5);
}

/* First sample whose middle is at or after US. */
static size_t lower_bound(const struct up_recording *recording, const struct up_track *track, int64_t us)
{
	size_t lo = 0, hi = track->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (middle_us(recording, &track->at[mid]) < us)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void up_track_read(const struct up_recording *recording, const struct up_track *track, int64_t from_us, int64_t to_us,
	struct up_reading *ret)
{
	struct mean utilization = { 0 }, saturation = { 0 }, waiting = { 0 }, servers = { 0 }, errors = { 0 };
	const size_t first = lower_bound(recording, track, from_us);
	size_t last = first;

	*ret = (struct up_reading){ 0 };
	for (size_t f = 0; f < UP_FIGURES; f++)
		ret->figure[f] = ret->figure_min[f] = ret->figure_max[f] = NAN;
	for (; last < track->n && middle_us(recording, &track->at[last]) < to_us; last++) {
		const struct up_sample *sample = &track->at[last];
		const double window_s = (double)sample->window_s;

		ret->covered_s += window_s;
		mean_add(&utilization, (double)sample->utilization, window_s);
		mean_add(&saturation, (double)sample->saturation, window_s);
		mean_add(&waiting, (double)sample->waiting, window_s);
		mean_add(&servers, (double)sample->servers, window_s);
		mean_add(&errors, (double)sample->errors, 1);
		if (sample->text)
			ret->text = sample->text;
	}
	ret->samples = last - first;
	ret->utilization = mean_of(&utilization);
	ret->saturation = mean_of(&saturation);
	ret->waiting = mean_of(&waiting);
	ret->servers = mean_of(&servers);
	ret->utilization_max = utilization.seconds > 0 ? utilization.max : NAN;
	ret->saturation_max = saturation.seconds > 0 ? saturation.max : NAN;
	ret->errors = errors.seconds > 0 ? errors.sum : NAN;
	if (track->figure)
		read_figure(track, first, last, ret);
}
