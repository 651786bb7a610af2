/* The knee of a run without load file: nobody tells the offered rate, but the kernel counts what arrives, what leaves and what is inside. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution_internal.h"
#include "useprobe/knee.h"

static const double shortest_s = 5; /* five samples a second apart: what the walk asks of a good step */
static const double piled_ratio = 1.5; /* requests inside over those of the best window */
static const double piled_min = 2; /* and at least so many more: fewer are the chance of a quiet service */
static const double more_ratio = 1.05; /* departures that count as more than before */
enum { BAD_IN_A_ROW = 2, ARRIVALS_MIN = 5 };

struct window {
	double inside, arrivals, departures_per_s;
	bool known, bad;
};

/* The next window from tick *AT on: at least LENGTH_S long with at least five ticks in it. false at the end. */
static bool cut_window(const struct up_recording *r, size_t *at, double length_s, struct up_stage *ret)
{
	const size_t first = *at;

	for (size_t i = first + 1; i < r->n_ticks; i++) {
		const double for_s = (double)(r->tick[i].wall_us - r->tick[first].wall_us) / 1e6;

		if (i - first < UP_TICKS_MIN || for_s < length_s)
			continue;
		*ret = (struct up_stage){
			.from_us = r->tick[first].wall_us, .to_us = r->tick[i].wall_us, .in_flight = NAN, .inside = NAN
		};
		*at = i;
		return true;
	}
	return false;
}

/* More arrived than left, or more are inside than in the window that completed most so far, though hardly more is completed. */
static bool is_bad(const struct window *w, const struct window *best, double for_s)
{
	const double departures = w->departures_per_s * for_s;

	if (w->arrivals - departures > up_knee_slack(w->arrivals))
		return true;
	return best && w->inside >= piled_ratio * best->inside && w->inside - best->inside >= piled_min &&
	       w->departures_per_s <= more_ratio * best->departures_per_s;
}

static void measure(const struct up_recording *recording, const struct up_subject *subject, struct up_stage *stage,
	struct up_states *states, struct window *ret)
{
	up_states_compute(recording, subject, stage->from_us, stage->to_us, states);
	*ret = (struct window){ .inside = states->n,
		.arrivals = states->arrivals,
		.departures_per_s = states->x_per_s,
		.known = states->known && states->ticks >= UP_TICKS_MIN && states->arrivals >= ARRIVALS_MIN };
	stage->offered_per_s = states->covered_s > 0 ? states->arrivals / states->covered_s : NAN;
	stage->achieved_per_s = states->x_per_s;
	stage->inside = ret->known ? ret->inside : NAN;
}

static int judge_windows(struct up_stage *stage, struct window *window, size_t n)
{
	const struct window *best = NULL;
	size_t run = 0;

	for (size_t i = 0; i < n; i++) {
		const double for_s = (double)(stage[i].to_us - stage[i].from_us) / 1e6;

		if (!window[i].known) {
			run = 0;
			continue;
		}
		window[i].bad = is_bad(&window[i], best, for_s);
		run = window[i].bad ? run + 1 : 0;
		if (run == BAD_IN_A_ROW) {
			/* The first may have begun well: the second is bad all through. */
			stage[i - 1].verdict = stage[i].verdict = UP_STAGE_BAD;
			return (int)i;
		}
		if (window[i].bad)
			continue;
		stage[i].verdict = UP_STAGE_GOOD;
		if (!best || window[i].departures_per_s > best->departures_per_s)
			best = &window[i];
	}
	return -1;
}

int up_stages_from_rows(
	const struct up_recording *recording, const struct up_subject *subject, struct up_stage *ret, size_t max, int *ret_bad)
{
	const double span_s =
		recording->n_ticks ? (double)(recording->tick[recording->n_ticks - 1].wall_us - recording->tick[0].wall_us) / 1e6
				   : 0;
	struct window *window = calloc(max + 1, sizeof(*window));
	struct up_states *states = malloc(sizeof(*states));
	size_t n = 0, at = 0;

	if (!window || !states) {
		free(window);
		free(states);
		return -ENOMEM;
	}
	while (n < max && cut_window(recording, &at, fmax(shortest_s, span_s / (double)max), &ret[n])) {
		measure(recording, subject, &ret[n], states, &window[n]);
		n++;
	}
	*ret_bad = judge_windows(ret, window, n);
	free(window);
	free(states);
	return (int)n;
}

int up_row_knee_find(const struct up_recording *recording, struct up_stage *stage, size_t max, struct up_attribution_input *input,
	struct up_row_knee *ret)
{
	struct up_subject subject;
	int n;

	*ret = (struct up_row_knee){ 0 };
	if (up_subjects(recording, &subject, 1) == 0)
		return 0;
	n = up_stages_from_rows(recording, &subject, stage, max, &input->bad);
	if (n < 0)
		return n;
	ret->tried = n > 0;
	ret->found = input->bad >= 0;
	if (!ret->found)
		return n;
	input->n_stages = (size_t)n;
	for (int i = 0; i < input->bad; i++)
		if (stage[i].verdict == UP_STAGE_GOOD)
			ret->good_per_s = fmax(ret->good_per_s, stage[i].achieved_per_s);
	ret->bad_per_s = stage[input->bad].achieved_per_s;
	ret->at_s = (double)(stage[input->bad - 1].from_us - recording->tick[0].wall_us) / 1e6;
	return n;
}
