/* useprobe run: options become a source, a clock, targets, a probe and sinks; then the loop waits for the next deadline, a signal or
 * the end of the command. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run_live.h"
#include "run_output.h"
#include "run_sidecar.h"
#include "useprobe/cli.h"

#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_PROBE_FAILED 125 /* with a command, whose own status takes the rest of the range */

static int open_signals(struct run *run)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	/* A full disk, a closed pipe and a file-size limit are to be errors of write(2), not the end of the process. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < UP_COUNT(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	run->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (run->signal_fd < 0 || run->wait_fd < 0)
		return -errno;
	event.data.fd = run->signal_fd;
	return epoll_ctl(run->wait_fd, EPOLL_CTL_ADD, run->signal_fd, &event) < 0 ? -errno : 0;
}

/* The soft limit guards programs that use select(2); this one does not. A refusal changes nothing. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)!setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_source(struct run *run)
{
	const struct run_options *o = &run->options;
	const int r = up_source_open(&run->source, o->root);

	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", o->root ? o->root : "/", strerror(-r));
		return r;
	}
	run->clock = up_clock_real;
	if (run->source.frame >= 0) {
		run->fake = (struct up_fake_clock){
			.mono_ns = UP_NS_PER_S,
			.wall_ns = up_clock_real.wall_ns(NULL),
		};
		run->clock = up_clock_fake(&run->fake);
	}
	return up_arena_init(&run->arena);
}

/* The same sentence for every way a target cannot be had; MESSAGE says what was looked for. */
static int target_failed(const char *message)
{
	fprintf(stderr, "useprobe: %s\n", message);
	return -ENOENT;
}

static bool is_target(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->targets.count; i++)
		if (strcmp(run->targets.items[i].name, name) == 0)
			return true;
	return false;
}

static int open_targets(struct run *run)
{
	const struct run_options *o = &run->options;
	char message[8192];
	int r = up_targets_init(&run->targets, &run->source, &run->arena);

	/* Without any cgroup file system the host and single processes can still be watched. */
	if (r < 0 && o->name_count)
		return target_failed("no cgroup file system is mounted here; use --pid PID or --host");
	for (size_t i = 0; i < o->name_count; i++) {
		up_arena_reset(&run->arena);
		r = up_targets_add_name(&run->targets, &run->source, &run->arena, o->names[i], o->wait, message, sizeof(message));
		if (r < 0)
			return target_failed(message);
	}
	if (o->pid) {
		r = up_targets_add_pid(&run->targets, &run->source, &run->arena, o->pid, message, sizeof(message));
		if (r < 0)
			return target_failed(message);
	}
	if (o->focus && !is_target(run, o->focus)) {
		fprintf(stderr, "useprobe: --focus %s: not one of the targets\n", o->focus);
		return -EINVAL;
	}
	if (!o->name_count && !o->pid && !o->host)
		fputs("useprobe: watching the whole host; `useprobe list` shows what -c NAME can name\n", stderr);
	return 0;
}

static int open_probe(struct run *run)
{
	const struct run_options *o = &run->options;
	const struct up_probe_config config = {
		.source = &run->source,
		.clock = &run->clock,
		.targets = &run->targets,
		.settings = o->settings,
		.setting_count = o->setting_count,
		.interval_ns = o->interval_ns,
		.only = o->only,
		.skip = o->skip,
		.host_rows = true,
	};
	int r = up_probe_new(&config, &run->probe);

	if (r < 0)
		fprintf(stderr, "useprobe: cannot start: %s\n", strerror(-r));
	/* Before the CSV: a refused run leaves no file behind. */
	if (r == 0)
		r = run_open_export(run);
	if (r == 0)
		r = run_open_csv(run);
	run->start_wall_ns = run->clock.wall_ns(run->clock.self);
	run->start_mono_ns = run->clock.mono_ns(run->clock.self);
	if (r == 0)
		r = run_sidecar_write(run, NULL);
	if (r == 0)
		r = run_open_view(run);
	return r;
}

static void stop(struct run *run, const char *reason)
{
	run->stop = true;
	if (!run->end_reason)
		run->end_reason = reason;
}

/* Marks of `useprobe mark`. Without the socket the run is whole, only nobody can mark it from outside. */
static void open_marks(struct run *run)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	if (run->source.recorded)
		return;
	r = mark_socket_open(&run->marks);
	event.data.fd = run->marks.fd;
	if (r == 0 && epoll_ctl(run->wait_fd, EPOLL_CTL_ADD, run->marks.fd, &event) < 0)
		r = -errno;
	if (r < 0)
		fprintf(stderr, "useprobe: no marks from outside (useprobe mark): %s\n", strerror(-r));
}

static void handle_marks(struct run *run)
{
	char text[MARK_TEXT_MAX + 1];

	while (mark_socket_read(&run->marks, text)) {
		up_probe_event(run->probe, "mark", "", text, NULL);
		run_live_marked(run, text);
	}
}

static void handle_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			child_poll(&run->child);
		else if (!run_live_signal(run, info.ssi_signo) && info.ssi_signo != SIGWINCH)
			stop(run, "signal");
	}
	if (run->options.command && !run->child.running)
		stop(run, "command ended");
}

static void tick(struct run *run)
{
	const char *sink = NULL;
	const int r = up_probe_tick(run->probe, &sink);

	if (r == 0)
		return;
	stop(run, "output failed");
	run_live_close(run);
	/* A reader that went away (useprobe -b | head) is no failure. */
	if (r == -EPIPE && sink && strcmp(sink, "standard output") == 0)
		return;
	run->failed = r;
	fprintf(stderr, "useprobe: %s: %s\n", sink ? sink : "tick", strerror(-r));
}

static void loop(struct run *run)
{
	const uint64_t start_ns = run->clock.mono_ns(run->clock.self);
	const uint64_t duration_ns = run->options.duration_ns;

	while (!run->stop) {
		const uint64_t due_ns = up_probe_deadline_ns(run->probe);
		int r;

		if (duration_ns && due_ns > start_ns + duration_ns) {
			stop(run, "duration");
			break;
		}
		r = run->clock.wait_until(run->clock.self, due_ns, run->wait_fd);
		if (r != 0) {
			handle_signals(run);
			handle_marks(run);
			run_live_keys(run);
			continue;
		}
		tick(run);
		if (run->source.frame >= 0 && !up_source_next_frame(&run->source))
			stop(run, "end of the recording");
	}
	/* A mark that was set after the last tick is not to be lost. */
	if (!run->failed && up_probe_pending_events(run->probe))
		tick(run);
}

static int finish(struct run *run, int started)
{
	const bool command = run->options.command != NULL;

	run_live_close(run);
	if (run->child.running)
		child_stop(&run->child);
	if (started == 0 && run_sidecar_write(run, run->end_reason) < 0)
		run->failed = run->failed ? run->failed : -EIO;
	if (run->probe && up_probe_close_sinks(run->probe) < 0 && !run->failed)
		run->failed = -EIO;
	if (started < 0)
		return command                                                            ? EXIT_PROBE_FAILED
		       : started == -ENOENT || started == -ENOTUNIQ || started == -EINVAL ? EXIT_USAGE
											  : EXIT_FAILED;
	if (*run->csv_path && !run->failed)
		fprintf(stderr, "useprobe: samples are in %s%s\n", run->csv_path,
			command || run->options.load_file ? "" : "; useprobe report FILE [--load LOADFILE] tells what limits");
	if (run->failed)
		return command ? EXIT_PROBE_FAILED : EXIT_FAILED;
	run_print_answer(run);
	return command ? run->child.status : 0;
}

static void run_done(struct run *run)
{
	mark_socket_close(&run->marks);
	up_probe_free(run->probe);
	up_targets_done(&run->targets);
	up_arena_done(&run->arena);
	up_source_close(&run->source);
	if (run->signal_fd >= 0)
		close(run->signal_fd);
	if (run->wait_fd >= 0)
		close(run->wait_fd);
	free(run);
}

int up_cli_run(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof(*run));
	int r, status;

	if (!run)
		return EXIT_FAILED;
	run->signal_fd = run->wait_fd = -1;
	run->marks = (struct mark_socket){ .fd = -1, .dir_fd = -1 };
	run->source = (struct up_source){ .root_fd = -1, .top_fd = -1, .frame = -1 };
	r = run_options_parse(argc, argv, &run->options);
	if (r != 0) {
		run_done(run);
		return r > 0 ? 0 : EXIT_USAGE;
	}
	/* The command behind `--` gets the user's own limit back (child.c). */
	getrlimit(RLIMIT_NOFILE, &run->child.descriptors);
	raise_descriptor_limit();
	r = open_signals(run);
	if (r == 0)
		r = open_source(run);
	if (r == 0)
		r = open_targets(run);
	if (r == 0)
		r = run_check_queues(run);
	/* Before the live view, which would hide a message. */
	if (r == 0)
		open_marks(run);
	if (r == 0)
		r = open_probe(run);
	if (r == 0 && run->options.command) {
		/* The first tick comes before the command, so that its first second is measured too. */
		tick(run);
		r = child_start(&run->child, run->options.command);
		if (r < 0)
			fprintf(stderr, "useprobe: cannot start a process: %s\n", strerror(-r));
	}
	if (r == 0)
		loop(run);
	status = finish(run, r);
	run_done(run);
	return status;
}
