#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures.h"

/* 1, 2 or 5 times a power of ten, so that about COUNT steps make up SPAN. */
static double nice_step(double span, unsigned count)
{
	const double raw = span / count, power = pow(10, floor(log10(raw))), of = raw / power;

	return power * (of < 1.5 ? 1 : of < 3.5 ? 2 : of < 7.5 ? 5 : 10);
}

struct up_axis up_axis_linear(double lo, double hi, double from, double to)
{
	double step;

	if (!(hi > lo))
		hi = lo + 1;
	step = nice_step(hi - lo, 5);
	return (struct up_axis){ floor(lo / step + 1e-9) * step, ceil(hi / step - 1e-9) * step, from, to, false };
}

/* Half decades: 1, 3, 10, 30, ... */
static double half_decade(double value, bool up)
{
	const double halves = 2 * log10(value), whole = up ? ceil(halves - 1e-9) : floor(halves + 1e-9);

	return pow(10, whole / 2);
}

struct up_axis up_axis_log(double lo, double hi, double from, double to)
{
	lo = half_decade(lo, false);
	hi = half_decade(hi, true);
	if (!(hi > lo))
		hi = lo * 10;
	return (struct up_axis){ lo, hi, from, to, true };
}

double up_axis_at(const struct up_axis *axis, double value)
{
	const double part =
		axis->log ? log(value / axis->lo) / log(axis->hi / axis->lo) : (value - axis->lo) / (axis->hi - axis->lo);

	return axis->from + fmin(fmax(part, 0), 1) * (axis->to - axis->from);
}

static size_t log_ticks(const struct up_axis *axis, double ret[UP_TICKS_MAX])
{
	static const double steps[3][3] = { { 1, 2, 5 }, { 1, 3, 0 }, { 1, 0, 0 } };
	const double decades = log10(axis->hi / axis->lo);
	const double *step = steps[decades < 1.6 ? 0 : decades < 3.6 ? 1 : 2];
	size_t n = 0;

	for (int decade = (int)floor(log10(axis->lo)); pow(10, decade) <= axis->hi * 1.001; decade++)
		for (size_t i = 0; i < 3 && step[i] > 0; i++) {
			const double value = pow(10, decade) * step[i];

			if (n < UP_TICKS_MAX && value >= axis->lo * 0.999 && value <= axis->hi * 1.001)
				ret[n++] = value;
		}
	return n;
}

size_t up_axis_ticks(const struct up_axis *axis, unsigned count, double ret[UP_TICKS_MAX])
{
	double step;
	size_t n = 0;

	if (axis->log)
		return log_ticks(axis, ret);
	step = nice_step(axis->hi - axis->lo, count);
	/* + 0.0 makes -0 a plain 0. */
	for (double first = ceil(axis->lo / step - 1e-9);
		n < UP_TICKS_MAX && (first + (double)n) * step <= axis->hi + step * 1e-9; n++)
		ret[n] = (first + (double)n) * step + 0.0;
	return n;
}

struct up_pixels up_px(double pixels)
{
	struct up_pixels c;
	size_t n;

	pixels = round(fmin(fmax(pixels, -99999), 99999) * 10) / 10;
	n = (size_t)snprintf(c.text, sizeof(c.text), "%.1f", pixels == 0 ? 0 : pixels);
	if (n > 2 && strcmp(c.text + n - 2, ".0") == 0)
		c.text[n - 2] = '\0';
	return c;
}

void up_svg_begin(struct up_buffer *out, double width, double height, const char *label)
{
	up_buffer_print(out, "<svg class=\"chart\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"", up_px(width).text,
		up_px(height).text);
	up_html_bare(out, label);
	up_buffer_add(out, "\">\n");
}

void up_svg_end(struct up_buffer *out)
{
	up_buffer_add(out, "</svg>\n");
}

void up_svg_line(struct up_buffer *out, const char *class, double x1, double y1, double x2, double y2)
{
	up_buffer_print(out, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", class, up_px(x1).text,
		up_px(y1).text, up_px(x2).text, up_px(y2).text);
}

void up_svg_rect(struct up_buffer *out, const char *class, double x, double y, double width, double height)
{
	up_buffer_print(out, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class, up_px(x).text,
		up_px(y).text, up_px(fmax(width, 0)).text, up_px(fmax(height, 0)).text);
}

void up_svg_text(struct up_buffer *out, const char *class, double x, double y, const char *anchor, const char *text)
{
	up_buffer_print(
		out, "<text class=\"%s\" x=\"%s\" y=\"%s\" text-anchor=\"%s\">", class, up_px(x).text, up_px(y).text, anchor);
	up_html_bare(out, text);
	up_buffer_add(out, "</text>\n");
}

void up_svg_text_up(struct up_buffer *out, const char *class, double x, double y, const char *text)
{
	up_buffer_print(out, "<text class=\"%s\" transform=\"translate(%s %s) rotate(-90)\" text-anchor=\"middle\">", class,
		up_px(x).text, up_px(y).text);
	up_html_bare(out, text);
	up_buffer_add(out, "</text>\n");
}

static struct up_amount tick_text(double value, bool ms)
{
	return ms ? up_ms_tick(value) : up_tick(value);
}

void up_plot_frame(const struct up_plot *plot)
{
	const struct up_axis *x = &plot->x, *y = &plot->y;
	double tick[UP_TICKS_MAX];
	size_t n = up_axis_ticks(y, 5, tick);

	for (size_t i = 0; i < n; i++) {
		const double at = up_axis_at(y, tick[i]);

		up_svg_line(plot->out, "grid", x->from, at, x->to, at);
		up_svg_text(plot->out, "tick", x->from - 6, at + 4, "end", tick_text(tick[i], plot->y_ms).text);
	}
	n = up_axis_ticks(x, 6, tick);
	for (size_t i = 0; i < n; i++) {
		const double at = up_axis_at(x, tick[i]);

		up_svg_line(plot->out, "axis", at, y->from, at, y->from + 4);
		up_svg_text(plot->out, "tick", at, y->from + 17, "middle", tick_text(tick[i], plot->x_ms).text);
	}
	up_svg_line(plot->out, "axis", x->from, y->from, x->to, y->from);
	up_svg_text(plot->out, "name", (x->from + x->to) / 2, y->from + 35, "middle", plot->x_name);
	up_svg_text_up(plot->out, "name", 12, (y->from + y->to) / 2, plot->y_name);
}

void up_plot_line(const struct up_plot *plot, const char *class, const double *x, const double *y, size_t n)
{
	bool drawing = false;

	up_buffer_print(plot->out, "<path class=\"%s\" d=\"", class);
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]) || !isfinite(y[i])) {
			drawing = false;
			continue;
		}
		up_buffer_print(plot->out, "%s%s %s", drawing ? "L" : "M", up_px(up_axis_at(&plot->x, x[i])).text,
			up_px(up_axis_at(&plot->y, y[i])).text);
		drawing = true;
	}
	up_buffer_add(plot->out, "\"/>\n");
}
