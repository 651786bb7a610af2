/* server_args - the options of `uselab serve` and `uselab db`, most of them rows of one table. */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "server_args.h"

enum kind {
	KIND_COUNT, /* unsigned */
	KIND_COUNT64, /* uint64_t */
	KIND_TIME, /* uint64_t ns, "200ms" */
	KIND_MS, /* uint64_t ns, milliseconds */
	KIND_DIST,
	KIND_ADDRESS,
	KIND_PATH,
	KIND_SPECIAL,
};

struct state {
	struct lab_server_options *options;
	unsigned pool, queries; /* for dependencies that name none of their own */
};

struct rule {
	const char *name;
	enum kind kind;
	size_t offset;
	uint64_t min, max;
	const char *expected; /* of specials */
	int (*set)(struct state *state, const char *text);
	int argument; /* getopt's has_arg, specials only */
};

/* "10:40" = one in ten waits 40 ms longer. */
static int set_miss(struct state *state, const char *text)
{
	const char *field[3];
	uint64_t every;
	double ms;
	char digits[16];

	if (!text)
		text = "10:40";
	if (lab_fields_split(text, ':', 2, field) != 2 || field[1] - field[0] > (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(field[1] - field[0] - 1), field[0]);
	if (lab_count_read(digits, 1, 1000000, &every) < 0 || lab_number_read(field[1], &ms) < 0 || ms > 60000)
		return -EINVAL;
	state->options->miss_every = (unsigned)every;
	state->options->miss_ns = (uint64_t)(ms * (double)LAB_NS_PER_MS);
	return 0;
}

/* "4s:250ms" = every 4 s for 250 ms; both times of a pair in general. */
static int pair_of_times(const char *text, uint64_t *ret_first_ns, uint64_t *ret_second_ns)
{
	const char *field[3];
	uint64_t first_ns, second_ns;

	if (lab_fields_split(text, ':', 2, field) != 2 || lab_time_scan(field[0], field[1] - 1, &first_ns) < 0 ||
		lab_time_read(field[1], &second_ns) < 0 || !second_ns)
		return -EINVAL;
	*ret_first_ns = first_ns;
	*ret_second_ns = second_ns;
	return 0;
}

static int set_report(struct state *state, const char *text)
{
	struct lab_server_options *o = state->options;
	uint64_t every_ns, hold_ns;

	if (pair_of_times(text ? text : "4s:250ms", &every_ns, &hold_ns) < 0 || every_ns < LAB_NS_PER_MS)
		return -EINVAL;
	o->report_every_ns = every_ns;
	o->report_hold_ns = hold_ns;
	return 0;
}

static int set_freeze(struct state *state, const char *text)
{
	return pair_of_times(text, &state->options->freeze_at_ns, &state->options->freeze_for_ns);
}

static int set_slow(struct state *state, const char *text)
{
	const char *field[4];
	uint64_t at_ns, for_ns;
	double factor;

	if (lab_fields_split(text, ':', 3, field) != 3 || lab_time_scan(field[0], field[1] - 1, &at_ns) < 0 ||
		lab_time_scan(field[1], field[2] - 1, &for_ns) < 0 || lab_number_read(field[2], &factor) < 0 || factor > 1000)
		return -EINVAL;
	state->options->slow_at_ns = at_ns;
	state->options->slow_for_ns = for_ns;
	state->options->slow_factor = factor;
	return 0;
}

static int set_mode(struct state *state, const char *text)
{
	static const char *const names[] = { "pool", "thread-per-request", "direct", "single" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			state->options->mode = (enum lab_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_single(struct state *state, const char *text)
{
	(void)text;
	state->options->mode = LAB_MODE_SINGLE;
	return 0;
}

/* "FILE:MB:PAGES" */
static int set_pages(struct state *state, const char *text)
{
	const char *field[4];
	char digits[16];
	uint64_t mb, pages;

	if (lab_fields_split(text, ':', 3, field) != 3 || field[1] - field[0] > (ptrdiff_t)sizeof(state->options->pages_path) ||
		field[2] - field[1] > (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(field[2] - field[1] - 1), field[1]);
	if (lab_count_read(digits, 1, 65536, &mb) < 0 || lab_count_read(field[2], 1, 10000, &pages) < 0)
		return -EINVAL;
	snprintf(
		state->options->pages_path, sizeof(state->options->pages_path), "%.*s", (int)(field[1] - field[0] - 1), field[0]);
	state->options->pages_mb = (unsigned)mb;
	state->options->pages_per_request = (unsigned)pages;
	return 0;
}

/* "2:50" = two threads, each busy 50 % of the time. */
static int set_decoys(struct state *state, const char *text)
{
	const char *field[3];
	char digits[16];
	uint64_t n;
	double percent = 50;
	const int fields = lab_fields_split(text, ':', 2, field);

	if (fields < 1 || field[1] - field[0] > (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(field[1] - field[0] - 1), field[0]);
	if (lab_count_read(digits, 0, 256, &n) < 0)
		return -EINVAL;
	if (fields == 2 && (lab_number_read(field[1], &percent) < 0 || percent > 100))
		return -EINVAL;
	state->options->decoys = (unsigned)n;
	state->options->decoy_ratio = percent / 100;
	return 0;
}

/* "ADDR:PORT[,pool=P][,queries=N][,every=K]" */
static int set_db(struct state *state, const char *text)
{
	struct lab_server_options *o = state->options;
	struct lab_dependency dependency = { .every = 1 };
	const struct {
		const char *name;
		unsigned *place;
	} keys[] = { { "pool=", &dependency.pool }, { "queries=", &dependency.queries }, { "every=", &dependency.every } };
	const char *field[5];
	char part[128];
	uint64_t count;
	const int n = lab_fields_split(text, ',', 4, field);

	if (n < 1 || o->n_dependencies == LAB_DEPENDENCIES_MAX)
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		bool known = i == 0;

		snprintf(part, sizeof(part), "%.*s", (int)(field[i + 1] - field[i] - 1), field[i]);
		if (i == 0 && lab_address_read(part, &dependency.address) < 0)
			return -EINVAL;
		for (unsigned k = 0; i > 0 && k < sizeof(keys) / sizeof(keys[0]); k++) {
			if (strncmp(part, keys[k].name, strlen(keys[k].name)) != 0)
				continue;
			if (lab_count_read(part + strlen(keys[k].name), 1, 10000, &count) < 0)
				return -EINVAL;
			*keys[k].place = (unsigned)count;
			known = true;
		}
		if (!known)
			return -EINVAL;
	}
	o->dependencies[o->n_dependencies++] = dependency;
	return 0;
}

static int set_pool(struct state *state, const char *text)
{
	uint64_t count;

	if (lab_count_read(text, 1, 10000, &count) < 0)
		return -EINVAL;
	state->pool = (unsigned)count;
	return 0;
}

static int set_queries(struct state *state, const char *text)
{
	uint64_t count;

	if (lab_count_read(text, 1, 1000, &count) < 0)
		return -EINVAL;
	state->queries = (unsigned)count;
	return 0;
}

static int set_quiet(struct state *state, const char *text)
{
	(void)text;
	state->options->quiet = true;
	return 0;
}

#define PLACE(field) .offset = offsetof(struct lab_server_options, field)

static const struct rule rules[] = {
	{ .name = "listen", .kind = KIND_ADDRESS, PLACE(listen) },
	{ .name = "admin", .kind = KIND_ADDRESS, PLACE(admin) },
	{ .name = "mode",
		.kind = KIND_SPECIAL,
		.set = set_mode,
		.argument = 1,
		.expected = "pool, thread-per-request, direct or single" },
	{ .name = "single-thread", .kind = KIND_SPECIAL, .set = set_single },
	{ .name = "workers", .kind = KIND_COUNT, PLACE(workers), .min = 1, .max = 4096 },
	{ .name = "queue-max", .kind = KIND_COUNT, PLACE(queue_max), .max = 1000000 },
	{ .name = "backlog", .kind = KIND_COUNT, PLACE(backlog), .max = 65535 },
	{ .name = "accept-delay", .kind = KIND_TIME, PLACE(accept_delay_ns) },
	{ .name = "cpu-ms", .kind = KIND_DIST, PLACE(cpu) },
	{ .name = "wait-ms", .kind = KIND_DIST, PLACE(wait) },
	{ .name = "service-ms", .kind = KIND_DIST, PLACE(wait) },
	{ .name = "miss", .kind = KIND_SPECIAL, .set = set_miss, .argument = 2, .expected = "N:MS, for example 10:40" },
	{ .name = "lock-report",
		.kind = KIND_SPECIAL,
		.set = set_report,
		.argument = 2,
		.expected = "EVERY:HOLD, for example 4s:250ms" },
	{ .name = "hot-lock-ms", .kind = KIND_MS, PLACE(hot_lock_ns) },
	{ .name = "fsync", .kind = KIND_PATH, PLACE(fsync_path) },
	{ .name = "pages",
		.kind = KIND_SPECIAL,
		.set = set_pages,
		.argument = 1,
		.expected = "FILE:MB:PAGES, for example /tmp/pages:256:16" },
	{ .name = "slow",
		.kind = KIND_SPECIAL,
		.set = set_slow,
		.argument = 1,
		.expected = "AT:FOR:FACTOR, for example 20s:10s:5" },
	{ .name = "db",
		.kind = KIND_SPECIAL,
		.set = set_db,
		.argument = 1,
		.expected = "ADDR:PORT[,pool=P][,queries=N][,every=K], at most 4 of them" },
	{ .name = "pool", .kind = KIND_SPECIAL, .set = set_pool, .argument = 1, .expected = "a whole number from 1 to 10000" },
	{ .name = "queries",
		.kind = KIND_SPECIAL,
		.set = set_queries,
		.argument = 1,
		.expected = "a whole number from 1 to 1000" },
	{ .name = "pool-timeout", .kind = KIND_TIME, PLACE(pool_timeout_ns) },
	{ .name = "freeze", .kind = KIND_SPECIAL, .set = set_freeze, .argument = 1, .expected = "AT:FOR, for example 20s:5s" },
	{ .name = "alloc-mb", .kind = KIND_COUNT, PLACE(alloc_mb), .max = 1048576 },
	{ .name = "fd-leak", .kind = KIND_COUNT, PLACE(leak_every), .max = 1000000 },
	{ .name = "max-fds", .kind = KIND_COUNT, PLACE(max_fds), .min = 16, .max = LAB_FDS_MAX },
	{ .name = "decoy-threads",
		.kind = KIND_SPECIAL,
		.set = set_decoys,
		.argument = 1,
		.expected = "N[:PERCENT], for example 2:50" },
	{ .name = "body-bytes", .kind = KIND_COUNT, PLACE(body_bytes), .max = 64u << 20 },
	{ .name = "duration", .kind = KIND_TIME, PLACE(duration_ns) },
	{ .name = "seed", .kind = KIND_COUNT64, PLACE(seed), .max = UINT64_MAX },
	{ .name = "quiet", .kind = KIND_SPECIAL, .set = set_quiet },
};

#define N_RULES (sizeof(rules) / sizeof(rules[0]))

/* Stores TEXT by RULE; *ret_expected says what it should have been when the result is not 0. */
static int apply(const struct rule *rule, struct state *state, const char *text, char *ret_expected, size_t expected_size)
{
	void *place = (char *)state->options + rule->offset;
	const uint64_t max = rule->kind == KIND_COUNT64 ? UINT64_MAX : rule->max;
	uint64_t count;
	double ms;
	int r;

	switch (rule->kind) {
	case KIND_COUNT:
	case KIND_COUNT64:
		snprintf(ret_expected, expected_size, "a whole number from %llu to %llu", (unsigned long long)rule->min,
			(unsigned long long)max);
		r = lab_count_read(text, rule->min, max, &count);
		if (r == 0 && rule->kind == KIND_COUNT)
			*(unsigned *)place = (unsigned)count;
		else if (r == 0)
			*(uint64_t *)place = count;
		return r;
	case KIND_TIME:
		snprintf(ret_expected, expected_size, "a time like 200ms, 1s or 2m");
		return lab_time_read(text, place);
	case KIND_MS:
		snprintf(ret_expected, expected_size, "milliseconds, for example 3.5");
		r = lab_number_read(text, &ms);
		if (r == 0 && ms <= 3600000)
			*(uint64_t *)place = (uint64_t)(ms * (double)LAB_NS_PER_MS);
		return ms <= 3600000 ? r : -ERANGE;
	case KIND_DIST:
		snprintf(ret_expected, expected_size, "milliseconds, constant (4) or exponential (exp:4)");
		return lab_dist_read(text, place);
	case KIND_ADDRESS:
		snprintf(ret_expected, expected_size, "ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080");
		return lab_address_read(text, place);
	case KIND_PATH:
		snprintf(ret_expected, expected_size, "a file name");
		if (!*text)
			return -EINVAL;
		*(const char **)place = text;
		return 0;
	default:
		snprintf(ret_expected, expected_size, "%s", rule->expected ? rule->expected : "nothing");
		return rule->set(state, text);
	}
}

static void set_defaults(bool line_protocol, struct lab_server_options *o)
{
	*o = (struct lab_server_options){ .line_protocol = line_protocol,
		.workers = line_protocol ? 4 : 8,
		.backlog = 511,
		.body_bytes = line_protocol ? 0 : 64,
		.slow_factor = 1,
		.duration_ns = 3600 * LAB_NS_PER_S,
		.seed = 1 };
	if (line_protocol)
		o->wait.mean_ns = 10.0 * (double)LAB_NS_PER_MS;
	(void)lab_address_read(line_protocol ? "127.0.0.1:5433" : "127.0.0.1:8080", &o->listen);
}

static void list_options(struct option *options)
{
	for (size_t i = 0; i < N_RULES; i++)
		options[i] = (struct option){ .name = rules[i].name,
			.has_arg = rules[i].kind == KIND_SPECIAL ? rules[i].argument : required_argument,
			.val = 256 + (int)i };
	options[N_RULES] = (struct option){ .name = "help", .val = 'h' };
	options[N_RULES + 1] = (struct option){ .name = NULL };
}

int lab_server_args(
	int argc, char **argv, bool line_protocol, struct lab_server_options *ret_options, struct lab_error *ret_error)
{
	struct lab_server_options options;
	struct state state = { .options = &options, .pool = 8, .queries = 1 };
	struct option known[N_RULES + 2];
	char expected[200];
	int c;

	set_defaults(line_protocol, &options);
	list_options(known);
	optind = 0; /* starts getopt anew, also for a second command line in one process */
	while ((c = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?' || c == ':') {
			snprintf(ret_error->text, sizeof(ret_error->text), "%s `%s`; --help lists the options",
				c == ':' ? "a value is missing after" : "unknown option or unexpected value", argv[optind - 1]);
			return -EINVAL;
		}
		const struct rule *rule = &rules[c - 256];

		/* getopt takes an optional value only after `=`; nothing else can follow here, so a blank does as well. */
		if (!optarg && rule->argument == optional_argument && optind < argc && argv[optind][0] != '-')
			optarg = argv[optind++];
		if (apply(rule, &state, optarg, expected, sizeof(expected)) < 0) {
			snprintf(ret_error->text, sizeof(ret_error->text), "--%s %.100s: expected %s", rule->name,
				optarg ? optarg : "", expected);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		snprintf(ret_error->text, sizeof(ret_error->text), "`%.100s` is no option; --help lists them", argv[optind]);
		return -EINVAL;
	}
	for (unsigned i = 0; i < options.n_dependencies; i++) {
		struct lab_dependency *dependency = &options.dependencies[i];

		dependency->pool = dependency->pool ? dependency->pool : state.pool;
		dependency->queries = dependency->queries ? dependency->queries : state.queries;
	}
	*ret_options = options;
	return 0;
}
