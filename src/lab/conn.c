/* conn - one connection of a server: bytes in, request found, answer out; every mode of the server uses it. A request counts as
 * arrived when its head has been read and as departed when the last byte of its answer was taken by the kernel. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "server.h"

struct lab_conn *lab_conn_open(struct lab_server *server, struct lab_hand *hand, int fd)
{
	const int one = 1;
	struct lab_conn *conn;

	if ((unsigned)fd >= LAB_FDS_MAX)
		goto refuse;
	conn = server->conns[fd];
	if (!conn) {
		conn = malloc(sizeof(*conn));
		if (!conn)
			goto refuse;
		server->conns[fd] = conn;
	} else {
		/* The kernel has ordered the close before this accept; C must be told. */
		(void)atomic_load_explicit(&conn->fd, memory_order_acquire);
	}
	/* Not the buffer: clearing 8 KiB for each connection would be most of the cost of accepting it. */
	atomic_store_explicit(&conn->fd, fd, memory_order_relaxed);
	conn->in_length = conn->skip = 0;
	conn->writing = conn->sending = conn->counted = false;
	conn->owned_body = NULL;
	conn->next_queued = NULL;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (server->options->sndbuf_bytes)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &server->options->sndbuf_bytes, sizeof(unsigned));
	lab_tally_count(hand->tally, LAB_ACCEPTED, 1);
	lab_tally_gauge(hand->tally, LAB_CONNECTIONS, 1, lab_now_ns());
	return conn;
refuse:
	close(fd);
	return NULL;
}

void lab_conn_close(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	const uint64_t now_ns = lab_now_ns();
	const int fd = conn->fd;

	(void)server;
	if (conn->sending)
		lab_tally_gauge(hand->tally, LAB_SENDING, -1, now_ns);
	if (conn->counted) {
		conn->counted = false;
		lab_tally_count(hand->tally, LAB_BROKEN, 1);
		lab_tally_gauge(hand->tally, LAB_IN_FLIGHT, -1, now_ns);
	}
	lab_tally_gauge(hand->tally, LAB_CONNECTIONS, -1, now_ns);
	free(conn->owned_body);
	conn->owned_body = NULL;
	atomic_store_explicit(&conn->fd, -1, memory_order_release);
	/* Last: from here on the descriptor, and with it this struct, may belong to a new connection. */
	close(fd);
}

static void prepare_answer(struct lab_server *server, struct lab_conn *conn, int status, char *json)
{
	const bool lines = server->options->line_protocol;

	conn->status = status;
	conn->owned_body = json;
	conn->body = json ? json : server->body;
	conn->body_length = json ? strlen(json) : lines ? 0 : server->options->body_bytes;
	conn->head_length =
		(lines ? lab_line_head : lab_http_head)(conn->head, status, conn->body_length, json != NULL, conn->keep_alive);
	conn->sent = 0;
	conn->writing = true;
}

/* Sends what is left. 0 when all is out, -EAGAIN, or another -errno. */
static int flush(struct lab_conn *conn)
{
	const size_t total = conn->head_length + conn->body_length;

	while (conn->sent < total) {
		struct iovec parts[2];
		struct msghdr message = { .msg_iov = parts };
		ssize_t n;

		if (conn->sent < conn->head_length)
			parts[message.msg_iovlen++] = (struct iovec){ conn->head + conn->sent, conn->head_length - conn->sent };
		const size_t body_sent = conn->sent > conn->head_length ? conn->sent - conn->head_length : 0;

		if (body_sent < conn->body_length)
			parts[message.msg_iovlen++] =
				(struct iovec){ (char *)(uintptr_t)conn->body + body_sent, conn->body_length - body_sent };
		n = sendmsg(conn->fd, &message, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		conn->sent += n > 0 ? (size_t)n : 0;
	}
	conn->writing = false;
	free(conn->owned_body);
	conn->owned_body = NULL;
	return 0;
}

/* Removes N bytes from the front of the buffer, and as much of a body as is there. */
static void consume(struct lab_conn *conn, size_t n)
{
	conn->in_length -= n;
	memmove(conn->in, conn->in + n, conn->in_length);
}

static void consume_body(struct lab_conn *conn)
{
	const size_t n = conn->skip < conn->in_length ? conn->skip : conn->in_length;

	if (!n)
		return;
	conn->skip -= n;
	consume(conn, n);
}

/* Answers what cannot be read and closes. */
static enum lab_next refuse(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn, int status)
{
	lab_tally_count(hand->tally, LAB_BAD_REQUESTS, 1);
	conn->keep_alive = false;
	prepare_answer(server, conn, status, NULL);
	(void)flush(conn);
	lab_conn_close(server, hand, conn);
	return LAB_NEXT_CLOSED;
}

/* Sends the counters. LAB_NEXT_READ when they are out and the connection goes on. */
static enum lab_next answer_stats(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	char *json = lab_server_stats(server);
	int r;

	prepare_answer(server, conn, json ? 200 : 500, json);
	r = flush(conn);
	if (r == -EAGAIN)
		return LAB_NEXT_WRITE;
	if (r < 0 || !conn->keep_alive) {
		lab_conn_close(server, hand, conn);
		return LAB_NEXT_CLOSED;
	}
	return LAB_NEXT_READ;
}

/* The request at the front of the buffer, if there is one. A bad one is answered and the connection closed. */
static enum lab_next find_request(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	struct lab_frame frame = { 0 };
	enum lab_next next;
	int n;

	for (;;) {
		consume_body(conn);
		if (conn->skip || !conn->in_length)
			return LAB_NEXT_READ;
		n = (server->options->line_protocol ? lab_line_frame : lab_http_frame)(conn->in, conn->in_length, &frame);
		if (n == 0 && conn->in_length < sizeof(conn->in))
			return LAB_NEXT_READ;
		if (n <= 0)
			return refuse(server, hand, conn, n == 0 ? 431 : n == -ENOTSUP ? 501 : 400);
		consume(conn, (size_t)n);
		conn->skip = frame.skip;
		conn->keep_alive = frame.keep_alive;
		if (frame.request == LAB_REQUEST_WORK)
			break;
		next = answer_stats(server, hand, conn);
		if (next != LAB_NEXT_READ)
			return next;
	}
	conn->arrival_ns = lab_now_ns();
	conn->counted = true;
	lab_tally_count(hand->tally, LAB_ARRIVALS, 1);
	lab_tally_gauge(hand->tally, LAB_IN_FLIGHT, 1, conn->arrival_ns);
	return LAB_NEXT_WORK;
}

enum lab_next lab_conn_readable(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	ssize_t n;

	do {
		n = recv(conn->fd, conn->in + conn->in_length, sizeof(conn->in) - conn->in_length, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return LAB_NEXT_READ;
	if (n <= 0) {
		lab_conn_close(server, hand, conn);
		return LAB_NEXT_CLOSED;
	}
	conn->in_length += (size_t)n;
	return find_request(server, hand, conn);
}

static enum lab_next finish(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	const int r = flush(conn);

	if (r == -EAGAIN) {
		if (!conn->sending)
			lab_tally_gauge(hand->tally, LAB_SENDING, 1, lab_now_ns());
		conn->sending = true;
		return LAB_NEXT_WRITE;
	}
	if (conn->sending)
		lab_tally_gauge(hand->tally, LAB_SENDING, -1, lab_now_ns());
	conn->sending = false;
	if (r == 0 && conn->counted) {
		const uint64_t now_ns = lab_now_ns();

		conn->counted = false;
		lab_tally_gauge(hand->tally, LAB_IN_FLIGHT, -1, now_ns);
		lab_tally_departure(hand->tally, now_ns - conn->arrival_ns);
		if (conn->status >= 500)
			lab_tally_count(hand->tally, LAB_FAILED, 1);
	}
	if (r < 0 || !conn->keep_alive) {
		lab_conn_close(server, hand, conn);
		return LAB_NEXT_CLOSED;
	}
	return find_request(server, hand, conn);
}

enum lab_next lab_conn_answer(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn, int status)
{
	prepare_answer(server, conn, status, NULL);
	return finish(server, hand, conn);
}

enum lab_next lab_conn_writable(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn)
{
	return finish(server, hand, conn);
}
