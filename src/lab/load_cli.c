/* load_cli - `uselab load`: reads the command line, runs the load, prints progress and summary. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "load.h"

static const char help[] =
	"usage: uselab load [--url http://ADDR:PORT/PATH] (--rate R | --steps LADDER | --users N | --sweep SWEEP) [OPTION]...\n"
	"A load generator that says what it could not send.\n"
	"\n"
	"  --url URL            target (http://127.0.0.1:8080/)\n"
	"\n"
	"open loop: requests start by a fixed schedule, whatever the answers do\n"
	"  --rate R             R requests/s for --hold\n"
	"  --steps START:STEP:COUNT:HOLD[:RAMP]   COUNT steps of HOLD at START, START+STEP, ... requests/s, ramps of RAMP in between\n"
	"  --poisson            random arrivals of that rate instead of even ones\n"
	"  --vus N              at most N requests at a time; beyond it they are dropped, and counted (2000)\n"
	"\n"
	"closed loop: each user waits for its answer, thinks, asks again\n"
	"  --users N            N users for --hold\n"
	"  --sweep N,N,...:HOLD or FROM..TO:HOLD (doubling)   so many users, one step after the other\n"
	"  --think-ms MS        pause of a user: 100, or exp:100 (0)\n"
	"\n"
	"  --hold TIME          length of --rate and --users (10s)\n"
	"  --timeout TIME       a request without answer for so long has failed (30s)\n"
	"  --new-connection     a connection for each request\n"
	"  --cpu-us N           CPU time the generator burns per request, as a script would\n"
	"  -o, --out FILE       one CSV line per request: planned_s,sent_s,end_s,status,vu,step (`-` = stdout)\n"
	"  --seed N             of arrivals and pauses (1)\n"
	"  --quiet              no progress\n"
	"\n"
	"examples:\n"
	"  uselab load --steps 100:100:6:40s:2s -o steps.csv            a ladder from 100 to 600 requests/s\n"
	"  uselab load --rate 200 --poisson --hold 1m -o run.csv\n"
	"  uselab load --users 20 --think-ms 100 --hold 90s -o closed.csv\n"
	"  uselab load --sweep 1..64:10s                                1, 2, 4, ... 64 users\n"
	"\n"
	"Exit status: 0 done, 1 failed or interrupted (the file holds what was done), 2 wrong use.\n";

struct arguments {
	struct lab_load_options load;
	const char *steps, *sweep;
	double rate_per_s;
	uint64_t users, hold_ns;
};

/* "http://ADDR:PORT/PATH", also without http:// or path. 0 or -errno. */
static int read_url(const char *url, struct lab_load_options *ret_options)
{
	struct lab_load_options options = *ret_options;
	const char *text = strncmp(url, "http://", 7) == 0 ? url + 7 : url;
	const char *slash = strchr(text, '/');
	const size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char address[80];
	int r;

	if (length + 4 > sizeof(address) || strlen(slash ? slash : "/") >= sizeof(options.path) || strpbrk(text, " \r\n\t"))
		return -EINVAL;
	snprintf(address, sizeof(address), "%.*s", (int)length, text);
	const char *colon = strrchr(address, ':');

	if (!colon || strchr(colon, ']'))
		memcpy(address + length, ":80", 4);
	r = lab_address_read(address, &options.target);
	if (r < 0)
		return r;
	snprintf(options.path, sizeof(options.path), "%s", slash ? slash : "/");
	*ret_options = options;
	return 0;
}

static int fail(const char *option, const char *text, const char *expected)
{
	fprintf(stderr, "uselab load: --%s %.100s: expected %s\n", option, text, expected);
	return -EINVAL;
}

enum option_id {
	OPT_URL = 256,
	OPT_RATE,
	OPT_STEPS,
	OPT_POISSON,
	OPT_VUS,
	OPT_USERS,
	OPT_SWEEP,
	OPT_THINK,
	OPT_HOLD,
	OPT_TIMEOUT,
	OPT_NEW_CONNECTION,
	OPT_CPU,
	OPT_SEED,
	OPT_QUIET,
};

static const struct option options[] = {
	{ "url", required_argument, NULL, OPT_URL },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "steps", required_argument, NULL, OPT_STEPS },
	{ "poisson", no_argument, NULL, OPT_POISSON },
	{ "vus", required_argument, NULL, OPT_VUS },
	{ "users", required_argument, NULL, OPT_USERS },
	{ "sweep", required_argument, NULL, OPT_SWEEP },
	{ "think-ms", required_argument, NULL, OPT_THINK },
	{ "hold", required_argument, NULL, OPT_HOLD },
	{ "duration", required_argument, NULL, OPT_HOLD },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "new-connection", no_argument, NULL, OPT_NEW_CONNECTION },
	{ "cpu-us", required_argument, NULL, OPT_CPU },
	{ "out", required_argument, NULL, 'o' },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* One option with a value. 0, or -EINVAL after a message. */
static int set_value(struct arguments *a, int id, const char *text)
{
	uint64_t count;
	int r;

	switch (id) {
	case OPT_URL:
		r = read_url(text, &a->load);
		return r == -EHOSTUNREACH ? fail("url", text, "a host name that resolves, or an address")
		       : r < 0            ? fail("url", text, "http://ADDR:PORT/PATH")
					  : 0;
	case OPT_RATE:
		if (lab_number_read(text, &a->rate_per_s) < 0 || a->rate_per_s <= 0 || a->rate_per_s > 1e6)
			return fail("rate", text, "requests per second, above 0 and at most 1000000");
		return 0;
	case OPT_VUS:
		if (lab_count_read(text, 1, 60000, &count) < 0)
			return fail("vus", text, "a whole number from 1 to 60000");
		a->load.vus = (unsigned)count;
		return 0;
	case OPT_USERS:
		return lab_count_read(text, 1, 60000, &a->users) < 0 ? fail("users", text, "a whole number from 1 to 60000") : 0;
	case OPT_THINK:
		return lab_dist_read(text, &a->load.think) < 0 ? fail("think-ms", text, "milliseconds, constant (100) or exp:100")
							       : 0;
	case OPT_HOLD:
		r = lab_time_read(text, &a->hold_ns);
		return r < 0 || !a->hold_ns ? fail("hold", text, "a time like 10s or 2m") : 0;
	case OPT_TIMEOUT:
		r = lab_time_read(text, &a->load.timeout_ns);
		return r < 0 || !a->load.timeout_ns ? fail("timeout", text, "a time like 500ms or 30s") : 0;
	case OPT_CPU:
		if (lab_count_read(text, 0, 1000000, &count) < 0)
			return fail("cpu-us", text, "microseconds, a whole number up to 1000000");
		a->load.cpu_ns = count * LAB_NS_PER_US;
		return 0;
	default:
		return lab_count_read(text, 0, UINT64_MAX, &a->load.seed) < 0 ? fail("seed", text, "a whole number") : 0;
	}
}

/* Makes the schedule of the one way that was chosen. 0, or -EINVAL after a message. */
static int make_schedule(struct arguments *a)
{
	const int ways = (a->rate_per_s > 0) + (a->users > 0) + (a->steps != NULL) + (a->sweep != NULL);
	int r = 0;

	if (ways != 1) {
		fputs(ways ? "uselab load: give one of --rate, --steps, --users, --sweep, not several\n"
			   : "uselab load: how much load? give one of --rate R, --steps LADDER, --users N, --sweep SWEEP (see --help)\n",
			stderr);
		return -EINVAL;
	}
	if (a->steps)
		r = lab_steps_read(a->steps, &a->load.schedule);
	else if (a->sweep)
		r = lab_sweep_read(a->sweep, &a->load.schedule);
	else
		lab_schedule_constant(a->rate_per_s, (unsigned)a->users, (double)a->hold_ns / 1e9, &a->load.schedule);
	if (r == -E2BIG)
		return fail(a->steps ? "steps" : "sweep", a->steps ? a->steps : a->sweep, "at most 200 steps");
	if (r < 0)
		return a->steps ? fail("steps", a->steps, "START:STEP:COUNT:HOLD[:RAMP], for example 100:100:6:40s:2s")
				: fail("sweep", a->sweep, "N,N,...:HOLD or FROM..TO:HOLD, for example 1..64:10s");
	if (a->load.schedule.closed && a->load.poisson) {
		fputs("uselab load: --poisson is for an open loop (--rate, --steps); users start when their answers arrive\n",
			stderr);
		return -EINVAL;
	}
	return 0;
}

/* 0, 1 when help was printed, -EINVAL after a message. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(help, stdout);
			return 1;
		case '?':
		case ':':
			fprintf(stderr, "uselab load: %s `%s`; --help lists the options\n",
				c == ':' ? "a value is missing after" : "unknown option or unexpected value", argv[optind - 1]);
			return -EINVAL;
		case 'o':
			a->load.out = optarg;
			break;
		case OPT_STEPS:
			a->steps = optarg;
			break;
		case OPT_SWEEP:
			a->sweep = optarg;
			break;
		case OPT_POISSON:
			a->load.poisson = true;
			break;
		case OPT_NEW_CONNECTION:
			a->load.new_connection = true;
			break;
		case OPT_QUIET:
			a->load.quiet = true;
			break;
		default:
			if (set_value(a, c, optarg) < 0)
				return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "uselab load: `%.100s` is no option; --help lists them\n", argv[optind]);
		return -EINVAL;
	}
	return make_schedule(a);
}

static void print_progress(const struct lab_load_totals *t, const struct lab_schedule *schedule, unsigned piece,
	unsigned in_flight, double elapsed_s)
{
	const bool over = piece >= schedule->n_pieces;
	const struct lab_piece *p = &schedule->pieces[over ? schedule->n_pieces - 1 : piece];

	fprintf(stderr, "%6.0f s  ", elapsed_s);
	if (over)
		fputs("waiting for the last answers", stderr);
	else if (schedule->closed)
		fprintf(stderr, "step %u  %u users", p->step, p->users);
	else
		fprintf(stderr, "%s %u  %.6g/s", p->step ? "step" : "ramp", p->step, p->rate_end_per_s);
	fprintf(stderr, "  sent %" PRIu64 "  in flight %u  dropped %" PRIu64 "  failed %" PRIu64 "\n", t->sent, in_flight,
		t->dropped, t->failed);
}

/* Says before the first request that nobody is there: a run of refused connections is rarely what was meant. */
static int check_target(const struct lab_load_options *o)
{
	const int fd = lab_connect(&o->target, 5 * LAB_NS_PER_S, LAB_NS_PER_S);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	fprintf(stderr, "uselab load: %s: %s; start the server first (uselab serve --listen %s), or give --url\n", o->target.text,
		strerror(-fd), o->target.text);
	return fd;
}

static int print_end(const struct lab_load_totals *t, const struct lab_load_options *o, FILE *out)
{
	fprintf(out,
		"planned %" PRIu64 ", sent %" PRIu64 ", ok %" PRIu64 ", failed %" PRIu64 " (of them time-outs %" PRIu64
		"), dropped %" PRIu64 "\n",
		t->planned, t->sent, t->ok, t->failed, t->timeouts, t->dropped);
	if (t->late)
		fprintf(out, "the generator itself started %" PRIu64 " requests more than 10 ms late (at most %.0f ms)\n",
			t->late, (double)t->max_late_ns / 1e6);
	if (o->out && strcmp(o->out, "-") != 0)
		fprintf(out, "each request is in %s\n", o->out);
	if (t->interrupted)
		fputs("uselab load: interrupted; what was done is above and in the file\n", stderr);
	return t->interrupted ? 1 : 0;
}

int lab_load(const struct lab_load_options *o)
{
	struct lab_load_totals totals;
	struct lab_error error;
	sigset_t ends;
	FILE *summary = o->out && strcmp(o->out, "-") == 0 ? stderr : stdout;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	lab_thread_prepare("uselab-load");
	if (check_target(o) < 0)
		return 1;
	if (lab_load_run(o, o->quiet ? NULL : print_progress, summary, &totals, &error) < 0) {
		fprintf(stderr, "uselab load: %s\n", error.text);
		return 1;
	}
	return print_end(&totals, o, summary);
}

int lab_load_main(int argc, char **argv)
{
	struct arguments a = { .load = { .vus = 2000, .timeout_ns = 30 * LAB_NS_PER_S, .seed = 1 },
		.hold_ns = 10 * LAB_NS_PER_S };
	int r = read_url("http://127.0.0.1:8080/", &a.load);

	if (r == 0)
		r = read_arguments(argc, argv, &a);
	return r > 0 ? 0 : r < 0 ? 2 : lab_load(&a.load);
}
