#include "run_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/computed.h"
#include "useprobe/http_source.h"
#include "useprobe/queue_spec.h"
#include "useprobe/scan.h"
#include "useprobe/sql_address.h"

static const char help[] =
	"useprobe - utilization, saturation and errors of every resource a load test leans on\n"
	"\n"
	"  useprobe [run] [-c NAME]... [-p PID] [options] [-- COMMAND ...]\n"
	"  useprobe latency|report|compare|replay|list|doctor|mark ...    (each has its own --help)\n"
	"\n"
	"What to watch\n"
	"  -c, --cgroup NAME      a cgroup path, systemd unit, container or compose service, pod, or command (repeatable)\n"
	"  -p, --pid PID          one process\n"
	"      --host             the whole machine (the default without -c and -p)\n"
	"      --wait             do not fail when a NAME is not there yet\n"
	"      --focus NAME       the target whose rows the live view puts first\n"
	"\n"
	"How long, and where to\n"
	"  -i, --interval TIME    time between rows: 200ms, 1s (default), 1m; 100 ms to 1 h\n"
	"  -d, --duration TIME    stop after TIME; without it, ctrl-C ends the run\n"
	"  -o, --output FILE.csv  default: useprobe-NAME-YYYYMMDDTHHMMSSZ.csv here, with a .json of the same name beside it\n"
	"      --force            overwrite FILE.csv\n"
	"      --no-csv           write no file\n"
	"  -b, --batch            print a table per interval instead of the live view\n"
	"  -l, --load FILE        the load generator's result file (k6 CSV or JSON, JMeter, ...): the answer at the end uses it\n"
	"      --export ADDR:PORT  serve the rows to a Prometheus, at http://ADDR:PORT/metrics\n"
	"      --export-token-file FILE  the token it has to show; must be given beyond loopback\n"
	"      --note KEY=VALUE   put a note into the .json (repeatable)\n"
	"\n"
	"What to read\n"
	"      --only LIST        only these resources or collectors (cpu,memory,...)\n"
	"      --skip LIST        all but these\n"
	"      --root DIR         read a recorded tree instead of this machine\n"
	"      --name ADDR:PORT=LABEL  call a dependency by name (repeatable)\n"
	"      --conn-max [PEER=]N  the size of the connection pool to PEER (ADDR:PORT or its LABEL; repeatable)\n"
	"      --sql [NAME=]URL   what a database's tasks wait for, from useprobe-sqlbridge at URL (repeatable)\n"
	"      --sql-token-file FILE  the bridge's token\n"
	"      --queue NAME=BINARY:ENQUEUE,DEQUEUE  a queue inside the program: two of its functions (repeatable, root); DEQUEUE@begin\n"
	"                         for one that works on the item, @return for one that waits inside for it, @nonnull for one that\n"
	"                         returns NULL when there is none\n"
	"      --queue libuv      the job queue of Node.js and other programs with libuv inside\n"
	"\n"
	"      --version, --help\n"
	"\n"
	"Examples\n"
	"  useprobe --cgroup api                         watch a container or unit named api\n"
	"  useprobe -c api -c db -i 500ms -d 5m          two targets, half a second, five minutes\n"
	"  useprobe -c api -l s.csv -- k6 run --out csv=s.csv steps.js    watch while k6 runs, then name the bottleneck\n"
	"  useprobe -c api -b --no-csv | less -S         a table per second, no file\n"
	"\n"
	"Exit status: 0 done, 1 failed while running, 2 wrong use or target not found. With COMMAND: its own status (128+n for a\n"
	"signal), 125 the probe failed, 126 or 127 COMMAND could not be run.\n";

enum {
	OPT_HOST = 256,
	OPT_WAIT,
	OPT_FOCUS,
	OPT_FORCE,
	OPT_NO_CSV,
	OPT_NOTE,
	OPT_ONLY,
	OPT_SKIP,
	OPT_ROOT,
	OPT_VERSION,
	OPT_HELP,
	OPT_QUEUE,
	OPT_CONN_MAX,
	OPT_SQL,
	OPT_SQL_TOKEN,
	OPT_EXPORT,
	OPT_EXPORT_TOKEN,
	OPT_SETTING, /* handed to the collectors by name */
};

static const struct option options[] = {
	{ "cgroup", required_argument, NULL, 'c' },
	{ "pid", required_argument, NULL, 'p' },
	{ "host", no_argument, NULL, OPT_HOST },
	{ "wait", no_argument, NULL, OPT_WAIT },
	{ "focus", required_argument, NULL, OPT_FOCUS },
	{ "interval", required_argument, NULL, 'i' },
	{ "duration", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "no-csv", no_argument, NULL, OPT_NO_CSV },
	{ "batch", no_argument, NULL, 'b' },
	{ "load", required_argument, NULL, 'l' },
	{ "note", required_argument, NULL, OPT_NOTE },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "skip", required_argument, NULL, OPT_SKIP },
	{ "root", required_argument, NULL, OPT_ROOT },
	{ "name", required_argument, NULL, OPT_SETTING },
	{ "queue", required_argument, NULL, OPT_QUEUE },
	{ "conn-max", required_argument, NULL, OPT_CONN_MAX },
	{ "sql", required_argument, NULL, OPT_SQL },
	{ "sql-token-file", required_argument, NULL, OPT_SQL_TOKEN },
	{ "export", required_argument, NULL, OPT_EXPORT },
	{ "export-token-file", required_argument, NULL, OPT_EXPORT_TOKEN },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int wrong(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "useprobe: %s %s: expected %s\n", option, value, expected);
	return -EINVAL;
}

static int add_text(const char **list, size_t *count, size_t max, const char *option, const char *value)
{
	if (*count == max) {
		fprintf(stderr, "useprobe: %s: at most %zu of them\n", option, max);
		return -EINVAL;
	}
	list[(*count)++] = value;
	return 0;
}

static int set_pid(struct run_options *o, const char *value)
{
	uint64_t pid;

	if (up_scan_whole_u64(value, &pid) < 0 || pid == 0 || pid > 1u << 22)
		return wrong("--pid", value, "a process id");
	o->pid = (int)pid;
	return 0;
}

static int set_interval(struct run_options *o, const char *value)
{
	if (up_time_parse(value, &o->interval_ns) < 0 || o->interval_ns < 100 * UP_NS_PER_MS ||
		o->interval_ns > 3600 * UP_NS_PER_S)
		return wrong("--interval", value, "a time from 100ms to 1h");
	return 0;
}

static int set_duration(struct run_options *o, const char *value)
{
	if (up_time_parse(value, &o->duration_ns) < 0 || o->duration_ns == 0)
		return wrong("--duration", value, "a time such as 30s or 5m");
	return 0;
}

static int add_setting(struct run_options *o, const char *key, const char *value)
{
	if (o->setting_count == UP_SETTINGS_MAX) {
		fprintf(stderr, "useprobe: --%s: at most %d options of this kind\n", key, UP_SETTINGS_MAX);
		return -EINVAL;
	}
	o->settings[o->setting_count++] = (struct up_setting){ .key = key, .value = value };
	return 0;
}

static size_t count_settings(const struct run_options *o, const char *key)
{
	size_t count = 0;

	for (size_t i = 0; i < o->setting_count; i++)
		count += strcmp(o->settings[i].key, key) == 0;
	return count;
}

static int add_queue(struct run_options *o, const char *value)
{
	struct up_queue_spec spec, other;
	char expected[256];

	if (up_queue_spec_parse(value, &spec, expected, sizeof(expected)) < 0)
		return wrong("--queue", value, expected);
	if (count_settings(o, "queue") == UP_QUEUE_SPECS_MAX) {
		fprintf(stderr, "useprobe: --queue: at most %d of them\n", UP_QUEUE_SPECS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < o->setting_count; i++)
		if (strcmp(o->settings[i].key, "queue") == 0 &&
			up_queue_spec_parse(o->settings[i].value, &other, expected, sizeof(expected)) == 0 &&
			strcmp(other.name, spec.name) == 0)
			return wrong("--queue", value, "another name: this one is given twice");
	return add_setting(o, "queue", value);
}

static int add_conn_max(struct run_options *o, const char *value)
{
	char peer[UP_CONN_MAX_PEER];
	double connections;

	if (up_conn_max_parse(value, peer, &connections) < 0)
		return wrong("--conn-max", value, "[PEER=]N, the size of a connection pool: 100 or 10.0.0.5:5432=100");
	return add_setting(o, "conn-max", value);
}

/* The address is never repeated: it may hold a password. */
static int add_sql(struct run_options *o, const char *value)
{
	struct up_sql_address address;
	char expected[256];

	if (up_sql_address_parse(value, &address, expected, sizeof(expected)) < 0)
		return wrong("--sql", "...", expected);
	if (count_settings(o, "sql") == UP_SQL_SOURCES_MAX) {
		fprintf(stderr, "useprobe: --sql: at most %d of them\n", UP_SQL_SOURCES_MAX);
		return -EINVAL;
	}
	return add_setting(o, "sql", value);
}

/* A token into RET; said when it cannot be had. */
static int read_token(const char *option, const char *path, char *ret, size_t size)
{
	char error[256];
	const int r = up_http_token_read(path, ret, size, error, sizeof(error));

	if (r < 0)
		fprintf(stderr, "useprobe: %s %s: %s\n", option, path, error);
	return r < 0 ? -EINVAL : 0;
}

static int add_sql_token(struct run_options *o, const char *path)
{
	char token[4096];
	const int r = read_token("--sql-token-file", path, token, sizeof(token));

	explicit_bzero(token, sizeof(token));
	return r < 0 ? r : add_setting(o, "sql-token-file", path);
}

static int set_export(struct run_options *o, const char *value)
{
	o->export = true;
	return up_http_listen_parse(value, &o->export_guard) < 0
		       ? wrong("--export", value, "an address and a port: 127.0.0.1:9188 or [::1]:9188")
		       : 0;
}

/* LIST names resources and collectors only: a typing error would leave rows out without a word. */
static int check_list(const char *option, const char *list)
{
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		const size_t len = strcspn(p, ",");
		bool found = len == strlen("connection-pool") && strncmp(p, "connection-pool", len) == 0;

		for (size_t i = 0; up_collectors[i] && !found; i++)
			found = (strlen(up_collectors[i]->name) == len && strncmp(up_collectors[i]->name, p, len) == 0) ||
				(strlen(up_collectors[i]->resource) == len && strncmp(up_collectors[i]->resource, p, len) == 0);
		if (!found)
			return wrong(option, list,
				"resources separated by commas, such as cpu,run-queue; `useprobe doctor` lists them");
	}
	return *list ? 0 : wrong(option, "''", "resources separated by commas");
}

static int apply(struct run_options *o, int opt, int index, const char *value)
{
	switch (opt) {
	case 'c':
		return *value ? add_text(o->names, &o->name_count, UP_TARGETS_MAX, "--cgroup", value)
			      : wrong("--cgroup", "''", "a name; `useprobe list` shows what there is");
	case 'p':
		return set_pid(o, value);
	case OPT_HOST:
		o->host = true;
		return 0;
	case OPT_WAIT:
		o->wait = true;
		return 0;
	case OPT_FOCUS:
		o->focus = value;
		return 0;
	case 'i':
		return set_interval(o, value);
	case 'd':
		return set_duration(o, value);
	case 'o':
		o->csv = value;
		return 0;
	case OPT_FORCE:
		o->force = true;
		return 0;
	case OPT_NO_CSV:
		o->no_csv = true;
		return 0;
	case 'b':
		o->batch = true;
		return 0;
	case 'l':
		o->load_file = value;
		return 0;
	case OPT_NOTE:
		return strchr(value, '=') ? add_text(o->notes, &o->note_count, UP_NOTES_MAX, "--note", value)
					  : wrong("--note", value, "KEY=VALUE");
	case OPT_ONLY:
		o->only = value;
		return check_list("--only", value);
	case OPT_SKIP:
		o->skip = value;
		return check_list("--skip", value);
	case OPT_ROOT:
		o->root = value;
		return 0;
	case OPT_QUEUE:
		return add_queue(o, value);
	case OPT_CONN_MAX:
		return add_conn_max(o, value);
	case OPT_SQL:
		return add_sql(o, value);
	case OPT_SQL_TOKEN:
		return add_sql_token(o, value);
	case OPT_EXPORT:
		return set_export(o, value);
	case OPT_EXPORT_TOKEN:
		return read_token("--export-token-file", value, o->export_guard.token, sizeof(o->export_guard.token));
	case OPT_SETTING:
		return add_setting(o, options[index].name, value);
	case OPT_VERSION:
		printf("useprobe %s\n", UP_VERSION);
		return 1;
	case OPT_HELP:
		fputs(help, stdout);
		return 1;
	default:
		fputs("Try 'useprobe --help'.\n", stderr);
		return -EINVAL;
	}
}

int run_options_parse(int argc, char **argv, struct run_options *ret)
{
	struct run_options o = { .interval_ns = UP_NS_PER_S };
	int opt, index = 0, r;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "+c:p:i:d:o:bl:", options, &index)) != -1) {
		r = apply(&o, opt, index, optarg);
		if (r != 0)
			return r;
	}
	if (optind < argc) {
		/* getopt stops at "--" and at the first word alike; only the first asks for a command. */
		if (strcmp(argv[optind - 1], "--") != 0) {
			fprintf(stderr,
				"useprobe: unexpected '%s'. A command to run goes behind '--'; a target goes behind '-c'.\n",
				argv[optind]);
			return -EINVAL;
		}
		o.command = argv + optind;
	}
	if (o.export && !o.export_guard.loopback && !o.export_guard.token[0])
		return wrong("--export", o.export_guard.address,
			"--export-token-file FILE too: beyond loopback everyone who reaches the address could read");
	*ret = o;
	return 0;
}
