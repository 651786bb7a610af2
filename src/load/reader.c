/* What readers of all formats hand over: requests, drops, users, bad lines. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

static int fail(struct up_reader *reader, int error)
{
	snprintf(reader->load->error, sizeof(reader->load->error), "%s: %s", reader->file->path, strerror(-error));
	return error;
}

static struct up_second *second_at(struct up_reader *reader, int64_t time_us)
{
	struct up_second *second;

	time_us += reader->base_us;
	second = up_seconds_get(&reader->load->seconds, time_us >= 0 ? time_us / 1000000 : -((999999 - time_us) / 1000000));
	if (!second)
		up_reader_bad(reader, "a time more than %d days from the others", UP_LOAD_SECONDS_MAX / 86400);
	return second;
}

int up_reader_request(struct up_reader *reader, const struct up_request *request)
{
	struct up_load_file *file = reader->file;
	struct up_load *load = reader->load;
	unsigned flags = request->flags;
	int64_t start_us = request->start_us, end_us;
	int name, r;

	if (request->latency_ns < 0 || (uint64_t)request->latency_ns > UP_HIST_MAX_NS) {
		up_reader_bad(reader, "a latency of %.6g s", (double)request->latency_ns / 1e9);
		return 0;
	}
	if (start_us < -(INT64_C(1) << 53) || start_us > INT64_C(1) << 53) {
		up_reader_bad(reader, "a time far outside of any calendar");
		return 0;
	}
	name = request->name.n ? up_names_get(&load->names, request->name.at, request->name.n) : 0;
	if (name < 0)
		return fail(reader, name);
	if (request->late_us > UP_LATE_US)
		flags |= UP_POINT_LATE;
	start_us += reader->base_us;
	r = up_points_add(&load->points, start_us, up_point_pack((uint64_t)request->latency_ns, (unsigned)name, flags));
	if (r < 0)
		return fail(reader, r);
	end_us = start_us + request->latency_ns / 1000;
	if (file->n_points == 0 || start_us < file->first_start_us)
		file->first_start_us = start_us;
	if (file->n_points == 0 || end_us < file->first_end_us)
		file->first_end_us = end_us;
	if (file->n_points == 0 || end_us > file->last_end_us)
		file->last_end_us = end_us;
	if (request->late_us > file->max_late_us)
		file->max_late_us = request->late_us;
	file->n_late += request->late_us > UP_LATE_US;
	if (request->late_us > 0) {
		struct up_second *second = second_at(reader, request->start_us);

		if (second)
			second->late_s += (double)request->late_us / 1e6;
	}
	file->n_points++;
	return 0;
}

int up_reader_resolve_transactions(struct up_reader *reader, bool keep)
{
	struct up_load_file *file = reader->file;
	uint64_t removed = 0;
	int r = up_points_remove(&reader->load->points, file->first_point, UP_POINT_TRANSACTION, keep, &removed);

	if (r < 0)
		return fail(reader, r);
	file->n_points -= removed;
	file->transactions_left_out += removed;
	return 0;
}

void up_reader_dropped(struct up_reader *reader, int64_t time_us, uint64_t count)
{
	struct up_second *second;

	if (count == 0)
		return;
	second = second_at(reader, time_us);
	if (!second)
		return;
	second->dropped = count > UINT32_MAX - second->dropped ? UINT32_MAX : second->dropped + (uint32_t)count;
	reader->file->dropped += count;
}

void up_reader_users(struct up_reader *reader, int64_t time_us, double users, double users_max)
{
	struct up_second *second = second_at(reader, time_us);

	if (!second)
		return;
	if (!isnan(users))
		second->users = isnan(second->users) || users > second->users ? (float)users : second->users;
	if (!isnan(users_max))
		second->users_max = (float)users_max;
	reader->file->tool_users_known = true;
}

void up_reader_bad(struct up_reader *reader, const char *format, ...)
{
	struct up_load_file *file = reader->file;
	va_list args;

	file->skipped_lines++;
	if (file->n_notes == UP_LOAD_NOTES_MAX)
		return;
	file->note[file->n_notes].line = reader->line;
	va_start(args, format);
	vsnprintf(file->note[file->n_notes].text, sizeof(file->note[0].text), format, args);
	va_end(args);
	file->n_notes++;
}

void up_reader_remark(struct up_reader *reader, const char *format, ...)
{
	char text[UP_LOAD_NOTE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (size_t i = 0; i < sizeof(reader->file->remark) / sizeof(reader->file->remark[0]); i++) {
		if (strcmp(reader->file->remark[i], text) == 0)
			return;
		if (!reader->file->remark[i][0]) {
			memcpy(reader->file->remark[i], text, sizeof(text));
			return;
		}
	}
}
