#include "live_knee.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/number.h"
#include "useprobe/sink.h"
#include "useprobe/steps.h"

/* Some 15 MB with a hundred rows: half an hour at one a second. A ladder that is longer begins anew. */
enum { LIVE_KNEE_TICKS = 1800, SHOWN = 6 };
static const uint64_t look_every_ns = 5 * UP_NS_PER_S;

static void append(char *text, size_t size, const char *more)
{
	const size_t n = strlen(text);

	snprintf(text + n, size - n, "%s", more);
}

/* The last windows: "load 98 > 1.2  197 > 2.5  301 > 31!": requests a second, and how many were inside; ! is a bad one. */
static void write_curve(const struct up_stage *stage, int n, char *text, size_t size)
{
	int first = n, shown = 0;

	*text = '\0';
	while (first > 0 && shown < SHOWN)
		shown += !isnan(stage[--first].inside);
	for (int i = first; i < n; i++) {
		char rate[UP_NUMBER_TEXT], inside[UP_NUMBER_TEXT], one[2 * UP_NUMBER_TEXT + 8];

		if (isnan(stage[i].inside))
			continue;
		up_number_short(stage[i].offered_per_s, rate);
		up_number_short(stage[i].inside, inside);
		snprintf(one, sizeof(one), "  %s>%s%s", rate, inside, stage[i].verdict == UP_STAGE_BAD ? "!" : "");
		append(text, size, *text ? "" : "requests/s > inside:");
		append(text, size, one);
	}
}

static void write_knee(const struct up_row_knee *knee, const struct up_attribution *a, char *text, size_t size)
{
	char good[UP_NUMBER_TEXT], bad[UP_NUMBER_TEXT], hold_good[UP_NUMBER_TEXT], hold_bad[UP_NUMBER_TEXT], used[UP_NUMBER_TEXT];
	const struct up_suspect *s = &a->suspect;

	up_number_short(knee->good_per_s, good);
	up_number_short(knee->bad_per_s, bad);
	snprintf(text, size, "KNEE at +%.0f s (%s, then %s/s): ", knee->at_s, good, bad);
	if (a->verdict != UP_BOTTLENECK_RESOURCE) {
		append(text, size, up_bottleneck_verdict_name(a->verdict));
		return;
	}
	append(text, size, s->resource);
	append(text, size, " ");
	append(text, size, s->name);
	if (!isnan(s->utilization)) {
		append(text, size, ", used ");
		append(text, size, up_number_short(s->utilization, used));
	}
	if (!isnan(s->hold_good_ms) && !isnan(s->hold_bad_ms)) {
		append(text, size, ", held ");
		append(text, size, up_number_short(s->hold_bad_ms, hold_bad));
		append(text, size, " ms a request (");
		append(text, size, up_number_short(s->hold_good_ms, hold_good));
		append(text, size, " before)");
	}
}

static void look(struct live_knee *knee, struct up_live *live)
{
	struct up_stage *stage = calloc(UP_STEPS_MAX, sizeof(*stage));
	struct up_attribution_input input = { .recording = &knee->recording, .stage = stage, .bad = -1, .collapse = -1 };
	struct up_attribution *answer = NULL;
	struct up_row_knee found;
	const int n = stage ? up_row_knee_find(&knee->recording, stage, UP_STEPS_MAX, &input, &found) : -1;

	if (n > 0)
		write_curve(stage, n, live->curve, sizeof(live->curve));
	if (n > 0 && found.found)
		answer = malloc(sizeof(*answer));
	if (answer && up_attribution_find(&input, answer) == 0) {
		write_knee(&found, answer, live->knee, sizeof(live->knee));
		knee->found = true;
	}
	free(answer);
	free(stage);
}

static void begin(struct live_knee *knee, struct up_live *live)
{
	live_knee_done(knee);
	*live->curve = *live->knee = '\0';
	knee->begun = up_recording_init(&knee->recording) == 0;
}

void live_knee_tick(struct live_knee *knee, const struct up_table *table, struct up_live *live)
{
	const uint64_t now_ns = table->tick.mono_ns ? table->tick.mono_ns : table->tick.elapsed_ns;

	if (!knee->begun || now_ns < knee->last_ns || (knee->recording.n_ticks >= LIVE_KNEE_TICKS && !knee->found))
		begin(knee, live);
	knee->last_ns = now_ns;
	if (!knee->begun || knee->found)
		return;
	if (up_recording_add(&knee->recording, &table->tick, &table->rows) < 0) {
		live_knee_done(knee);
		return;
	}
	if (now_ns - knee->looked_ns < look_every_ns)
		return;
	knee->looked_ns = now_ns;
	look(knee, live);
}

void live_knee_done(struct live_knee *knee)
{
	if (knee->begun)
		up_recording_done(&knee->recording);
	*knee = (struct live_knee){ 0 };
}
