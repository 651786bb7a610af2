#ifndef LAB_NET_H
#define LAB_NET_H

#include <stdint.h>
#include <sys/socket.h>

/* A TCP address, resolved once. */
struct lab_address {
	struct sockaddr_storage storage;
	socklen_t length;
	char text[80]; /* as typed */
};

/* Reads "ADDR:PORT", "[V6]:PORT", "NAME:PORT" or ":PORT" (all addresses of this host). NAMEs go through the resolver.
 * 0, -EINVAL for another form, -EHOSTUNREACH when the name does not resolve. */
int lab_address_read(const char *text, struct lab_address *ret_address);

/* A listening, close-on-exec socket with BACKLOG; NONBLOCK makes accept return at once. The descriptor, or -errno. */
int lab_listen(const struct lab_address *address, int backlog, int nonblock);

/* Connects, waiting at most CONNECT_MAX_NS; the socket is then blocking, waits at most ANSWER_MAX_NS in each read and write, and has
 * no Nagle delay. The descriptor, or -errno. */
int lab_connect(const struct lab_address *address, uint64_t connect_max_ns, uint64_t answer_max_ns);

/* Starts a non-blocking connection. The descriptor (perhaps still connecting), or -errno. */
int lab_connect_start(const struct lab_address *address);

/* CLOCK_MONOTONIC in ns. */
uint64_t lab_now_ns(void);

/* Sleeps until the monotonic time DEADLINE_NS, through signals and stops. */
void lab_sleep_until(uint64_t deadline_ns);

/* Gives this thread a NAME in the process table and sleeps as exact as the kernel allows (1 us instead of 50). */
void lab_thread_prepare(const char *name);

#endif
