/* The parts of one `useprobe run`, for run.c and the views that hook into it. Private to src/cli. */
#ifndef UP_RUN_H
#define UP_RUN_H

#include "child.h"
#include "mark_socket.h"
#include "run_options.h"
#include "useprobe/clock.h"
#include "useprobe/probe.h"

struct live_view;

struct run {
	struct run_options options;
	struct up_source source;
	struct up_fake_clock fake; /* recorded frames pass without waiting */
	struct up_clock clock;
	struct up_arena arena; /* for look-ups outside the tick */
	struct up_targets targets;
	struct up_probe *probe;
	struct up_batch batch;
	struct mark_socket marks;
	struct live_view *live; /* NULL = no live view; run_live.c */
	char csv_path[UP_PATH_MAX]; /* "" without a file */
	uint64_t start_wall_ns, start_mono_ns; /* one instant in both clocks */
	struct child child;
	int signal_fd; /* SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH */
	int wait_fd; /* epoll over signal_fd and what the views and marks add */
	bool stop; /* the run is to end */
	const char *end_reason; /* "duration", "signal", ... for the sidecar */
	int failed; /* -errno of a sink that failed, 0 = none */
};

/* Looks for the functions of --queue: one that is not there is told before the run, not by an empty row in it. 0, or -EINVAL after a
 * message. */
int run_check_queues(struct run *run);

#endif
