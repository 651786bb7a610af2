/* useprobe replay: a recorded CSV through the same views as a run. Its ticks come at the speed they were recorded with, or faster. */
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "live_view.h"
#include "useprobe/cli.h"
#include "useprobe/clock.h"
#include "useprobe/csv_reader.h"
#include "useprobe/sink.h"

#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define SEEK_NS (10 * UP_NS_PER_S)

static const char help[] =
	"useprobe replay - the live view over a recorded run\n"
	"\n"
	"  useprobe replay [options] SAMPLES.csv\n"
	"\n"
	"  -b, --batch        print the table of every tick at once\n"
	"      --speed N      N times as fast as it was recorded (default 1)\n"
	"      --at TIME      begin TIME after the start of the run, paused (90s, 2m)\n"
	"      --help\n"
	"\n"
	"Keys: space pauses, + and - change the speed, , and . go ten seconds back and forward, ? lists all.\n"
	"A last line that was cut (a killed run) is left out and named. Exit status: 0 done, 1 failed while reading, 2 no CSV of ours.\n";

static const double speeds[] = { 0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 60, 120, 600 };

struct replay {
	const char *path;
	bool batch;
	double speed;
	uint64_t at_ns; /* --at */
	bool has_at;
	struct up_csv_reader *reader;
	struct up_table table;
	struct up_tick next; /* tick whose rows are in upcoming */
	struct up_rows upcoming;
	bool has_next;
	uint64_t due_ns; /* real monotonic time at which it is shown */
	struct live_view *view;
	int signal_fd, wait_fd;
	bool stop;
	int failed;
};

static int usage_error(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "useprobe replay: %s %s: expected %s\n", option, value, expected);
	return -EINVAL;
}

static int apply(struct replay *replay, int option, const char *value)
{
	switch (option) {
	case 'b':
		replay->batch = true;
		return 0;
	case 's':
		if (up_scan_whole_decimal(value, &replay->speed) < 0 || replay->speed < 0.01 || replay->speed > 10000)
			return usage_error("--speed", value, "a number from 0.01 to 10000");
		return 0;
	case 'a':
		replay->has_at = true;
		return up_time_parse(value, &replay->at_ns) < 0 ? usage_error("--at", value, "a time such as 90s or 2m") : 0;
	case 'h':
		fputs(help, stdout);
		return 1;
	default:
		return -EINVAL;
	}
}

/* 0; 1 when help was printed; -EINVAL after a message. */
static int parse(int argc, char **argv, struct replay *replay)
{
	static const struct option options[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "speed", required_argument, NULL, 's' },
		{ "at", required_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	*replay = (struct replay){ .speed = 1, .signal_fd = -1, .wait_fd = -1 };
	optind = 1;
	while ((option = getopt_long(argc, argv, "bh", options, NULL)) != -1) {
		int r = apply(replay, option, optarg);

		if (r != 0)
			return r;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "useprobe replay: expected one CSV file; see useprobe replay --help\n");
		return -EINVAL;
	}
	replay->path = argv[optind];
	return 0;
}

/* Foreign text in a message. */
static const char *safe(const char *text, char *buffer, size_t size)
{
	return up_terminal_text(text, strcmp(nl_langinfo(CODESET), "UTF-8") == 0, buffer, size);
}

static void read_next(struct replay *replay)
{
	const int r = up_csv_reader_tick(replay->reader, &replay->upcoming, &replay->next);

	replay->has_next = r > 0;
	if (r < 0)
		replay->failed = r;
}

static int open_file(struct replay *replay)
{
	char message[512] = "", text[1024];
	const int r = up_csv_reader_open(replay->path, &replay->reader, message, sizeof(message));

	if (r < 0)
		fprintf(stderr, "useprobe replay: %s: %s\n", replay->path,
			*message ? safe(message, text, sizeof(text)) : strerror(-r));
	else
		read_next(replay);
	return r;
}

/* Makes the tick that was read ahead the current one and reads one more. */
static void advance(struct replay *replay)
{
	const struct up_rows rows = replay->table.rows;

	replay->table.rows = replay->upcoming;
	replay->upcoming = rows;
	/* Without memory rows lose their history, not their figures. */
	(void)!up_table_commit_recorded(&replay->table, &replay->next);
	if (replay->view)
		live_view_tick(replay->view, &replay->table);
	read_next(replay);
}

static void schedule(struct replay *replay)
{
	const uint64_t now_ns = up_clock_real.mono_ns(NULL);
	const uint64_t gap_ns = replay->has_next && replay->next.elapsed_ns > replay->table.tick.elapsed_ns
					? replay->next.elapsed_ns - replay->table.tick.elapsed_ns
					: 0;

	replay->due_ns = now_ns + (uint64_t)((double)gap_ns / replay->speed);
}

/* Everything up to ELAPSED_NS becomes history. */
static void go_to(struct replay *replay, uint64_t elapsed_ns)
{
	while (replay->has_next && replay->next.elapsed_ns <= elapsed_ns)
		advance(replay);
	schedule(replay);
}

/* There is no way back through a CSV: read it again from the start. */
static void go_back(struct replay *replay)
{
	const uint64_t now_ns = replay->table.tick.elapsed_ns;
	struct up_live *live = &replay->view->live;
	struct up_table fresh;

	if (up_table_init(&fresh) < 0)
		return;
	up_csv_reader_close(replay->reader);
	replay->reader = NULL;
	up_table_done(&replay->table);
	replay->table = fresh;
	live->event_count = 0;
	replay->failed = open_file(replay);
	if (replay->failed < 0) {
		replay->stop = true;
		return;
	}
	/* At least the first tick, or there is nothing to show. */
	if (replay->has_next)
		advance(replay);
	go_to(replay, now_ns > SEEK_NS ? now_ns - SEEK_NS : 0);
}

static void describe(struct replay *replay)
{
	struct up_live *live = &replay->view->live;
	char number[UP_NUMBER_TEXT];

	snprintf(live->speed, sizeof(live->speed), "%sx", up_number_text(replay->speed, number));
	snprintf(live->position, sizeof(live->position), replay->has_next ? "tick %llu" : "tick %llu, the last",
		(unsigned long long)replay->table.tick.number + 1);
}

static void draw(struct replay *replay)
{
	describe(replay);
	live_view_draw(replay->view, &replay->table);
}

static void change_speed(struct replay *replay, bool slower)
{
	double speed = replay->speed;

	for (size_t i = 0; i < UP_COUNT(speeds); i++) {
		if (slower && speeds[i] < replay->speed)
			speed = speeds[i];
		if (!slower && speeds[i] > replay->speed) {
			speed = speeds[i];
			break;
		}
	}
	replay->speed = speed;
	schedule(replay);
}

static void handle_keys(struct replay *replay)
{
	enum up_live_action action;
	bool any = false;

	while (!replay->stop && live_view_key(replay->view, &replay->table, &action)) {
		any = true;
		switch (action) {
		case UP_ACTION_QUIT:
			replay->stop = true;
			break;
		case UP_ACTION_PAUSE:
			schedule(replay);
			break;
		case UP_ACTION_SLOWER:
		case UP_ACTION_FASTER:
			change_speed(replay, action == UP_ACTION_SLOWER);
			break;
		case UP_ACTION_BACK:
			go_back(replay);
			break;
		case UP_ACTION_FORWARD:
			go_to(replay, replay->table.tick.elapsed_ns + SEEK_NS);
			break;
		default:
			break;
		}
	}
	if (any && !replay->stop)
		draw(replay);
}

static void handle_signals(struct replay *replay)
{
	struct signalfd_siginfo info;

	while (read(replay->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH || info.ssi_signo == SIGTSTP) {
			live_view_signal(replay->view, info.ssi_signo);
			draw(replay);
		} else {
			replay->stop = true;
		}
	}
}

static int watch(struct replay *replay)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < UP_COUNT(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	replay->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	replay->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (replay->signal_fd < 0 || replay->wait_fd < 0 ||
		epoll_ctl(replay->wait_fd, EPOLL_CTL_ADD, replay->signal_fd, &event) < 0 ||
		epoll_ctl(replay->wait_fd, EPOLL_CTL_ADD, replay->view->key_fd, &event) < 0)
		return -errno;
	return 0;
}

static void play_live(struct replay *replay)
{
	replay->view->live.replay = true;
	replay->view->live.paused = replay->has_at;
	if (watch(replay) < 0) {
		replay->failed = -EIO;
		return;
	}
	if (replay->has_next)
		advance(replay);
	go_to(replay, replay->at_ns);
	draw(replay);
	while (!replay->stop) {
		const bool moving = replay->has_next && !replay->view->live.paused;
		/* At the end or paused only keys go on; an hour is as good as for ever. */
		const uint64_t until_ns = moving ? replay->due_ns : up_clock_real.mono_ns(NULL) + 3600 * UP_NS_PER_S;

		if (up_clock_real.wait_until(NULL, until_ns, replay->wait_fd) != 0) {
			handle_signals(replay);
			handle_keys(replay);
		} else if (moving) {
			advance(replay);
			schedule(replay);
			draw(replay);
		}
	}
}

static void play_batch(struct replay *replay)
{
	struct winsize size = { 0 };
	struct up_batch batch = { .out = stdout, .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 };

	signal(SIGPIPE, SIG_IGN);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		batch.columns = size.ws_col;
	while (replay->has_next && !replay->failed) {
		int r;

		advance(replay);
		if (replay->table.tick.elapsed_ns < replay->at_ns)
			continue;
		r = up_batch_tick(&batch, &replay->table);
		/* A reader that went away is no failure. */
		if (r == -EPIPE)
			return;
		replay->failed = r < 0 ? r : replay->failed;
	}
}

/* What was left out, after the screen is given back. */
static int finish(struct replay *replay)
{
	char notes[1024], text[4096];

	live_view_close(replay->view);
	if (replay->failed)
		fprintf(stderr, "useprobe replay: %s: %s\n", replay->path, strerror(-replay->failed));
	if (replay->reader && *up_csv_notes_text(up_csv_reader_notes(replay->reader), notes, sizeof(notes)))
		fprintf(stderr, "useprobe replay: %s: %s\n", replay->path, safe(notes, text, sizeof(text)));
	up_csv_reader_close(replay->reader);
	up_table_done(&replay->table);
	up_rows_done(&replay->upcoming);
	if (replay->signal_fd >= 0)
		close(replay->signal_fd);
	if (replay->wait_fd >= 0)
		close(replay->wait_fd);
	return replay->failed ? EXIT_FAILED : 0;
}

int up_cli_replay(int argc, char **argv)
{
	struct replay replay;
	char message[256] = "";
	int r = parse(argc, argv, &replay);

	if (r != 0)
		return r > 0 ? 0 : EXIT_USAGE;
	if (up_table_init(&replay.table) < 0 || up_rows_init(&replay.upcoming) < 0) {
		fprintf(stderr, "useprobe replay: out of memory\n");
		return EXIT_FAILED;
	}
	r = open_file(&replay);
	if (r < 0) {
		up_table_done(&replay.table);
		up_rows_done(&replay.upcoming);
		return r == -EBADMSG || r == -ENOENT || r == -EISDIR ? EXIT_USAGE : EXIT_FAILED;
	}
	if (!replay.batch && live_view_open(&replay.view, message, sizeof(message)) == -ENOTSUP)
		fprintf(stderr, "useprobe: %s\n", message);
	if (replay.view)
		play_live(&replay);
	else
		play_batch(&replay);
	return finish(&replay);
}
