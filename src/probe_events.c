/* Event rows: what happened between two ticks. */
#include "probe_internal.h"

#include <stdio.h>

void up_probe_event(struct up_probe *probe, const char *resource, const char *name, const char *text, const char *target)
{
	struct event *event;

	if (probe->event_count == EVENTS_MAX) {
		probe->dropped_rows++;
		return;
	}
	event = &probe->events[probe->event_count++];
	event->wall_ns = probe->config.clock->wall_ns(probe->config.clock->self);
	event->resource = resource;
	snprintf(event->name, sizeof(event->name), "%s", name ? name : "");
	snprintf(event->text, sizeof(event->text), "%s", text ? text : "");
	snprintf(event->target, sizeof(event->target), "%s", target ? target : "");
}

size_t up_probe_pending_events(const struct up_probe *probe)
{
	return probe->event_count;
}

void probe_add_events(struct up_probe *probe, const struct up_tick *tick)
{
	for (size_t i = 0; i < probe->event_count; i++) {
		const struct event *event = &probe->events[i];
		struct up_detail detail = { 0 };

		if (*event->text)
			up_detail_text(&detail, "text", event->text);
		/* A mark that was set between two ticks keeps its own time. */
		if (event->wall_ns + UP_NS_PER_MS <= tick->wall_ns) {
			char time[UP_TIME_TEXT];

			up_time_format(event->wall_ns, time);
			up_detail_text(&detail, "at", time);
		}
		up_rows_add(&probe->table.rows, &(struct up_row){
							.scope = UP_SCOPE_EVENT,
							.resource = event->resource,
							.name = event->name,
							.target = *event->target ? event->target : NULL,
							.detail = detail.text,
							.state = UP_OK,
						});
	}
	probe->event_count = 0;
}
