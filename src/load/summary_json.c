/* One JSON document that is a tool's summary: bombardier, autocannon, artillery, oha, k6 (summary export and handleSummary), vegeta report, JMeter's
 * statistics.json, Gatling's global_stats.json; and Locust's report, whose map of rounded times gives requests again. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "told.h"

enum { DOCUMENT_MAX = 6 << 20 };

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	struct up_text text = up_text_trim(head);

	(void)options;
	return text.n > 1 && (text.at[0] == '{' || (text.at[0] == '[' && memmem(text.at, text.n, "\"response_times\"", 16)));
}

/* Number at the end of PATH ("result.latency.mean", a dot in a key written as '/'); NAN without. */
static double number(const json_t *json, const char *path)
{
	char key[64];

	while (json && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(key))
			return NAN;
		memcpy(key, path, n);
		key[n] = '\0';
		for (char *at = key; (at = strchr(at, '/')); at++)
			*at = '.';
		json = json_object_get(json, key);
		path += n + (path[n] == '.');
	}
	return json_is_number(json) ? json_number_value(json) : NAN;
}

static uint64_t whole(double value)
{
	return value > 0 && value < 1e18 ? (uint64_t)llround(value) : 0;
}

/* Paths of the figures, and what turns them into ms. */
struct paths {
	const char *n, *mean, *sd, *min, *max, *ms[UP_QUANTILES];
	double to_ms;
};

static struct up_told take(const json_t *json, const struct paths *paths)
{
	struct up_told told = up_told_none();

	if (paths->n)
		told.n = whole(number(json, paths->n));
	told.mean_ms = paths->to_ms * number(json, paths->mean);
	told.sd_ms = paths->sd ? paths->to_ms * number(json, paths->sd) : (double)NAN;
	told.min_ms = paths->min ? paths->to_ms * number(json, paths->min) : (double)NAN;
	told.max_ms = paths->to_ms * number(json, paths->max);
	for (unsigned i = 0; i < UP_QUANTILES; i++)
		told.ms[i] = paths->ms[i] ? paths->to_ms * number(json, paths->ms[i]) : (double)NAN;
	return told;
}

/* Sum of the counts in a map of status codes, those that are failures apart. Values are numbers or objects with "count". */
static void count_codes(const json_t *codes, const char *prefix, uint64_t *ret_n, uint64_t *ret_failed)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)codes, key, value)
	{
		int64_t code;
		double count = json_is_number(value) ? json_number_value(value) : number(value, "count");
		size_t n = strlen(prefix);

		if (strncmp(key, prefix, n) != 0 || up_text_decimal((struct up_text){ key + n, strlen(key + n) }, 0, &code) < 0)
			continue;
		*ret_n += whole(count);
		if (code < 100 || code >= 400)
			*ret_failed += whole(count);
	}
}

static bool bombardier(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { NULL, "result.latency.mean", "result.latency.stddev", NULL, "result.latency.max",
		{ "result.latency.percentiles.50", "result.latency.percentiles.90", "result.latency.percentiles.95",
			"result.latency.percentiles.99", NULL },
		1e-3 };
	struct up_told told = take(json, &paths);
	double good = 0, bad = 0;

	if (isnan(number(json, "result.req2xx")))
		return false;
	good = number(json, "result.req1xx") + number(json, "result.req2xx") + number(json, "result.req3xx");
	bad = number(json, "result.req4xx") + number(json, "result.req5xx") + number(json, "result.others");
	told.n = whole(good + bad);
	told.failed = whole(bad);
	told.failed_known = true;
	up_told_give(reader, &told, "bombardier JSON",
		"connecting (when the connection is new) to the last byte; the default client repeats a timed-out GET silently and counts it once",
		false);
	return true;
}

static bool autocannon(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { "requests.total", "latency.average", "latency.stddev", "latency.min", "latency.max",
		{ "latency.p50", "latency.p90", NULL, "latency.p99", "latency.p99_9" }, 1 };
	struct up_told told = take(json, &paths);

	if (isnan(number(json, "latency.p97_5")) || isnan(number(json, "non2xx")))
		return false;
	told.failed = whole(number(json, "4xx")) + whole(number(json, "5xx"));
	told.failed_known = told.n >= told.failed;
	up_told_give(reader, &told, "autocannon JSON", "sending to the last byte, whole ms; not connecting", false);
	if (number(json, "errors") + number(json, "timeouts") > 0)
		up_reader_remark(reader, "%.0f errors and %.0f time-outs are not in the latencies", number(json, "errors"),
			number(json, "timeouts"));
	return true;
}

static bool artillery(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { "aggregate.summaries.http/response_time.count",
		"aggregate.summaries.http/response_time.mean", NULL, "aggregate.summaries.http/response_time.min",
		"aggregate.summaries.http/response_time.max",
		{ "aggregate.summaries.http/response_time.median", "aggregate.summaries.http/response_time.p90",
			"aggregate.summaries.http/response_time.p95", "aggregate.summaries.http/response_time.p99",
			"aggregate.summaries.http/response_time.p999" },
		1 };
	struct up_told told = take(json, &paths);
	uint64_t answered = 0;

	if (told.n == 0)
		return false;
	count_codes(json_object_get(json_object_get(json, "aggregate"), "counters"), "http.codes.", &answered, &told.failed);
	told.failed_known = answered == told.n;
	up_told_give(reader, &told, "artillery JSON",
		"sending to the first byte, whole ms; not connecting, not the body; percentiles are estimates (about 1 %)",
		false);
	return true;
}

static bool oha(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { NULL, "summary.average", NULL, "summary.fastest", "summary.slowest",
		{ "latencyPercentiles.p50", "latencyPercentiles.p90", "latencyPercentiles.p95", "latencyPercentiles.p99",
			"latencyPercentiles.p99/9" },
		1e3 };
	struct up_told told = take(json, &paths);
	const json_t *codes = json_object_get(json, "statusCodeDistribution");

	if (!codes || isnan(told.mean_ms))
		return false;
	count_codes(codes, "", &told.n, &told.failed);
	told.failed_known = true;
	up_told_give(reader, &told, "oha JSON", "connecting (when the connection is new) to the last byte", false);
	if (json_object_size(json_object_get(json, "errorDistribution")) > 0)
		up_reader_remark(reader, "requests without an answer are in no figure (see errorDistribution)");
	return true;
}

/* K6 is "metrics.http_req_duration" (export) or the same with "values". */
static bool k6(struct up_reader *reader, const json_t *json)
{
	const json_t *metrics = json_object_get(json, "metrics"), *duration = json_object_get(metrics, "http_req_duration"),
		     *failed = json_object_get(metrics, "http_req_failed"), *requests = json_object_get(metrics, "http_reqs");
	static const struct paths paths = { NULL, "avg", NULL, "min", "max", { "med", "p(90)", "p(95)", "p(99)", "p(99/9)" }, 1 };
	struct up_told told;

	if (!duration)
		return false;
	duration = json_object_get(duration, "values") ? json_object_get(duration, "values") : duration;
	failed = json_object_get(failed, "values") ? json_object_get(failed, "values") : failed;
	requests = json_object_get(requests, "values") ? json_object_get(requests, "values") : requests;
	told = take(duration, &paths);
	told.n = whole(number(requests, "count"));
	told.failed_known = !isnan(number(failed, "passes"));
	told.failed = whole(number(failed, "passes")); /* of a rate "http_req_failed": how often it was true */
	up_told_give(reader, &told, "k6 summary",
		"sending, waiting and receiving; not connecting, TLS or waiting for a free user; percentiles interpolated",
		false);
	return true;
}

static bool vegeta(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { "requests", "latencies.mean", NULL, "latencies.min", "latencies.max",
		{ "latencies.50th", "latencies.90th", "latencies.95th", "latencies.99th", NULL }, 1e-6 };
	struct up_told told = take(json, &paths);
	double success = number(json, "success");

	if (isnan(number(json, "latencies.50th")))
		return false;
	told.failed_known = !isnan(success);
	told.failed = told.failed_known ? told.n - whole(success * (double)told.n) : 0;
	up_told_give(reader, &told, "vegeta report",
		"connecting (when the connection is new) to the last byte; percentiles are estimates", false);
	return true;
}

static bool jmeter(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { "Total.sampleCount", "Total.meanResTime", NULL, "Total.minResTime",
		"Total.maxResTime",
		{ "Total.medianResTime", "Total.pct1ResTime", "Total.pct2ResTime", "Total.pct3ResTime", NULL }, 1 };
	struct up_told told = take(json, &paths);

	if (told.n == 0)
		return false;
	told.failed = whole(number(json, "Total.errorCount"));
	told.failed_known = true;
	up_told_give(reader, &told, "JMeter statistics",
		"connecting to the last byte; percentiles interpolated, taken as 90, 95 and 99 (the default)", false);
	return true;
}

static bool gatling(struct up_reader *reader, const json_t *json)
{
	static const struct paths paths = { "numberOfRequests.total", "meanResponseTime.total", "standardDeviation.total",
		"minResponseTime.total", "maxResponseTime.total",
		{ "percentiles1.total", NULL, "percentiles3.total", "percentiles4.total", NULL }, 1 };
	struct up_told told = take(json_object_get(json, "stats") ? json_object_get(json, "stats") : json, &paths);

	if (told.n == 0)
		return false;
	told.failed =
		whole(number(json_object_get(json, "stats") ? json_object_get(json, "stats") : json, "numberOfRequests.ko"));
	told.failed_known = true;
	up_told_give(reader, &told, "Gatling statistics",
		"connecting to the last byte, whole ms; percentiles are estimates, taken as 50, 95 and 99 (the default)", false);
	return true;
}

/* One name of Locust's report: {"name":..., "response_times":{"7":1139,...}}. */
static int locust_name(struct up_reader *reader, const json_t *entry, uint64_t *ret_failed)
{
	const json_t *times = json_object_get(entry, "response_times");
	const char *name = json_string_value(json_object_get(entry, "name")), *key;
	json_t *value;
	int r = 0;

	json_object_foreach((json_t *)(uintptr_t)times, key, value)
	{
		struct up_request request = { .name = { name ? name : "", name ? strlen(name) : 0 } };
		int64_t count = json_is_integer(value) ? json_integer_value(value) : -1;

		if (up_text_decimal((struct up_text){ key, strlen(key) }, 6, &request.latency_ns) < 0 || count < 0 ||
			count > 20000000) {
			up_reader_bad(reader, "'%.40s' is not a response time with a count", key);
			continue;
		}
		for (int64_t i = 0; i < count && r == 0; i++)
			r = up_reader_request(reader, &request);
	}
	*ret_failed += whole(number(entry, "num_failures"));
	return r;
}

static int locust(struct up_reader *reader, const json_t *list)
{
	uint64_t failed = 0;
	int r = 0;

	for (size_t i = 0; i < json_array_size(list) && r == 0; i++)
		r = locust_name(reader, json_array_get(list, i), &failed);
	reader->file->traits.name = "Locust JSON";
	reader->file->traits.includes =
		"connecting (when the connection is new) to the last byte; rounded to 1, 10 or 100 ms, the maximum too";
	reader->file->failed_known = failed == 0;
	reader->file->failed_elsewhere = failed;
	return r;
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	static bool (*const readers[])(struct up_reader * reader, const json_t *json) = { bombardier, autocannon, artillery, oha,
		k6, vegeta, jmeter, gatling };
	json_error_t error;
	json_t *json;
	bool taken = false;
	int r = 0;

	*ret_used = 0;
	if (!eof && data.n <= DOCUMENT_MAX)
		return 0; /* wait for all of it */
	json = json_loadb(data.at, data.n, 0, &error);
	if (!json) {
		snprintf(reader->load->error, sizeof(reader->load->error), "%s:%d: not whole JSON: %.100s", reader->file->path,
			error.line, error.text);
		return -EBADMSG;
	}
	*ret_used = data.n;
	if (json_is_array(json)) {
		r = locust(reader, json);
		taken = true;
	}
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers) && !taken; i++)
		taken = readers[i](reader, json);
	json_decref(json);
	if (!taken) {
		snprintf(reader->load->error, sizeof(reader->load->error),
			"%s: JSON, but of no load generator that is known here", reader->file->path);
		return -ENOTSUP;
	}
	return r;
}

const struct up_load_format up_load_summary_json = {
	.id = "summary-json",
	.traits = {
		.name = "summary JSON",
		.includes = "see the tool",
		.stamp = UP_STAMP_NONE,
	},
	.recognise = recognise,
	.feed = feed,
};
