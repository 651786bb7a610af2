/* A network namespace: what is opened inside it, and dumps of its sockets. Without sock_diag (no rights to enter, or a kernel without the
 * module) /proc/PID/net/tcp is read, which everybody may. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sockets_internal.h"

static int take_row(void *ctx, const struct up_sock *sock)
{
	struct sockets_rows *rows = ctx;

	if (sock->state != UP_TCP_LISTEN)
		return 0;
	if (rows->count == SOCKETS_ROWS_MAX) {
		rows->more++;
		return 0;
	}
	rows->items[rows->count++] = (struct sockets_row){
		.cookie = sock->cookie,
		.cgroup_id = sock->cgroup_id.n,
		.endpoint = sock->local,
		.inode = sock->inode,
		.queue = sock->receive_queue,
		.backlog = sock->send_queue,
		.drops = (uint32_t)sock->drops.n,
		.has_drops = sock->drops.has,
		.has_backlog = rows->has_backlog,
	};
	return 0;
}

int sockets_dump_listeners(struct sockets_space *space, enum sockets_user user, struct sockets_rows *rows)
{
	const struct up_sock_query query = { .states = 1u << UP_TCP_LISTEN, .memory = true };

	rows->count = rows->more = 0;
	rows->has_backlog = space->diag[user].fd_plus_1 != 0; /* not in /proc/net/tcp */
	return sockets_space_dump(space, user, &query, take_row, rows);
}

void sockets_space_close(struct sockets_space *space)
{
	for (size_t i = 0; i < SOCKETS_USER_COUNT; i++)
		up_netlink_close(&space->diag[i]);
	for (size_t i = 0; i < 2; i++)
		if (space->tcp_fd_plus_1[i])
			close(space->tcp_fd_plus_1[i] - 1);
	if (space->somaxconn_fd_plus_1)
		close(space->somaxconn_fd_plus_1 - 1);
	space->tcp_fd_plus_1[0] = space->tcp_fd_plus_1[1] = space->somaxconn_fd_plus_1 = 0;
}

static int nothing(void *ctx, const struct up_sock *sock)
{
	(void)ctx, (void)sock;
	return 0;
}

/* Runs inside the namespace, in the helper thread. */
static int open_inside(void *arg)
{
	const struct up_sock_query query = { .states = 1u << UP_TCP_LISTEN };
	struct sockets_space *space = arg;
	int r = 0;

	for (size_t i = 0; i < SOCKETS_USER_COUNT && r == 0; i++)
		r = up_netlink_open(&space->diag[i], NETLINK_SOCK_DIAG);
	/* The module may be missing; that shows at the first question. */
	if (r == 0)
		r = up_sock_dump(&space->diag[0], &query, nothing, NULL);
	for (size_t i = 0; i < SOCKETS_USER_COUNT && r < 0 && r != -EINTR; i++)
		up_netlink_close(&space->diag[i]);
	/* A sysctl of the namespace of who opens it (fs/proc/proc_sysctl.c looks it up in current->nsproxy). */
	space->somaxconn_fd_plus_1 = open("/proc/sys/net/core/somaxconn", O_RDONLY | O_CLOEXEC) + 1;
	return 0;
}

static int open_proc(struct sockets_space *space)
{
	static const char *const names[] = { "tcp", "tcp6" };
	char path[64];

	for (size_t i = 0; i < 2; i++) {
		if (space->pid)
			snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)space->pid, names[i]);
		else
			snprintf(path, sizeof(path), "/proc/self/net/%s", names[i]);
		space->tcp_fd_plus_1[i] = open(path, O_RDONLY | O_CLOEXEC) + 1;
	}
	/* A kernel without IPv6 has no tcp6. */
	return space->tcp_fd_plus_1[0] ? 0 : -errno;
}

int sockets_space_open(struct sockets_space *space, struct up_netns_helper *helper)
{
	int r = up_netns_run(helper, space->pid, space->inode, open_inside, space);

	space->is_limited = r == -EPERM || r == -EACCES;
	if (r < 0 && !space->is_limited)
		return r;
	if (space->diag[0].fd_plus_1)
		return 0;
	r = open_proc(space);
	if (r < 0)
		sockets_space_close(space);
	return r;
}

int sockets_space_dump(
	struct sockets_space *space, enum sockets_user user, const struct up_sock_query *query, up_sock_each *each, void *ctx)
{
	int r = 0;

	if (space->diag[user].fd_plus_1)
		return up_sock_dump(&space->diag[user], query, each, ctx);
	for (size_t i = 0; i < 2 && r == 0; i++)
		if (space->tcp_fd_plus_1[i])
			r = up_sock_read_proc(space->tcp_fd_plus_1[i] - 1, i == 1, query->states, each, ctx);
	return r;
}

void sockets_space_sysctls(struct sockets_space *space)
{
	char text[32];
	const char *cursor = text;
	const ssize_t len = space->somaxconn_fd_plus_1 ? pread(space->somaxconn_fd_plus_1 - 1, text, sizeof(text) - 1, 0) : -1;
	uint64_t number;

	space->somaxconn = (struct up_u64){ 0 };
	if (len <= 0)
		return;
	text[len] = '\0';
	if (up_scan_u64(&cursor, &number) == 0 && *cursor == '\n')
		space->somaxconn = (struct up_u64){ .n = number, .has = true };
}
