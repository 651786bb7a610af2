#ifndef LAB_SERVER_H
#define LAB_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "meter.h"
#include "options.h"
#include "protocol.h"
#include "work.h"

#define LAB_IN_BYTES 8192

/* A connection. Whoever holds it (the loop while it waits for bytes, then the queue, then a worker) holds it alone. */
struct lab_conn {
	_Atomic int fd; /* -1 = closed; storing it releases the struct to the next holder, who loads it first */
	size_t in_length, skip; /* bytes in in; bytes of a body still to be thrown away */
	char in[LAB_IN_BYTES];
	bool writing; /* an answer is not yet out in full */
	bool sending; /* counted in LAB_SENDING */
	bool counted; /* this answer is one of the counted requests */
	bool keep_alive;
	int status;
	uint64_t arrival_ns;
	char head[LAB_HEAD_BYTES];
	size_t head_length, body_length, sent;
	const char *body; /* borrowed from the server, or owned_body */
	char *owned_body;
	struct lab_conn *next_queued;
};

struct lab_server {
	const struct lab_server_options *options; /* borrowed */
	struct lab_meter meter;
	struct lab_work work;
	int listen_fd, epoll_fd, stop_fd, admin_fd;
	uint64_t start_ns;
	char *body; /* owned, options->body_bytes */
	struct lab_conn **conns; /* owned, [LAB_FDS_MAX] by descriptor, each allocated once */
	pthread_mutex_t queue_mutex;
	pthread_cond_t queue_filled;
	struct lab_conn *queue_first, *queue_last;
	unsigned queue_length;
	atomic_bool stopping;
	atomic_uint n_transient; /* threads of LAB_MODE_THREAD that live */
};

/* A running server; opaque. */
struct lab_serving;

/* Starts the threads of a server: it answers when this returns. 0 and *ret_serving (owned by the caller, ended by lab_serving_free),
 * or -errno with ret_error. ret_note is filled with a warning (a dependency that does not answer yet), else empty. */
int lab_serving_start(const struct lab_server_options *options, struct lab_serving **ret_serving, struct lab_error *ret_note,
	struct lab_error *ret_error);

/* Stops, joins all threads, closes all connections. Requests in work are finished, waiting ones are dropped. What was counted can
 * still be read. A second call does nothing. */
void lab_serving_stop(struct lab_serving *serving);

/* Stops if that has not been done, and frees. NULL is allowed. */
void lab_serving_free(struct lab_serving *serving);

/* The counters: as numbers, and as JSON text owned by the caller (NULL without memory). */
void lab_serving_totals(struct lab_serving *serving, struct lab_totals *ret_totals);
char *lab_serving_stats(struct lab_serving *serving);

/* The port that the server really listens on (of interest after --listen with port 0). */
unsigned lab_serving_port(const struct lab_serving *serving);

/* conn.c: the life of a connection; used by the server's threads. */

/* Takes over FD. NULL (and FD is closed) without memory. */
struct lab_conn *lab_conn_open(struct lab_server *server, struct lab_hand *hand, int fd);
void lab_conn_close(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn);

/* What the thread that held the connection does with it next. */
enum lab_next {
	LAB_NEXT_READ, /* wait for bytes */
	LAB_NEXT_WRITE, /* wait until more can be written */
	LAB_NEXT_WORK, /* a counted request has arrived: work on it */
	LAB_NEXT_CLOSED, /* gone */
};

/* Reads what there is and looks for a request. */
enum lab_next lab_conn_readable(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn);

/* Sends the answer STATUS to the request in work, then looks for the next one in the buffer. */
enum lab_next lab_conn_answer(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn, int status);

/* Goes on with an answer that did not fit. */
enum lab_next lab_conn_writable(struct lab_server *server, struct lab_hand *hand, struct lab_conn *conn);

/* stats.c: the counters as JSON text, owned by the caller; NULL without memory. */
char *lab_server_stats(struct lab_server *server);

#endif
