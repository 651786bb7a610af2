#include "recorded_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rows/csv_record.h"
#include "useprobe/clock.h"

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

/* A mark that was set before its tick carries its own time. */
static int64_t moment(const struct up_row *row, int64_t wall_us)
{
	char text[UP_TIME_TEXT + 16];
	uint64_t at_ns;

	if (row->detail && up_detail_get(row->detail, "at", text, sizeof(text)) && up_csv_cell_time(text, &at_ns) == 0)
		return (int64_t)(at_ns / 1000);
	return wall_us;
}

static int grow(struct up_recording *recording)
{
	const size_t more = recording->event_room ? recording->event_room * 2 : 16;
	struct up_recorded_event *bigger;

	if (recording->n_events < recording->event_room)
		return 0;
	bigger = realloc(recording->event, more * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	recording->event = bigger;
	recording->event_room = more;
	return 0;
}

/* "cpu quota; from_cpus 0.5; to_cpus 1": the text, then what else the detail holds. */
static void describe(const char *detail, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	while (detail && *detail) {
		const size_t key_n = strcspn(detail, "=;");
		char key[64], value[1536];

		if (key_n < sizeof(key)) {
			memcpy(key, detail, key_n);
			key[key_n] = '\0';
			if (strcmp(key, "at") != 0 && up_detail_get(detail, key, value, sizeof(value))) {
				const bool plain = strcmp(key, "text") == 0;
				const int n = snprintf(ret + used, size - used, "%s%s%s%s", used ? "; " : "", plain ? "" : key,
					plain ? "" : " ", value);

				used = n < 0 || (size_t)n >= size - used ? size - 1 : used + (size_t)n;
			}
		}
		detail += strcspn(detail, ";");
		detail += *detail == ';';
	}
}

int up_recorded_event_add(struct up_recording *recording, const struct up_row *row, int64_t wall_us)
{
	struct up_recorded_event event = { .wall_us = moment(row, wall_us) };
	char text[2048];

	if (recording->n_events >= UP_RECORDING_EVENTS_MAX) {
		recording->events_left_out++;
		return 0;
	}
	if (grow(recording) < 0)
		return -ENOMEM;
	describe(row->detail, text, sizeof(text));
	event.kind = copy(row->resource);
	event.name = copy(row->name);
	event.text = copy(text);
	if (!event.kind || !event.name || !event.text) {
		free(event.kind);
		free(event.name);
		free(event.text);
		return -ENOMEM;
	}
	recording->event[recording->n_events++] = event;
	return 0;
}

void up_recorded_events_done(struct up_recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++) {
		free(recording->event[i].kind);
		free(recording->event[i].name);
		free(recording->event[i].text);
	}
	free(recording->event);
}
