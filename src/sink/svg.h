/* Private to src/sink: what the charts share. Coordinates are pixels of the drawing's own box. */
#ifndef UP_SVG_H
#define UP_SVG_H

#include "doc.h"

struct up_axis {
	double lo, hi; /* values at the two ends; lo < hi, and 0 < lo when log */
	double from, to; /* pixels of these */
	bool log;
};

/* Axis over [lo, hi], widened to whole ticks: about COUNT of them on a linear axis, whole decades or halves of them on a logarithmic one. */
struct up_axis up_axis_linear(double lo, double hi, double from, double to);
struct up_axis up_axis_log(double lo, double hi, double from, double to);
double up_axis_at(const struct up_axis *axis, double value);
enum { UP_TICKS_MAX = 24 };
/* Values of the ticks; returns how many, about COUNT on a linear axis. */
size_t up_axis_ticks(const struct up_axis *axis, unsigned count, double ret[UP_TICKS_MAX]);

/* A coordinate: one decimal at most, '.' in every locale. */
struct up_pixels {
	char text[16];
};
struct up_pixels up_px(double pixels);

/* WIDTH x HEIGHT pixels at most, scaled down with the page; LABEL is read out instead of it. */
void up_svg_begin(struct up_buffer *out, double width, double height, const char *label);
void up_svg_end(struct up_buffer *out);
void up_svg_line(struct up_buffer *out, const char *class, double x1, double y1, double x2, double y2);
void up_svg_rect(struct up_buffer *out, const char *class, double x, double y, double width, double height);
/* ANCHOR: "start", "middle", "end". */
void up_svg_text(struct up_buffer *out, const char *class, double x, double y, const char *anchor, const char *text);
/* The same turned to run upwards. */
void up_svg_text_up(struct up_buffer *out, const char *class, double x, double y, const char *text);

/* The frame of a chart: grid, tick labels, names of the axes with their units. */
struct up_plot {
	struct up_buffer *out;
	struct up_axis x, y;
	const char *x_name, *y_name;
	bool x_ms, y_ms; /* ticks are times in ms: above a second they say so */
};
void up_plot_frame(const struct up_plot *plot);
/* A line through the points [n]; those that are NAN break it. */
void up_plot_line(const struct up_plot *plot, const char *class, const double *x, const double *y, size_t n);

#endif
