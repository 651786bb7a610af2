/* Half-open connections (SYN received, handshake not finished) of each listener, once a search. A request socket has neither cgroup nor inode
 * and does not name its listener: the local address and port tell (net/ipv4/inet_diag.c: inet_req_diag_fill). With SYN cookies an overflow of
 * this queue is no drop, so its length never exceeds backlog + 1. */
#include "sockets_internal.h"

#include <string.h>

struct half_open {
	struct {
		struct up_endpoint endpoint;
		uint64_t count;
		bool used;
	} group[UP_LISTENERS_MAX];
};

/* A listener of this very address before one of any address: the kernel scores them the same way (inet_lhash2_lookup). */
static int count_one(void *ctx, const struct up_sock *sock)
{
	struct half_open *half_open = ctx;
	size_t best = UP_LISTENERS_MAX;

	if (sock->state != UP_TCP_SYN_RECV && sock->state != UP_TCP_NEW_SYN_RECV)
		return 0;
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		const struct up_endpoint *endpoint = &half_open->group[i].endpoint;

		if (!half_open->group[i].used || endpoint->port != sock->local.port)
			continue;
		if (up_endpoint_equal(endpoint, &sock->local)) {
			best = i;
			break;
		}
		if (up_endpoint_is_any(endpoint))
			best = i;
	}
	if (best < UP_LISTENERS_MAX)
		half_open->group[best].count++;
	return 0;
}

void sockets_count_half_open(struct up_sockets *sockets, struct sockets_space *space)
{
	const struct up_sock_query query = { .states = 1u << UP_TCP_SYN_RECV };
	struct half_open half_open;
	bool any = false;
	int r;

	memset(&half_open, 0, sizeof(half_open));
	pthread_mutex_lock(&sockets->lock);
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++) {
		const struct sockets_group *group = &sockets->groups[i];

		half_open.group[i].used = group->used && group->shared.netns == space->inode;
		half_open.group[i].endpoint = group->shared.endpoint;
		any |= half_open.group[i].used;
	}
	pthread_mutex_unlock(&sockets->lock);
	if (!any)
		return;
	r = sockets_space_dump(space, SOCKETS_FIND, &query, count_one, &half_open);
	/* Only this thread makes and retires groups, so they are still those that were copied. */
	pthread_mutex_lock(&sockets->lock);
	for (size_t i = 0; i < UP_LISTENERS_MAX; i++)
		if (half_open.group[i].used)
			sockets->groups[i].shared.syn_queue = (struct up_u64){ half_open.group[i].count, r == 0 };
	pthread_mutex_unlock(&sockets->lock);
}
