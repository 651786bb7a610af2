#include "useprobe/use_table.h"

#include <math.h>
#include <stdlib.h>

static const double quiet_utilization = 0.01, quiet_waiting = 0.01;

static void read_whole(const struct up_track *track, struct up_use_row *row)
{
	row->utilization_peak = row->saturation_peak = row->waiting_peak = row->errors = NAN;
	for (size_t i = 0; i < track->n; i++) {
		const struct up_sample *sample = &track->at[i];

		row->utilization_peak = fmax(row->utilization_peak, (double)sample->utilization);
		row->saturation_peak = fmax(row->saturation_peak, (double)sample->saturation);
		row->waiting_peak = fmax(row->waiting_peak, (double)sample->waiting);
		if (!isnan(sample->errors))
			row->errors = (isnan(row->errors) ? 0 : row->errors) + (double)sample->errors;
	}
}

static bool has_figure(const struct up_use_row *row)
{
	return !(isnan(row->utilization_peak) && isnan(row->saturation_peak) && isnan(row->waiting_peak) && isnan(row->errors));
}

/* More is more urgent; the steps are those of a row's condition. */
static double urgency(const struct up_use_row *row)
{
	const struct up_reading *now = &row->now;
	const double servers = isnan(now->servers) ? 1 : fmax(1, now->servers);
	const double waiting = isnan(now->waiting) ? 0 : now->waiting, used = isnan(now->utilization) ? 0 : now->utilization;
	double score = fmin(used, 2);

	if (waiting >= fmax(0.5, 0.1 * servers))
		score += 10 + fmin(waiting / servers, 1000) / 1001;
	if (now->errors > 0)
		score += 20;
	return row->quiet ? score - 100 : score;
}

static int by_urgency(const void *a, const void *b)
{
	const struct up_use_row *x = a, *y = b;
	const double more = urgency(y) - urgency(x);

	if (more != 0)
		return more > 0 ? 1 : -1;
	return x->track < y->track ? -1 : 1;
}

size_t up_use_table(const struct up_recording *recording, struct up_use_window then, struct up_use_window now,
	struct up_use_row *ret, size_t max, size_t *ret_without)
{
	size_t n = 0, without = 0;

	for (size_t i = 0; i < recording->n_tracks; i++) {
		struct up_use_row row = { .track = i };

		read_whole(&recording->track[i], &row);
		if (!has_figure(&row)) {
			without++;
			continue;
		}
		if (n == max)
			break;
		up_track_read(recording, &recording->track[i], then.from_us, then.to_us, &row.then);
		up_track_read(recording, &recording->track[i], now.from_us, now.to_us, &row.now);
		row.quiet = !(row.utilization_peak >= quiet_utilization) && !(row.waiting_peak >= quiet_waiting) &&
			    !(row.errors > 0) && !(row.saturation_peak >= quiet_utilization);
		ret[n++] = row;
	}
	qsort(ret, n, sizeof(*ret), by_urgency);
	*ret_without = without;
	return n;
}
