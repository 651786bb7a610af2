/* CSV, version 1 (docs/CSV.md): RFC 4180, one line a row, one write(2) a tick. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "useprobe/clock.h"
#include "useprobe/sink.h"

const char up_csv_header[] = "time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,"
			     "condition,state,method,detail,target\n";

struct up_csv {
	int fd;
	bool regular; /* a cut record can be taken back */
	off_t end_bytes; /* of the last whole tick */
	char *text; /* [capacity_bytes], owned */
	size_t capacity_bytes;
};

/* Text that is being built; too_long instead of an overflow. */
struct line {
	char *text;
	size_t size, len;
	bool too_long;
};

static void put_bytes(struct line *line, const char *bytes, size_t count)
{
	if (line->too_long || count > line->size - line->len) {
		line->too_long = true;
		return;
	}
	memcpy(line->text + line->len, bytes, count);
	line->len += count;
}

static void put_plain(struct line *line, const char *text)
{
	put_bytes(line, text, strlen(text));
}

/* A field as RFC 4180 wants it: quoted when it holds a comma, a quote or a line end, quotes doubled, every other byte as it is. */
static void put_field(struct line *line, const char *text)
{
	if (!text || !*text)
		return;
	if (!strpbrk(text, ",\"\r\n")) {
		put_plain(line, text);
		return;
	}
	put_bytes(line, "\"", 1);
	for (; *text; text++)
		put_bytes(line, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	put_bytes(line, "\"", 1);
}

static void put_value(struct line *line, struct up_value value)
{
	char number[UP_NUMBER_TEXT];

	put_bytes(line, ",", 1);
	if (up_value_ok(value))
		put_plain(line, up_number_text(value.number, number));
}

static void put_seconds(struct line *line, uint64_t ns)
{
	char number[UP_NUMBER_TEXT];
	const uint64_t us = (ns + 500) / 1000;
	int len = snprintf(
		number, sizeof(number), ",%llu.%06llu", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));

	put_bytes(line, number, (size_t)len);
}

static bool has_key(const struct up_detail *detail, const char *key)
{
	char value[sizeof(detail->text)];

	return up_detail_get(detail->text, key, value, sizeof(value));
}

/* Why the cell KEY is empty, when the row's own state does not say it. */
static void add_state(struct up_detail *detail, const char *key, struct up_value value, enum up_state row_state)
{
	char state_key[64], text[512];

	if (up_value_ok(value) || (!value.reason && (value.state == UP_ABSENT || value.state == row_state)))
		return;
	snprintf(state_key, sizeof(state_key), "%s_state", key);
	snprintf(text, sizeof(text), "%s%s%s", up_state_name(value.state), value.reason ? ":" : "",
		value.reason ? value.reason : "");
	if (!has_key(detail, state_key))
		up_detail_text(detail, state_key, text);
}

/* Raw figures of the collector, then what the row knows beyond the columns. */
static void build_detail(const struct up_row *row, struct up_detail *detail)
{
	detail->len = row->detail ? strlen(row->detail) : 0;
	detail->cut = false;
	if (detail->len >= sizeof(detail->text))
		detail->len = 0;
	memcpy(detail->text, row->detail ? row->detail : "", detail->len);
	detail->text[detail->len] = '\0';
	if (up_value_ok(row->waiting_max) && !has_key(detail, "waiting_max"))
		up_detail_number(detail, "waiting_max", row->waiting_max.number);
	if (row->servers > 0 && !has_key(detail, "servers"))
		up_detail_number(detail, "servers", row->servers);
	add_state(detail, "utilization", row->utilization, row->state);
	add_state(detail, "saturation", row->saturation, row->state);
	add_state(detail, "waiting", row->waiting, row->state);
	add_state(detail, "errors", row->errors, row->state);
	if (row->state != UP_OK && row->reason && !has_key(detail, "reason"))
		up_detail_text(detail, "reason", row->reason);
}

long up_csv_format(const struct up_tick *tick, const struct up_row *row, char *text, size_t size)
{
	const char *const words[] = { up_scope_name(row->scope), row->resource, row->name };
	const char *const last[] = { up_condition_name(row->condition), up_state_name(row->state), row->method };
	struct line line = { .text = text, .size = size };
	char time[UP_TIME_TEXT];
	struct up_detail detail;

	build_detail(row, &detail);
	up_time_format(tick->wall_ns, time);
	put_plain(&line, time);
	put_seconds(&line, tick->elapsed_ns);
	if (row->window_ns)
		put_seconds(&line, row->window_ns);
	else
		put_bytes(&line, ",", 1);
	for (size_t i = 0; i < UP_COUNT(words); i++) {
		put_bytes(&line, ",", 1);
		put_field(&line, words[i]);
	}
	put_value(&line, row->utilization);
	put_value(&line, row->saturation);
	put_bytes(&line, ",", 1);
	put_field(&line, row->saturation_unit);
	put_value(&line, row->waiting);
	put_value(&line, row->errors);
	for (size_t i = 0; i < UP_COUNT(last); i++) {
		put_bytes(&line, ",", 1);
		put_field(&line, last[i]);
	}
	put_bytes(&line, ",", 1);
	put_field(&line, detail.text);
	put_bytes(&line, ",", 1);
	put_field(&line, row->target);
	put_bytes(&line, "\n", 1);
	return line.too_long ? -ENOSPC : (long)line.len;
}

/* Opens what exists already: only something that cannot be overwritten. */
static int open_special(const char *path)
{
	struct stat st;
	int fd, r;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return -EEXIST;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? -EEXIST : 0;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

static int open_path(const char *path, bool force)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (force ? O_TRUNC : O_EXCL), 0666);

	if (fd >= 0)
		return fd;
	return errno == EEXIST ? open_special(path) : -errno;
}

/* Writes all of TEXT: in one call unless a signal or a full pipe cuts it short. */
static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		const ssize_t n = write(fd, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n == 0) {
			return -EIO;
		} else if (errno == EAGAIN) {
			struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

			if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int append(struct up_csv *csv, const char *text, size_t len)
{
	const int r = write_all(csv->fd, text, len);

	if (r < 0) {
		/* Nothing more can be done when even this fails; readers skip a cut line. */
		if (csv->regular && ftruncate(csv->fd, csv->end_bytes) == 0)
			(void)lseek(csv->fd, csv->end_bytes, SEEK_SET);
		return r;
	}
	csv->end_bytes += (off_t)len;
	return 0;
}

static int grow(struct up_csv *csv)
{
	const size_t bytes = csv->capacity_bytes ? csv->capacity_bytes * 2 : 64 * 1024;
	char *text = realloc(csv->text, bytes);

	if (!text)
		return -ENOMEM;
	csv->text = text;
	csv->capacity_bytes = bytes;
	return 0;
}

int up_csv_open(const char *path, bool force, struct up_csv **ret)
{
	struct up_csv *csv = calloc(1, sizeof(*csv));
	struct stat st;
	int r;

	if (!csv)
		return -ENOMEM;
	r = grow(csv);
	csv->fd = r < 0 ? r : open_path(path, force);
	if (csv->fd < 0) {
		r = csv->fd;
		free(csv->text);
		free(csv);
		return r;
	}
	csv->regular = fstat(csv->fd, &st) == 0 && S_ISREG(st.st_mode);
	r = append(csv, up_csv_header, strlen(up_csv_header));
	if (r < 0) {
		if (csv->regular)
			unlink(path);
		up_csv_close(csv);
		return r;
	}
	*ret = csv;
	return 0;
}

int up_csv_tick(void *self, const struct up_table *table)
{
	struct up_csv *csv = self;
	size_t len = 0;

	for (size_t i = 0; i < table->rows.count;) {
		const long n = up_csv_format(&table->tick, &table->rows.items[i], csv->text + len, csv->capacity_bytes - len);

		if (n >= 0) {
			len += (size_t)n;
			i++;
		} else {
			int r = grow(csv);

			if (r < 0)
				return r;
		}
	}
	return append(csv, csv->text, len);
}

int up_csv_close(void *self)
{
	struct up_csv *csv = self;
	int r = 0;

	if (!csv)
		return 0;
	if (close(csv->fd) < 0)
		r = -errno;
	free(csv->text);
	free(csv);
	return r;
}
