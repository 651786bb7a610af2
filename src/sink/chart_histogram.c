/* How many requests took how long, and where the percentiles lie. */
#include <math.h>
#include <stdio.h>

#include "page_parts.h"

enum { WIDTH = 520, HEIGHT = 308, LEFT = 76, RIGHT = 14, TOP = 38, BOTTOM = 44 };

static void percentiles(const struct up_plot *plot, const struct up_summary *s)
{
	static const enum up_quantile_index shown[3] = { UP_P50, UP_P95, UP_P99 };
	static const char *const class[3] = { "p50", "p95", "p99" };
	double last = -100;

	for (size_t i = 0; s && s->n && i < 3; i++) {
		const double x = up_axis_at(&plot->x, s->q[shown[i]].ms);
		const bool crowded = x - last < 30;

		up_svg_line(plot->out, class[i], x, plot -> y.from, x, plot->y.to);
		up_svg_text(plot->out, "tick", x, TOP - (crowded ? 18 : 6), "middle", class[i]);
		last = x;
	}
}

void up_chart_histogram(struct up_buffer *out, const struct up_page *page)
{
	const struct up_heat *heat = page->heat;
	struct up_plot plot = { .out = out, .x_name = "response time (log scale)", .y_name = "requests", .x_ms = true };
	double sum[UP_HEAT_ROWS] = { 0 }, most = 0;

	for (unsigned r = 0; r < heat->rows; r++) {
		for (unsigned c = 0; c < heat->columns; c++)
			sum[r] += (double)heat->count[(size_t)r * heat->columns + c];
		most = fmax(most, sum[r]);
	}
	plot.x = up_axis_log(up_heat_edge_ms(heat, 0), up_heat_edge_ms(heat, heat->rows), LEFT, WIDTH - RIGHT);
	plot.y = up_axis_linear(0, most, HEIGHT - BOTTOM, TOP);
	up_svg_begin(out, WIDTH, HEIGHT, "Histogram of the response times of all requests");
	up_plot_frame(&plot);
	for (unsigned r = 0; r < heat->rows; r++) {
		const double from = up_axis_at(&plot.x, up_heat_edge_ms(heat, r)),
			     to = up_axis_at(&plot.x, up_heat_edge_ms(heat, r + 1));
		const double top = up_axis_at(&plot.y, sum[r]);

		/* One request is still seen beside thousands. */
		if (sum[r] > 0)
			up_svg_rect(out, "count", from + 0.5, fmin(top, plot.y.from - 1.5), to - from - 1,
				fmax(plot.y.from - top, 1.5));
	}
	percentiles(&plot, page->overall);
	up_svg_end(out);
}
