/* What to do, and the order of everything. */
#include <math.h>

#include "page_parts.h"

static void next_limit(struct up_doc *doc, const struct up_page *page)
{
	const struct up_ceiling *suspect = NULL;

	for (size_t i = 0; i < page->n_ceilings; i++) {
		const struct up_ceiling *c = &page->ceiling[i];

		if (c->suspect)
			suspect = c;
		else if (suspect && isfinite(c->ceiling_per_s)) {
			up_doc_item(doc,
				"When that is lifted, the next limit that is known is %s %s at about %s/s" UP_C
				" (an upper bound).",
				c->resource, up_plain(c->name).text, up_amount(c->ceiling_per_s).text);
			return;
		}
	}
}

static void operate(struct up_doc *doc, const struct up_page *page)
{
	const struct up_knee *knee = page->knee;
	const struct up_step *good;

	if (!knee || knee->verdict != UP_KNEE_FOUND || knee->good < 0)
		return;
	good = &page->curve->step[knee->good];
	up_doc_item(doc, "Operate at or below %s" UP_M ": p95 %s" UP_M ", %s requests in flight" UP_C ".",
		up_page_level(page->curve, knee->good).text, up_ms(good->latency.q[UP_P95].ms).text,
		up_amount(good->in_flight).text);
	if (isfinite(knee->alert_in_flight))
		up_doc_item(doc,
			"Alert on saturation, not on CPU: more than %s" UP_C " requests in flight for 10 s (%s" UP_C
			" were held at the safe point, %s" UP_C " beyond it).",
			up_amount(knee->alert_in_flight).text, up_amount(good->in_flight).text,
			up_amount(page->curve->step[knee->bad].in_flight).text);
}

void up_page_action(struct up_doc *doc, const struct up_page *page)
{
	const struct up_attribution *a = page->attribution;

	up_doc_section(doc, "action", "6. Action");
	up_doc_list(doc);
	if (a && *a->next)
		up_doc_item(doc, "Next step: %s.", up_plain(a->next).text);
	if (!a)
		up_doc_item(doc, "Record the resources while the load runs (useprobe -c NAME), so that the limit gets a name.");
	next_limit(doc, page);
	operate(doc, page);
	if (isfinite(page->peak_per_s) && page->knee && isfinite(page->knee->capacity_per_s))
		up_doc_item(doc,
			page->knee->capacity_per_s >= page->peak_per_s
				? "The planned peak of %s/s" UP_A " fits into what was completed, %s/s" UP_M "."
				: "The planned peak of %s/s" UP_A " does not fit: at most %s/s" UP_M " were completed.",
			up_amount(page->peak_per_s).text, up_amount(page->knee->capacity_per_s).text);
	up_doc_item(doc, "Measure again after a change, three runs a side, and compare ranges instead of single runs.");
	up_doc_list_end(doc);
	up_doc_section_end(doc);
}

void up_page_sections(struct up_doc *doc, const struct up_page *page)
{
	up_page_summary(doc, page);
	up_page_goal(doc, page);
	up_page_load(doc, page);
	up_page_environment(doc, page);
	up_page_result(doc, page);
	up_page_bottleneck(doc, page);
	up_page_action(doc, page);
	if (doc->html)
		up_buffer_add(doc->out, "<footer>");
	up_doc_note(doc, "Made by useprobe %s from %s.", page->version,
		page->recording && page->samples_name ? up_plain(page->samples_name).text : "the load file alone");
	if (doc->html)
		up_buffer_add(doc->out, "</footer>\n");
}
