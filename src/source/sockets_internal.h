/* Inside of the socket service (useprobe/sockets.h): what its threads share. */
#ifndef UP_SOCKETS_INTERNAL_H
#define UP_SOCKETS_INTERNAL_H

#include <pthread.h>

#include "useprobe/clock.h"
#include "useprobe/netns.h"
#include "useprobe/sockets.h"

#define SOCKETS_ROWS_MAX 4096 /* listening sockets looked at in one namespace */
#define SOCKETS_HOST_BIT (1u << UP_TARGETS_MAX)
#define SOCKETS_POLL_NS (20 * UP_NS_PER_MS)
#define SOCKETS_FIND_NS (2 * UP_NS_PER_S)
#define SOCKETS_REASON 192

/* Who dumps: threads of their own, each with a socket of its own. */
enum sockets_user { SOCKETS_POLL, SOCKETS_FIND, SOCKETS_USER_COUNT };

/* One network namespace. Made and removed by the find thread under space_lock; sockets inside are used as marked. */
struct sockets_space {
	uint64_t inode;
	pid_t pid; /* a process inside, 0 = the probe's own namespace */
	struct up_netlink diag[SOCKETS_USER_COUNT]; /* each used by one thread only; not open: /proc/net/tcp has to do */
	int tcp_fd_plus_1[2]; /* /proc/net/tcp and tcp6, 0: not open */
	int somaxconn_fd_plus_1; /* 0: not open */
	struct up_u64 somaxconn;
	bool is_limited; /* entering was refused: queues only, from /proc/net/tcp */
	bool wanted; /* some target lives here (find thread) */
	uint32_t private_mask; /* targets whose processes alone live here */
	uint32_t mask; /* targets with a process here */
};

/* A listening socket whose owner is known (or known to be nobody). */
struct sockets_known {
	uint64_t cookie;
	uint64_t inode; /* of its namespace */
	uint32_t mask; /* targets it belongs to, 0 = none of them */
	uint16_t group; /* index, when mask is not 0 */
	enum up_owner owner;
	uint32_t drops_last;
	bool drops_known;
	bool seen; /* in the last search */
};

/* Listening sockets of one address, one namespace and the same targets. */
struct sockets_group {
	struct up_listener shared; /* name, owner and maxima are made for each reader */
	uint32_t mask;
	enum up_owner owner;
	/* Of the poll under way. */
	uint32_t queue_sum, capacity_sum, socket_count;
	double fullest;
	/* Of the window. */
	uint32_t window_max;
	double window_fullest;
	uint64_t missing_since_ns; /* 0 = there */
	bool used;
};

struct sockets_row {
	uint64_t cookie;
	uint64_t cgroup_id; /* 0 = not known */
	struct up_endpoint endpoint;
	uint32_t inode;
	uint32_t queue, backlog;
	uint32_t drops;
	bool has_drops, has_backlog;
};

/* Rows of one dump; [SOCKETS_ROWS_MAX], owned. */
struct sockets_rows {
	struct sockets_row *items;
	size_t count;
	size_t more; /* that did not fit */
	bool has_backlog; /* the source tells backlogs */
};

struct up_sockets {
	const struct up_source *source; /* borrowed */
	const struct up_targets *targets; /* borrowed; only its address is used outside of the tick */
	struct up_netns_helper *helper;
	struct finder *finder; /* owned */
	pthread_t poll_thread, find_thread;
	bool poll_started, find_started;

	pthread_mutex_t space_lock; /* spaces; taken before lock */
	struct sockets_space spaces[UP_NETNS_MAX];
	size_t space_count;

	pthread_mutex_t lock; /* all below; held for copies only */
	pthread_cond_t wake; /* monotonic clock */
	bool stop, find_now, found_once;
	struct up_target *pending; /* [pending_count] copies of the targets for the find thread, owned; NULL = taken */
	size_t pending_count;
	char reasons[UP_TARGETS_MAX + 1][SOCKETS_REASON];
	struct sockets_known *known; /* [known_count], owned */
	size_t known_count, known_capacity;
	struct sockets_group *groups; /* [UP_LISTENERS_MAX], owned */
	struct {
		struct up_space space;
		uint32_t mask;
	} view[UP_NETNS_MAX]; /* [view_count] the spaces as of the last search */
	size_t view_count;
	uint64_t window_tick; /* tick whose maxima are frozen in shared.queue_max */
};

static inline uint64_t sockets_now_ns(void)
{
	return up_clock_real.mono_ns(up_clock_real.self);
}

/* Copies for a thread, since the tick changes its targets meanwhile; NULL when out of memory. */
struct up_target *sockets_copy_targets(const struct up_targets *targets);
/* Every namespace watched and the targets with a process there; callable from any thread. Returns their number. */
size_t sockets_all_spaces(struct up_sockets *sockets, struct up_space spaces[UP_NETNS_MAX], uint32_t masks[UP_NETNS_MAX]);
struct sockets_listener {
	uint64_t netns;
	struct up_endpoint endpoint;
};
/* Every listener of any target. */
size_t sockets_all_listeners(struct up_sockets *sockets, struct sockets_listener ret[UP_LISTENERS_MAX]);
/* Frees COUNT copies of targets with their paths. */
void sockets_free_targets(struct up_target *copies, size_t count);

/* sockets_find.c */
void *sockets_find_main(void *arg);

/* sockets_space.c */
/* Opens what is read of SPACE (inode and pid set). 0; -EPERM, -EACCES, ... when not even /proc/PID/net can be read. */
int sockets_space_open(struct sockets_space *space, struct up_netns_helper *helper);
void sockets_space_close(struct sockets_space *space);
/* Dumps sockets as up_sock_dump does, from whatever is open. */
int sockets_space_dump(
	struct sockets_space *space, enum sockets_user user, const struct up_sock_query *query, up_sock_each *each, void *ctx);
/* Dumps the listening sockets; all of them or -errno. */
int sockets_dump_listeners(struct sockets_space *space, enum sockets_user user, struct sockets_rows *rows);
/* Reads the sysctls again. */
void sockets_space_sysctls(struct sockets_space *space);

/* sockets_half_open.c: fills syn_queue of the listeners in SPACE; a walk over the whole table of connections (1 to 2 ms). Find thread only. */
void sockets_count_half_open(struct up_sockets *sockets, struct sockets_space *space);

/* sockets_owner.c: who holds which socket. */
struct sockets_ids {
	uint64_t *items; /* sorted, owned */
	size_t count, capacity;
};
void sockets_ids_done(struct sockets_ids *ids);
int sockets_ids_add(struct sockets_ids *ids, uint64_t id);
void sockets_ids_sort(struct sockets_ids *ids);
bool sockets_ids_has(const struct sockets_ids *ids, uint64_t id);
/* v2 cgroup ids of TARGET and all its descendants; none when the target has no v2 directory of its own. */
int sockets_cgroup_ids(const struct up_source *source, const struct up_target *target, struct sockets_ids *ret);
/* Inodes of the sockets the PIDS hold open. *ret_denied counts processes whose descriptors may not be read. */
int sockets_fd_inodes(
	const struct up_source *source, const pid_t *pids, size_t count, struct sockets_ids *ret, size_t *ret_denied);

/* sockets_poll.c */
void *sockets_poll_main(void *arg);
/* Folds one dump of namespace INODE, made at NOW_NS, into the groups; true when a socket showed up that the search has not seen. */
bool sockets_fold(struct up_sockets *sockets, uint64_t inode, const struct sockets_rows *rows, uint64_t now_ns);
int sockets_known_order(const void *a, const void *b);
struct sockets_known *sockets_known_find(struct up_sockets *sockets, uint64_t inode, uint64_t cookie);

#endif
