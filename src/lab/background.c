/* background - what runs beside the requests: report, decoys, the counters' own listener, the freezer. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads.h"

/* Waits until DEADLINE_NS or until the server stops; true when it stops. */
static bool stopped_before(struct lab_server *server, uint64_t deadline_ns)
{
	struct pollfd stop = { .fd = server->stop_fd, .events = POLLIN };

	for (;;) {
		const uint64_t now_ns = lab_now_ns();

		if (atomic_load(&server->stopping))
			return true;
		if (now_ns >= deadline_ns)
			return false;
		const struct timespec left = { .tv_sec = (time_t)((deadline_ns - now_ns) / LAB_NS_PER_S),
			.tv_nsec = (long)((deadline_ns - now_ns) % LAB_NS_PER_S) };

		(void)ppoll(&stop, 1, &left, NULL);
	}
}

void lab_thread_report(struct lab_server *server, struct lab_hand *hand)
{
	const struct lab_server_options *o = server->options;

	for (uint64_t at_ns = server->start_ns + o->report_every_ns; !stopped_before(server, at_ns); at_ns += o->report_every_ns)
		lab_work_report(&server->work, hand->tally);
}

void lab_thread_decoy(struct lab_server *server, struct lab_hand *hand)
{
	const uint64_t period_ns = 10 * LAB_NS_PER_MS;
	const uint64_t busy_ns = (uint64_t)(server->options->decoy_ratio * (double)period_ns);

	for (uint64_t at_ns = lab_now_ns(); !stopped_before(server, at_ns);) {
		const uint64_t now_ns = lab_now_ns();

		lab_burn(hand, busy_ns);
		/* A decoy that is late (throttled, stopped) does not catch up. */
		at_ns = at_ns + period_ns > now_ns ? at_ns + period_ns : now_ns + period_ns;
	}
}

/* One client of the admin listener after the other: nobody else needs the counters at the same time. */
void lab_thread_admin(struct lab_server *server, struct lab_hand *hand)
{
	const struct timeval patience = { .tv_sec = 2 };
	char request[1024], head[LAB_HEAD_BYTES];

	(void)hand;
	for (;;) {
		struct pollfd ready[2] = { { .fd = server->admin_fd, .events = POLLIN },
			{ .fd = server->stop_fd, .events = POLLIN } };

		(void)poll(ready, 2, -1);
		if (atomic_load(&server->stopping))
			return;
		const int fd = accept4(server->admin_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			/* Out of descriptors: the counters must wait like everyone, but not spin. */
			lab_sleep_until(lab_now_ns() + 5 * LAB_NS_PER_MS);
			continue;
		}
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		/* Whatever is asked, the counters are the answer. */
		if (recv(fd, request, sizeof(request), 0) > 0) {
			char *json = lab_server_stats(server);

			if (json) {
				const size_t n = lab_http_head(head, 200, strlen(json), true, false);

				if (send(fd, head, n, MSG_NOSIGNAL | MSG_MORE) == (ssize_t)n)
					(void)!send(fd, json, strlen(json), MSG_NOSIGNAL);
			}
			free(json);
		}
		close(fd);
	}
}

/* SIGSTOP from outside is what `kill -STOP` and a paused container do to a process: no thread of it runs, the kernel goes on
 * accepting connections and bytes. A gate inside the program would still let its own timers and clean-up run. */
int lab_freezer_start(const struct lab_server_options *options)
{
	const uint64_t at_ns = lab_now_ns() + options->freeze_at_ns;
	const pid_t server = getpid(), child = fork();

	if (child != 0)
		return child < 0 ? -errno : child;
	/* Child of a process that may have threads: only async-signal-safe calls from here on. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)syscall(SYS_close_range, 3u, ~0u, 0u); /* the server's sockets must have one owner */
	lab_thread_prepare("freezer");
	if (getppid() != server)
		_exit(0);
	lab_sleep_until(at_ns);
	if (kill(server, SIGSTOP) == 0) {
		lab_sleep_until(at_ns + options->freeze_for_ns);
		(void)kill(server, SIGCONT);
	}
	_exit(0);
}
