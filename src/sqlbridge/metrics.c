/* /metrics: the sample as OpenMetrics text (openmetrics.io, version 1.0.0). Pure. What is not known has no line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "useprobe/buffer.h"
#include "useprobe/clock.h"
#include "useprobe/number.h"
#include "useprobe/sql_waits.h"

/* A label's value: '\', '"' and newline are escaped, other control characters and what is not ASCII become '?'. */
static void add_label(struct up_buffer *out, const char *name, const char *text)
{
	up_buffer_print(out, "%s=\"", name);
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			up_buffer_add_n(out, (const char[]){ '\\', *text }, 2);
		else
			up_buffer_add_n(out, (unsigned char)*text >= ' ' && (unsigned char)*text < 0x7f ? text : "?", 1);
	}
	up_buffer_add(out, "\"");
}

static void add_value(struct up_buffer *out, const char *type, double n)
{
	char text[UP_NUMBER_TEXT];

	if (type) {
		up_buffer_add(out, "{");
		add_label(out, "type", type);
		up_buffer_print(out, ",class=\"%s\",ignorable=\"%d\"}", up_sql_class_name(up_sql_wait_class(type)),
			up_sql_wait_ignorable(type));
	}
	up_buffer_print(out, " %s\n", up_number_text(n, text));
}

/* One family over all wait types: the number at OFFSET of a struct bridge_wait. */
static void add_waits(struct up_buffer *out, const struct bridge_sample *sample, const char *family, const char *unit,
	size_t offset, double scale)
{
	up_buffer_print(out, "# TYPE %s counter\n", family);
	if (unit)
		up_buffer_print(out, "# UNIT %s %s\n", family, unit);
	for (size_t i = 0; i < sample->n_waits; i++) {
		struct bridge_number n;

		memcpy(&n, (const char *)&sample->waits[i] + offset, sizeof(n));
		if (!n.has || !isfinite(n.n))
			continue;
		up_buffer_print(out, "%s_total", family);
		add_value(out, sample->waits[i].type, n.n * scale);
	}
}

static void add_fields(struct up_buffer *out, const struct bridge_sample *sample)
{
	for (unsigned i = 0; i < BRIDGE_FIELDS; i++) {
		/* The clock and the errors only grow; worker failures are a level. */
		bool counter =
			(i >= BRIDGE_FIRST_ERROR && i != BRIDGE_WORKER_FAILURES) || i == BRIDGE_CLOCK_MS || i == BRIDGE_LOOKS;

		if (!sample->fields[i].has || !isfinite(sample->fields[i].n))
			continue;
		up_buffer_print(out, "# TYPE useprobe_sql_%s %s\nuseprobe_sql_%s%s", bridge_field_names[i],
			counter ? "counter" : "gauge", bridge_field_names[i], counter ? "_total" : "");
		add_value(out, NULL, sample->fields[i].n);
	}
}

char *bridge_metrics_text(const struct bridge_view *view, uint64_t now_ns)
{
	char said[128];
	const char *reason;
	enum bridge_state state = bridge_view_state(view, now_ns, said, sizeof(said), &reason);
	struct up_buffer out = { .text = NULL };

	up_buffer_print(&out, "# TYPE useprobe_sql_up gauge\nuseprobe_sql_up %d\n", state == BRIDGE_OK);
	/* An old sample would look like a server that stands still: a scrape has no word for "stale". */
	if (state == BRIDGE_OK) {
		const struct bridge_sample *sample = view->sample;

		add_waits(&out, sample, "useprobe_sql_waits", NULL, offsetof(struct bridge_wait, waits), 1);
		add_waits(&out, sample, "useprobe_sql_wait_seconds", "seconds", offsetof(struct bridge_wait, wait_ms), 1e-3);
		add_waits(&out, sample, "useprobe_sql_signal_wait_seconds", "seconds", offsetof(struct bridge_wait, signal_ms),
			1e-3);
		up_buffer_add(&out, "# TYPE useprobe_sql_waiting_tasks gauge\n");
		for (size_t i = 0; i < sample->n_unfinished; i++) {
			up_buffer_add(&out, "useprobe_sql_waiting_tasks");
			add_value(&out, sample->unfinished[i].type, sample->unfinished[i].tasks.n);
		}
		add_fields(&out, sample);
	}
	up_buffer_add(&out, "# EOF\n");
	if (out.failed) {
		up_buffer_done(&out);
		return NULL;
	}
	return out.text;
}
