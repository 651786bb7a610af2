/* Head, goal and load. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "page_parts.h"

struct up_page_level up_page_level(const struct up_curve *curve, int index)
{
	const struct up_step *step = &curve->step[index];
	struct up_page_level level;

	if (curve->model.model != UP_MODEL_CLOSED)
		snprintf(level.text, sizeof(level.text), "%.4g/s", step->offered_per_s);
	else if (!isnan(step->users))
		snprintf(level.text, sizeof(level.text), "%.4g users", step->users);
	else
		snprintf(level.text, sizeof(level.text), "%.4g in flight", step->in_flight);
	return level;
}

struct up_amount up_page_clock(int64_t us, bool undated)
{
	const time_t seconds = (time_t)(us / 1000000);
	struct up_amount a;
	struct tm tm;

	if (undated || !gmtime_r(&seconds, &tm))
		snprintf(a.text, sizeof(a.text), "%.6g s", (double)us / 1e6);
	else
		snprintf(a.text, sizeof(a.text), "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	return a;
}

static struct up_amount date_of(int64_t us)
{
	const time_t seconds = (time_t)(us / 1000000);
	struct up_amount a = { "" };
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(a.text, sizeof(a.text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	return a;
}

bool up_page_has_states(const struct up_page *page)
{
	for (size_t i = 0; page->states && page->curve && i < page->curve->n; i++)
		if (page->states[i].known && page->states[i].n > 0 && isfinite(page->states[i].residence_ms))
			return true;
	return false;
}

void up_page_knee_words(const struct up_page *page, char *ret, size_t size)
{
	const struct up_knee *knee = page->knee;

	if (!knee)
		snprintf(ret, size, "not looked for");
	else if (knee->verdict != UP_KNEE_FOUND)
		snprintf(ret, size, "%s", up_knee_verdict_name(knee->verdict));
	else if (knee->good >= 0)
		snprintf(ret, size, "between %s and %s", up_page_level(page->curve, knee->good).text,
			up_page_level(page->curve, knee->bad).text);
	else
		snprintf(ret, size, "below %s", up_page_level(page->curve, knee->bad).text);
}

static void tile_suspect(struct up_doc *doc, const struct up_page *page)
{
	const struct up_attribution *a = page->attribution;
	char figure[400];

	if (!a) {
		up_doc_tile(doc, "Suspect", "not looked for", "no samples of the resources were given");
		return;
	}
	if (a->has_suspect && a->verdict != UP_BOTTLENECK_UNKNOWN)
		snprintf(figure, sizeof(figure), "%s %.300s", a->suspect.resource, up_plain(a->suspect.name).text);
	else
		snprintf(figure, sizeof(figure), "%s", up_bottleneck_verdict_name(a->verdict));
	up_doc_tile(doc, "Suspect", figure, "%s" UP_C, up_plain(a->reason).text);
}

static void tile_safe(struct up_doc *doc, const struct up_page *page)
{
	const struct up_knee *knee = page->knee;
	const struct up_step *step;
	char figure[80];

	if (!knee || knee->verdict != UP_KNEE_FOUND || knee->good < 0)
		return;
	step = &page->curve->step[knee->good];
	snprintf(figure, sizeof(figure), "%s" UP_M, up_page_level(page->curve, knee->good).text);
	up_doc_tile(doc, "Safe operating point", figure, "p95 %s" UP_M ", %s in flight" UP_C,
		up_ms(step->latency.q[UP_P95].ms).text, up_amount(step->in_flight).text);
}

static void tile_goal(struct up_doc *doc, const struct up_page *page)
{
	if (!page->slo_text || !page->curve || page->curve->n == 0)
		return;
	if (page->slo_good < 0)
		up_doc_tile(doc, "Objective", "missed at the first step", "%s" UP_A, up_plain(page->slo_text).text);
	else {
		char figure[80];

		snprintf(figure, sizeof(figure), "met up to %s" UP_C, up_page_level(page->curve, page->slo_good).text);
		up_doc_tile(doc, "Objective", figure, "%s" UP_A, up_plain(page->slo_text).text);
	}
}

void up_page_summary(struct up_doc *doc, const struct up_page *page)
{
	char words[160], figure[168];

	up_buffer_add(doc->out, doc->html ? "<header>\n<h1>Load test report" : "# Load test report");
	if (page->target) {
		up_buffer_add(doc->out, ": ");
		if (doc->html)
			up_html_text(doc->out, up_plain(page->target).text);
		else
			up_markdown_text(doc->out, up_plain(page->target).text);
	}
	up_buffer_add(doc->out, doc->html ? "</h1>\n" : "\n\n");
	if (page->load && !page->load->undated)
		up_doc_note(doc, "%s, %s under load", date_of(page->load->first_start_us).text,
			up_span_text((double)(page->load->last_end_us - page->load->first_start_us) / 1e6).text);
	else if (page->recording && page->recording->n_ticks)
		up_doc_note(doc, "%s", date_of(page->recording->tick[0].wall_us).text);
	up_doc_tiles(doc);
	if (page->knee) {
		up_page_knee_words(page, words, sizeof(words));
		snprintf(figure, sizeof(figure), "%s%s", words, page->knee->verdict == UP_KNEE_FOUND ? UP_C : "");
		up_doc_tile(doc, "Knee", figure, "%s" UP_C, up_plain(page->knee->reason).text);
	}
	tile_suspect(doc, page);
	tile_safe(doc, page);
	tile_goal(doc, page);
	up_doc_tiles_end(doc);
	up_doc_note(doc,
		"Marks at figures: " UP_M " measured, " UP_C " computed from measured figures, " UP_A
		" assumed: somebody stated it and nothing here checks it. An en dash means not measured; 0 is a measured zero.");
	up_buffer_add(doc->out, doc->html ? "</header>\n" : "");
}

static void say_objective(struct up_doc *doc, const struct up_page *page)
{
	const struct up_plain slo = up_plain(page->slo_text);
	if (!page->curve || page->curve->n == 0)
		up_doc_say(doc, "Objective: %s" UP_A ". Without steps of load it cannot be told whether it was met.", slo.text);
	else if (page->slo_good < 0)
		up_doc_say(doc, "Objective: %s" UP_A ". Missed" UP_C " already at the first step.", slo.text);
	else if ((size_t)page->slo_good + 1 == page->curve->n)
		up_doc_say(doc, "Objective: %s" UP_A ". Met" UP_C " at every step, up to %s" UP_M ".", slo.text,
			up_page_level(page->curve, page->slo_good).text);
	else
		up_doc_say(doc, "Objective: %s" UP_A ". Met" UP_C " up to %s" UP_M ", %s at %s" UP_M ".", slo.text,
			up_page_level(page->curve, page->slo_good).text,
			page->slo_met[page->slo_good + 1] == 0 ? "missed" : "not to be told",
			up_page_level(page->curve, page->slo_good + 1).text);
}

void up_page_goal(struct up_doc *doc, const struct up_page *page)
{
	up_doc_section(doc, "goal", "1. Goal");
	if (page->slo_text)
		say_objective(doc, page);
	else
		up_doc_say(doc, "No objective was stated (--slo).");
	if (isfinite(page->peak_per_s) && page->knee && isfinite(page->knee->capacity_per_s))
		up_doc_say(doc,
			"Planned peak: %s/s" UP_A ". The most that was completed in a step is %s/s" UP_M ": %s%s times" UP_C
			" the peak.",
			up_amount(page->peak_per_s).text, up_amount(page->knee->capacity_per_s).text,
			page->knee->verdict == UP_KNEE_FOUND ? "" : "at least ",
			up_amount(page->knee->capacity_per_s / page->peak_per_s).text);
	else if (isfinite(page->peak_per_s))
		up_doc_say(doc, "Planned peak: %s/s" UP_A ".", up_amount(page->peak_per_s).text);
	else
		up_doc_say(doc, "No peak was planned (--peak).");
	up_doc_say(doc, "Question of this report: up to which load does the service follow, and which resource stops it?");
	up_doc_section_end(doc);
}

static void file_table(struct up_doc *doc, const struct up_page *page)
{
	static const struct up_doc_column columns[] = { { "file", false }, { "format", false }, { "requests" UP_M, true },
		{ "lines left out" UP_M, true }, { "what its latency includes", false } };

	up_doc_table(doc, NULL, columns, UP_COUNT(columns));
	for (unsigned i = 0; i < page->load->n_files; i++) {
		const struct up_load_file *file = &page->load->file[i];

		up_doc_cell(doc, "%s", up_plain(file->path).text);
		up_doc_cell(doc, "%s", file->traits.name);
		up_doc_cell(doc, "%s", up_count((double)file->n_points).text);
		up_doc_cell(doc, "%s", up_count((double)file->skipped_lines).text);
		up_doc_cell(doc, "%s", file->traits.includes);
	}
	up_doc_table_end(doc);
}

static void file_remarks(struct up_doc *doc, const struct up_load *load)
{
	up_doc_list(doc);
	for (unsigned i = 0; i < load->n_files; i++) {
		const struct up_load_file *file = &load->file[i];

		if (file->traits.missing)
			up_doc_item(doc, "Not in %s: %s", up_plain(file->path).text, file->traits.missing);
		for (size_t k = 0; k < UP_COUNT(file->remark) && file->remark[k][0]; k++)
			up_doc_item(doc, "%s", up_plain(file->remark[k]).text);
		for (unsigned k = 0; k < file->n_notes; k++)
			up_doc_item(
				doc, "Line %" PRIu64 " was left out: %s", file->note[k].line, up_plain(file->note[k].text).text);
		if (file->cut)
			up_doc_item(doc, "The end of %s is cut off.", up_plain(file->path).text);
	}
	up_doc_list_end(doc);
}

static void step_table(struct up_doc *doc, const struct up_page *page)
{
	static const struct up_doc_column columns[] = { { "step", true }, { "start (UTC)", false }, { "length", true },
		{ "offered/s", true }, { "arrivals" UP_M, true }, { "dropped" UP_M, true }, { "sent late" UP_M, true } };
	const struct up_curve *curve = page->curve;

	up_doc_table(doc, NULL, columns, UP_COUNT(columns));
	for (size_t i = 0; i < curve->n; i++) {
		const struct up_step *step = &curve->step[i];

		up_doc_cell(doc, "%zu", i + 1);
		up_doc_cell(doc, "%s", up_page_clock(step->start_us, curve->undated).text);
		up_doc_cell(doc, "%s", up_span_text((double)(step->end_us - step->start_us) / 1e6).text);
		up_doc_cell(doc, "%s%s", up_amount(step->offered_per_s).text, page->offered_stated ? UP_A : UP_M);
		up_doc_cell(doc, "%s", up_count((double)step->arrivals).text);
		up_doc_cell(doc, "%s", up_count((double)step->dropped).text);
		up_doc_cell(doc, "%s", up_count((double)step->late).text);
	}
	up_doc_table_end(doc);
}

static void say_hidden(struct up_doc *doc, const struct up_page *page)
{
	uint64_t n = 0;
	double max_ms = NAN;

	for (size_t i = 0; i < page->curve->n; i++) {
		n += page->curve->step[i].hidden.n;
		max_ms = fmax(max_ms, page->curve->step[i].hidden.max_ms);
	}
	if (isfinite(page->curve->settle_share))
		up_doc_note(doc,
			"Of each step the first %s" UP_A " is left out as settling time: %s requests" UP_M ", the slowest %s" UP_M
			". Every figure of a step below is of the rest.",
			up_percent(page->curve->settle_share).text, up_count((double)n).text, up_ms(max_ms).text);
	else if (n)
		up_doc_note(doc, "Left out while settling: %s requests" UP_M ", the slowest %s" UP_M ".",
			up_count((double)n).text, up_ms(max_ms).text);
}

void up_page_load(struct up_doc *doc, const struct up_page *page)
{
	const struct up_load *load = page->load;
	uint64_t total;

	up_doc_section(doc, "load", "2. Load");
	if (!load) {
		up_doc_say(doc,
			"No file of a load generator was given (--load): there is no curve and no latency, only what the resources show.");
		up_doc_section_end(doc);
		return;
	}
	total = up_points_total(&load->points);
	file_table(doc, page);
	file_remarks(doc, load);
	if (page->requested > total)
		up_doc_say(doc, "Missing: %s" UP_C " of the %s requests" UP_A " that were sent have no row.",
			up_count((double)(page->requested - total)).text, up_count((double)page->requested).text);
	up_doc_say(doc, "Model of the load: %s (%s).", up_model_name(page->curve->model.model),
		up_plain(page->curve->model.reason).text);
	if (page->curve->n) {
		step_table(doc, page);
		say_hidden(doc, page);
	} else {
		up_doc_say(doc, "No step of even load was found.");
	}
	up_doc_section_end(doc);
}
