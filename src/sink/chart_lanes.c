/* The lanes of the time chart. */
#include "chart_time.h"

#include <math.h>
#include <string.h>

enum { AREA = 22, BAND = 6, HEAT_ROW = 5 };

static void clear(double *value, unsigned bins)
{
	for (unsigned i = 0; i < bins; i++)
		value[i] = NAN;
}

/* The highest of what falls into each bin. */
static void cover(const struct up_timeline *t, int64_t from_us, int64_t to_us, double value, double *bin)
{
	const double scale = (double)t->bins / (double)(t->to_us - t->from_us);
	double first, last;

	if (isnan(value) || to_us <= t->from_us || from_us >= t->to_us)
		return;
	first = fmax(floor((double)(from_us - t->from_us) * scale + 0.25), 0);
	last = fmin(fmax(ceil((double)(to_us - t->from_us) * scale - 0.25), first + 1), t->bins);
	for (unsigned i = (unsigned)first; i < (unsigned)last; i++)
		bin[i] = isnan(bin[i]) ? value : fmax(bin[i], value);
}

static double highest(const double *value, unsigned n)
{
	double high = 0;

	for (unsigned i = 0; i < n; i++)
		high = fmax(high, isnan(value[i]) ? 0 : value[i]);
	return high;
}

/* Which of a sample's figures a lane shows. */
enum figure { UTILIZATION, SATURATION, WAITING, ERRORS };

static void read_track(const struct up_timeline *t, const struct up_track *track, enum figure figure, double *bin)
{
	clear(bin, t->bins);
	for (size_t i = 0; i < track->n; i++) {
		const struct up_sample *s = &track->at[i];
		const int64_t end_us = t->page->recording->tick[s->tick].wall_us;
		const float value = figure == UTILIZATION  ? s->utilization
				    : figure == SATURATION ? s->saturation
				    : figure == WAITING    ? s->waiting
							   : s->errors;

		cover(t, end_us - (int64_t)((double)s->window_s * 1e6), end_us, (double)value, bin);
	}
}

static double servers_of(const struct up_track *track)
{
	for (size_t i = track->n; i-- > 0;)
		if (!isnan(track->at[i].servers))
			return (double)track->at[i].servers;
	return 1;
}

/* 0 nothing; 1 some; 2 as much as makes a row saturated; 3 as much as there are servers. */
static unsigned waiting_class(double waiting, double servers)
{
	return !(waiting >= 0.05) ? 0 : waiting < fmax(0.5, 0.1 * servers) ? 1 : waiting < fmax(1, servers) ? 2 : 3;
}

static void band(const struct up_timeline *t, const struct up_track *track)
{
	double bin[UP_LANE_BINS_MAX];
	const double servers = servers_of(track);

	read_track(t, track, WAITING, bin);
	up_buffer_print(t->out, "<svg y=\"%d\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %u 1\" preserveAspectRatio=\"none\">",
		AREA + 1, BAND, t->bins);
	for (unsigned class = 1; class <= 3; class ++) {
		bool any = false;

		for (unsigned i = 0, n; i < t->bins; i += n) {
			n = 1;
			if (waiting_class(bin[i], servers) != class)
				continue;
			while (i + n < t->bins && waiting_class(bin[i + n], servers) == class)
				n++;
			if (!any)
				up_buffer_print(t->out, "<path class=\"w%u\" d=\"", class);
			any = true;
			up_buffer_print(t->out, "M%u 0h%uv1h-%uz", i, n, n);
		}
		if (any)
			up_buffer_add(t->out, "\"/>");
	}
	up_buffer_add(t->out, "</svg>");
}

static void errors(const struct up_timeline *t, const struct up_track *track)
{
	double bin[UP_LANE_BINS_MAX];
	bool any = false;

	read_track(t, track, ERRORS, bin);
	for (unsigned i = 0; i < t->bins; i++) {
		if (!(bin[i] > 0))
			continue;
		if (!any)
			up_buffer_print(t->out,
				"<svg width=\"100%%\" height=\"6\" viewBox=\"0 0 %u 1\" preserveAspectRatio=\"none\"><path class=\"e\" d=\"",
				t->bins);
		any = true;
		up_buffer_print(t->out, "M%u 0h1v1h-1z", i);
	}
	if (any)
		up_buffer_add(t->out, "\"/></svg>");
}

/* "peak 100 %, waits 6.8 at most, 3 errors" */
static void peaks(const struct up_timeline *t, const struct up_use_row *row, const char *unit)
{
	struct up_buffer text = { 0 };
	const char *comma = "";

	if (!isnan(row->utilization_peak)) {
		up_buffer_print(&text, "peak %s", up_percent(row->utilization_peak).text);
		comma = ", ";
	} else if (!isnan(row->saturation_peak)) {
		const bool ratio = strcmp(unit, "ratio") == 0;

		up_buffer_print(&text, "peak %s%s%s",
			ratio ? up_percent(row->saturation_peak).text : up_amount(row->saturation_peak).text, ratio ? "" : " ",
			ratio ? "" : up_plain(unit).text);
		comma = ", ";
	}
	if (!isnan(row->waiting_peak)) {
		up_buffer_print(&text, "%swaiting up to %s", comma, up_amount(row->waiting_peak).text);
		comma = ", ";
	}
	if (row->errors > 0)
		up_buffer_print(&text, "%s%s errors", comma, up_count(row->errors).text);
	up_buffer_add(t->out, "<span class=\"peak\">");
	if (text.text)
		up_html_text(t->out, text.text);
	up_buffer_add(t->out, "</span>");
	t->out->failed = t->out->failed || text.failed;
	up_buffer_done(&text);
}

static bool is_suspect(const struct up_page *page, const struct up_track *track)
{
	const struct up_attribution *a = page->attribution;

	return a && a->has_suspect && a->verdict == UP_BOTTLENECK_RESOURCE &&
	       strcmp(a->suspect.resource, up_resource_name(track->resource)) == 0 && strcmp(a->suspect.name, track->name) == 0;
}

static void use_lane(const struct up_timeline *t, const struct up_use_row *row)
{
	const struct up_recording *r = t->page->recording;
	const struct up_track *track = &r->track[row->track];
	double bin[UP_LANE_BINS_MAX];

	up_buffer_print(t->out, "<div class=\"who\"><b>%s</b> ", up_resource_name(track->resource));
	up_html_text(t->out, up_plain(track->name).text);
	if (is_suspect(t->page, track))
		up_buffer_add(t->out, " <em>suspect</em>");
	peaks(t, row, r->text[track->unit]);
	up_buffer_add(t->out, "</div>");
	up_lane_begin(t, AREA + BAND + 2, up_resource_name(track->resource));
	if (!isnan(row->utilization_peak)) {
		read_track(t, track, UTILIZATION, bin);
		up_lane_area(t, "u", bin, fmax(1, row->utilization_peak), 0, AREA);
	} else if (!isnan(row->saturation_peak)) {
		read_track(t, track, SATURATION, bin);
		up_lane_area(t, "v", bin, row->saturation_peak, 0, AREA);
	}
	band(t, track);
	errors(t, track);
	up_lane_end(t);
}

void up_lanes_use(const struct up_timeline *t, bool quiet)
{
	for (size_t i = 0; i < t->page->n_use; i++)
		if (t->page->use[i].quiet == quiet)
			use_lane(t, &t->page->use[i]);
}

void up_lanes_load(const struct up_timeline *t)
{
	const struct up_seconds *seconds = &t->page->load->seconds;
	double offered[UP_LANE_BINS_MAX], done[UP_LANE_BINS_MAX], most;

	clear(offered, t->bins);
	clear(done, t->bins);
	for (size_t i = 0; i < seconds->n; i++) {
		const int64_t from_us = (seconds->first_s + (int64_t)i) * 1000000 + t->shift_us;

		cover(t, from_us, from_us + 1000000, (double)(seconds->at[i].starts + seconds->at[i].dropped), offered);
		cover(t, from_us, from_us + 1000000, (double)seconds->at[i].ends, done);
	}
	most = fmax(highest(offered, t->bins), highest(done, t->bins));
	up_buffer_print(t->out,
		"<div class=\"who\"><b>load</b> grey: offered, blue: completed<span class=\"peak\">peak %s requests/s</span></div>",
		up_count(most).text);
	up_lane_begin(t, 44, "offered and completed requests per second");
	up_lane_area(t, "off", offered, most, 0, 44);
	up_lane_area(t, "fin", done, most, 0, 44);
	up_lane_end(t);
}

/* What the kernel saw inside the target whose requests are looked at; of several listeners the fullest. */
static bool read_inside(const struct up_timeline *t, double *bin)
{
	const struct up_recording *r = t->page->recording;
	bool any = false;

	clear(bin, t->bins);
	for (size_t k = 0; r && k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];

		if (track->resource != UP_RES_REQUESTS || !track->figure || !track->target || !t->page->target ||
			strcmp(track->target, t->page->target) != 0)
			continue;
		for (size_t i = 0; i < track->n; i++) {
			const int64_t end_us = r->tick[track->at[i].tick].wall_us;
			const double in_flight = (double)track->figure[i * UP_FIGURES + UP_FIG_IN_FLIGHT];

			cover(t, end_us - (int64_t)((double)track->at[i].window_s * 1e6), end_us, in_flight, bin);
			any = any || isfinite(in_flight);
		}
	}
	return any;
}

void up_lanes_in_flight(const struct up_timeline *t, bool with_load)
{
	double outside[UP_LANE_BINS_MAX], inside[UP_LANE_BINS_MAX], most;
	const bool known = read_inside(t, inside);

	clear(outside, t->bins);
	for (size_t i = 0; with_load && i < t->page->load->seconds.n; i++) {
		const struct up_seconds *seconds = &t->page->load->seconds;
		const int64_t from_us = (seconds->first_s + (int64_t)i) * 1000000 + t->shift_us;

		cover(t, from_us, from_us + 1000000, seconds->at[i].busy_s, outside);
	}
	most = fmax(highest(outside, t->bins), highest(inside, t->bins));
	if (!known && !with_load)
		return;
	up_buffer_print(t->out, "<div class=\"who\"><b>in flight</b> %s%s%s<span class=\"peak\">peak %s requests</span></div>",
		with_load ? "grey: as the generator counts" : "", with_load && known ? ", " : "",
		known ? "blue: inside the target" : "", up_amount(most).text);
	up_lane_begin(t, 32, "requests in flight");
	if (with_load)
		up_lane_area(t, "off", outside, most, 0, 32);
	if (known)
		up_lane_area(t, "fin", inside, most, 0, 32);
	up_lane_end(t);
}

/* 1 for a single request, 6 for as many as in the fullest cell, by the logarithm between. */
static unsigned heat_class(uint32_t count, uint32_t most)
{
	if (count == 0)
		return 0;
	return most <= 1 ? 6 : 1 + (unsigned)(5.001 * log(count) / log(most));
}

static void heat_cells(const struct up_timeline *t, const struct up_heat *heat, uint32_t most)
{
	for (unsigned class = 1; class <= 6; class ++) {
		up_buffer_print(t->out, "<path class=\"h%u\" d=\"", class);
		for (unsigned row = 0; row < heat->rows; row++)
			for (unsigned c = 0, n; c < heat->columns; c += n) {
				const uint32_t *cell = &heat->count[(size_t)row * heat->columns];

				n = 1;
				if (heat_class(cell[c], most) != class)
					continue;
				while (c + n < heat->columns && heat_class(cell[c + n], most) == class)
					n++;
				up_buffer_print(t->out, "M%u %uh%uv1h-%uz", c, heat->rows - 1 - row, n, n);
			}
		up_buffer_add(t->out, "\"/>");
	}
}

/* Decades, written over the cells at the left. */
static void heat_ticks(const struct up_timeline *t, const struct up_heat *heat)
{
	for (unsigned row = 0; row <= heat->rows; row++) {
		const int power = heat->first_row + (int)row;
		const unsigned y = (heat->rows - row) * HEAT_ROW;

		if (power % UP_HEAT_PER_DECADE != 0)
			continue;
		up_buffer_print(t->out,
			"<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%u\" y2=\"%u\"/><text class=\"halo\" x=\"4\" y=\"%u\">%s</text>",
			y, y, y < 14 ? y + 12 : y - 3, up_ms_tick(up_heat_edge_ms(heat, row)).text);
	}
}

void up_lanes_heat(const struct up_timeline *t)
{
	const struct up_heat *heat = t->page->heat;
	uint32_t most = 0;
	int64_t from_us, to_us;

	if (!heat)
		return;
	for (size_t i = 0; i < (size_t)heat->rows * heat->columns; i++)
		most = heat->count[i] > most ? heat->count[i] : most;
	from_us = heat->from_us + t->shift_us;
	to_us = from_us + heat->columns * heat->column_us;
	up_buffer_print(t->out,
		"<div class=\"who\"><b>response time</b> of the requests that start in each %s<span class=\"peak\">%s to %s, log scale; ",
		up_span_text((double)heat->column_us / 1e6).text, up_ms(up_heat_edge_ms(heat, 0)).text,
		up_ms(up_heat_edge_ms(heat, heat->rows)).text);
	for (unsigned class = 1; class <= 6; class ++)
		up_buffer_print(
			t->out, "<svg width=\"10\" height=\"10\"><rect class=\"h%u\" width=\"10\" height=\"10\"/></svg>", class);
	up_buffer_print(t->out, " 1 to %s requests</span></div>", up_count(most).text);
	up_lane_begin(t, heat->rows * HEAT_ROW, "response times over time");
	/* Cells may reach beyond the axis: it ends with the last tick. */
	up_buffer_print(t->out,
		"<svg x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\" viewBox=\"0 0 %u %u\" preserveAspectRatio=\"none\">",
		100 * (double)(from_us - t->from_us) / (double)(t->to_us - t->from_us),
		100 * (double)(to_us - from_us) / (double)(t->to_us - t->from_us), heat->columns, heat->rows);
	heat_cells(t, heat, most);
	up_buffer_add(t->out, "</svg>");
	heat_ticks(t, heat);
	up_lane_end(t);
}
