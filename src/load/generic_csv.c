/* Any CSV, told by --columns: "start=ts:ms,latency=took,ok=status". Keys start, intended, sent, end, latency, ok, name; values are the name of a column or its
 * number from 1, with a unit behind a colon (s, ms, us, ns). A latency without unit is in ms; a time without unit is told by its size. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

enum key { KEY_START, KEY_INTENDED, KEY_SENT, KEY_END, KEY_LATENCY, KEY_OK, KEY_NAME, KEYS };
static const char *const key_names[KEYS] = { "start", "intended", "sent", "end", "latency", "ok", "name" };

struct column {
	struct up_text name; /* borrowed from the options */
	int index; /* -1 not given, or not found yet */
	int unit; /* power of ten of a second: 0, -3, -6, -9; 1 none given */
	bool by_number;
};

struct generic {
	struct column column[KEYS];
	bool parsed, header_read, by_name;
	unsigned n_columns;
	int last_used;
};

static int parse_unit(struct up_text unit, int *ret_unit)
{
	static const struct {
		const char *name;
		int power;
	} units[] = { { "s", 0 }, { "ms", -3 }, { "us", -6 }, { "ns", -9 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (up_text_is(unit, units[i].name)) {
			*ret_unit = units[i].power;
			return 0;
		}
	}
	return -1;
}

/* One KEY=COLUMN[:UNIT]. */
static int parse_column(struct generic *g, struct up_text item)
{
	const char *equals = memchr(item.at, '=', item.n), *colon;
	struct up_text key, value;
	int64_t number;

	if (!equals)
		return -1;
	key = (struct up_text){ item.at, (size_t)(equals - item.at) };
	value = (struct up_text){ equals + 1, item.n - key.n - 1 };
	for (int k = 0; k < KEYS; k++) {
		struct column *column = &g->column[k];

		if (!up_text_is(key, key_names[k]))
			continue;
		column->unit = 1;
		colon = memrchr(value.at, ':', value.n);
		if (colon &&
			parse_unit((struct up_text){ colon + 1, (size_t)(value.at + value.n - colon - 1) }, &column->unit) == 0)
			value.n = (size_t)(colon - value.at);
		if (value.n == 0)
			return -1;
		column->name = value;
		column->by_number = up_text_decimal(value, 0, &number) == 0 && number >= 1 && number <= UP_FIELDS_MAX;
		column->index = column->by_number ? (int)number - 1 : -1;
		g->by_name = g->by_name || !column->by_number;
		return 0;
	}
	return -1;
}

static int parse_columns(struct generic *g, const char *columns)
{
	const char *at = columns;

	for (int k = 0; k < KEYS; k++)
		g->column[k].index = -1;
	while (*at) {
		size_t n = strcspn(at, ",");

		if (parse_column(g, (struct up_text){ at, n }) < 0)
			return -1;
		at += n + (at[n] == ',');
	}
	return g->column[KEY_LATENCY].name.n ||
			       (g->column[KEY_END].name.n && (g->column[KEY_START].name.n || g->column[KEY_SENT].name.n))
		       ? 0
		       : -1;
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)head;
	return options && options->columns &&
	       strncmp(options->columns, "histogram=", 10) != 0; /* that names one of a Prometheus scrape */
}

static int fail(struct up_reader *reader, const char *what, struct up_text text)
{
	snprintf(reader->load->error, sizeof(reader->load->error), "%s: %s%s", reader->file->path, what, up_text_show(text).text);
	return -EINVAL;
}

static int find_columns(struct up_reader *reader, const struct up_fields *header)
{
	struct generic *g = reader->state;

	g->n_columns = header->n;
	for (int k = 0; k < KEYS; k++) {
		struct column *column = &g->column[k];

		for (unsigned i = 0; column->name.n && !column->by_number && i < header->n; i++) {
			if (header->at[i].n == column->name.n && memcmp(header->at[i].at, column->name.at, column->name.n) == 0)
				column->index = (int)i;
		}
		if (column->name.n && (column->index < 0 || (unsigned)column->index >= header->n))
			return fail(reader, "--columns names a column that is not in the first line: ", column->name);
		g->last_used = column->index > g->last_used ? column->index : g->last_used;
	}
	return 0;
}

static bool time_of(const struct column *column, const struct up_fields *fields, int64_t *ret_us, bool *ret_whole_s)
{
	struct up_text text = up_fields_get(fields, column->index);

	*ret_whole_s = false;
	if (column->index < 0)
		return false;
	if (column->unit == 1)
		return up_text_time(text, ret_us, ret_whole_s) == 0;
	return up_text_decimal(text, column->unit + 6, ret_us) == 0;
}

static bool is_ok(struct up_text text)
{
	int64_t code;

	if (up_text_decimal(text, 0, &code) == 0)
		return code == 1 || (code >= 100 && code < 400);
	return up_text_is(text, "true") || up_text_is(text, "True") || up_text_is(text, "TRUE") || up_text_is(text, "ok") ||
	       up_text_is(text, "OK") || up_text_is(text, "success") || up_text_is(text, "yes");
}

/* Start, latency and lateness from whichever columns are given. False: bad, and counted. */
static bool times(struct up_reader *reader, const struct up_fields *fields, struct up_request *request)
{
	struct generic *g = reader->state;
	int64_t us[KEYS] = { 0 };
	bool has[KEYS] = { false }, whole_s[KEYS] = { false };
	enum key from;

	for (int k = KEY_START; k <= KEY_END; k++) {
		has[k] = time_of(&g->column[k], fields, &us[k], &whole_s[k]);
		if (g->column[k].index >= 0 && !has[k] && k != KEY_INTENDED) {
			up_reader_bad(reader, "'%s' is not a time (%s)",
				up_text_show(up_fields_get(fields, g->column[k].index)).text, key_names[k]);
			return false;
		}
		if (whole_s[k]) {
			us[k] += 500000;
			reader->file->whole_seconds = true;
		}
	}
	from = has[KEY_START] ? KEY_START : KEY_SENT;
	if (g->column[KEY_LATENCY].index >= 0) {
		int unit = g->column[KEY_LATENCY].unit == 1 ? -3 : g->column[KEY_LATENCY].unit;
		struct up_text text = up_fields_get(fields, g->column[KEY_LATENCY].index);

		if (up_text_decimal(text, unit + 9, &request->latency_ns) < 0) {
			up_reader_bad(reader, "'%s' is not a latency", up_text_show(text).text);
			return false;
		}
		request->start_us = has[from] ? us[from] : has[KEY_END] ? us[KEY_END] - request->latency_ns / 1000 : 0;
	} else {
		request->latency_ns = (us[KEY_END] - us[from]) * 1000;
		request->start_us = us[from];
	}
	if (has[KEY_INTENDED]) {
		request->late_us = request->start_us - us[KEY_INTENDED];
		request->latency_ns += request->late_us * 1000;
		request->start_us = us[KEY_INTENDED];
		reader->file->intended = true;
	}
	return true;
}

static int row(struct up_reader *reader, const struct up_fields *fields)
{
	struct generic *g = reader->state;
	struct up_request request = { 0 };
	char name[256];

	if (!times(reader, fields, &request))
		return 0;
	request.name =
		(struct up_text){ name, up_text_unquote(up_fields_get(fields, g->column[KEY_NAME].index), name, sizeof(name)) };
	if (g->column[KEY_OK].index < 0)
		reader->file->failed_known = false;
	else if (!is_ok(up_text_trim(up_fields_get(fields, g->column[KEY_OK].index))))
		request.flags = UP_POINT_FAILED;
	return up_reader_request(reader, &request);
}

static int begin(struct up_reader *reader)
{
	struct generic *g = reader->state;

	g->parsed = true;
	if (parse_columns(g, reader->options->columns) < 0)
		return fail(reader,
			"--columns wants start=COLUMN[:UNIT],latency=COLUMN[:UNIT],... (start, intended, sent, end, latency, ok, name): ",
			(struct up_text){ reader->options->columns, strlen(reader->options->columns) });
	if (g->column[KEY_START].name.n == 0 && g->column[KEY_SENT].name.n == 0 && g->column[KEY_END].name.n == 0 &&
		g->column[KEY_INTENDED].name.n == 0) {
		reader->file->traits.dated = false;
		reader->file->traits.stamp = UP_STAMP_NONE;
	}
	return 0;
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	struct generic *g = reader->state;
	struct up_fields fields;
	int r;

	up_text_split(record->text, reader->delimiter, &fields);
	if (!g->header_read) {
		int64_t latency;

		if (!record->whole)
			return fail(reader, "the first line has no end: ", record->text);
		r = find_columns(reader, &fields);
		g->header_read = r == 0;
		if (r < 0 || g->by_name)
			return r;
		/* Columns by number: the first line is a header when its latency (or end) is no number. */
		if (up_text_decimal(up_fields_get(&fields, g->column[KEY_LATENCY].index >= 0 ? g->column[KEY_LATENCY].index
											     : g->column[KEY_END].index),
			    0, &latency) < 0)
			return 0;
	}
	if (!record->whole && (fields.n != g->n_columns || g->last_used == (int)g->n_columns - 1)) {
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	if (fields.n != g->n_columns) {
		up_reader_bad(reader, "%u columns instead of %u", fields.n, g->n_columns);
		return 0;
	}
	return row(reader, &fields);
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	struct generic *g = reader->state;

	if (!g->parsed) {
		int r = begin(reader);

		if (r < 0)
			return r;
		reader->delimiter = up_text_delimiter(data);
	}
	return up_lines_feed(reader, data, eof, true, record, ret_used);
}

const struct up_load_format up_load_generic_csv = {
	.id = "csv",
	.traits = {
		.name = "CSV (--columns)",
		.includes = "whatever the column says",
		.stamp = UP_STAMP_START,
		.dated = true,
	},
	.state_bytes = sizeof(struct generic),
	.recognise = recognise,
	.feed = feed,
};
