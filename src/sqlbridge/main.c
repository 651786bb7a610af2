/* useprobe-sqlbridge - one ODBC connection on one side, HTTP on the other. The only file of it that prints messages. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "bridge.h"
#include "useprobe/clock.h"
#include "useprobe/thread.h"

#define WORKER_STACK (1024 * 1024) /* drivers are not frugal */
#define STOP_WAIT_NS (2 * UP_NS_PER_S)

static struct bridge *bridge_new(void)
{
	struct bridge *bridge = calloc(1, sizeof(*bridge));
	pthread_condattr_t attr;

	if (!bridge)
		return NULL;
	bridge->view.sample = calloc(1, sizeof(*bridge->view.sample));
	if (!bridge->view.sample || getrandom(&bridge->view.id, sizeof(bridge->view.id), 0) != sizeof(bridge->view.id)) {
		free(bridge->view.sample);
		free(bridge);
		return NULL;
	}
	pthread_mutex_init(&bridge->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&bridge->wake, &attr);
	pthread_condattr_destroy(&attr);
	return bridge;
}

/* true when the worker ended. One that hangs in a driver is left to the end of the process. */
static bool stop_worker(struct bridge *bridge)
{
	uint64_t deadline = up_clock_real.mono_ns(NULL) + STOP_WAIT_NS;
	const struct timespec at = { .tv_sec = (time_t)(deadline / UP_NS_PER_S), .tv_nsec = (long)(deadline % UP_NS_PER_S) };
	bool stopped;

	pthread_mutex_lock(&bridge->lock);
	bridge->stop = true;
	pthread_cond_broadcast(&bridge->wake);
	while (!bridge->stopped && up_clock_real.mono_ns(NULL) < deadline)
		pthread_cond_timedwait(&bridge->wake, &bridge->lock, &at);
	stopped = bridge->stopped;
	pthread_mutex_unlock(&bridge->lock);
	return stopped;
}

static int run(struct bridge *bridge)
{
	struct bridge_http *http;
	char message[256] = "";
	pthread_t worker;
	uint16_t port;
	sigset_t ends;
	int signal_number;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (bridge_http_start(bridge, &http, &port, message, sizeof(message)) < 0) {
		fprintf(stderr, "useprobe-sqlbridge: %s\n", message);
		return 1;
	}
	if (up_thread_start(&worker, "sql", WORKER_STACK, bridge_worker, bridge) < 0) {
		fputs("useprobe-sqlbridge: no thread for the database\n", stderr);
		bridge_http_stop(http);
		return 1;
	}
	printf(strchr(bridge->options.guard.address, ':') ? "listening on [%s]:%u\n" : "listening on %s:%u\n",
		bridge->options.guard.address, port);
	fflush(stdout);
	sigwait(&ends, &signal_number);
	if (!stop_worker(bridge)) {
		fputs("useprobe-sqlbridge: the driver hangs; ended without closing the connection\n", stderr);
		_exit(0);
	}
	pthread_join(worker, NULL);
	bridge_http_stop(http);
	return 0;
}

int main(int argc, char **argv)
{
	struct bridge *bridge = bridge_new();
	char message[512] = "";
	int rc;

	if (!bridge) {
		fputs("useprobe-sqlbridge: out of memory\n", stderr);
		return 1;
	}
	rc = bridge_options_parse(argc, argv, &bridge->options, message, sizeof(message));
	if (rc < 0)
		fprintf(stderr, "useprobe-sqlbridge: %s\n", message);
	if (rc == 0) {
		snprintf(bridge->view.instance, sizeof(bridge->view.instance), "%s",
			bridge->options.instance[0] ? bridge->options.instance : "sql");
		rc = run(bridge);
	} else {
		rc = rc < 0 ? 2 : 0;
	}
	explicit_bzero(&bridge->options, sizeof(bridge->options));
	free(bridge->view.sample);
	free(bridge);
	return rc;
}
