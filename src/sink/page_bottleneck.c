/* Which resource, and why: suspect, runner-up, where the time went, what every resource did at the knee. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page_parts.h"

static struct up_plain station(const struct up_suspect *s)
{
	struct up_plain text;

	snprintf(text.text, sizeof(text.text), "%s %.500s", s->resource, up_plain(s->name).text);
	return text;
}

static void pair(struct up_doc *doc, const char *what, struct up_amount suspect, struct up_amount other, bool has_other)
{
	up_doc_cell(doc, "%s", what);
	up_doc_cell(doc, "%s", suspect.text);
	if (has_other)
		up_doc_cell(doc, "%s", other.text);
}

static void suspects(struct up_doc *doc, const struct up_page *page)
{
	const struct up_attribution *a = page->attribution;
	const struct up_suspect *s = &a->suspect, *o = &a->runner_up;
	const bool two = a->has_runner_up;
	char title[3][700];
	struct up_doc_column columns[3] = { { title[0], false }, { title[1], true }, { title[2], true } };

	snprintf(title[0], sizeof(title[0]), "per request, and at the knee");
	snprintf(title[1], sizeof(title[1]), "%s: %s", a->verdict == UP_BOTTLENECK_UNKNOWN ? "doubted" : "suspect",
		station(s).text);
	snprintf(title[2], sizeof(title[2]), "runner-up: %s", two ? station(o).text : "");
	up_doc_table(doc, NULL, columns, two ? 3 : 2);
	pair(doc, "held by one request, good steps" UP_C, up_ms(s->hold_good_ms), up_ms(o->hold_good_ms), two);
	pair(doc, "held by one request, at the knee" UP_C, up_ms(s->hold_bad_ms), up_ms(o->hold_bad_ms), two);
	pair(doc, "with its own queue, good steps" UP_C, up_ms(s->residence_good_ms), up_ms(o->residence_good_ms), two);
	pair(doc, "with its own queue, at the knee" UP_C, up_ms(s->residence_bad_ms), up_ms(o->residence_bad_ms), two);
	pair(doc, "growth" UP_C, up_ms(s->growth_ms), up_ms(o->growth_ms), two);
	pair(doc, "share of its level's growth" UP_C, up_percent(s->share), up_percent(o->share), two);
	pair(doc, "servers" UP_M, up_amount(s->servers), up_amount(o->servers), two);
	pair(doc, "utilization, good steps" UP_M, up_percent(s->utilization_good), up_percent(o->utilization_good), two);
	pair(doc, "utilization, at the knee" UP_M, up_percent(s->utilization), up_percent(o->utilization), two);
	pair(doc, "waiting in its queue, good steps" UP_M, up_amount(s->waiting_good), up_amount(o->waiting_good), two);
	pair(doc, "waiting in its queue, at the knee" UP_M, up_amount(s->waiting), up_amount(o->waiting), two);
	up_doc_table_end(doc);
}

static void lines(struct up_doc *doc, const char *title, const char (*line)[UP_LINE_BYTES], size_t n)
{
	if (n == 0)
		return;
	up_doc_heading(doc, title);
	up_doc_list(doc);
	for (size_t i = 0; i < n; i++)
		up_doc_item(doc, "%s" UP_C, up_plain(line[i]).text);
	up_doc_list_end(doc);
}

static void verdict(struct up_doc *doc, const struct up_page *page)
{
	const struct up_attribution *a = page->attribution;

	if (a->has_suspect && a->verdict == UP_BOTTLENECK_RESOURCE)
		up_doc_say(doc, "Suspect: %s. %s" UP_C ".", station(&a->suspect).text, up_plain(a->reason).text);
	else
		up_doc_say(doc, "Verdict: %s. %s" UP_C ".", up_bottleneck_verdict_name(a->verdict), up_plain(a->reason).text);
	if (a->has_suspect)
		suspects(doc, page);
	lines(doc, "Evidence", a->evidence, a->n_evidence);
	lines(doc, "Symptoms, not causes", a->symptom, a->n_symptoms);
	if (*a->falsifier) {
		up_doc_heading(doc, "What would prove it wrong");
		up_doc_say(doc, "%s" UP_C ".", up_plain(a->falsifier).text);
	}
	if (isfinite(a->unexplained_share))
		up_doc_say(doc, "Unexplained: %s" UP_C " of the requests inside were in no state that was measured.",
			up_percent(a->unexplained_share).text);
}

/* One step of the table: its milliseconds in the states that are USED. */
static void states_row(struct up_doc *doc, const struct up_page *page, size_t i, const bool used[UP_REQUEST_STATES])
{
	const struct up_states *s = &page->states[i];
	const bool known = s->known && s->n > 0;

	up_doc_cell(doc, "%s%s", up_page_level(page->curve, (int)i).text, page->offered_stated ? UP_A : UP_M);
	up_doc_cell(doc, "%s%s", up_amount(known ? s->residence_ms : NAN).text, known && !s->settled ? " (unsettled)" : "");
	for (int k = 0; k < UP_REQUEST_STATES; k++)
		if (used[k])
			up_doc_cell(doc, "%s", up_amount(known ? s->state[k] / s->n * s->residence_ms : NAN).text);
}

static void states_table(struct up_doc *doc, const struct up_page *page)
{
	bool used[UP_REQUEST_STATES] = { false };
	struct up_doc_column columns[UP_REQUEST_STATES + 2] = { { "load", true }, { "ms in all" UP_C, true } };
	unsigned n = 2;

	for (size_t i = 0; i < page->curve->n; i++)
		for (int k = 0; k < UP_REQUEST_STATES; k++)
			used[k] = used[k] || (page->states[i].known && page->states[i].state[k] > 0);
	for (int k = 0; k < UP_REQUEST_STATES; k++)
		if (used[k])
			columns[n++] = (struct up_doc_column){ up_request_state_name((enum up_request_state)k), true };
	up_doc_table(doc, "Milliseconds of one request by state (computed)", columns, n);
	for (size_t i = 0; i < page->curve->n; i++)
		states_row(doc, page, i, used);
	up_doc_table_end(doc);
}

static void states(struct up_doc *doc, const struct up_page *page)
{
	up_doc_heading(doc, "Where one request's milliseconds went");
	if (!up_page_has_states(page)) {
		up_doc_say(doc, "Not known: the requests inside the target were not measured.");
		return;
	}
	if (doc->html) {
		up_chart_states(doc->out, page);
		up_doc_fold(doc, "The same as figures");
	}
	states_table(doc, page);
	if (doc->html)
		up_doc_fold_end(doc);
	up_doc_note(doc,
		"Share of the requests inside that were in each state, times the mean time inside in the same seconds; the parts add up by construction. "
		"(unsettled): arrivals and departures differ by more than 5 %%, so only the shares can be compared.");
}

static const char *method_mark(const char *method)
{
	return strstr(method, "bound") || strstr(method, "computed") ? UP_C : UP_M;
}

static void then_and_now(struct up_doc *doc, double then, double now, struct up_amount (*text)(double), const char *unit,
	bool has_then, const char *mark)
{
	if (isnan(then) && isnan(now))
		up_doc_cell(doc, "%s", text(NAN).text);
	else if (has_then)
		up_doc_cell(doc, "%s \xe2\x86\x92 %s%s%s%s", text(then).text, text(now).text, *unit ? " " : "", unit, mark);
	else
		up_doc_cell(doc, "%s%s%s%s", text(now).text, *unit ? " " : "", unit, mark);
}

static void use_row(struct up_doc *doc, const struct up_page *page, const struct up_use_row *row)
{
	const struct up_recording *r = page->recording;
	const struct up_track *track = &r->track[row->track];
	const struct up_reading *then = &row->then, *now = &row->now;
	const bool has_then = page->use_then.from_us < page->use_then.to_us;
	const char *mark = method_mark(r->text[track->method]);
	const char *unit = r->text[track->unit];
	const bool ratio = strcmp(unit, "ratio") == 0;

	up_doc_cell(doc, "%s", up_resource_name(track->resource));
	up_doc_cell(doc, "%s", up_plain(track->name).text);
	then_and_now(doc, then->samples ? then->utilization : NAN, now->samples ? now->utilization : NAN, up_percent, "",
		has_then, mark);
	then_and_now(doc, then->samples ? then->saturation : NAN, now->samples ? now->saturation : NAN,
		ratio ? up_percent : up_amount, ratio ? "" : up_plain(unit).text, has_then, mark);
	then_and_now(doc, then->samples ? then->waiting : NAN, now->samples ? now->waiting : NAN, up_amount, "", has_then, mark);
	then_and_now(doc, then->samples ? then->errors : NAN, now->samples ? now->errors : NAN, up_amount, "", has_then, mark);
	up_doc_cell(doc, "%s", up_plain(r->text[track->method]).text);
}

static void use_table(struct up_doc *doc, const struct up_page *page)
{
	static const struct up_doc_column columns[] = { { "resource", false }, { "which", false }, { "utilization", true },
		{ "saturation", true }, { "waiting", true }, { "errors", true }, { "method", false } };
	const bool has_then = page->use_then.from_us < page->use_then.to_us;
	char caption[200];
	size_t quiet = 0;

	up_doc_heading(doc, has_then ? "Every resource at the knee" : "Every resource");
	if (has_then)
		snprintf(caption, sizeof(caption), "Means of the settled part at %s \xe2\x86\x92 at %s; errors are counts",
			page->use_then_name, page->use_now_name);
	else
		snprintf(caption, sizeof(caption), "Means of %s; errors are counts", page->use_now_name);
	up_doc_table(doc, caption, columns, UP_COUNT(columns));
	for (size_t i = 0; i < page->n_use; i++) {
		if (page->use[i].quiet)
			quiet++;
		else
			use_row(doc, page, &page->use[i]);
	}
	up_doc_table_end(doc);
	if (quiet) {
		char summary[160];

		snprintf(summary, sizeof(summary), "%zu quiet rows: under 1 %% used, nothing waiting, no errors in the whole run",
			quiet);
		up_doc_fold(doc, summary);
		up_doc_table(doc, NULL, columns, UP_COUNT(columns));
		for (size_t i = 0; i < page->n_use; i++)
			if (page->use[i].quiet)
				use_row(doc, page, &page->use[i]);
		up_doc_table_end(doc);
		up_doc_fold_end(doc);
	}
}

static void ceilings(struct up_doc *doc, const struct up_page *page)
{
	static const struct up_doc_column columns[] = { { "resource", false }, { "which", false }, { "servers" UP_M, true },
		{ "held by one request" UP_C, true }, { "ceiling" UP_C, true } };

	if (page->n_ceilings == 0)
		return;
	up_doc_heading(doc, "Ceilings: what limits next");
	up_doc_table(doc, "Servers / hold time in the good steps: an upper bound for requests per second (utilization law)",
		columns, UP_COUNT(columns));
	for (size_t i = 0; i < page->n_ceilings; i++) {
		const struct up_ceiling *c = &page->ceiling[i];

		up_doc_cell(doc, "%s", c->resource);
		up_doc_cell(doc, "%s%s", up_plain(c->name).text, c->suspect ? " (the suspect)" : "");
		up_doc_cell(doc, "%s", up_amount(c->servers).text);
		up_doc_cell(doc, "%s", up_ms(c->hold_good_ms).text);
		up_doc_cell(doc, "%s%s", up_amount(c->ceiling_per_s).text, isfinite(c->ceiling_per_s) ? "/s" : "");
	}
	up_doc_table_end(doc);
}

void up_page_bottleneck(struct up_doc *doc, const struct up_page *page)
{
	up_doc_section(doc, "bottleneck", "5. Bottleneck");
	if (!page->attribution) {
		up_doc_say(
			doc, "No samples were given (useprobe report SAMPLES.csv): the load file alone cannot name a resource.");
		up_doc_section_end(doc);
		return;
	}
	verdict(doc, page);
	if (page->curve && page->curve->n)
		states(doc, page);
	if (page->n_use)
		use_table(doc, page);
	ceilings(doc, page);
	up_doc_section_end(doc);
}
