/* One file from its first byte to its end: recognise the format by the content, feed its reader, say what was odd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum {
	BUFFER_BYTES = 256 << 10,
	HEAD_BYTES = 64 << 10, /* looked at to recognise a format */
	BUFFER_MAX = 2 * UP_LOAD_RECORD_MAX,
	PROGRESS_BYTES = 8 << 20,
};

struct up_reading {
	struct up_reader reader;
	struct up_bytes *bytes; /* owned */
	char *buffer; /* owned, [room], n bytes not used yet */
	size_t n, room;
	uint64_t told_bytes;
	bool ended, broken;
};

static int fail(struct up_reading *reading, int error, const char *what)
{
	struct up_load *load = reading->reader.load;

	snprintf(load->error, sizeof(load->error), "%s: %s", reading->reader.file->path, what);
	return error;
}

/* A new file at the end of load->file, which may move: a reader holds a pointer into it only while it is the last one. */
static struct up_load_file *file_new(struct up_load *load, const char *path)
{
	struct up_load_file *file;

	if (load->n_files == UP_LOAD_FILES_MAX)
		return NULL;
	file = realloc(load->file, (load->n_files + 1) * sizeof(*file));
	if (!file)
		return NULL;
	load->file = file;
	file = &load->file[load->n_files++];
	*file = (struct up_load_file){ .first_point = up_points_total(&load->points), .failed_known = true };
	snprintf(file->path, sizeof(file->path), "%s", strcmp(path, "-") == 0 ? "standard input" : path);
	return file;
}

int up_load_init(struct up_load *load)
{
	int r;

	*load = (struct up_load){ .failed_known = true };
	up_points_init(&load->points);
	r = up_names_init(&load->names);
	if (r < 0)
		up_load_done(load);
	return r;
}

void up_load_done(struct up_load *load)
{
	if (!load)
		return;
	up_points_done(&load->points);
	up_names_done(&load->names);
	free(load->seconds.at);
	free(load->file);
	*load = (struct up_load){ .points = { .spill_fd = -1 } };
}

int up_reading_new(struct up_load *load, const char *path, const struct up_load_options *options, struct up_reading **ret_reading)
{
	struct up_reading *reading = calloc(1, sizeof(*reading));
	int r;

	if (!reading)
		return -ENOMEM;
	reading->reader = (struct up_reader){ .load = load, .options = options, .delimiter = ',' };
	reading->buffer = malloc(BUFFER_BYTES);
	reading->room = BUFFER_BYTES;
	reading->reader.file = file_new(load, path);
	if (!reading->buffer || !reading->reader.file) {
		up_reading_free(reading);
		return -ENOMEM;
	}
	r = up_bytes_open(path, &reading->bytes);
	if (r < 0) {
		fail(reading, r, strerror(-r));
		load->n_files--;
		up_reading_free(reading);
		return r;
	}
	*ret_reading = reading;
	return 0;
}

void up_reading_free(struct up_reading *reading)
{
	if (!reading)
		return;
	if (reading->reader.format && reading->reader.format->done)
		reading->reader.format->done(reading->reader.state);
	free(reading->reader.state);
	up_bytes_close(reading->bytes);
	free(reading->buffer);
	free(reading);
}

struct up_bytes *up_reading_bytes(struct up_reading *reading)
{
	return reading->bytes;
}

struct up_load_file *up_reading_file(struct up_reading *reading)
{
	return reading->reader.file;
}

static const struct up_load_format *recognise(struct up_text head, const struct up_load_options *options)
{
	if (up_text_starts(head, "\xef\xbb\xbf")) {
		head.at += 3;
		head.n -= 3;
	}
	for (size_t i = 0; up_load_formats[i]; i++) {
		const struct up_load_format *format = up_load_formats[i];

		if (options && options->format ? strcmp(options->format, format->id) == 0 : format->recognise(head, options))
			return format;
	}
	return NULL;
}

/* Where the times of a file without dates begin on the run's axis. */
static int64_t base_of(const struct up_reading *reading)
{
	const struct up_load *load = reading->reader.load;
	const struct up_load_options *options = reading->reader.options;

	if (load->n_files > 1)
		return (load->last_end_us / 1000000 + 2) * 1000000; /* at least a second between two files */
	return options && options->start_us ? options->start_us : 0;
}

/* WHAT, followed by the formats there are. */
static void list_formats(char what[UP_LOAD_NOTE_BYTES], const char *wanted)
{
	size_t n = (size_t)snprintf(what, UP_LOAD_NOTE_BYTES, "--format %s is none of", wanted);

	for (size_t i = 0; up_load_formats[i] && n < UP_LOAD_NOTE_BYTES; i++)
		n += (size_t)snprintf(what + n, UP_LOAD_NOTE_BYTES - n, "%s %s", i ? "," : "", up_load_formats[i]->id);
}

static int begin(struct up_reading *reading)
{
	const struct up_load_options *options = reading->reader.options;
	struct up_text head = { reading->buffer, reading->n < HEAD_BYTES ? reading->n : HEAD_BYTES };
	const struct up_load_format *format = recognise(head, options);

	if (!format && options && options->format) {
		char what[UP_LOAD_NOTE_BYTES];

		list_formats(what, options->format);
		return fail(reading, -ENOTSUP, what);
	}
	if (!format) {
		struct up_shown line = up_text_show(up_text_line(head));
		char what[UP_LOAD_NOTE_BYTES];

		snprintf(what, sizeof(what),
			"not a load result that is known here (a CSV of another kind: --columns); it begins with: %s",
			head.n ? line.text : "(empty file)");
		return fail(reading, -ENOTSUP, what);
	}
	reading->reader.format = format;
	reading->reader.file->traits = format->traits;
	if (!format->traits.dated)
		reading->reader.base_us = base_of(reading);
	reading->reader.state = calloc(1, format->state_bytes ? format->state_bytes : 1);
	return reading->reader.state ? 0 : fail(reading, -ENOMEM, "out of memory");
}

static int feed(struct up_reading *reading, bool eof)
{
	size_t used = 0;
	int r = 0;

	if (!reading->reader.format) {
		if (!eof && reading->n < HEAD_BYTES && !memchr(reading->buffer, '\n', reading->n))
			return 0;
		r = begin(reading);
	}
	if (r == 0)
		r = reading->reader.format->feed(&reading->reader, (struct up_text){ reading->buffer, reading->n }, eof, &used);
	if (r < 0)
		return r;
	if (used > 0 && used < reading->n)
		memmove(reading->buffer, reading->buffer + used, reading->n - used);
	reading->n -= used;
	return 0;
}

static int make_room(struct up_reading *reading)
{
	char *buffer;

	if (reading->n < reading->room)
		return 0;
	if (reading->room >= BUFFER_MAX)
		return fail(reading, -EMSGSIZE, "a record above 8 MiB");
	buffer = realloc(reading->buffer, 2 * reading->room);
	if (!buffer)
		return fail(reading, -ENOMEM, "out of memory");
	reading->buffer = buffer;
	reading->room *= 2;
	return 0;
}

static void tell(struct up_reading *reading)
{
	const struct up_load_options *options = reading->reader.options;
	uint64_t done = up_bytes_done(reading->bytes);

	if (!options || !options->progress || done - reading->told_bytes < PROGRESS_BYTES)
		return;
	reading->told_bytes = done;
	options->progress(options->progress_ctx, reading->reader.file->path, done, up_bytes_total(reading->bytes));
}

int up_reading_step(struct up_reading *reading)
{
	ssize_t got;
	int r = make_room(reading);

	if (r < 0)
		return r;
	got = up_bytes_read(reading->bytes, reading->buffer + reading->n, reading->room - reading->n);
	if (got == -EBADMSG) {
		reading->broken = true;
		return 0;
	}
	if (got < 0)
		return fail(reading, (int)got, strerror((int)-got));
	if (got == 0)
		return 0;
	reading->n += (size_t)got;
	tell(reading);
	r = feed(reading, false);
	return r < 0 ? r : 1;
}

/* Takes over into the run what the file told. */
static void merge(struct up_load *load, const struct up_load_file *file, bool first)
{
	if (file->n_points == 0)
		return;
	if (first || file->first_start_us < load->first_start_us)
		load->first_start_us = file->first_start_us;
	if (first || file->first_end_us < load->first_end_us)
		load->first_end_us = file->first_end_us;
	if (first || file->last_end_us > load->last_end_us)
		load->last_end_us = file->last_end_us;
	load->undated = (first || load->undated) && !file->traits.dated;
	load->failed_known = load->failed_known && file->failed_known;
	load->counted = false;
}

int up_reading_finish(struct up_reading *reading)
{
	struct up_reader *reader = &reading->reader;
	struct up_load_file *file = reader->file;
	int r = feed(reading, true);

	if (r == 0 && reader->format->end)
		r = reader->format->end(reader);
	if (r < 0)
		return r;
	if (reading->n > 0 || reading->broken || up_bytes_cut(reading->bytes))
		file->cut = true;
	if (reading->broken || up_bytes_cut(reading->bytes))
		up_reader_remark(reader, "the compressed stream is %s: everything before that place was used",
			reading->broken ? "damaged" : "cut");
	file->lines = reader->line;
	merge(reader->load, file, file->first_point == 0);
	return 0;
}

static int nothing_in_it(struct up_load *load, const struct up_load_file *file)
{
	int n = snprintf(load->error, sizeof(load->error), "%s: no requests in this %s file", file->path, file->traits.name);

	if (n > 0 && (size_t)n < sizeof(load->error) && file->traits.missing)
		snprintf(load->error + n, sizeof(load->error) - (size_t)n, "; %s", file->traits.missing);
	return -EBADMSG;
}

int up_load_read(struct up_load *load, const char *path, const struct up_load_options *options)
{
	struct up_reading *reading;
	int r;

	load->error[0] = '\0';
	r = up_reading_new(load, path, options, &reading);
	if (r < 0) {
		if (!load->error[0])
			snprintf(load->error, sizeof(load->error), "%.200s: %s", path, strerror(-r));
		return r;
	}
	do
		r = up_reading_step(reading);
	while (r > 0);
	if (r == 0)
		r = up_reading_finish(reading);
	if (r == 0 && reading->reader.file->n_points == 0 && !reading->reader.file->told.known)
		r = nothing_in_it(load, reading->reader.file);
	up_reading_free(reading);
	return r;
}
