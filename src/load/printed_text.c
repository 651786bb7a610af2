/* What k6, vegeta and Gatling print at the end of a run. Each gives its figures names, so they are found by name:
 *     http_req_duration..............: avg=125.24ms min=365.03us med=437.89us max=1m0s p(90)=577.4us p(95)=1.95ms
 *     Latencies     [min, mean, 50, 90, 95, 99, max]  2.172ms, 59.684ms, 2.433ms, 4.797ms, 512.328ms, 1.314s, 1.509s
 *     > response time 95th percentile (ms)                   |        78 |        82 |         7      (3.11 and later)
 *     > response time 95th percentile                             79 (OK=81     KO=6     )             (to 3.10) */
#include <math.h>

#include "told.h"

enum tool { TOOL_K6, TOOL_VEGETA, TOOL_GATLING, TOOLS };

struct printed {
	enum tool tool;
	bool begun;
	bool failed_seen;
	struct up_told told;
};

static const struct {
	const char *name, *includes, *mark;
} tools[TOOLS] = {
	[TOOL_K6] = { "k6 text", "sending, waiting, receiving; not connecting; percentiles interpolated by the tool",
		"http_req_duration" },
	[TOOL_VEGETA] = { "vegeta text",
		"connecting (when the connection is new) to the last byte; percentiles estimated by the tool",
		"Latencies     [" },
	[TOOL_GATLING] = { "Gatling text",
		"connecting (when the connection is new) to the last byte, whole ms; percentiles estimated by the tool",
		"---- Global Information " },
};

/* The summary may stand far behind the first lines: each tool also begins in its own way. */
static enum tool tool_of(struct up_text head)
{
	enum tool tool = 0;

	while (tool < TOOLS && !memmem(head.at, head.n, tools[tool].mark, strlen(tools[tool].mark)))
		tool++;
	if (tool == TOOLS && memmem(head.at, head.n, "     execution: local", 21))
		return TOOL_K6;
	if (tool == TOOLS && up_text_starts(head, "Simulation ") && memmem(head.at, head.n, " started...", 11))
		return TOOL_GATLING;
	return tool;
}

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	const struct up_text first = up_text_trim(head);

	(void)options;
	return first.n > 0 && *first.at != '{' && *first.at != '[' && tool_of(head) < TOOLS;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "1m0s", "365.03us", "4.14s": what Go prints of a duration; NAN when it is none. */
static double go_ms(struct up_text text)
{
	double sum = 0;

	text = up_text_trim(text);
	if (text.n == 0)
		return NAN;
	while (text.n > 0) {
		size_t n = 0;

		while (n < text.n && (digit(text.at[n]) || text.at[n] == '.'))
			n++;
		while (n < text.n && !digit(text.at[n]))
			n++;
		sum += up_told_time_ms((struct up_text){ text.at, n });
		text.at += n;
		text.n -= n;
	}
	return sum;
}

/* The next word of *REST up to one of STOPS; the stops behind it are skipped. */
static struct up_text next(struct up_text *rest, const char *stops)
{
	struct up_text word;
	size_t n = 0;

	while (rest->n && strchr(stops, *rest->at)) {
		rest->at++;
		rest->n--;
	}
	while (n < rest->n && !strchr(stops, rest->at[n]))
		n++;
	word = (struct up_text){ rest->at, n };
	rest->at += n;
	rest->n -= n;
	return word;
}

/* Digits with thousands separators: "2,160". */
static bool count_of(struct up_text word, uint64_t *ret)
{
	uint64_t count = 0;

	word = up_text_trim(word);
	if (word.n == 0 || word.n > 19)
		return false;
	for (size_t i = 0; i < word.n; i++) {
		if (digit(word.at[i]))
			count = count * 10 + (uint64_t)(word.at[i] - '0');
		else if (word.at[i] != ',' || i == 0)
			return false;
	}
	*ret = count;
	return true;
}

/* Stores MS under NAME: "avg", "mean", "min", "max", "med", "50", "p(99.9)". */
static void put(struct up_told *told, struct up_text name, double ms)
{
	name = up_text_trim(name);
	if (up_text_is(name, "avg") || up_text_is(name, "mean"))
		told->mean_ms = ms;
	else if (up_text_is(name, "min"))
		told->min_ms = ms;
	else if (up_text_is(name, "max"))
		told->max_ms = ms;
	else if (up_text_is(name, "med"))
		told->ms[UP_P50] = ms;
	if (up_text_starts(name, "p(") && name.at[name.n - 1] == ')')
		name = (struct up_text){ name.at + 2, name.n - 3 };
	for (unsigned i = 0; i < UP_QUANTILES; i++)
		if (up_text_is(name, up_quantile_names[i].name + 1))
			told->ms[i] = ms;
}

static void k6_line(struct printed *p, struct up_text line)
{
	const char *colon = memchr(line.at, ':', line.n);
	struct up_text rest, word;

	if (!colon)
		return;
	rest = (struct up_text){ colon + 1, (size_t)(line.at + line.n - colon - 1) };
	if (up_text_starts(line, "http_reqs.")) {
		count_of(next(&rest, " "), &p->told.n);
	} else if (up_text_starts(line, "http_req_failed.")) {
		next(&rest, " "); /* the share */
		word = next(&rest, " ");
		if (up_text_is(word, "\xe2\x9c\x93")) /* a tick, to 0.57 */
			word = next(&rest, " ");
		p->failed_seen = count_of(word, &p->told.failed);
	} else if (up_text_starts(line, "http_req_duration.")) {
		while ((word = next(&rest, " ")).n > 0) {
			const char *equals = memchr(word.at, '=', word.n);

			if (equals)
				put(&p->told, (struct up_text){ word.at, (size_t)(equals - word.at) },
					go_ms((struct up_text){ equals + 1, (size_t)(word.at + word.n - equals - 1) }));
		}
	}
}

static void vegeta_line(struct printed *p, struct up_text line)
{
	const char *open = memchr(line.at, '[', line.n), *close = memchr(line.at, ']', line.n);
	struct up_text names, values, word;

	if (!open || !close || close < open)
		return;
	names = (struct up_text){ open + 1, (size_t)(close - open - 1) };
	values = (struct up_text){ close + 1, (size_t)(line.at + line.n - close - 1) };
	if (up_text_starts(line, "Requests ")) {
		count_of(next(&values, " ,"), &p->told.n);
	} else if (up_text_starts(line, "Latencies ")) {
		while ((word = next(&names, ", ")).n > 0)
			put(&p->told, word, go_ms(next(&values, ", ")));
	} else if (up_text_starts(line, "Status Codes ")) {
		p->failed_seen = true;
		while ((word = next(&values, " ")).n > 0) {
			struct up_text count = word, code = next(&count, ":");
			uint64_t n = 0;

			if (!count_of(next(&count, ":"), &n))
				p->failed_seen = false;
			else if (code.n != 3 || code.at[0] < '2' || code.at[0] > '3')
				p->told.failed += n;
		}
	}
}

/* Of all requests and of the failed ones; in both layouts the last word in front of the OK part, and the KO part. */
static void gatling_line(struct printed *p, struct up_text line)
{
	static const struct {
		const char *label, *name;
	} figures[] = { { "> min response time", "min" }, { "> max response time", "max" }, { "> mean response time", "mean" },
		{ "> response time 50th percentile", "50" }, { "> response time 90th percentile", "90" },
		{ "> response time 95th percentile", "95" }, { "> response time 99th percentile", "99" } };
	const char *bar = memchr(line.at, '|', line.n), *ok = memmem(line.at, line.n, "(OK=", 4),
		   *ko = memmem(line.at, line.n, "KO=", 3);
	struct up_text all, failed;
	uint64_t n;

	if (bar) {
		failed = (struct up_text){ bar + 1, (size_t)(line.at + line.n - bar - 1) };
		all = next(&failed, "|");
		next(&failed, "|");
		failed = next(&failed, "|");
	} else if (ok && ko) {
		const char *begin = ok;

		while (begin > line.at && begin[-1] == ' ')
			begin--;
		while (begin > line.at && begin[-1] != ' ')
			begin--;
		all = (struct up_text){ begin, (size_t)(ok - begin) };
		failed = (struct up_text){ ko + 3, (size_t)(line.at + line.n - ko - 3) };
		failed = next(&failed, " )");
	} else {
		return;
	}
	if (!count_of(all, &n))
		return;
	if (up_text_starts(line, "> request count ")) {
		p->told.n = n;
		p->told.failed = 0;
		p->failed_seen = count_of(failed, &p->told.failed) || up_text_is(up_text_trim(failed), "-");
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (up_text_starts(line, figures[i].label))
			put(&p->told, (struct up_text){ figures[i].name, strlen(figures[i].name) }, (double)n);
}

static int record(struct up_reader *reader, const struct up_record *record)
{
	static void (*const take[TOOLS])(struct printed * p, struct up_text line) = { k6_line, vegeta_line, gatling_line };
	struct printed *p = reader->state;

	if (!record->whole) { /* the last figure may be cut */
		reader->file->cut = true;
		up_reader_bad(reader, "the last line is cut: %s", up_text_show(record->text).text);
		return 0;
	}
	take[p->tool](p, up_text_trim(record->text));
	return 0;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	struct printed *p = reader->state;

	if (!p->begun) {
		p->begun = true;
		p->told = up_told_none();
		p->tool = tool_of(data);
		p->tool = p->tool == TOOLS ? TOOL_K6 : p->tool;
	}
	return up_lines_feed(reader, data, eof, false, record, ret_used);
}

static int end(struct up_reader *reader)
{
	struct printed *p = reader->state;

	if (p->told.n == 0 || isnan(p->told.max_ms) || (p->failed_seen && p->told.failed > p->told.n))
		return 0; /* the summary is not in the file, or not whole */
	p->told.failed_known = p->failed_seen;
	p->told.failed = p->failed_seen ? p->told.failed : 0;
	up_told_give(reader, &p->told, tools[p->tool].name, tools[p->tool].includes, false);
	return 0;
}

const struct up_load_format up_load_printed_text = {
	.id = "printed-text",
	.traits = {
		.name = "printed summary",
		.includes = "see the tool",
		.missing = "the tool's summary was not found: it stands at the end of what the tool prints",
		.stamp = UP_STAMP_NONE,
	},
	.state_bytes = sizeof(struct printed),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
