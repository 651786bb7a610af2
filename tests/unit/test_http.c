/* The bounded GET, against a server of the test's own on a unix socket. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/http.h"

struct server {
	pthread_t thread;
	char dir[64], path[96];
	int fd;
	const char *answer; /* sent when a request came; NULL = hang until the peer goes */
	char request[1024]; /* what arrived */
};

static void *serve(void *opaque)
{
	struct server *server = opaque;
	const int fd = accept(server->fd, NULL, NULL);
	char sink[256];
	ssize_t n = fd < 0 ? -1 : read(fd, server->request, sizeof(server->request) - 1);

	if (n > 0 && server->answer)
		n = send(fd, server->answer, strlen(server->answer), MSG_NOSIGNAL);
	while (!server->answer && fd >= 0 && read(fd, sink, sizeof(sink)) > 0)
		;
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void start(struct server *server, const char *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*server = (struct server){ .answer = answer };
	snprintf(server->dir, sizeof(server->dir), "/tmp/useprobe-http-XXXXXX");
	assert_non_null(mkdtemp(server->dir));
	snprintf(server->path, sizeof(server->path), "%s/s", server->dir);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", server->path);
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server->fd, 4), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop(struct server *server)
{
	shutdown(server->fd, SHUT_RDWR); /* wakes an accept that nobody came to */
	pthread_join(server->thread, NULL);
	close(server->fd);
	unlink(server->path);
	rmdir(server->dir);
}

static int get(
	const struct server *server, const char *url, size_t max_bytes, struct up_http_reply *ret, char *error, size_t size)
{
	const struct up_http_request request = {
		.url = url, .unix_socket = server->path, .timeout_ms = 300, .max_bytes = max_bytes, .bearer = "secret-token"
	};

	error[0] = '\0';
	return up_http_get(&request, ret, error, size);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void answers(void **state)
{
	static const struct {
		const char *answer, *body; /* NULL = refused */
		size_t max_bytes;
		long status;
		int error;
		const char *why;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "[]", 100, 200, 0, "plain" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "abc", 100, 200, 0,
			"chunks" },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", "to the end", 100, 200, 0, "until the end" },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "", 100, 204, 0, "no body is an empty one" },
		{ "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", "none", 100, 404, 0, "a status is the caller's" },
		{ "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "", 100, 302, 0,
			"not followed" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", NULL, 4, 0, -EFBIG, "one byte too long" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", "12345", 5, 200, 0, "as long as allowed" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123", NULL, 100, 0, -EIO, "cut in the middle" },
		{ "no HTTP at all\r\n\r\n", NULL, 100, 0, -EIO, "another protocol" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct server server;
		struct up_http_reply reply;
		char error[128];
		int r;

		start(&server, cases[i].answer);
		r = get(&server, "http://localhost/x", cases[i].max_bytes, &reply, error, sizeof(error));
		stop(&server);
		if (r != cases[i].error || (r < 0 && !*error))
			fail_msg("%s: %d %s", cases[i].why, r, error);
		if (r < 0)
			continue;
		if (reply.status != cases[i].status || strcmp(reply.body, cases[i].body) != 0 ||
			reply.len != strlen(cases[i].body))
			fail_msg("%s: %ld %s", cases[i].why, reply.status, reply.body);
		assert_non_null(strstr(server.request, "GET /x HTTP/1.1\r\n"));
		assert_non_null(strstr(server.request, "Authorization: Bearer secret-token\r\n"));
		up_http_reply_done(&reply);
	}
}

static void hangs(void **state)
{
	struct server server;
	struct up_http_reply reply;
	char error[128];
	double t0;

	(void)state;
	start(&server, NULL);
	t0 = now_s();
	assert_int_equal(get(&server, "http://localhost/x", 100, &reply, error, sizeof(error)), -ETIMEDOUT);
	assert_true(now_s() - t0 < 2); /* 0.3 s asked for; the machine may be busy */
	assert_null(strstr(error, "secret"));
	stop(&server);
}

static void refusals(void **state)
{
	struct server server;
	struct up_http_reply reply;
	char error[128];

	(void)state;
	start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	/* Only HTTP, whatever the address says. */
	assert_int_equal(get(&server, "file:///etc/hostname", 100, &reply, error, sizeof(error)), -EIO);
	assert_int_equal(get(&server, "ftp://localhost/x", 100, &reply, error, sizeof(error)), -EIO);
	assert_int_equal(get(&server, "gopher://localhost/x", 100, &reply, error, sizeof(error)), -EIO);
	if (geteuid() != 0) {
		assert_int_equal(chmod(server.path, 0), 0);
		assert_int_equal(get(&server, "http://localhost/x", 100, &reply, error, sizeof(error)), -EACCES);
	}
	stop(&server);
	assert_int_equal(get(&server, "http://localhost/x", 100, &reply, error, sizeof(error)), -ECONNREFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(hangs),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
