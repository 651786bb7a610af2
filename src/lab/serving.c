/* serving - starts and stops the threads of a server. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"
#include "threads.h"

#define STACK_BYTES (256u << 10)

struct lab_thread {
	pthread_t thread;
	struct lab_server *server;
	struct lab_hand hand;
	void (*body)(struct lab_server *server, struct lab_hand *hand);
	char name[16];
};

struct lab_serving {
	struct lab_server server;
	struct lab_server_options options; /* a copy: the caller's may go */
	struct lab_thread *threads; /* owned, [n_threads] */
	unsigned n_threads;
	int freezer_pid;
};

static void *thread_main(void *arg)
{
	struct lab_thread *thread = arg;

	lab_thread_prepare(thread->name);
	thread->body(thread->server, &thread->hand);
	return NULL;
}

/* Starts NAME or NAME-NUMBER. 0, or -errno with ret_error. */
static int start_thread(struct lab_serving *serving, const char *name, int number,
	void (*body)(struct lab_server *server, struct lab_hand *hand), struct lab_error *ret_error)
{
	struct lab_thread *thread = &serving->threads[serving->n_threads];
	pthread_attr_t attributes;
	int r;

	*thread = (struct lab_thread){ .server = &serving->server, .body = body };
	if (number)
		snprintf(thread->name, sizeof(thread->name), "%s-%d", name, number);
	else
		snprintf(thread->name, sizeof(thread->name), "%s", name);
	thread->hand.tally = lab_meter_join(&serving->server.meter);
	if (!thread->hand.tally)
		return -ENOMEM;
	lab_random_init(&thread->hand.random, serving->options.seed, serving->n_threads);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	r = pthread_create(&thread->thread, &attributes, thread_main, thread);
	pthread_attr_destroy(&attributes);
	if (r) {
		snprintf(ret_error->text, sizeof(ret_error->text),
			"thread %s cannot be created (%s): ask for fewer threads, or raise the limit (pids.max, ulimit -u)",
			thread->name, strerror(r));
		return -r;
	}
	serving->n_threads++;
	return 0;
}

static int start_threads(struct lab_serving *serving, struct lab_error *ret_error)
{
	const struct lab_server_options *o = &serving->options;
	const bool direct = o->mode == LAB_MODE_DIRECT, pool = o->mode == LAB_MODE_POOL;
	int r = 0;

	for (unsigned i = 1; r == 0 && (direct || pool) && i <= o->workers; i++)
		r = start_thread(serving, "worker", (int)i, direct ? lab_thread_direct : lab_thread_worker, ret_error);
	for (unsigned i = 1; r == 0 && i <= o->decoys; i++)
		r = start_thread(serving, "decoy", (int)i, lab_thread_decoy, ret_error);
	if (r == 0 && o->report_every_ns)
		r = start_thread(serving, "report", 0, lab_thread_report, ret_error);
	if (r == 0 && serving->server.admin_fd >= 0)
		r = start_thread(serving, "admin", 0, lab_thread_admin, ret_error);
	if (r == 0 && !direct)
		r = start_thread(serving, "loop", 0, lab_thread_loop, ret_error);
	if (r == 0 && !direct && o->mode != LAB_MODE_SINGLE)
		r = start_thread(serving, "acceptor", 0, lab_thread_acceptor, ret_error);
	return r;
}

/* Puts descriptor FD into the loop with data NULL. */
static int watch_plain(struct lab_server *server, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_listener(const struct lab_address *address, unsigned backlog, bool nonblock, struct lab_error *ret_error)
{
	const int fd = lab_listen(address, (int)backlog, nonblock);

	if (fd < 0)
		snprintf(ret_error->text, sizeof(ret_error->text), "cannot listen on %s: %s%s", address->text, strerror(-fd),
			fd == -EADDRINUSE ? "; another program has it, take another port"
			: fd == -EACCES   ? "; ports below 1024 need root"
					  : "");
	return fd;
}

static int open_descriptors(struct lab_serving *serving, struct lab_error *ret_error)
{
	struct lab_server *server = &serving->server;
	const struct lab_server_options *o = &serving->options;
	const bool single = o->mode == LAB_MODE_SINGLE;
	int r;

	server->listen_fd = open_listener(&o->listen, o->backlog, single, ret_error);
	if (server->listen_fd < 0)
		return server->listen_fd;
	if (o->admin.length) {
		server->admin_fd = open_listener(&o->admin, 16, true, ret_error);
		if (server->admin_fd < 0)
			return server->admin_fd;
	}
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = server->epoll_fd < 0 || server->stop_fd < 0 ? -errno : watch_plain(server, server->stop_fd);
	if (r == 0 && single)
		r = watch_plain(server, server->listen_fd);
	if (r < 0)
		snprintf(ret_error->text, sizeof(ret_error->text), "epoll: %s", strerror(-r));
	return r;
}

/* Sets the descriptor limit: as asked, else as high as it may go, for a server that meets 2,000 clients. */
static int limit_descriptors(const struct lab_server_options *o, struct lab_error *ret_error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	if (o->max_fds && o->max_fds > limit.rlim_max) {
		snprintf(ret_error->text, sizeof(ret_error->text),
			"--max-fds %u: this process may have at most %llu (ulimit -Hn)", o->max_fds,
			(unsigned long long)limit.rlim_max);
		return -EPERM;
	}
	limit.rlim_cur = o->max_fds ? o->max_fds : limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

int lab_serving_start(const struct lab_server_options *options, struct lab_serving **ret_serving, struct lab_error *ret_note,
	struct lab_error *ret_error)
{
	struct lab_serving *serving = calloc(1, sizeof(*serving));
	int r, missing = -1;

	ret_note->text[0] = ret_error->text[0] = '\0';
	if (!serving)
		return -ENOMEM;
	serving->options = *options;
	struct lab_server *server = &serving->server;
	const struct lab_server_options *o = server->options = &serving->options;

	server->listen_fd = server->epoll_fd = server->stop_fd = server->admin_fd = -1;
	lab_meter_init(&server->meter);
	pthread_mutex_init(&server->queue_mutex, NULL);
	pthread_cond_init(&server->queue_filled, NULL);
	server->start_ns = lab_now_ns();
	server->body = malloc(o->body_bytes + 1);
	server->conns = calloc(LAB_FDS_MAX, sizeof(struct lab_conn *));
	serving->threads = calloc(o->workers + o->decoys + 4, sizeof(*serving->threads));
	r = server->body && server->conns && serving->threads ? limit_descriptors(o, ret_error) : -ENOMEM;
	if (r == 0)
		r = open_descriptors(serving, ret_error);
	if (r == 0)
		r = lab_work_init(&server->work, o, &missing, ret_error);
	if (r < 0) {
		server->work.options = NULL; /* nothing to undo there */
		goto fail;
	}
	memset(server->body, 'x', o->body_bytes + 1);
	if (missing >= 0)
		snprintf(ret_note->text, sizeof(ret_note->text),
			"%s does not answer yet; requests that need it get 502 until it does (start: uselab db --listen %s)",
			o->dependencies[missing].address.text, o->dependencies[missing].address.text);
	if (o->freeze_for_ns)
		r = serving->freezer_pid = lab_freezer_start(o);
	if (r >= 0)
		r = start_threads(serving, ret_error);
	if (r < 0)
		goto fail;
	*ret_serving = serving;
	return 0;
fail:
	if (!ret_error->text[0])
		snprintf(ret_error->text, sizeof(ret_error->text), "%s", strerror(-r));
	lab_serving_free(serving);
	return r;
}

unsigned lab_serving_port(const struct lab_serving *serving)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { 0 };
	socklen_t length = sizeof(address);

	if (getsockname(serving->server.listen_fd, &address.any, &length) < 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static void stop_threads(struct lab_serving *serving)
{
	struct lab_server *server = &serving->server;
	const uint64_t one = 1;

	atomic_store(&server->stopping, true);
	if (server->stop_fd >= 0)
		(void)!write(server->stop_fd, &one, sizeof(one));
	if (server->listen_fd >= 0)
		shutdown(server->listen_fd, SHUT_RDWR); /* wakes accept() in the threads that wait there */
	pthread_mutex_lock(&server->queue_mutex);
	pthread_cond_broadcast(&server->queue_filled);
	pthread_mutex_unlock(&server->queue_mutex);
	for (unsigned i = 0; i < server->work.n_pools; i++)
		lab_pool_cancel(&server->work.pools[i]);
	for (unsigned i = 0; i < serving->n_threads; i++)
		pthread_join(serving->threads[i].thread, NULL);
	serving->n_threads = 0;
	while (atomic_load(&server->n_transient))
		lab_sleep_until(lab_now_ns() + LAB_NS_PER_MS);
	if (serving->freezer_pid > 0) {
		(void)kill(serving->freezer_pid, SIGKILL);
		(void)waitpid(serving->freezer_pid, NULL, 0);
	}
	serving->freezer_pid = 0;
}

static void close_conns(struct lab_server *server)
{
	for (unsigned i = 0; server->conns && i < LAB_FDS_MAX; i++) {
		struct lab_conn *conn = server->conns[i];

		if (conn && conn->fd >= 0) {
			free(conn->owned_body);
			close(conn->fd);
		}
		free(conn);
	}
	free(server->conns);
	server->conns = NULL;
}

void lab_serving_stop(struct lab_serving *serving)
{
	struct lab_server *server = &serving->server;
	int *const fds[] = { &server->listen_fd, &server->epoll_fd, &server->stop_fd, &server->admin_fd };

	stop_threads(serving);
	close_conns(server);
	if (server->work.options)
		lab_work_done(&server->work);
	server->work.options = NULL;
	server->work.n_pools = 0;
	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void lab_serving_totals(struct lab_serving *serving, struct lab_totals *ret_totals)
{
	lab_meter_read(&serving->server.meter, lab_now_ns(), ret_totals);
}

char *lab_serving_stats(struct lab_serving *serving)
{
	return lab_server_stats(&serving->server);
}

void lab_serving_free(struct lab_serving *serving)
{
	if (!serving)
		return;
	lab_serving_stop(serving);
	free(serving->server.body);
	free(serving->threads);
	lab_meter_done(&serving->server.meter);
	pthread_mutex_destroy(&serving->server.queue_mutex);
	pthread_cond_destroy(&serving->server.queue_filled);
	free(serving);
}
