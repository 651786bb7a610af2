/* One time axis for everything: the steps, the load, the latencies, each resource, with marks and events. */
#include "chart_time.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

const char up_page_style_time[] =
	".lanes{display:grid;grid-template-columns:230px 1fr;gap:3px 12px;margin:10px 0;align-items:center}.who{font-size:12.5px;line-height:1.25;"
	"overflow-wrap:anywhere}.who span{color:var(--soft)}.who em{font-style:normal;font-size:11px;background:var(--knee);color:var(--ink);border-radius:3px;padding:0 4px}.who .peak{display:block;font-size:11.5px}.bar,.strip{display:block;width:100%;overflow:hidden}.bar{height:26px}.clock{display:block;width:100%;height:22px;overflow:visible}"
	".strip{background:var(--card)}.strip path,.strip rect{shape-rendering:crispEdges}.key{white-space:nowrap;margin-right:8px}.key svg{"
	"vertical-align:-1px}.count{fill:var(--c1);opacity:.75}.u{fill:var(--c1);opacity:.8}.v{fill:var(--c3);opacity:.75}.off{fill:var(--ideal);"
	"opacity:.5}.fin{fill:var(--c1);opacity:.8}.e{fill:var(--bad)}.win{fill:var(--knee);opacity:.35}.border{stroke:var(--line)}.event{"
	"stroke:var(--accent);stroke-dasharray:3 2}.halo{paint-order:stroke;stroke:var(--card);stroke-width:4px;fill:var(--soft);font-size:11px}"
	".h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)}.h5{fill:var(--h5)}.h6{fill:var(--h6)}.w1{fill:var(--w1)}"
	".w2{fill:var(--w2)}.w3{fill:var(--w3)}\n"
	".bar rect{stroke:var(--bg);stroke-width:1}.s0{fill:#5b6770}.s1{fill:#8c6d31}.s2{fill:#c9b03c}.s3{fill:#e6a032}.s4{fill:#c2501a}.s5{fill:#8e3b8e}"
	".s6{fill:#e58a7b}.s7{fill:#2f7d4f}.s8{fill:#7a5c3e}.s9{fill:#b03060}.s10{fill:#5f74c9}.s11{fill:#3b8fb8}.s12{fill:#9aa5b1}"
	".s13{fill:#c9ced4}.bar text{fill:#fff;font-size:12px}.bar .t2,.bar .t3,.bar .t6,.bar .t12,.bar .t13{fill:#1b2027}\n"
	"@media(max-width:600px){.lanes{grid-template-columns:1fr;gap:2px}.lanes .who{margin-top:7px}.who .peak{display:inline;margin-left:6px}"
	".bar text,.odd{display:none}td:not(.n){min-width:10em}dl{grid-template-columns:repeat(auto-fill,minmax(140px,1fr))}}@media print{.lanes{grid-template-columns:190px 1fr}.who,svg.strip{break-inside:avoid}}\n";

double up_timeline_percent(const struct up_timeline *t, int64_t us)
{
	const double part = (double)(us - t->from_us) / (double)(t->to_us - t->from_us);

	return 100 * fmin(fmax(part, 0), 1);
}

static void vertical(const struct up_timeline *t, const char *class, int64_t us)
{
	const double x = up_timeline_percent(t, us);

	if (us > t->from_us && us < t->to_us)
		up_buffer_print(t->out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/>", class, x, x);
}

void up_lane_begin(const struct up_timeline *t, unsigned height, const char *label)
{
	const struct up_use_window *now = &t->page->use_now;
	const struct up_curve *curve = t->page->curve;

	up_buffer_print(t->out, "<svg class=\"strip\" height=\"%u\" role=\"img\" aria-label=\"", height);
	up_html_bare(t->out, label);
	up_buffer_add(t->out, "\">");
	if (t->page->use_then.from_us < t->page->use_then.to_us && now->from_us < now->to_us)
		up_buffer_print(t->out, "<rect class=\"win\" x=\"%.2f%%\" width=\"%.2f%%\" height=\"100%%\"/>",
			up_timeline_percent(t, now->from_us),
			up_timeline_percent(t, now->to_us) - up_timeline_percent(t, now->from_us));
	for (size_t i = 0; curve && i < curve->n && curve->n <= 40; i++)
		vertical(t, "border", curve->step[i].start_us + t->shift_us);
}

void up_lane_end(const struct up_timeline *t)
{
	const struct up_recording *r = t->page->recording;

	for (size_t i = 0; r && i < r->n_events && i < 60; i++)
		vertical(t, "event", r->event[i].wall_us);
	up_buffer_add(t->out, "</svg>\n");
}

void up_lane_area(
	const struct up_timeline *t, const char *class, const double *value, double highest, unsigned top, unsigned height)
{
	bool open = false;
	int last = -1;
	unsigned run = 0;

	up_buffer_print(t->out,
		"<svg y=\"%u\" width=\"100%%\" height=\"%u\" viewBox=\"0 0 %u %u\" preserveAspectRatio=\"none\"><path class=\"%s\" d=\"",
		top, height, t->bins, height * 4, class);
	for (unsigned i = 0; i <= t->bins; i++) {
		const bool known = i < t->bins && !isnan(value[i]);
		const double part = known && highest > 0 ? fmin(fmax(value[i] / highest, 0), 1) : 0;
		int y = (int)height * 4 - (int)lround(part * height * 4);

		/* What is measured and small is still seen. */
		if (known && value[i] > 0 && y > (int)height * 4 - 4)
			y = (int)height * 4 - 4;
		if (open && known && y == last) {
			run++;
			continue;
		}
		if (open)
			up_buffer_print(t->out, "h%u", run);
		if (open && !known)
			up_buffer_print(t->out, "V%uz", height * 4);
		if (known && !open)
			up_buffer_print(t->out, "M%u %u", i, height * 4);
		if (known)
			up_buffer_print(t->out, "V%d", y);
		open = known;
		last = y;
		run = 1;
	}
	up_buffer_add(t->out, "\"/></svg>");
}

static void step_lane(const struct up_timeline *t)
{
	const struct up_curve *curve = t->page->curve;
	size_t every;

	if (!curve || curve->n == 0)
		return;
	every = (curve->n + 11) / 12;
	up_buffer_add(t->out, "<div class=\"who\"><b>steps</b> <span>offered; shaded: the window at the knee</span></div>");
	up_lane_begin(t, 20, "steps of the load");
	for (size_t i = 0; i < curve->n; i += every) {
		const int64_t middle = curve->step[i].start_us / 2 + curve->step[i].end_us / 2 + t->shift_us;

		up_buffer_print(t->out, "<text class=\"tick%s\" x=\"%.2f%%\" y=\"14\" text-anchor=\"middle\">%s</text>",
			curve->n > 5 && i / every % 2 ? " odd" : "", up_timeline_percent(t, middle),
			up_page_level(curve, (int)i).text);
	}
	up_lane_end(t);
}

static void axis_lane(const struct up_timeline *t)
{
	static const int steps_s[] = { 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400,
		172800 };
	const double span_s = (double)(t->to_us - t->from_us) / 1e6;
	int64_t step = 172800;

	for (size_t i = UP_COUNT(steps_s); i-- > 0;)
		if (span_s / steps_s[i] <= 6)
			step = steps_s[i];
	up_buffer_print(t->out,
		"<div class=\"who\"><span>time%s</span></div><svg class=\"clock\" role=\"img\" aria-label=\"time axis\">",
		t->undated ? " since the beginning" : " (UTC)");
	for (int64_t at = t->from_us / 1000000 / step * step; at * 1000000 < t->to_us; at += step) {
		const double x = up_timeline_percent(t, at * 1000000);

		if (at * 1000000 < t->from_us)
			continue;
		up_buffer_print(t->out,
			"<line class=\"axis\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"5\"/><text class=\"tick\" x=\"%.2f%%\" y=\"18\" text-anchor=\"%s\">%s</text>",
			x, x, x,
			x < 5    ? "start"
			: x > 95 ? "end"
				 : "middle",
			up_page_clock(at * 1000000, t->undated).text);
	}
	up_buffer_add(t->out, "</svg>\n");
}

static void events(const struct up_timeline *t)
{
	const struct up_recording *r = t->page->recording;

	if (!r || r->n_events == 0)
		return;
	up_buffer_add(t->out, "<p class=\"legend\">Marks and events (dashed lines):</p><ul>\n");
	for (size_t i = 0; i < r->n_events && i < 60; i++) {
		const struct up_recorded_event *event = &r->event[i];

		up_buffer_print(t->out, "<li>%s ", up_page_clock(event->wall_us, false).text);
		up_html_text(t->out, up_plain(event->kind).text);
		up_buffer_add(t->out, *event->name ? " " : "");
		up_html_text(t->out, up_plain(event->name).text);
		up_buffer_add(t->out, *event->text ? ": " : "");
		up_html_text(t->out, up_plain(event->text).text);
		up_buffer_add(t->out, "</li>\n");
	}
	if (r->n_events > 60 || r->events_left_out)
		up_buffer_print(t->out, "<li>and %zu more</li>\n",
			r->n_events - (r->n_events > 60 ? 60 : r->n_events) + r->events_left_out);
	up_buffer_add(t->out, "</ul>\n");
}

static bool make(struct up_buffer *out, const struct up_page *page, struct up_timeline *ret)
{
	struct up_timeline t = { .out = out, .page = page, .bins = UP_LANE_BINS_MAX };
	const struct up_recording *r = page->recording;

	if (page->shift && page->shift->known)
		t.shift_us = llround(page->shift->shift_s * 1e6);
	t.undated = page->load && page->load->undated && !r;
	if (r && r->n_ticks > 1) {
		t.from_us = r->tick[0].wall_us;
		t.to_us = r->tick[r->n_ticks - 1].wall_us;
		t.bins = r->n_ticks < 40 ? 40 : r->n_ticks < UP_LANE_BINS_MAX ? (unsigned)r->n_ticks : UP_LANE_BINS_MAX;
	} else if (page->load) {
		t.from_us = page->load->first_start_us;
		t.to_us = page->load->last_end_us;
	}
	if (r && page->load && !page->load->undated && page->load->first_start_us + t.shift_us < t.to_us &&
		page->load->last_end_us + t.shift_us > t.from_us) {
		t.from_us =
			t.from_us < page->load->first_start_us + t.shift_us ? t.from_us : page->load->first_start_us + t.shift_us;
		t.to_us = t.to_us > page->load->last_end_us + t.shift_us ? t.to_us : page->load->last_end_us + t.shift_us;
	}
	*ret = t;
	return t.from_us < t.to_us;
}

void up_chart_time(struct up_buffer *out, const struct up_page *page)
{
	/* Without dates the load has no place on the samples' axis. */
	const bool load_fits = page->load && (!page->recording || !page->load->undated);
	struct up_timeline t;
	size_t quiet = 0;

	if (!make(out, page, &t))
		return;
	for (size_t i = 0; i < page->n_use; i++)
		quiet += page->use[i].quiet;
	up_buffer_add(out, "<figure><div class=\"lanes\">\n");
	if (load_fits) {
		step_lane(&t);
		up_lanes_load(&t);
		up_lanes_heat(&t);
	}
	up_lanes_in_flight(&t, load_fits);
	up_lanes_use(&t, false);
	axis_lane(&t);
	up_buffer_add(out, "</div>\n");
	if (quiet) {
		up_buffer_print(
			out, "<details><summary>%zu quiet resources on the same axis</summary><div class=\"lanes\">\n", quiet);
		up_lanes_use(&t, true);
		axis_lane(&t);
		up_buffer_add(out, "</div></details>\n");
	}
	up_buffer_add(out, "<figcaption>");
	if (load_fits)
		up_html_text(out, "Load, response times and requests inside the target are measured" UP_M
				  ", the generator's requests in flight computed" UP_C ". ");
	if (page->n_use)
		up_html_text(out,
			"Resources: the filled curve is utilization" UP_M
			" from 0 to 100 %; in the other colour, where a resource has no utilization, its "
			"saturation" UP_M " from 0 to its own peak. The bar below it is what waits" UP_M
			": light, some; orange, at least half a task or a tenth of the servers; dark, as much as there are servers. Red: errors" UP_M
			".");
	up_buffer_add(out, "</figcaption></figure>\n");
	events(&t);
}
