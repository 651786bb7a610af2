/* The environment of a run as JSON. */
#include "useprobe/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/clock.h"
#include "useprobe/sink.h"

#define FORMAT_VERSION 1

/* JSON text must be UTF-8; bytes that are not keep their value as \xNN. */
static json_t *text_json(const char *text)
{
	json_t *json;
	char *safe, *out;

	if (!text)
		return json_null();
	safe = malloc(strlen(text) * 4 + 1);
	if (!safe)
		return NULL;
	for (out = safe; *text;) {
		uint32_t point;
		unsigned width;
		const size_t len = up_terminal_char(text, &point, &width);

		if (len)
			out = mempcpy(out, text, len);
		else
			out += snprintf(out, 5, "\\x%02x", (unsigned)(unsigned char)*text);
		text += len ? len : 1;
	}
	*out = '\0';
	json = json_string(safe);
	free(safe);
	return json;
}

static json_t *value_json(struct up_value value)
{
	if (!up_value_ok(value))
		return json_null();
	return value.number == (double)(json_int_t)value.number ? json_integer((json_int_t)value.number)
								: json_real(value.number);
}

static json_t *time_json(uint64_t wall_ns)
{
	char text[UP_TIME_TEXT];

	if (!wall_ns)
		return json_null();
	up_time_format(wall_ns, text);
	return json_string(text);
}

static json_t *seconds_json(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *pairs_json(const struct up_sidecar_pair *pairs, size_t count)
{
	json_t *object = json_object();
	int r = object ? 0 : -1;

	for (size_t i = 0; i < count && r == 0; i++) {
		/* Keys go the same way as values, since they are foreign text too. */
		json_t *key = text_json(pairs[i].key);

		r = key ? json_object_set_new(object, json_string_value(key), text_json(pairs[i].value)) : -1;
		json_decref(key);
	}
	if (r == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *target_json(const struct up_sidecar_target *target)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", text_json(target->name), "kind", text_json(target->kind),
		"label", text_json(target->label), "found_as", text_json(target->how), "container_id",
		text_json(target->container_id), "limits", pairs_json(target->limits, target->limit_count));
}

static json_t *collector_json(const struct up_sidecar_collector *collector)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", text_json(collector->name), "target", text_json(collector->target),
		"state", text_json(up_state_name(collector->state)), "reason", text_json(collector->reason), "method",
		text_json(collector->method));
}

static json_t *targets_json(const struct up_sidecar *sidecar)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sidecar->target_count; i++)
		if (json_array_append_new(array, target_json(&sidecar->targets[i])) < 0)
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *collectors_json(const struct up_sidecar *sidecar)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sidecar->collector_count; i++)
		if (json_array_append_new(array, collector_json(&sidecar->collectors[i])) < 0)
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *clock_json(const struct up_sidecar *sidecar)
{
	const bool ended = sidecar->end_wall_ns != 0;
	json_t *elapsed = ended ? seconds_json(sidecar->end_mono_ns - sidecar->start_mono_ns) : json_null();
	/* What the wall clock gained on the monotonic one: a step or slewing during the run. */
	json_t *gained = ended ? json_real(((double)sidecar->end_wall_ns - (double)sidecar->start_wall_ns -
						   ((double)sidecar->end_mono_ns - (double)sidecar->start_mono_ns)) /
					   1e9)
			       : json_null();

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "time", "CLOCK_REALTIME, UTC", "elapsed", "CLOCK_MONOTONIC", "zone",
		text_json(sidecar->locale_zone), "monotonic_at_start_s", seconds_json(sidecar->start_mono_ns), "elapsed_s",
		elapsed, "wall_gained_s", gained);
}

static json_t *run_json(const struct up_sidecar *sidecar)
{
	const bool ended = sidecar->end_wall_ns != 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "start", time_json(sidecar->start_wall_ns), "end",
		time_json(sidecar->end_wall_ns), "end_reason", text_json(sidecar->end_reason), "interval_s",
		seconds_json(sidecar->interval_ns), "ticks", ended ? json_integer((json_int_t)sidecar->ticks) : json_null(),
		"late_ticks", ended ? json_integer((json_int_t)sidecar->late_ticks) : json_null());
}

static json_t *machine_json(const struct up_sidecar *sidecar)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "host", text_json(sidecar->host), "kernel",
		text_json(sidecar->kernel), "machine", text_json(sidecar->machine), "distribution",
		text_json(sidecar->distribution), "cpu_count", value_json(sidecar->cpu_count), "memory_bytes",
		value_json(sidecar->memory_bytes), "cgroup_mode", text_json(sidecar->cgroup_mode), "boot_id",
		text_json(sidecar->boot_id));
}

static json_t *command_json(const struct up_sidecar *sidecar)
{
	if (!sidecar->command)
		return json_null();
	return json_pack("{s:o, s:I}", "program", text_json(sidecar->command), "argument_count",
		(json_int_t)sidecar->command_argument_count);
}

char *up_sidecar_text(const struct up_sidecar *sidecar)
{
	json_t *json = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format", FORMAT_VERSION,
		"program", "useprobe", "version", text_json(sidecar->version), "csv", text_json(sidecar->csv), "environment",
		machine_json(sidecar), "run", run_json(sidecar), "clock", clock_json(sidecar), "targets", targets_json(sidecar),
		"collectors", collectors_json(sidecar), "versions", pairs_json(sidecar->versions, sidecar->version_count),
		"notes", pairs_json(sidecar->notes, sidecar->note_count), "command", command_json(sidecar));
	char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;

	json_decref(json);
	return text;
}

int up_sidecar_path(const char *csv_path, char *ret, size_t size)
{
	const size_t len = strlen(csv_path);
	const size_t stem = len > 4 && strcmp(csv_path + len - 4, ".csv") == 0 ? len - 4 : len;
	char path[4096];
	const int n = snprintf(path, sizeof(path), "%.*s.json", (int)stem, csv_path);

	if ((size_t)n >= sizeof(path) || (size_t)n >= size)
		return -ENAMETOOLONG;
	memcpy(ret, path, (size_t)n + 1);
	return 0;
}

static int write_text(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		const ssize_t n = write(fd, text, left);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			left -= (size_t)n;
		}
	}
	return write(fd, "\n", 1) == 1 ? 0 : errno ? -errno : -EIO;
}

int up_sidecar_write(const char *path, bool fresh, const struct up_sidecar *sidecar)
{
	char temporary[4096 + 16];
	char *text;
	int fd, r = 0;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%u.tmp", path, (unsigned)getpid()) >= sizeof(temporary))
		return -ENAMETOOLONG;
	text = up_sidecar_text(sidecar);
	if (!text)
		return -ENOMEM;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		r = -errno;
	if (fd >= 0) {
		r = write_text(fd, text);
		if (r == 0 && fsync(fd) < 0)
			r = -errno;
		if (close(fd) < 0 && r == 0)
			r = -errno;
		/* link(2) refuses an existing name, rename(2) replaces it. */
		if (r == 0 && (fresh ? link(temporary, path) : rename(temporary, path)) < 0)
			r = -errno;
		if (r < 0 || fresh)
			unlink(temporary);
	}
	free(text);
	return r;
}
