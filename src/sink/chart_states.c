/* Where one request's milliseconds went: a bar a step, its parts in the order of precedence. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page_parts.h"

static const double bar_pixels = 860; /* about what a bar gets on a wide page: decides what is labelled inside */

static void bar(struct up_buffer *out, const struct up_states *s)
{
	double at = 0;

	up_buffer_add(out, "<svg class=\"bar\" role=\"img\" aria-label=\"shares of the states\">");
	for (int k = 0; k < UP_REQUEST_STATES; k++) {
		const double share = s->state[k] / s->n;
		const char *name = up_request_state_name((enum up_request_state)k);
		char label[80];

		if (!(share > 0.0005))
			continue;
		snprintf(label, sizeof(label), "%s %s", name, up_ms(share * s->residence_ms).text);
		up_buffer_print(
			out, "<rect class=\"s%d\" x=\"%.2f%%\" width=\"%.2f%%\" height=\"26\"><title>", k, 100 * at, 100 * share);
		up_html_bare(out, label);
		up_buffer_add(out, "</title></rect>");
		if (share * bar_pixels > 7.0 * (double)strlen(label) + 10) {
			up_buffer_print(out, "<text class=\"t%d\" x=\"%.2f%%\" dx=\"6\" y=\"17\">", k, 100 * at);
			up_html_bare(out, label);
			up_buffer_add(out, "</text>");
		}
		at += share;
	}
	up_buffer_add(out, "</svg>\n");
}

static void legend(struct up_buffer *out, const struct up_page *page)
{
	bool used[UP_REQUEST_STATES] = { false };

	for (size_t i = 0; i < page->curve->n; i++)
		for (int k = 0; k < UP_REQUEST_STATES; k++)
			used[k] = used[k] || (page->states[i].known && page->states[i].state[k] / page->states[i].n > 0.0005);
	up_buffer_add(out, "<p class=\"legend\">");
	for (int k = 0; k < UP_REQUEST_STATES; k++)
		if (used[k])
			up_buffer_print(out,
				"<span class=\"key\"><svg width=\"12\" height=\"12\"><rect class=\"s%d\" width=\"12\" height=\"12\"/></svg> %s</span> ",
				k, up_request_state_name((enum up_request_state)k));
	up_buffer_add(out, "</p>\n");
}

void up_chart_states(struct up_buffer *out, const struct up_page *page)
{
	up_buffer_add(out, "<div class=\"lanes\">\n");
	for (size_t i = 0; i < page->curve->n; i++) {
		const struct up_states *s = &page->states[i];
		const int good = page->knee->good, bad = page->knee->bad;

		up_buffer_print(out, "<div class=\"who\"><b>%s</b>", up_page_level(page->curve, (int)i).text);
		if (page->knee->verdict == UP_KNEE_FOUND && ((int)i == good || (int)i == bad))
			up_buffer_add(out, (int)i == good ? " last good" : " first bad");
		if (!s->known || !(s->n > 0) || !isfinite(s->residence_ms)) {
			up_buffer_add(out, " <span>not measured</span></div><div></div>\n");
			continue;
		}
		up_buffer_add(out, " <span>");
		up_html_text(out, up_ms(s->residence_ms).text);
		up_html_text(out, UP_C);
		up_buffer_add(out, " in all</span></div>");
		bar(out, s);
	}
	up_buffer_add(out, "</div>\n");
	legend(out, page);
}
