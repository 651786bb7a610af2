/* Marks from outside: every run listens on a datagram socket DIR/PID.sock (mode 0600) in the run-time directory (mode 0700):
 * $XDG_RUNTIME_DIR/useprobe, for root without one /run/useprobe, else /tmp/useprobe-UID. Private to src/cli. */
#ifndef UP_MARK_SOCKET_H
#define UP_MARK_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MARK_TEXT_MAX 400 /* bytes of a mark */
#define MARK_PROBES_MAX 64

struct mark_socket {
	int fd; /* -1 = not open; readable when marks are there */
	int dir_fd;
	char name[32]; /* in dir_fd */
};

/* Makes the directory and the socket. A directory that is a link, belongs to someone else or is open to others is not used.
 * 0 or -errno (then fd is -1). */
int mark_socket_open(struct mark_socket *mark);
/* Next mark that is there. false without one. */
bool mark_socket_read(struct mark_socket *mark, char text[MARK_TEXT_MAX + 1]);
void mark_socket_close(struct mark_socket *mark);

/* Running probes of this user, for root of everybody: sockets of processes that are alive. */
struct mark_probe {
	pid_t pid;
	char path[512];
	bool denied; /* belongs to someone else */
};
size_t mark_probes_find(struct mark_probe *ret, size_t max);
/* Sends TEXT. 0 or -errno. */
int mark_send(const struct mark_probe *probe, const char *text);

#endif
