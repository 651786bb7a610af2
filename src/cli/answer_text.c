/* The answer for people: at most 15 lines, the suspect first. */
#include <math.h>
#include <stdio.h>

#include "answer.h"

#define EVIDENCE_SHOWN 4
#define SYMPTOMS_SHOWN 2
#define BUSY_SHOWN 3
#define BUSY 0.8 /* the condition `busy` of a row */
#define THROTTLED 0.25 /* the condition `saturated` of a cpu row */

static void print_suspect(FILE *out, const char *what, const struct up_suspect *s)
{
	char name[512];

	up_cli_clean(s->name, name, sizeof(name));
	fprintf(out, "%s: %s %s", what, s->resource, name);
	if (isfinite(s->hold_good_ms) && isfinite(s->hold_bad_ms))
		fprintf(out, "; one request holds it %s ms in good steps, %s ms at the knee", up_figure(s->hold_good_ms).text,
			up_figure(s->hold_bad_ms).text);
	if (isfinite(s->utilization))
		fprintf(out, "; utilization %s", up_figure(s->utilization).text);
	if (isfinite(s->share))
		fprintf(out, "; explains %.0f %% of the growth", 100 * fmin(1, s->share));
	fputc('\n', out);
}

static void print_ceilings(FILE *out, const struct up_answer *answer)
{
	size_t shown = 0;

	for (size_t i = 0; i < answer->n_ceilings && shown < 3; i++) {
		const struct up_ceiling *c = &answer->ceiling[i];
		char name[512];

		if (!isfinite(c->ceiling_per_s))
			break;
		up_cli_clean(c->name, name, sizeof(name));
		fprintf(out, "%s%s %s at %s/s%s", shown++ ? ", then " : "ceilings: ", c->resource, name,
			up_figure(c->ceiling_per_s).text, c->suspect ? " (the suspect)" : "");
	}
	if (shown)
		fprintf(out, " (upper bounds: servers / hold time)\n");
}

/* Without a verdict: what was near its limit over the whole run. A run at one load has nothing to be compared with, but people want to
 * know that it ran at its quota. Targets come before the host. */
static void print_busy(FILE *out, const struct up_recording *recording)
{
	size_t shown = 0;

	for (int host = 0; host < 2; host++) {
		for (size_t i = 0; i < recording->n_tracks && shown < BUSY_SHOWN; i++) {
			const struct up_track *track = &recording->track[i];
			struct up_reading reading;
			char name[512];

			if ((track->scope == UP_SCOPE_HOST) != host || track->resource == UP_RES_CPU_OUTSIDE)
				continue;
			up_track_read(recording, track, INT64_MIN, INT64_MAX, &reading);
			if (!(reading.utilization >= BUSY) && !(track->resource == UP_RES_CPU && reading.saturation >= THROTTLED))
				continue;
			up_cli_clean(track->name, name, sizeof(name));
			fprintf(out, "%s%s %s %s", shown++ ? ", " : "over the whole run: ", up_resource_name(track->resource),
				name, up_figure(reading.utilization).text);
			if (track->resource == UP_RES_CPU && reading.saturation > 0)
				fprintf(out, " (throttled in %.0f %% of periods)", 100 * reading.saturation);
		}
	}
	if (shown)
		fprintf(out, " of what it may use; which load it can bear, steps of load tell (--load FILE)\n");
}

void up_answer_print(FILE *out, const struct up_report *report)
{
	const struct up_answer *answer = report->answer;
	const struct up_attribution *a = &answer->attribution;

	fprintf(out, "\n");
	if (*answer->notes)
		fprintf(out, "%s: %s\n", answer->samples, answer->notes);
	if (answer->row_knee.found)
		fprintf(out,
			"knee by the kernel's counts: %s s into the run; %s/s completed before it, %s/s in it (offered rate not known: no load file)\n",
			up_figure(answer->row_knee.at_s).text, up_figure(answer->row_knee.good_per_s).text,
			up_figure(answer->row_knee.bad_per_s).text);
	fprintf(out, "verdict: %s: %s\n", up_bottleneck_verdict_name(a->verdict), a->reason);
	if (a->has_suspect)
		print_suspect(out, a->verdict == UP_BOTTLENECK_UNKNOWN ? "doubted" : "suspect", &a->suspect);
	else if (a->verdict == UP_BOTTLENECK_NONE || a->verdict == UP_BOTTLENECK_UNKNOWN)
		print_busy(out, &answer->recording);
	if (a->has_runner_up)
		print_suspect(out, "runner-up", &a->runner_up);
	for (size_t i = 0; i < a->n_evidence && i < EVIDENCE_SHOWN; i++)
		fprintf(out, "  evidence: %s\n", a->evidence[i]);
	for (size_t i = 0; i < a->n_symptoms && i < SYMPTOMS_SHOWN; i++)
		fprintf(out, "  symptom, not cause: %s\n", a->symptom[i]);
	if (*a->falsifier)
		fprintf(out, "would prove it wrong: %s\n", a->falsifier);
	if (*a->next)
		fprintf(out, "next: %s\n", a->next);
	print_ceilings(out, answer);
	if (isfinite(a->unexplained_share))
		fprintf(out, "unexplained: %.0f %% of the requests inside\n", 100 * a->unexplained_share);
	if (report->has_load && !answer->shift.known)
		fprintf(out, "clocks: taken as equal (%s)\n", answer->shift.reason);
	else if (report->has_load && fabs(answer->shift.shift_s) > 0)
		fprintf(out, "clocks: the load file's shifted by %+.3f s (+-%.3f)\n", answer->shift.shift_s,
			answer->shift.uncertainty_s);
}
