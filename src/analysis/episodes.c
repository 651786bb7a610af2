/* Episodes: a run that follows its load can still hurt for a moment. Stretches in which the requests inside leave the run's own band. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_internal.h"

static const double band_sigmas = 3 * 1.4826;
static const double band_ratio = 1; /* an episode holds at least twice the usual number of requests */
static const double band_floor = 2; /* and two more than usual: fewer are the chance of a quiet service */
static const double shortest_s = 0.95; /* a second, and a tick that came early */

struct cells {
	size_t n;
	int64_t *to_us; /* [n] end of each tick's window */
	double *inside; /* [n] */
	double *frozen; /* [n] share */
	double *sorted; /* [n] scratch */
};

static int cells_make(
	const struct up_recording *r, const struct up_subject *subject, int64_t from_us, int64_t to_us, struct cells *ret)
{
	struct up_states *states = malloc(sizeof(*states));
	struct cells cells = { .to_us = malloc((r->n_ticks + 1) * sizeof(int64_t)),
		.inside = malloc(3 * (r->n_ticks + 1) * sizeof(double)) };

	if (!states || !cells.to_us || !cells.inside) {
		free(states);
		free(cells.to_us);
		free(cells.inside);
		return -ENOMEM;
	}
	cells.frozen = cells.inside + r->n_ticks + 1;
	cells.sorted = cells.frozen + r->n_ticks + 1;
	for (size_t i = 1; i < r->n_ticks; i++) {
		if (r->tick[i - 1].wall_us < from_us || r->tick[i].wall_us > to_us)
			continue;
		up_states_compute(r, subject, r->tick[i - 1].wall_us, r->tick[i].wall_us, states);
		if (!states->known && !(states->frozen_share > 0))
			continue;
		cells.to_us[cells.n] = r->tick[i].wall_us;
		cells.inside[cells.n] = states->n;
		cells.frozen[cells.n] = states->frozen_share;
		cells.n++;
	}
	free(states);
	*ret = cells;
	return 0;
}

static double limit_of(struct cells *cells, double *ret_usual)
{
	double median, mad;

	memcpy(cells->sorted, cells->inside, cells->n * sizeof(double));
	median = up_median(cells->sorted, cells->n);
	for (size_t i = 0; i < cells->n; i++)
		cells->sorted[i] = fabs(cells->inside[i] - median);
	mad = up_median(cells->sorted, cells->n);
	*ret_usual = median;
	return median + fmax(band_sigmas * mad, fmax(band_ratio * median, band_floor));
}

/* Keeps the MAX worst (largest area beyond the usual) in order. */
static void keep(struct up_episode *ret, size_t max, size_t count, const struct up_episode *episode)
{
	size_t k = count < max ? count : max;

	if (max == 0)
		return;
	for (; k > 0; k--) {
		const struct up_episode *other = &ret[k - 1];
		const double area = (episode->in_flight - episode->usual) * (double)(episode->to_us - episode->from_us);

		if ((other->in_flight - other->usual) * (double)(other->to_us - other->from_us) >= area)
			break;
		if (k < max)
			ret[k] = *other;
	}
	if (k < max)
		ret[k] = *episode;
}

int up_episodes_find(const struct up_recording *recording, const struct up_subject *subject, int64_t from_us, int64_t to_us,
	struct up_episode *ret, size_t max)
{
	struct cells cells;
	double usual, limit, area = 0;
	int count = 0, r = cells_make(recording, subject, from_us, to_us, &cells);

	if (r < 0)
		return r;
	limit = limit_of(&cells, &usual);
	for (size_t i = 0, first = 0; i <= cells.n; i++) {
		/* A frozen target answers nothing, and its requests are counted when it wakes: being frozen is an episode of its own. */
		const bool out = i < cells.n && (cells.inside[i] > limit || cells.frozen[i] >= 0.5);

		if (out) {
			area += cells.inside[i];
			continue;
		}
		if (i > first && first < cells.n) {
			const struct up_episode episode = { .from_us = first ? cells.to_us[first - 1] : from_us,
				.to_us = cells.to_us[i - 1],
				.in_flight = area / (double)(i - first),
				.usual = usual };

			if ((double)(episode.to_us - episode.from_us) >= shortest_s * 1e6)
				keep(ret, max, (size_t)count++, &episode);
		}
		first = i + 1;
		area = 0;
	}
	free(cells.to_us);
	free(cells.inside);
	return count;
}
