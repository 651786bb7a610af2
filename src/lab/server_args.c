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

struct rule {
	const char *name;
	enum kind kind;
	size_t offset;
	uint64_t min, max;
	const char *expected; /* of specials */
	int (*set)(struct lab_server_args *args, const char *text);
	int argument; /* getopt's has_arg, specials only */
};

#define PLACE(field) .offset = offsetof(struct lab_server_options, field)

static const struct rule rules[] = {
	{ .name = "listen", .kind = KIND_ADDRESS, PLACE(listen) },
	{ .name = "admin", .kind = KIND_ADDRESS, PLACE(admin) },
	{ .name = "mode",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_mode,
		.argument = 1,
		.expected = "pool, thread-per-request, direct or single" },
	{ .name = "single-thread", .kind = KIND_SPECIAL, .set = lab_server_set_single },
	{ .name = "workers", .kind = KIND_COUNT, PLACE(workers), .min = 1, .max = 4096 },
	{ .name = "queue-max", .kind = KIND_COUNT, PLACE(queue_max), .max = 1000000 },
	{ .name = "backlog", .kind = KIND_COUNT, PLACE(backlog), .max = 65535 },
	{ .name = "accept-delay", .kind = KIND_TIME, PLACE(accept_delay_ns) },
	{ .name = "cpu-ms", .kind = KIND_DIST, PLACE(cpu) },
	{ .name = "wait-ms", .kind = KIND_DIST, PLACE(wait) },
	{ .name = "service-ms", .kind = KIND_DIST, PLACE(wait) },
	{ .name = "miss",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_miss,
		.argument = 2,
		.expected = "N:MS, for example 10:40" },
	{ .name = "lock-report",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_report,
		.argument = 2,
		.expected = "EVERY:HOLD, for example 4s:250ms" },
	{ .name = "hot-lock-ms", .kind = KIND_MS, PLACE(hot_lock_ns) },
	{ .name = "fsync", .kind = KIND_PATH, PLACE(fsync_path) },
	{ .name = "pages",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_pages,
		.argument = 1,
		.expected = "FILE:MB:PAGES, for example /tmp/pages:256:16" },
	{ .name = "slow",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_slow,
		.argument = 1,
		.expected = "AT:FOR:FACTOR, for example 20s:10s:5" },
	{ .name = "db",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_db,
		.argument = 1,
		.expected = "ADDR:PORT[,pool=P][,queries=N][,every=K], at most 4 of them" },
	{ .name = "pool",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_pool,
		.argument = 1,
		.expected = "a whole number from 1 to 10000" },
	{ .name = "queries",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_queries,
		.argument = 1,
		.expected = "a whole number from 1 to 1000" },
	{ .name = "pool-timeout", .kind = KIND_TIME, PLACE(pool_timeout_ns) },
	{ .name = "freeze",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_freeze,
		.argument = 1,
		.expected = "AT:FOR, for example 20s:5s" },
	{ .name = "alloc-mb", .kind = KIND_COUNT, PLACE(alloc_mb), .max = 1048576 },
	{ .name = "fd-leak", .kind = KIND_COUNT, PLACE(leak_every), .max = 1000000 },
	{ .name = "max-fds", .kind = KIND_COUNT, PLACE(max_fds), .min = 16, .max = LAB_FDS_MAX },
	{ .name = "decoy-threads",
		.kind = KIND_SPECIAL,
		.set = lab_server_set_decoys,
		.argument = 1,
		.expected = "N[:PERCENT], for example 2:50" },
	{ .name = "body-bytes", .kind = KIND_COUNT, PLACE(body_bytes), .max = 64u << 20 },
	{ .name = "sndbuf", .kind = KIND_COUNT, PLACE(sndbuf_bytes), .max = 1u << 30 },
	{ .name = "stats-out", .kind = KIND_PATH, PLACE(stats_path) },
	{ .name = "duration", .kind = KIND_TIME, PLACE(duration_ns) },
	{ .name = "seed", .kind = KIND_COUNT64, PLACE(seed), .max = UINT64_MAX },
	{ .name = "quiet", .kind = KIND_SPECIAL, .set = lab_server_set_quiet },
};

#define N_RULES (sizeof(rules) / sizeof(rules[0]))

/* Stores TEXT by RULE; *ret_expected says what it should have been when the result is not 0. */
static int apply(
	const struct rule *rule, struct lab_server_args *args, const char *text, char *ret_expected, size_t expected_size)
{
	void *place = (char *)args->options + rule->offset;
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
		if (!text || !*text)
			return -EINVAL;
		*(const char **)place = text;
		return 0;
	default:
		snprintf(ret_expected, expected_size, "%s", rule->expected ? rule->expected : "nothing");
		return rule->set(args, text);
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
	struct lab_server_args args = { .options = &options, .pool = 8, .queries = 1 };
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
		if (apply(rule, &args, optarg, expected, sizeof(expected)) < 0) {
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

		dependency->pool = dependency->pool ? dependency->pool : args.pool;
		dependency->queries = dependency->queries ? dependency->queries : args.queries;
	}
	*ret_options = options;
	return 0;
}
