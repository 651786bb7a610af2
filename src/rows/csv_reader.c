/* Our own CSV back into rows:
 *   2026-11-30T19:50:00.123Z,12.000346,1.000123,cgroup,cpu,/api,0.97,0.45,ratio,1.5,0,saturated,ok,cpu.stat,quota_cpus=0.5,api */
#include "useprobe/csv_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv_record.h"
#include "useprobe/clock.h"

enum column {
	COL_TIME,
	COL_ELAPSED,
	COL_WINDOW,
	COL_SCOPE,
	COL_RESOURCE,
	COL_NAME,
	COL_UTILIZATION,
	COL_SATURATION,
	COL_UNIT,
	COL_WAITING,
	COL_ERRORS,
	COL_CONDITION,
	COL_STATE,
	COL_METHOD,
	COL_DETAIL,
	COL_TARGET,
	COL_COUNT
};
static const char *const column_names[COL_COUNT] = { "time", "elapsed_s", "window_s", "scope", "resource", "name", "utilization",
	"saturation", "saturation_unit", "waiting", "errors", "condition", "state", "method", "detail", "target" };

/* Room for columns that later versions append. */
#define FIELDS_MAX 64

struct up_csv_reader {
	struct up_csv_records records;
	size_t place[COL_COUNT]; /* index of each column */
	size_t columns; /* in the header */
	char *fields[FIELDS_MAX];
	bool pending; /* fields hold a row of the next tick */
	uint64_t pending_line;
	uint64_t last_elapsed_ns;
	bool ended;
	struct up_csv_notes notes;
};

static const char *cell(const struct up_csv_reader *reader, enum column column)
{
	return reader->fields[reader->place[column]];
}

UP_PRINTF(3, 4) static void skip_row(struct up_csv_reader *reader, uint64_t line, const char *format, ...)
{
	struct up_csv_notes *notes = &reader->notes;
	va_list args;

	if (notes->skipped_rows++)
		return;
	notes->first_skipped_line = line;
	va_start(args, format);
	vsnprintf(notes->first_skipped, sizeof(notes->first_skipped), format, args);
	va_end(args);
}

/* Finds every column in the header line. -EBADMSG with the name of one that is missing. */
static int find_columns(struct up_csv_reader *reader, int count, char *message, size_t size)
{
	for (size_t c = 0; c < COL_COUNT; c++) {
		size_t i = 0;

		while (i < (size_t)count && strcmp(reader->fields[i], column_names[c]) != 0)
			i++;
		if (i == (size_t)count) {
			snprintf(message, size,
				"line 1: no column '%s'; expected the header of a useprobe CSV (time,elapsed_s,...)",
				column_names[c]);
			return -EBADMSG;
		}
		reader->place[c] = i;
	}
	reader->columns = (size_t)count;
	return 0;
}

static int read_header(struct up_csv_reader *reader, char *message, size_t size)
{
	struct up_csv_record record;
	int r = up_csv_record_next(&reader->records, &record);

	if (r < 0)
		return r;
	if (r == 0 || record.kind == UP_CSV_CUT) {
		snprintf(message, size, "line 1: %s; expected the header of a useprobe CSV (time,elapsed_s,...)",
			r ? "no line end" : "the file is empty");
		return -EBADMSG;
	}
	if (record.len >= 3 && memcmp(record.text, "\xef\xbb\xbf", 3) == 0) {
		record.text += 3;
		record.len -= 3;
	}
	r = up_csv_record_split(&record, reader->fields, FIELDS_MAX);
	return find_columns(reader, r < 0 ? 0 : r, message, size);
}

int up_csv_reader_open_fd(int fd, struct up_csv_reader **ret, char *message, size_t message_size)
{
	struct up_csv_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader) {
		close(fd);
		return -ENOMEM;
	}
	reader->records = (struct up_csv_records){ .fd = fd, .line = 1 };
	r = read_header(reader, message, message_size);
	if (r < 0) {
		up_csv_reader_close(reader);
		return r;
	}
	*ret = reader;
	return 0;
}

int up_csv_reader_open(const char *path, struct up_csv_reader **ret, char *message, size_t message_size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return up_csv_reader_open_fd(fd, ret, message, message_size);
}

void up_csv_reader_close(struct up_csv_reader *reader)
{
	if (!reader)
		return;
	up_csv_records_done(&reader->records);
	free(reader);
}

/* Takes the next good row into fields. 1, 0 at the end, -errno of read. */
static int next_row(struct up_csv_reader *reader)
{
	struct up_csv_record record;
	int r;

	while ((r = up_csv_record_next(&reader->records, &record)) > 0) {
		int count;

		if (record.kind == UP_CSV_CUT) {
			reader->notes.cut_line = record.line;
			continue;
		}
		if (record.kind == UP_CSV_BROKEN) {
			skip_row(reader, record.line, "a quote that does not close");
			continue;
		}
		/* Blank lines come from editors. */
		if (!record.len)
			continue;
		count = up_csv_record_split(&record, reader->fields, FIELDS_MAX);
		if (count < 0) {
			skip_row(reader, record.line, "text behind a closing quote, a NUL byte or too many fields");
		} else if ((size_t)count != reader->columns) {
			skip_row(reader, record.line, "expected %zu fields, got %d", reader->columns, count);
		} else {
			reader->pending_line = record.line;
			return 1;
		}
	}
	return r;
}

/* Reads cell COLUMN. An empty one gets its state from the detail (KEY_state), else from the row. REASON holds the reason's text. */
static int scan_value(const struct up_csv_reader *reader, enum column column, enum up_state row_state, struct up_value *ret,
	char *reason, size_t reason_size)
{
	const char *text = cell(reader, column);
	char key[64], *colon;
	enum up_state state;
	double number;

	if (*text) {
		int r = up_csv_cell_number(text, &number);

		if (r == 0)
			*ret = up_value(number);
		return r;
	}
	snprintf(key, sizeof(key), "%s_state", column_names[column]);
	*ret = up_value_state(row_state == UP_OK ? UP_ABSENT : row_state, NULL);
	if (!up_detail_get(cell(reader, COL_DETAIL), key, reason, reason_size))
		return 0;
	colon = strchr(reason, ':');
	if (colon)
		*colon = '\0';
	if (up_state_from_name(reason, &state) && state != UP_OK)
		*ret = up_value_state(state, colon ? colon + 1 : NULL);
	return 0;
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* What one row's strings live in until up_rows_add has copied them. */
struct texts {
	char value[4][512];
	char reason[1024];
};

static int scan_values(struct up_csv_reader *reader, struct up_row *row, struct texts *texts)
{
	struct up_value *const values[] = { &row->utilization, &row->saturation, &row->waiting, &row->errors };
	static const enum column columns[] = { COL_UTILIZATION, COL_SATURATION, COL_WAITING, COL_ERRORS };
	double number;

	for (size_t i = 0; i < UP_COUNT(columns); i++) {
		int r = scan_value(reader, columns[i], row->state, values[i], texts->value[i], sizeof(texts->value[i]));

		if (r < 0) {
			skip_row(reader, reader->pending_line, "%s: expected a number, got '%.80s'", column_names[columns[i]],
				cell(reader, columns[i]));
			return r;
		}
	}
	if (up_detail_get_number(row->detail, "waiting_max", &number))
		row->waiting_max = up_value(number);
	if (up_detail_get_number(row->detail, "servers", &number))
		row->servers = number;
	return 0;
}

/* Turns fields into a row. 0, or -EBADMSG with the row counted as skipped. */
static int scan_row(struct up_csv_reader *reader, struct up_row *row, struct texts *texts)
{
	const uint64_t line = reader->pending_line;

	*row = (struct up_row){
		.resource = cell(reader, COL_RESOURCE),
		.name = cell(reader, COL_NAME),
		.target = text_or_null(cell(reader, COL_TARGET)),
		.saturation_unit = text_or_null(cell(reader, COL_UNIT)),
		.method = text_or_null(cell(reader, COL_METHOD)),
		.detail = text_or_null(cell(reader, COL_DETAIL)),
	};
	if (!up_scope_from_name(cell(reader, COL_SCOPE), &row->scope))
		skip_row(reader, line, "scope: '%.80s' is not known", cell(reader, COL_SCOPE));
	else if (!up_state_from_name(cell(reader, COL_STATE), &row->state))
		skip_row(reader, line, "state: '%.80s' is not known", cell(reader, COL_STATE));
	else if (!up_condition_from_name(cell(reader, COL_CONDITION), &row->condition))
		skip_row(reader, line, "condition: '%.80s' is not known", cell(reader, COL_CONDITION));
	else if (*cell(reader, COL_WINDOW) && up_csv_cell_seconds(cell(reader, COL_WINDOW), &row->window_ns) < 0)
		skip_row(reader, line, "window_s: expected seconds, got '%.80s'", cell(reader, COL_WINDOW));
	else {
		if (row->state != UP_OK && up_detail_get(row->detail, "reason", texts->reason, sizeof(texts->reason)))
			row->reason = texts->reason;
		return scan_values(reader, row, texts);
	}
	return -EBADMSG;
}

static int scan_tick(struct up_csv_reader *reader, uint64_t *ret_wall_ns, uint64_t *ret_elapsed_ns)
{
	if (up_csv_cell_time(cell(reader, COL_TIME), ret_wall_ns) < 0)
		skip_row(reader, reader->pending_line, "time: expected YYYY-MM-DDTHH:MM:SS.mmmZ, got '%.80s'",
			cell(reader, COL_TIME));
	else if (up_csv_cell_seconds(cell(reader, COL_ELAPSED), ret_elapsed_ns) < 0)
		skip_row(reader, reader->pending_line, "elapsed_s: expected seconds, got '%.80s'", cell(reader, COL_ELAPSED));
	else
		return 0;
	return -EBADMSG;
}

static void begin_tick(struct up_csv_reader *reader, struct up_tick *tick)
{
	struct up_csv_notes *notes = &reader->notes;

	if (notes->ticks && tick->elapsed_ns > reader->last_elapsed_ns)
		tick->interval_ns = tick->elapsed_ns - reader->last_elapsed_ns;
	else if (notes->ticks)
		notes->step_back = true;
	tick->mono_ns = tick->elapsed_ns;
	tick->number = notes->ticks++;
	reader->last_elapsed_ns = tick->elapsed_ns;
}

int up_csv_reader_tick(struct up_csv_reader *reader, struct up_rows *rows, struct up_tick *ret)
{
	struct up_tick tick = { 0 };
	bool begun = false;
	int r = 1;

	up_rows_clear(rows);
	while (r > 0) {
		uint64_t wall_ns, elapsed_ns;
		struct texts texts;
		struct up_row row;

		if (!reader->pending) {
			r = next_row(reader);
			if (r <= 0)
				break;
		}
		reader->pending = false;
		if (scan_tick(reader, &wall_ns, &elapsed_ns) < 0)
			continue;
		if (begun && (wall_ns != tick.wall_ns || elapsed_ns != tick.elapsed_ns)) {
			reader->pending = true;
			break;
		}
		if (scan_row(reader, &row, &texts) < 0)
			continue;
		if (!begun) {
			tick.wall_ns = wall_ns;
			tick.elapsed_ns = elapsed_ns;
			begin_tick(reader, &tick);
			begun = true;
		}
		if (up_rows_add(rows, &row) < 0)
			reader->notes.dropped_rows++;
		else
			reader->notes.rows++;
	}
	if (r < 0)
		return r;
	if (begun)
		*ret = tick;
	return begun;
}

const struct up_csv_notes *up_csv_reader_notes(const struct up_csv_reader *reader)
{
	return &reader->notes;
}
