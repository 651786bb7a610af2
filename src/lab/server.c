/* server - the threads of `uselab serve` and `uselab db`:
 *     acceptor  accept(2), with a pause before each if asked for
 *     loop      epoll: reads requests, finishes answers that did not fit, answers /_stats
 *     worker-N  work on requests from one queue
 * or, by mode, a thread for each request, workers that accept themselves, or one thread for everything. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"
#include "threads.h"

#define EVENTS 64
#define STACK_BYTES (256u << 10)

static void watch(struct lab_server *server, struct lab_conn *conn, uint32_t events, int operation)
{
	struct epoll_event event = { .events = events | EPOLLONESHOT, .data.ptr = conn };
	const int fd = conn->fd;

	atomic_store_explicit(&conn->fd, fd, memory_order_release);
	/* It can only fail without memory for the new descriptor; the connection is then lost, as on a real server. */
	if (epoll_ctl(server->epoll_fd, operation, fd, &event) < 0)
		shutdown(fd, SHUT_RDWR);
}

/* What a thread of mode `thread` is born with. */
struct transient {
	struct lab_server *server;
	struct lab_conn *conn;
};

static void *transient_main(void *arg);

/* A thread of its own for the request. 0, or -errno. */
static int spawn(struct lab_server *server, struct lab_conn *conn)
{
	struct transient *transient = malloc(sizeof(*transient));
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	if (!transient)
		return -ENOMEM;
	*transient = (struct transient){ server, conn };
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	atomic_fetch_add(&server->n_transient, 1);
	r = pthread_create(&thread, &attributes, transient_main, transient);
	pthread_attr_destroy(&attributes);
	if (r) {
		atomic_fetch_sub(&server->n_transient, 1);
		free(transient);
	}
	return -r;
}

static int work_on(struct lab_server *server, struct lab_hand *hand)
{
	int status;

	lab_tally_gauge(hand->tally, LAB_WORKER_BUSY, 1, lab_now_ns());
	status = lab_work_run(&server->work, hand);
	lab_tally_gauge(hand->tally, LAB_WORKER_BUSY, -1, lab_now_ns());
	return status;
}

/* Puts a request into the queue; false when that is full. */
static bool enqueue(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	const unsigned max = server->options->queue_max;

	conn->next_queued = NULL;
	pthread_mutex_lock(&server->queue_mutex);
	if (max && server->queue_length >= max) {
		pthread_mutex_unlock(&server->queue_mutex);
		return false;
	}
	if (server->queue_last)
		server->queue_last->next_queued = conn;
	else
		server->queue_first = conn;
	server->queue_last = conn;
	server->queue_length++;
	lab_tally_gauge(hand->tally, LAB_QUEUE, 1, lab_now_ns());
	pthread_mutex_unlock(&server->queue_mutex);
	/* After the unlock, or the woken worker would at once wait for the mutex. */
	pthread_cond_signal(&server->queue_filled);
	return true;
}

/* Passes a connection on after one of the lab_conn functions. */
static void dispatch(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn, enum lab_next next)
{
	while (next == LAB_NEXT_WORK) {
		switch (server->options->mode) {
		case LAB_MODE_POOL:
			if (enqueue(server, hand, conn))
				return;
			next = lab_conn_answer(server, hand, conn, 503);
			break;
		case LAB_MODE_THREAD:
			if (spawn(server, conn) == 0)
				return;
			lab_tally_count(hand->tally, LAB_THREAD_FAILURES, 1);
			next = lab_conn_answer(server, hand, conn, 503);
			break;
		default:
			next = lab_conn_answer(server, hand, conn, work_on(server, hand));
		}
	}
	if (next == LAB_NEXT_READ)
		watch(server, conn, EPOLLIN, EPOLL_CTL_MOD);
	else if (next == LAB_NEXT_WRITE)
		watch(server, conn, EPOLLOUT, EPOLL_CTL_MOD);
}

/* The oldest waiting request, NULL when the server stops. */
static struct lab_conn *dequeue(struct lab_server *server, struct lab_hand *hand)
{
	struct lab_conn *conn = NULL;

	pthread_mutex_lock(&server->queue_mutex);
	while (!server->queue_first && !atomic_load(&server->stopping))
		pthread_cond_wait(&server->queue_filled, &server->queue_mutex);
	if (!atomic_load(&server->stopping)) {
		conn = server->queue_first;
		server->queue_first = conn->next_queued;
		if (!server->queue_first)
			server->queue_last = NULL;
		server->queue_length--;
		lab_tally_gauge(hand->tally, LAB_QUEUE, -1, lab_now_ns());
	}
	pthread_mutex_unlock(&server->queue_mutex);
	return conn;
}

void lab_thread_worker(struct lab_server *server, struct lab_hand *hand)
{
	struct lab_conn *conn;

	while ((conn = dequeue(server, hand)))
		dispatch(server, hand, conn, lab_conn_answer(server, hand, conn, work_on(server, hand)));
}

static void *transient_main(void *arg)
{
	struct transient transient = *(struct transient *)arg;
	struct lab_server *server = transient.server;
	struct lab_hand hand = { .tally = lab_meter_join(&server->meter) };

	free(arg);
	lab_thread_prepare("request");
	if (hand.tally) {
		lab_random_init(&hand.random, server->options->seed, lab_now_ns());
		dispatch(server, &hand, transient.conn, lab_conn_answer(server, &hand, transient.conn, work_on(server, &hand)));
		lab_meter_leave(&server->meter, hand.tally);
	}
	atomic_fetch_sub(&server->n_transient, 1);
	return NULL;
}

/* Accepts one connection. The descriptor; -EAGAIN to try again; -ECANCELED when the server stops. */
static int accept_one(struct lab_server *server, struct lab_hand *hand, int flags)
{
	int fd;

	if (server->options->accept_delay_ns)
		lab_sleep_until(lab_now_ns() + server->options->accept_delay_ns);
	fd = accept4(server->listen_fd, NULL, NULL, flags | SOCK_CLOEXEC);
	if (atomic_load(&server->stopping)) {
		if (fd >= 0)
			close(fd);
		return -ECANCELED;
	}
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		/* The connection stays in the accept queue; looking again at once would only burn CPU. */
		lab_tally_count(hand->tally, LAB_EMFILE, 1);
		lab_sleep_until(lab_now_ns() + 5 * LAB_NS_PER_MS);
	}
	return fd < 0 ? -EAGAIN : fd;
}

void lab_thread_acceptor(struct lab_server *server, struct lab_hand *hand)
{
	int fd;

	while ((fd = accept_one(server, hand, SOCK_NONBLOCK)) != -ECANCELED) {
		struct lab_conn *conn = fd < 0 ? NULL : lab_conn_open(server, hand, fd);

		if (conn)
			watch(server, conn, EPOLLIN, EPOLL_CTL_ADD);
	}
}

/* Mode direct: accepts a connection and serves it to its end, with blocking reads and writes. */
void lab_thread_direct(struct lab_server *server, struct lab_hand *hand)
{
	int fd;

	while ((fd = accept_one(server, hand, 0)) != -ECANCELED) {
		struct lab_conn *conn = fd < 0 ? NULL : lab_conn_open(server, hand, fd);
		enum lab_next next = conn ? LAB_NEXT_READ : LAB_NEXT_CLOSED;
		struct pollfd ready[2] = { { .fd = fd, .events = POLLIN }, { .fd = server->stop_fd, .events = POLLIN } };

		while (next != LAB_NEXT_CLOSED) {
			if (next == LAB_NEXT_WORK) {
				next = lab_conn_answer(server, hand, conn, work_on(server, hand));
			} else {
				(void)poll(ready, 2, -1);
				if (ready[1].revents) {
					lab_conn_close(server, hand, conn);
					break;
				}
				next = lab_conn_readable(server, hand, conn);
			}
		}
	}
}

/* Mode single: the listener is one of the loop's descriptors. */
static void accept_in_loop(struct lab_server *server, struct lab_hand *hand)
{
	const int fd = accept_one(server, hand, SOCK_NONBLOCK);
	struct lab_conn *conn = fd < 0 ? NULL : lab_conn_open(server, hand, fd);

	if (conn)
		watch(server, conn, EPOLLIN, EPOLL_CTL_ADD);
}

void lab_thread_loop(struct lab_server *server, struct lab_hand *hand)
{
	struct epoll_event events[EVENTS];

	for (;;) {
		const int n = epoll_wait(server->epoll_fd, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct lab_conn *conn = events[i].data.ptr;

			if (atomic_load(&server->stopping))
				return;
			if (conn)
				(void)atomic_load_explicit(&conn->fd, memory_order_acquire);
			if (!conn)
				accept_in_loop(server, hand);
			else if (conn->writing)
				dispatch(server, hand, conn, lab_conn_writable(server, hand, conn));
			else
				dispatch(server, hand, conn, lab_conn_readable(server, hand, conn));
		}
	}
}
