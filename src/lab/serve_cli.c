/* serve_cli - `uselab serve` and `uselab db`: starts a server, waits for its end, prints what it counted. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "server.h"
#include "server_args.h"

static const char help_head_serve[] =
	"usage: uselab serve [OPTION]...\n"
	"An HTTP/1.1 server with chosen bottlenecks. Every path is a request; GET /_stats returns its own exact counters as JSON and\n"
	"counts itself nowhere. It ends on SIGINT, SIGTERM or after --duration.\n";

static const char help_head_db[] =
	"usage: uselab db [OPTION]...\n"
	"A database for `uselab serve --db`: lines in, lines out (\"Q 1\" -> \"R 200\"; \"STATS\" -> its counters as JSON). Every option of\n"
	"serve works here too. It ends on SIGINT, SIGTERM or after --duration.\n";

static const char help_options[] =
	"\n"
	"  --listen ADDR:PORT        where to listen (serve: 127.0.0.1:8080, db: 127.0.0.1:5433)\n"
	"  --admin ADDR:PORT         the counters also on a listener of their own, which answers when the server is blocked\n"
	"  --mode MODE               pool (one queue, --workers threads), thread-per-request, direct (workers accept themselves),\n"
	"                            single (one thread does everything; also --single-thread)\n"
	"  --workers N               worker threads, worker-1 ... worker-N (serve: 8, db: 4)\n"
	"  --queue-max N             waiting requests beyond which a request is answered 503 (0: no limit)\n"
	"  --backlog N               length of the accept queue (511)\n"
	"  --accept-delay TIME       pause before each accept\n"
	"\n"
	"per request (MS: milliseconds, 4 = always, exp:4 = exponential with mean 4):\n"
	"  --cpu-ms MS               CPU time, burned by the thread's CPU clock\n"
	"  --wait-ms MS              plain wait (also --service-ms; db: 10)\n"
	"  --miss[=N:MS]             one request in N waits MS longer (10:40)\n"
	"  --db ADDR:PORT[,pool=P][,queries=N][,every=K]   asks a `uselab db`; up to 4 times\n"
	"  --pool P, --queries N     for each --db that says nothing of its own (8, 1)\n"
	"  --pool-timeout TIME       longest wait for a connection, then 503 (none)\n"
	"  --hot-lock-ms MS          every request holds one mutex for so long\n"
	"  --lock-report[=EVERY:HOLD]  a report holds a mutex that every request needs (4s:250ms)\n"
	"  --fsync FILE              writes 4 KiB and syncs\n"
	"  --pages FILE:MB:PAGES     reads PAGES random pages of a file of MB MiB\n"
	"  --fd-leak N               one request in N leaks a descriptor\n"
	"  --body-bytes N            size of the answer (64)\n"
	"  --sndbuf BYTES            send buffer of each connection (the kernel's choice)\n"
	"\n"
	"the process:\n"
	"  --freeze AT:FOR           stops it (SIGSTOP) AT after the start, continues it after FOR\n"
	"  --slow AT:FOR:FACTOR      CPU and wait of each request times FACTOR in that time\n"
	"  --alloc-mb N              touches N MiB at the start\n"
	"  --max-fds N               descriptor limit\n"
	"  --decoy-threads N[:PERCENT]   threads that burn CPU and serve nobody (50)\n"
	"  --stats-out FILE          writes the counters there at the end\n"
	"  --duration TIME           ends by itself (1h)\n"
	"  --seed N                  of all random draws (1)\n"
	"  --quiet                   prints errors only\n";

static const char help_tail_serve[] =
	"\n"
	"examples:\n"
	"  uselab serve --workers 8 --cpu-ms exp:2                     500 requests/s a core\n"
	"  uselab db --workers 4 --service-ms exp:10 &\n"
	"  uselab serve --workers 64 --db 127.0.0.1:5433,pool=16       limited by the database at 400 requests/s\n"
	"  uselab serve --wait-ms 4 --miss --lock-report --freeze 20s:5s\n"
	"  curl -s http://127.0.0.1:8080/_stats\n";

static const char help_tail_db[] =
	"\n"
	"examples:\n"
	"  uselab db --workers 4 --service-ms exp:10                   at most 400 queries/s\n"
	"  uselab db --service-ms 5 --slow 20s:10s:8                   eight times slower from 20 s to 30 s\n"
	"  printf 'STATS\\n' | nc -N 127.0.0.1 5433\n";

static void print_totals(const char *name, const struct lab_totals *t)
{
	const uint64_t departures = t->count[LAB_DEPARTURES];

	printf("uselab %s: %" PRIu64 " requests, %" PRIu64 " answered, %" PRIu64 " failed, %" PRIu64 " clients gone", name,
		t->count[LAB_ARRIVALS], departures, t->count[LAB_FAILED], t->count[LAB_BROKEN]);
	if (departures)
		printf(", mean time in the server %.3f ms", (double)t->count[LAB_RESIDENCE_NS] / (double)departures / 1e6);
	if (t->count[LAB_EMFILE])
		printf(", %" PRIu64 " times out of descriptors", t->count[LAB_EMFILE]);
	printf("\n");
}

/* Waits for a signal or the end of DURATION_NS. */
static void wait_for_end(const sigset_t *ends, uint64_t duration_ns)
{
	const uint64_t deadline_ns = lab_now_ns() + duration_ns;
	uint64_t now_ns;

	while ((now_ns = lab_now_ns()) < deadline_ns) {
		const struct timespec left = { .tv_sec = (time_t)((deadline_ns - now_ns) / LAB_NS_PER_S),
			.tv_nsec = (long)((deadline_ns - now_ns) % LAB_NS_PER_S) };

		/* A stop and continuation ends the wait early with EINTR. */
		if (sigtimedwait(ends, NULL, &left) > 0)
			return;
	}
}

/* Exit status 0, or 1 after a message. */
static int write_stats(struct lab_serving *serving, const char *name, const char *path)
{
	char *json = lab_serving_stats(serving);
	FILE *out = fopen(path, "we");
	const bool ok = json && out && fputs(json, out) >= 0;

	free(json);
	if (out && fclose(out) == 0 && ok)
		return 0;
	fprintf(stderr, "uselab %s: %s: %s; the counters are not written\n", name, path, strerror(errno));
	return 1;
}

int lab_serve(const struct lab_server_options *options)
{
	const char *name = options->line_protocol ? "db" : "serve";
	struct lab_serving *serving;
	struct lab_error note, error;
	struct lab_totals totals;
	sigset_t ends;
	int status;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL); /* before any thread, so that all inherit it */
	signal(SIGPIPE, SIG_IGN);
	if (lab_serving_start(options, &serving, &note, &error) < 0) {
		fprintf(stderr, "uselab %s: %s\n", name, error.text);
		return 1;
	}
	if (note.text[0])
		fprintf(stderr, "uselab %s: %s\n", name, note.text);
	if (!options->quiet) {
		printf("uselab %s: listening on port %u (%s), pid %d\n", name, lab_serving_port(serving), options->listen.text,
			(int)getpid());
		fflush(stdout);
	}
	wait_for_end(&ends, options->duration_ns);
	/* A second signal ends it at once, should a worker be held for long. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
	lab_serving_stop(serving);
	lab_serving_totals(serving, &totals);
	if (!options->quiet)
		print_totals(name, &totals);
	status = options->stats_path ? write_stats(serving, name, options->stats_path) : 0;
	lab_serving_free(serving);
	return fflush(stdout) == 0 ? status : 1;
}

static int server_main(int argc, char **argv, bool line_protocol)
{
	const char *name = line_protocol ? "db" : "serve";
	struct lab_server_options options;
	struct lab_error error;
	const int r = lab_server_args(argc, argv, line_protocol, &options, &error);

	if (r > 0) {
		fputs(line_protocol ? help_head_db : help_head_serve, stdout);
		fputs(help_options, stdout);
		fputs(line_protocol ? help_tail_db : help_tail_serve, stdout);
		return 0;
	}
	if (r < 0) {
		fprintf(stderr, "uselab %s: %s\n", name, error.text);
		return 2;
	}
	return lab_serve(&options);
}

int lab_serve_main(int argc, char **argv)
{
	return server_main(argc, argv, false);
}

int lab_db_main(int argc, char **argv)
{
	return server_main(argc, argv, true);
}
