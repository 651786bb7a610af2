/* What came out: the curve, the knee, the latencies. */
#include <math.h>
#include <stdio.h>

#include "page_parts.h"

static const char *verdict_word(const struct up_page *page, size_t i)
{
	const struct up_step *step = &page->curve->step[i];

	if (page->knee->collapse == (int)i)
		return "collapse";
	if (step->verdict != UP_STEP_BAD)
		return step->verdict == UP_STEP_GOOD ? "good" : "not judged";
	return step->why & UP_BAD_SHORT     ? "bad: falls short"
	       : step->why & UP_BAD_FAILING ? "bad: errors"
	       : step->why & UP_BAD_RISING  ? "bad: piles up"
					    : "beyond the bounds";
}

static void step_table(struct up_doc *doc, const struct up_page *page)
{
	static const struct up_doc_column columns[] = { { "load", true }, { "completed/s" UP_M, true }, { "ok/s" UP_M, true },
		{ "in flight" UP_C, true }, { "mean ms" UP_M, true }, { "p50 ms" UP_M, true }, { "p95 ms" UP_M, true },
		{ "p99 ms" UP_M, true }, { "max ms" UP_M, true }, { "failed" UP_M, true }, { "of offered" UP_C, true },
		{ "verdict" UP_C, false } };

	up_doc_table(doc,
		"Settled part of each step; percentiles by nearest rank, over all requests that started in it, failed ones too",
		columns, UP_COUNT(columns));
	for (size_t i = 0; i < page->curve->n; i++) {
		const struct up_step *step = &page->curve->step[i];
		const struct up_summary *s = &step->latency;

		up_doc_cell(doc, "%s%s", up_page_level(page->curve, (int)i).text, page->offered_stated ? UP_A : UP_M);
		up_doc_cell(doc, "%s", up_amount(step->achieved_per_s).text);
		up_doc_cell(doc, "%s", up_amount(step->achieved_ok_per_s).text);
		up_doc_cell(doc, "%s", up_amount(step->in_flight).text);
		up_doc_cell(doc, "%s", up_amount(s->mean_ms).text);
		up_doc_cell(doc, "%s", up_amount(s->n ? s->q[UP_P50].ms : NAN).text);
		up_doc_cell(doc, "%s", up_amount(s->n ? s->q[UP_P95].ms : NAN).text);
		up_doc_cell(doc, "%s%s", up_amount(s->n ? s->q[UP_P99].ms : NAN).text,
			s->n && s->q[UP_P99].tail_n < UP_TAIL_MIN ? " (few)" : "");
		up_doc_cell(doc, "%s", up_amount(s->max_ms).text);
		up_doc_cell(doc, "%s", up_count(s->failed_known ? (double)s->failed : NAN).text);
		up_doc_cell(doc, "%s", up_percent(step->arrivals ? (double)step->ends / (double)step->arrivals : NAN).text);
		up_doc_cell(doc, "%s", verdict_word(page, i));
	}
	up_doc_table_end(doc);
	up_doc_note(doc,
		"Falls short: completes less than arrives, by more than 5 %% and more than chance. Piles up: requests in flight rise through the "
		"step. (few): fewer than %d samples lie beyond this percentile; it is not reliable.",
		UP_TAIL_MIN);
}

static void figure(struct up_doc *doc, void (*draw)(struct up_buffer *out, const struct up_page *page),
	const struct up_page *page, const char *caption)
{
	up_buffer_add(doc->out, "<figure>");
	draw(doc->out, page);
	up_buffer_add(doc->out, "<figcaption>");
	up_html_text(doc->out, caption);
	up_buffer_add(doc->out, "</figcaption></figure>\n");
}

static void charts(struct up_doc *doc, const struct up_page *page)
{
	if (!doc->html)
		return;
	up_buffer_add(doc->out, "<div class=\"charts\">\n");
	figure(doc, up_chart_throughput, page,
		"Completed against offered load" UP_M ". Shaded: the interval that holds the knee" UP_C
		". Open dots: bad steps.");
	figure(doc, up_chart_latency, page,
		"Percentiles of the response time" UP_M ", all requests of the settled part of each step.");
	figure(doc, up_chart_loop, page,
		"The same as one curve" UP_M ": each dot is a step. Shaded: between the last good and the first bad step" UP_C
		".");
	if (page->heat)
		figure(doc, up_chart_histogram, page, "All requests of the run by response time" UP_M ", failed ones too.");
	up_buffer_add(doc->out, "</div>\n");
}

static void witness(struct up_doc *doc, const char *name, const struct up_witness *w)
{
	up_doc_item(doc, "%s: %s%s%s", name, up_plain(w->reason).text, w->applicable ? UP_C : "",
		!w->applicable ? ""
		: w->agrees    ? " (agrees)"
			       : " (disagrees)");
}

static void knee(struct up_doc *doc, const struct up_page *page)
{
	const struct up_knee *k = page->knee;
	char words[160];

	up_page_knee_words(page, words, sizeof(words));
	up_doc_say(doc, "Knee: %s%s. %s" UP_C ".", words, k->verdict == UP_KNEE_FOUND ? UP_C : "", up_plain(k->reason).text);
	if (k->collapse >= 0)
		up_doc_say(doc,
			"Collapse at %s" UP_C ": from there on every step completes less than half of what was completed before.",
			up_page_level(page->curve, k->collapse).text);
	up_doc_list(doc);
	witness(doc, "Second opinion, Kneedle", &k->kneedle);
	witness(doc, "Second opinion, USL", &k->usl);
	if (k->usl.applicable)
		up_doc_item(doc,
			"USL fit: lambda %.4g/s" UP_C ", sigma %.4g" UP_C ", kappa %.4g" UP_C ", peak at N = %.4g" UP_C ".",
			k->usl_fit.lambda_per_s, k->usl_fit.sigma, k->usl_fit.kappa, k->usl_fit.n_max);
	if (page->n_settled)
		up_doc_item(doc,
			"Check by Little's law (N = X R, with the mean): holds within 5 %% in %u of %u balanced steps" UP_C
			", worst %s" UP_C ".",
			page->n_little_ok, page->n_settled, up_percent(page->little_worst_ratio).text);
	else
		up_doc_item(doc, "Check by Little's law: no step was in balance, so it says nothing.");
	up_doc_list_end(doc);
}

static void overall(struct up_doc *doc, const struct up_summary *s)
{
	static const struct up_doc_column columns[] = { { "requests" UP_M, true }, { "failed" UP_M, true },
		{ "mean ms" UP_M, true }, { "p50 ms" UP_M, true }, { "p90 ms" UP_M, true }, { "p95 ms" UP_M, true },
		{ "p99 ms" UP_M, true }, { "p99.9 ms" UP_M, true }, { "max ms" UP_M, true } };

	if (!s || s->n == 0)
		return;
	up_doc_table(doc,
		s->exact ? "The whole run, all steps together"
			 : "The whole run, all steps together; percentiles from a histogram, within 0.1 %",
		columns, UP_COUNT(columns));
	up_doc_cell(doc, "%s", up_count((double)s->n).text);
	up_doc_cell(doc, "%s", up_count(s->failed_known ? (double)s->failed : NAN).text);
	up_doc_cell(doc, "%s", up_amount(s->mean_ms).text);
	for (int q = 0; q < UP_QUANTILES; q++)
		up_doc_cell(doc, "%s%s", up_amount(s->q[q].ms).text, s->q[q].tail_n < UP_TAIL_MIN ? " (few)" : "");
	up_doc_cell(doc, "%s", up_amount(s->max_ms).text);
	up_doc_table_end(doc);
}

void up_page_result(struct up_doc *doc, const struct up_page *page)
{
	up_doc_section(doc, "result", "4. Result");
	if (page->curve && page->curve->n) {
		knee(doc, page);
		charts(doc, page);
		step_table(doc, page);
		overall(doc, page->overall);
	} else if (page->load) {
		up_doc_say(doc, "No curve: the load file holds no step of even load of 5 s or more.");
		overall(doc, page->overall);
	} else {
		up_doc_say(doc, "No load file was given: neither a curve nor latencies can be shown.");
	}
	if (doc->html && (page->heat || page->recording)) {
		up_doc_heading(doc, "Everything over time");
		up_chart_time(doc->out, page);
	}
	up_doc_section_end(doc);
}
