/* `useprobe report -o FILE.html|.md`: gathers what the page shows. */
#include "report_page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "answer.h"

enum { USE_ROWS_MAX = 400 };

/* What the page needs beyond the report. */
struct gathered {
	struct up_heat heat;
	struct up_summary overall;
	struct up_report_facts facts;
	struct up_use_row *use;
	struct up_page_level then_name, now_name;
};

static int gather_load(struct up_report *report, struct gathered *g, struct up_page *page)
{
	struct up_dist dist;
	int r;

	page->load = &report->load;
	page->curve = &report->curve;
	page->knee = &report->knee;
	page->requested = report->requested;
	r = up_load_dist(&report->load, &up_select_all, &dist);
	if (r < 0)
		return r;
	up_dist_summary(&dist, report->load.failed_known, &g->overall);
	up_dist_done(&dist);
	page->overall = &g->overall;
	r = up_heat_build(&report->load, &g->heat);
	if (r == 0)
		page->heat = &g->heat;
	return r == -ENODATA ? 0 : r;
}

/* The stretches of the USE table: the last good step and the first bad one; an episode; else everything. */
static void choose_windows(const struct up_report *report, struct gathered *g, struct up_page *page)
{
	const struct up_answer *answer = report->answer;
	const struct up_attribution *a = &answer->attribution;
	const struct up_knee *knee = &report->knee;
	const int64_t shift_us = answer->shift.known ? (int64_t)llround(answer->shift.shift_s * 1e6) : 0;
	const bool dated = report->has_load && !report->curve.undated;

	page->use_now = (struct up_use_window){ INT64_MIN, INT64_MAX };
	page->use_now_name = "the whole recording";
	if (dated && knee->verdict == UP_KNEE_FOUND && knee->bad >= 0) {
		const struct up_step *bad = &report->curve.step[knee->bad];

		page->use_now = (struct up_use_window){ bad->settled_us + shift_us, bad->end_us + shift_us };
		g->now_name = up_page_level(&report->curve, knee->bad);
		page->use_now_name = g->now_name.text;
		if (knee->good >= 0) {
			const struct up_step *good = &report->curve.step[knee->good];

			page->use_then = (struct up_use_window){ good->settled_us + shift_us, good->end_us + shift_us };
			g->then_name = up_page_level(&report->curve, knee->good);
			page->use_then_name = g->then_name.text;
		}
	} else if (a->from_us < a->to_us) {
		page->use_now = (struct up_use_window){ a->from_us, a->to_us };
		page->use_now_name = "the episode that stood out";
	}
}

static int gather_samples(
	const struct up_report *report, const struct up_report_args *args, struct gathered *g, struct up_page *page)
{
	const struct up_answer *answer = report->answer;

	page->recording = &answer->recording;
	page->samples_name = answer->samples;
	page->samples_notes = answer->notes;
	page->target = *answer->target ? answer->target : NULL;
	page->states = answer->states;
	page->attribution = &answer->attribution;
	page->ceiling = answer->ceiling;
	page->n_ceilings = answer->n_ceilings;
	page->shift = &answer->shift;
	choose_windows(report, g, page);
	g->use = calloc(USE_ROWS_MAX, sizeof(*g->use));
	if (!g->use)
		return -ENOMEM;
	page->use = g->use;
	page->n_use = up_use_table(&answer->recording, page->use_then, page->use_now, g->use, USE_ROWS_MAX, &page->n_use_without);
	return up_report_facts_read(args->samples, &g->facts);
}

int up_report_page(struct up_report *report, const struct up_report_args *args, struct up_buffer *ret)
{
	struct gathered *g = calloc(1, sizeof(*g));
	struct up_page page = { .version = UP_VERSION,
		.slo_text = args->slo_text,
		.slo = report->slo.n ? &report->slo : NULL,
		.slo_met = report->slo_met,
		.slo_good = report->slo_good,
		.peak_per_s = report->peak_per_s,
		.offered_stated = args->n_offered > 0,
		.n_settled = report->n_settled,
		.n_little_ok = report->n_little_ok,
		.little_worst_ratio = report->little_worst_ratio };
	int r = g ? 0 : -ENOMEM;

	if (r == 0 && report->has_load)
		r = gather_load(report, g, &page);
	if (r == 0 && report->answer)
		r = gather_samples(report, args, g, &page);
	if (r == 0) {
		page.fact = g->facts.fact;
		page.n_facts = g->facts.n;
		r = args->kind == UP_OUTPUT_HTML ? up_page_html(&page, ret) : up_page_markdown(&page, ret);
	}
	if (g) {
		up_heat_done(&g->heat);
		up_report_facts_done(&g->facts);
		free(g->use);
	}
	free(g);
	return r;
}
