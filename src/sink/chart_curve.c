/* The load curve: what was achieved and how long it took against what was asked for, the knee between two steps shaded. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page_parts.h"

enum { WIDTH = 520, HEIGHT = 308, LEFT = 76, RIGHT = 14, TOP = 38, BOTTOM = 44 };

/* The curve as plain arrays. */
struct curve {
	size_t n;
	double level[UP_STEPS_MAX]; /* offered rate, or users */
	double achieved[UP_STEPS_MAX], ok[UP_STEPS_MAX];
	double quantile[3][UP_STEPS_MAX];
	const char *level_name;
	bool any_failed;
};

static const enum up_quantile_index shown[3] = { UP_P50, UP_P95, UP_P99 };
static const char *const line_class[3] = { "p50", "p95", "p99" };

static double level_of(const struct up_curve *curve, const struct up_step *step)
{
	if (curve->model.model != UP_MODEL_CLOSED)
		return step->offered_per_s;
	return isnan(step->users) ? step->in_flight : step->users;
}

static void read_curve(const struct up_page *page, struct curve *c)
{
	const struct up_curve *curve = page->curve;
	const bool closed = curve->model.model == UP_MODEL_CLOSED;

	*c = (struct curve){ .n = curve->n,
		.level_name = closed ? "users (or requests in flight)" : "offered load (requests/s)" };
	for (size_t i = 0; i < curve->n; i++) {
		const struct up_step *step = &curve->step[i];

		c->level[i] = level_of(curve, step);
		c->achieved[i] = step->achieved_per_s;
		c->ok[i] = step->achieved_ok_per_s;
		c->any_failed = c->any_failed || step->achieved_ok_per_s < step->achieved_per_s * 0.999;
		for (size_t k = 0; k < 3; k++)
			c->quantile[k][i] = step->latency.n ? step->latency.q[shown[k]].ms : NAN;
	}
}

static double highest(const double *values, size_t n)
{
	double high = NAN;

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			high = fmax(high, values[i]);
	return high;
}

static struct up_axis x_axis(const struct up_page *page, const struct curve *c)
{
	double hi = highest(c->level, c->n);

	if (page->curve->model.model != UP_MODEL_CLOSED && page->peak_per_s < hi * 3)
		hi = fmax(hi, page->peak_per_s);
	return up_axis_linear(0, hi > 0 ? hi : 1, LEFT, WIDTH - RIGHT);
}

/* The interval that holds the knee, behind everything else. */
static void shade_knee(const struct up_plot *plot, const struct up_page *page, const struct curve *c)
{
	const struct up_knee *knee = page->knee;
	double from, to;

	if (knee->verdict != UP_KNEE_FOUND || knee->bad < 0)
		return;
	from = knee->good >= 0 ? up_axis_at(&plot->x, c->level[knee->good]) : plot->x.from;
	to = up_axis_at(&plot->x, c->level[knee->bad]);
	up_svg_rect(plot->out, "knee", from, plot->y.to, to - from, plot->y.from - plot->y.to);
	up_svg_text(plot->out, "kneename", fmin(fmax((from + to) / 2, LEFT + 20), WIDTH - RIGHT - 20), TOP - 5, "middle", "knee");
}

/* Where SERIES stands at each step: a full dot where the step is good, an open one where it is bad. */
static void dots(
	const struct up_plot *plot, const struct up_page *page, const struct curve *c, const double *y, const char *class)
{
	for (size_t i = 0; i < c->n; i++) {
		if (!isfinite(y[i]) || !isfinite(c->level[i]))
			continue;
		up_buffer_print(plot->out, "<circle class=\"%s%s\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", class,
			page->curve->step[i].verdict == UP_STEP_BAD ? " bad" : "", up_px(up_axis_at(&plot->x, c->level[i])).text,
			up_px(up_axis_at(&plot->y, y[i])).text, c->n > 60 ? "2" : "3.5");
	}
}

static void draw_peak(const struct up_plot *plot, const struct up_page *page)
{
	const double at = up_axis_at(&plot->x, page->peak_per_s);

	if (!isfinite(page->peak_per_s) || page->curve->model.model == UP_MODEL_CLOSED || page->peak_per_s > plot->x.hi)
		return;
	up_svg_line(plot->out, "goal", at, plot->y.from, at, plot->y.to);
	up_svg_text(plot->out, "goalname", at - 4, plot->y.to + 12, "end", "planned peak");
}

/* LABELS of lines in one row above the plot, each with a bit of its line. */
static void legend(struct up_buffer *out, const char *const *class, const char *const *label, size_t n)
{
	double x = LEFT;

	for (size_t i = 0; i < n; i++) {
		up_svg_line(out, class[i], x, 9, x + 20, 9);
		up_svg_text(out, "tick", x + 25, 13, "start", label[i]);
		x += 32 + 7.0 * (double)strlen(label[i]);
	}
}

void up_chart_throughput(struct up_buffer *out, const struct up_page *page)
{
	static const char *const class[] = { "done", "ok", "ideal" };
	static const char *const label[] = { "completed", "without errors", "as offered" };
	struct curve c;
	struct up_plot plot = { .out = out, .y_name = "completed (requests/s)" };
	double ends[2] = { 0, 0 };
	bool open;

	read_curve(page, &c);
	open = page->curve->model.model != UP_MODEL_CLOSED;
	plot.x = x_axis(page, &c);
	plot.x_name = c.level_name;
	plot.y = up_axis_linear(0, fmax(highest(c.achieved, c.n), open ? highest(c.level, c.n) : 0) * 1.02, HEIGHT - BOTTOM, TOP);
	up_svg_begin(out, WIDTH, HEIGHT, "Completed requests per second against the load, knee shaded");
	shade_knee(&plot, page, &c);
	up_plot_frame(&plot);
	draw_peak(&plot, page);
	if (open) {
		ends[1] = fmin(plot.x.hi, plot.y.hi);
		up_plot_line(&plot, "ideal", ends, ends, 2);
	}
	if (c.any_failed)
		up_plot_line(&plot, "ok", c.level, c.ok, c.n);
	up_plot_line(&plot, "done", c.level, c.achieved, c.n);
	dots(&plot, page, &c, c.achieved, "done");
	if (c.any_failed)
		legend(out, class, label, open ? 3 : 2);
	else if (open)
		legend(out, (const char *const[]){ "done", "ideal" }, (const char *const[]){ "completed", "as offered" }, 2);
	up_svg_end(out);
}

static struct up_axis latency_axis(const struct up_page *page, const struct curve *c)
{
	double lo = NAN, hi = NAN;

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < c->n; i++) {
			if (!(c->quantile[k][i] > 0))
				continue;
			lo = fmin(lo, c->quantile[k][i]);
			hi = fmax(hi, c->quantile[k][i]);
		}
	for (unsigned i = 0; page->slo && i < page->slo->n; i++)
		if (page->slo->term[i].what != UP_SLO_FAILED && page->slo->term[i].limit > 0) {
			lo = fmin(lo, page->slo->term[i].limit);
			hi = fmax(hi, page->slo->term[i].limit);
		}
	return isnan(lo) ? up_axis_log(1, 10, HEIGHT - BOTTOM, TOP) : up_axis_log(lo * 0.9, hi * 1.1, HEIGHT - BOTTOM, TOP);
}

static void draw_limits(const struct up_plot *plot, const struct up_page *page)
{
	for (unsigned i = 0; page->slo && i < page->slo->n; i++) {
		const double at = up_axis_at(&plot->y, page->slo->term[i].limit);
		const char *name = page->slo->term[i].what == UP_SLO_QUANTILE
					   ? up_quantile_names[page->slo->term[i].quantile].name
				   : page->slo->term[i].what == UP_SLO_MEAN ? "mean"
									    : "max";
		char text[64];

		if (page->slo->term[i].what == UP_SLO_FAILED)
			continue;
		snprintf(text, sizeof(text), "objective: %s < %s", name, up_ms(page->slo->term[i].limit).text);
		up_svg_line(plot->out, "goal", plot->x.from, at, plot->x.to, at);
		up_svg_text(plot->out, "goalname", plot->x.from + 5, at - 4, "start", text);
	}
}

void up_chart_latency(struct up_buffer *out, const struct up_page *page)
{
	struct curve c;
	struct up_plot plot = { .out = out, .y_name = "response time (log scale)", .y_ms = true };

	read_curve(page, &c);
	plot.x = x_axis(page, &c);
	plot.x_name = c.level_name;
	plot.y = latency_axis(page, &c);
	up_svg_begin(out, WIDTH, HEIGHT, "Response time percentiles against the load, knee shaded");
	shade_knee(&plot, page, &c);
	up_plot_frame(&plot);
	draw_peak(&plot, page);
	draw_limits(&plot, page);
	for (size_t k = 0; k < 3; k++) {
		up_plot_line(&plot, line_class[k], c.level, c.quantile[k], c.n);
		dots(&plot, page, &c, c.quantile[k], line_class[k]);
	}
	legend(out, line_class, line_class, 3);
	up_svg_end(out);
}

/* Dots of the loop, each with its load where there is room for it. */
static void loop_dots(const struct up_plot *plot, const struct up_page *page, const struct curve *c)
{
	double taken_x[UP_STEPS_MAX], taken_y[UP_STEPS_MAX];
	size_t taken = 0;

	for (size_t i = 0; i < c->n; i++) {
		const double x = up_axis_at(&plot->x, c->achieved[i]), y = up_axis_at(&plot->y, c->quantile[1][i]);
		const bool left = x > WIDTH - 90;
		const double label_x = x + (left ? -9 : 9), label_y = y + (left ? -7 : 14);
		bool free = true;

		if (!isfinite(c->quantile[1][i]))
			continue;
		up_buffer_print(plot->out, "<circle class=\"p95%s\" cx=\"%s\" cy=\"%s\" r=\"3.5\"/>\n",
			page->curve->step[i].verdict == UP_STEP_BAD ? " bad" : "", up_px(x).text, up_px(y).text);
		for (size_t k = 0; k < taken; k++)
			free = free && (fabs(taken_x[k] - label_x) > 48 || fabs(taken_y[k] - label_y) > 13);
		if (!free)
			continue;
		taken_x[taken] = label_x;
		taken_y[taken++] = label_y;
		up_svg_text(plot->out, "tick", label_x, label_y, left ? "end" : "start", up_page_level(page->curve, (int)i).text);
	}
}

/* Throughput on the one axis, latency on the other, step after step: the curve turns back where more load brings less. */
void up_chart_loop(struct up_buffer *out, const struct up_page *page)
{
	struct curve c;
	struct up_plot plot = {
		.out = out, .x_name = "completed (requests/s)", .y_name = "response time p95 (log scale)", .y_ms = true
	};
	const struct up_knee *knee = page->knee;

	read_curve(page, &c);
	plot.x = up_axis_linear(0, highest(c.achieved, c.n) * 1.02, LEFT, WIDTH - RIGHT);
	plot.y = latency_axis(page, &c);
	up_svg_begin(out, WIDTH, HEIGHT, "p95 response time against completed requests per second, step by step");
	up_plot_frame(&plot);
	if (knee->verdict == UP_KNEE_FOUND && knee->good >= 0 && knee->bad >= 0) {
		const double x[2] = { c.achieved[knee->good], c.achieved[knee->bad] };
		const double y[2] = { c.quantile[1][knee->good], c.quantile[1][knee->bad] };

		up_plot_line(&plot, "kneeline", x, y, 2);
	}
	up_plot_line(&plot, "p95", c.achieved, c.quantile[1], c.n);
	loop_dots(&plot, page, &c);
	up_svg_end(out);
}
