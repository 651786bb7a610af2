/* net - sockets and clocks of the laboratory. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "net.h"
#include "number.h"

int lab_address_read(const char *text, struct lab_address *ret_address)
{
	const char *colon = strrchr(text, ':');
	struct lab_address address = { .length = 0 };
	char host[sizeof(address.text)];
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *found = NULL;
	uint64_t port;
	size_t length;

	if (!colon || strlen(text) >= sizeof(address.text) || lab_count_read(colon + 1, 0, 65535, &port) < 0)
		return -EINVAL;
	length = (size_t)(colon - text);
	if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
		memcpy(host, text + 1, length - 2);
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return -EINVAL; /* IPv6 goes in brackets, otherwise its last group would be the port */
	} else {
		memcpy(host, text, length);
	}
	host[length] = '\0';
	if (!length)
		hints.ai_flags |= AI_PASSIVE;
	if (getaddrinfo(length ? host : NULL, colon + 1, &hints, &found) != 0 || !found)
		return -EHOSTUNREACH;
	memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
	address.length = found->ai_addrlen;
	memcpy(address.text, text, strlen(text) + 1);
	freeaddrinfo(found);
	*ret_address = address;
	return 0;
}

int lab_listen(const struct lab_address *address, int backlog, int nonblock)
{
	const int one = 1;
	int r, fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), 0);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
		bind(fd, (const struct sockaddr *)&address->storage, address->length) < 0 || listen(fd, backlog) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int lab_connect_start(const struct lab_address *address)
{
	const int one = 1;
	int r, fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0 && errno != EINPROGRESS) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

/* Waits until a started connection stands. 0, or -errno. */
static int connect_wait(int fd, uint64_t timeout_ns)
{
	const uint64_t deadline_ns = lab_now_ns() + timeout_ns;
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int n, error = 0;

	for (;;) {
		const uint64_t now_ns = lab_now_ns();

		n = poll(&ready, 1, now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / LAB_NS_PER_MS) + 1);
		if (n > 0)
			break;
		if (n == 0 && lab_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -errno;
	return -error;
}

int lab_connect(const struct lab_address *address, uint64_t connect_max_ns, uint64_t answer_max_ns)
{
	const struct timeval timeout = { .tv_sec = (time_t)(answer_max_ns / LAB_NS_PER_S),
		.tv_usec = (suseconds_t)(answer_max_ns % LAB_NS_PER_S / LAB_NS_PER_US) };
	int r, fd = lab_connect_start(address);

	if (fd < 0)
		return fd;
	r = connect_wait(fd, connect_max_ns);
	if (r == 0 && (fcntl(fd, F_SETFL, 0) < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
			      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0))
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

uint64_t lab_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * LAB_NS_PER_S + (uint64_t)now.tv_nsec;
}

void lab_sleep_until(uint64_t deadline_ns)
{
	const struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / LAB_NS_PER_S),
		.tv_nsec = (long)(deadline_ns % LAB_NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
		;
}

void lab_thread_prepare(const char *name)
{
	(void)prctl(PR_SET_NAME, name);
	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
}
