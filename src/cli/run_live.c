/* The live view of a run: a sink that draws, keys that mark, pause, change the interval and quit. */
#include "run_live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "live_view.h"

static const uint64_t intervals_ms[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000, 600000, 1800000, 3600000 };

static int live_tick(void *self, const struct up_table *table)
{
	struct live_view *view = self;

	live_view_tick(view, table);
	live_view_draw(view, table);
	return 0;
}

/* ctrl-Z has to go through the view, which gives the terminal back first. */
static int watch_terminal(struct run *run)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH, SIGTSTP };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < UP_COUNT(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || signalfd(run->signal_fd, &set, SFD_CLOEXEC | SFD_NONBLOCK) < 0)
		return -errno;
	event.data.fd = run->live->key_fd;
	return epoll_ctl(run->wait_fd, EPOLL_CTL_ADD, run->live->key_fd, &event) < 0 ? -errno : 0;
}

int run_live_open(struct run *run)
{
	char message[256];
	int r;

	/* Recorded frames pass at once, and a command's output needs the terminal itself. */
	if (run->options.batch || run->options.command || run->source.frame >= 0)
		return 0;
	r = live_view_open(&run->live, message, sizeof(message));
	if (r == -ENOTSUP)
		fprintf(stderr, "useprobe: %s\n", message);
	if (r < 0)
		return r == -ENOTSUP || r == -ENOTTY ? 0 : r;
	snprintf(run->live->live.focus, sizeof(run->live->live.focus), "%s", run->options.focus ? run->options.focus : "");
	r = watch_terminal(run);
	if (r == 0)
		r = up_probe_add_sink(run->probe, (struct up_sink){ .name = "terminal", .self = run->live, .tick = live_tick });
	if (r < 0) {
		run_live_close(run);
		return r;
	}
	return 1;
}

void run_live_close(struct run *run)
{
	live_view_close(run->live);
	run->live = NULL;
}

void run_live_marked(struct run *run, const char *text)
{
	struct up_live *live;

	if (!run->live)
		return;
	live = &run->live->live;
	snprintf(live->message, sizeof(live->message), "marked: %.*s", UP_LIVE_TEXT, text);
	live_view_draw(run->live, up_probe_table(run->probe));
}

static void change_interval(struct run *run, bool slower)
{
	struct up_live *live = &run->live->live;
	const uint64_t now_ms = run->options.interval_ns / UP_NS_PER_MS;
	uint64_t next_ms = now_ms;

	for (size_t i = 0; i < UP_COUNT(intervals_ms); i++) {
		if (slower && intervals_ms[i] > now_ms) {
			next_ms = intervals_ms[i];
			break;
		}
		if (!slower && intervals_ms[i] < now_ms)
			next_ms = intervals_ms[i];
	}
	if (next_ms == now_ms) {
		snprintf(live->message, sizeof(live->message), "intervals go from 100 ms to 1 h");
		return;
	}
	run->options.interval_ns = next_ms * UP_NS_PER_MS;
	up_probe_set_interval(run->probe, run->options.interval_ns);
	if (next_ms < 1000)
		snprintf(live->message, sizeof(live->message), "every %llu ms from now on", (unsigned long long)next_ms);
	else
		snprintf(live->message, sizeof(live->message), "every %llu s from now on", (unsigned long long)(next_ms / 1000));
}

void run_live_keys(struct run *run)
{
	const struct up_table *table = up_probe_table(run->probe);
	enum up_live_action action;
	bool any = false;

	while (run->live && !run->stop && live_view_key(run->live, table, &action)) {
		any = true;
		switch (action) {
		case UP_ACTION_QUIT:
			run->stop = true;
			run->end_reason = "quit";
			break;
		case UP_ACTION_MARK:
			up_probe_event(run->probe, "mark", "", run->live->live.input, NULL);
			run_live_marked(run, run->live->live.input);
			break;
		case UP_ACTION_SLOWER:
		case UP_ACTION_FASTER:
			change_interval(run, action == UP_ACTION_SLOWER);
			break;
		default:
			break;
		}
	}
	if (any && !run->stop)
		live_view_draw(run->live, table);
}

bool run_live_signal(struct run *run, unsigned signal)
{
	if (!run->live || (signal != SIGWINCH && signal != SIGTSTP))
		return false;
	live_view_signal(run->live, signal);
	live_view_draw(run->live, up_probe_table(run->probe));
	return true;
}
