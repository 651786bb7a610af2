#include "answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/csv_reader.h"

static int read_rows(struct up_answer *answer, struct up_csv_reader *reader)
{
	struct up_rows rows;
	struct up_tick tick;
	int r = up_rows_init(&rows);

	while (r == 0) {
		r = up_csv_reader_tick(reader, &rows, &tick);
		if (r <= 0)
			break;
		r = up_recording_add(&answer->recording, &tick, &rows);
	}
	up_rows_done(&rows);
	return r;
}

static int read_samples(struct up_answer *answer, const char *path)
{
	struct up_csv_reader *reader;
	char message[512];
	int r = up_csv_reader_open(path, &reader, message, sizeof(message));

	if (r == -EBADMSG) {
		fprintf(stderr, "useprobe: %s: %s\n", path, message);
		return 2;
	}
	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", path, strerror(-r));
		return r == -ENOENT ? 2 : 1;
	}
	r = read_rows(answer, reader);
	up_csv_notes_text(up_csv_reader_notes(reader), message, sizeof(message));
	up_cli_clean(message, answer->notes, sizeof(answer->notes));
	up_cli_clean(path, answer->samples, sizeof(answer->samples));
	up_csv_reader_close(reader);
	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", path, strerror(-r));
		return 1;
	}
	if (answer->recording.n_ticks == 0) {
		fprintf(stderr, "useprobe: %s holds no samples\n", path);
		return 2;
	}
	return 0;
}

/* Starts of the load file and arrivals of the kernel, in cells of a second. */
struct series {
	double *cell;
	size_t n;
	int64_t start_s;
};

static int series_make(struct series *series, int64_t from_us, int64_t to_us)
{
	const int64_t first = from_us / 1000000, last = to_us / 1000000;

	if (last < first || last - first > 7 * 86400)
		return -EINVAL;
	series->start_s = first;
	series->n = (size_t)(last - first) + 1;
	series->cell = calloc(series->n, sizeof(*series->cell));
	return series->cell ? 0 : -ENOMEM;
}

static int count_starts(void *ctx, struct up_point *block, size_t n)
{
	struct series *series = ctx;

	for (size_t i = 0; i < n; i++) {
		const int64_t cell = block[i].start_us / 1000000 - series->start_s;

		if (cell >= 0 && (uint64_t)cell < series->n)
			series->cell[cell]++;
	}
	return 0;
}

/* Arrivals of a window are spread evenly over it: windows do not begin on whole seconds. */
static void count_arrivals(struct series *series, const struct up_recording *recording, const struct up_track *track)
{
	for (size_t i = 0; i < track->n; i++) {
		const float arrivals = track->figure ? track->figure[i * UP_FIGURES + UP_FIG_ARRIVALS] : NAN;
		const double end_s = (double)recording->tick[track->at[i].tick].wall_us / 1e6;
		const double window_s = track->at[i].window_s, begin_s = end_s - window_s;

		if (!(arrivals > 0) || !(window_s > 0))
			continue;
		const double first = fmax(0, floor(begin_s) - (double)series->start_s);

		for (size_t cell = (size_t)fmin(first, (double)series->n); cell < series->n; cell++) {
			const double s = (double)series->start_s + (double)cell;

			if (s >= end_s)
				break;
			series->cell[cell] += (double)arrivals * (fmin(end_s, s + 1) - fmax(begin_s, s)) / window_s;
		}
	}
}

static int find_shift(struct up_answer *answer, struct up_report *report)
{
	const struct up_recording *recording = &answer->recording;
	struct series load = { 0 }, kernel = { 0 };
	int r = series_make(&load, report->load.first_start_us, report->load.last_end_us);

	if (r == 0)
		r = series_make(&kernel, recording->tick[0].wall_us - 1000000, recording->tick[recording->n_ticks - 1].wall_us);
	if (r == 0)
		r = up_points_each(&report->load.points, 0, count_starts, &load);
	for (size_t i = 0; r == 0 && i < recording->n_tracks; i++)
		if (recording->track[i].resource == UP_RES_REQUESTS)
			count_arrivals(&kernel, recording, &recording->track[i]);
	if (r == 0)
		r = up_shift_find(load.cell, load.n, (double)load.start_s, kernel.cell, kernel.n, (double)kernel.start_s, 1,
			&answer->shift);
	free(load.cell);
	free(kernel.cell);
	return r;
}

static size_t make_stages(const struct up_report *report, struct up_stage *ret)
{
	static const enum up_stage_verdict verdicts[] = { UP_STAGE_UNJUDGED, UP_STAGE_GOOD, UP_STAGE_BAD };

	for (size_t i = 0; i < report->curve.n; i++) {
		const struct up_step *step = &report->curve.step[i];

		ret[i] = (struct up_stage){
			.from_us = step->settled_us,
			.to_us = step->end_us,
			.offered_per_s = step->offered_per_s,
			.achieved_per_s = step->achieved_per_s,
			.in_flight = step->in_flight,
			.verdict = verdicts[step->verdict],
		};
	}
	return report->curve.n;
}

static void compute_states(struct up_answer *answer, const struct up_stage *stages, size_t n, int64_t shift_us)
{
	struct up_subject subject;

	if (up_subjects(&answer->recording, &subject, 1) == 0)
		return;
	snprintf(answer->target, sizeof(answer->target), "%s", subject.target ? subject.target : "host");
	for (size_t i = 0; i < n; i++)
		up_states_compute(&answer->recording, &subject, stages[i].from_us + shift_us, stages[i].to_us + shift_us,
			&answer->states[i]);
}

/* What the kernel counted inside the target over what the generator had in flight tells a generator that could not send from a server
 * that kept it waiting: the curve is judged again with it. */
static void judge_with_kernel(const struct up_answer *answer, struct up_report *report)
{
	const int bad = report->knee.bad;
	const double generator = bad < 0 ? 0 : report->curve.step[bad].in_flight;
	struct up_knee_options options;

	if (bad < 0 || !answer->states[bad].known || !(generator > 0))
		return;
	options.kernel_in_flight_ratio = answer->states[bad].n / generator;
	up_knee_find(&report->curve, &options, &report->knee);
	report->expected.known = report->expected.known && report->knee.verdict == UP_KNEE_FOUND;
}

/* Clocks, stages and the curve's verdict, as far as there is a load file. */
static int take_load(
	struct up_answer *answer, struct up_report *report, struct up_stage *stages, struct up_attribution_input *input)
{
	int r = find_shift(answer, report);

	if (r < 0 && r != -EINVAL)
		return r;
	if (answer->shift.known) {
		input->shift_us = (int64_t)llround(answer->shift.shift_s * 1e6);
		input->uncertainty_s = answer->shift.uncertainty_s;
	} else {
		input->uncertainty_s = 1;
	}
	input->n_stages = make_stages(report, stages);
	compute_states(answer, stages, input->n_stages, input->shift_us);
	judge_with_kernel(answer, report);
	input->bad = report->knee.verdict == UP_KNEE_FOUND ? report->knee.bad : -1;
	input->collapse = report->knee.collapse;
	input->generator_bound = report->knee.generator_bound;
	input->generator_reason = report->knee.generator_bound ? report->knee.reason : NULL;
	return 0;
}

static int compute(struct up_answer *answer, struct up_report *report, const struct up_rules *rules)
{
	struct up_stage *stages = calloc(UP_STEPS_MAX, sizeof(*stages));
	struct up_attribution_input input = {
		.recording = &answer->recording, .stage = stages, .bad = -1, .collapse = -1, .rules = rules
	};
	int r = stages ? 0 : -ENOMEM, n;

	snprintf(answer->shift.reason, sizeof(answer->shift.reason), "no load file");
	if (r == 0 && report->has_load && report->curve.undated)
		snprintf(answer->shift.reason, sizeof(answer->shift.reason), "the load file has no dates");
	else if (r == 0 && report->has_load)
		r = take_load(answer, report, stages, &input);
	else if (r == 0)
		r = up_row_knee_find(&answer->recording, stages, UP_STEPS_MAX, &input, &answer->row_knee);
	if (r >= 0)
		r = up_attribution_find(&input, &answer->attribution);
	if (r == 0) {
		n = up_ceilings_find(&input, &answer->attribution, answer->ceiling, UP_CEILINGS_MAX);
		r = n < 0 ? n : 0;
		answer->n_ceilings = n < 0 ? 0 : (size_t)n;
	}
	free(stages);
	return r;
}

int up_answer_find(struct up_report *report, const char *samples, const struct up_rules *rules)
{
	struct up_answer *answer = calloc(1, sizeof(*answer));
	int r;

	if (!answer || up_recording_init(&answer->recording) < 0) {
		free(answer);
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	report->answer = answer;
	r = read_samples(answer, samples);
	if (r != 0)
		return r;
	r = compute(answer, report, rules);
	if (r < 0)
		fprintf(stderr, "useprobe: %s: %s\n", samples, strerror(-r));
	return r < 0 ? 1 : 0;
}

void up_answer_done(struct up_report *report)
{
	if (!report->answer)
		return;
	up_recording_done(&report->answer->recording);
	free(report->answer);
	report->answer = NULL;
}
