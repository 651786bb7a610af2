/* One pass of the tally: every connection of the targets' namespaces goes to its listener, or to the peer of the target it belongs to. */
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tally_internal.h"

#define OWNERS_NS (2 * UP_NS_PER_S)

struct tally_bounds tally_bounds(const struct up_sock *sock, bool server)
{
	const bool unread = sock->receive_queue > 0, tie = sock->last_data_sent_ms == sock->last_data_received_ms;
	const bool ours_younger = sock->last_data_sent_ms < sock->last_data_received_ms;
	const bool spoken = server ? sock->data_segments_in > 0 : sock->data_segments_out > 0;
	const bool perhaps = spoken && !unread && tie && !sock->unacked_segments;
	bool busy;

	if (!sock->has_info)
		return (struct tally_bounds){ .low = server && unread, .high = 1, .unread = unread };
	if (server)
		busy = unread || (spoken && !tie && !ours_younger);
	else
		busy = spoken && !unread && (tie ? sock->unacked_segments > 0 : ours_younger);
	return (struct tally_bounds){ .low = busy, .high = busy || perhaps, .unread = unread };
}

static void done_owners(struct tally *tally)
{
	for (size_t i = 0; i < tally->owner_count; i++) {
		sockets_ids_done(&tally->owners[i].ids);
		sockets_ids_done(&tally->owners[i].inodes);
	}
	tally->owner_count = 0;
}

/* Ids and inodes of every target, as in the search for listeners (sockets_decide.c). What cannot be had leaves a set empty: connections
 * that nobody is known to own are nobody's. */
static void make_owners(struct tally *tally)
{
	done_owners(tally);
	up_arena_reset(&tally->arena);
	if (!tally->target_count)
		tally->owners[tally->owner_count++] =
			(struct tally_owner){ .number = UP_REQ_TARGET_HOST, .host_netns = tally->own_inode };
	for (size_t t = 0; t < tally->target_count; t++) {
		struct tally_owner *owner = &tally->owners[tally->owner_count++];
		const struct up_target *target = &tally->targets[t];
		size_t count = 0, denied = 0;
		pid_t *pids = NULL;

		*owner = (struct tally_owner){ .number = (uint16_t)t };
		if (!target->present)
			continue;
		if (target->kind == UP_TARGET_HOST) {
			owner->host_netns = tally->own_inode;
			continue;
		}
		if (sockets_cgroup_ids(tally->source, target, &owner->ids) < 0)
			sockets_ids_done(&owner->ids);
		sockets_ids_sort(&owner->ids);
		if (up_target_pids(target, tally->source, &tally->arena, &pids, &count) == 0 &&
			sockets_fd_inodes(tally->source, pids, count, &owner->inodes, &denied) < 0)
			sockets_ids_done(&owner->inodes);
	}
	tally->owners_ns = sockets_now_ns();
}

static int open_inside(void *arg)
{
	struct tally_space *space = arg;

	return up_netlink_open(&space->diag, NETLINK_SOCK_DIAG);
}

static void take_space(struct tally *tally, const struct up_space *space, uint32_t mask)
{
	struct tally_space *mine = NULL;

	for (size_t i = 0; i < tally->space_count && !mine; i++)
		if (tally->spaces[i].space.inode == space->inode)
			mine = &tally->spaces[i];
	if (!mine) {
		struct tally_space fresh = { .space = *space };

		if (tally->space_count == UP_NETNS_MAX ||
			up_netns_run(tally->helper, space->pid, space->inode, open_inside, &fresh) < 0)
			return;
		mine = &tally->spaces[tally->space_count++];
		*mine = fresh;
	}
	mine->space = *space;
	mine->mask = mask;
	mine->wanted = true;
}

/* Namespaces and listeners as of the last search. */
static void take_spaces(struct tally *tally)
{
	struct up_space spaces[UP_NETNS_MAX];
	uint32_t masks[UP_NETNS_MAX];
	const size_t count = sockets_all_spaces(tally->sockets, spaces, masks);

	for (size_t i = 0; i < tally->space_count; i++)
		tally->spaces[i].wanted = false;
	for (size_t i = 0; i < count; i++)
		take_space(tally, &spaces[i], masks[i]);
	for (size_t i = 0; i < tally->space_count;) {
		if (tally->spaces[i].wanted) {
			i++;
			continue;
		}
		up_netlink_close(&tally->spaces[i].diag);
		tally->spaces[i] = tally->spaces[--tally->space_count];
	}
	tally->listener_count = sockets_all_listeners(tally->sockets, tally->listeners);
}

void tally_pass_done(struct tally *tally)
{
	for (size_t i = 0; i < tally->space_count; i++)
		up_netlink_close(&tally->spaces[i].diag);
	tally->space_count = 0;
	done_owners(tally);
}

static struct tally_entry *entry_get(struct tally *tally, const struct up_req_key *key, bool server)
{
	struct tally_entry *entry = NULL;

	for (size_t i = 0; i < tally->entry_count; i++)
		if (tally->entries[i].server == server && memcmp(&tally->entries[i].key, key, sizeof(*key)) == 0)
			return &tally->entries[i];
	pthread_mutex_lock(&tally->lock);
	if (tally->entry_count < UP_REQ_SLOTS) {
		entry = &tally->entries[tally->entry_count++];
		*entry = (struct tally_entry){ .key = *key, .server = server };
	} else {
		tally->dropped++;
	}
	pthread_mutex_unlock(&tally->lock);
	return entry;
}

/* The listener a connection came to: of its own address, else of any address. */
static struct tally_entry *server_of(struct tally *tally, uint64_t netns, const struct up_endpoint *local)
{
	const struct sockets_listener *best = NULL;
	struct up_req_key key;

	for (size_t i = 0; i < tally->listener_count; i++) {
		const struct sockets_listener *one = &tally->listeners[i];

		if (one->netns != netns || one->endpoint.port != local->port)
			continue;
		if (up_endpoint_equal(&one->endpoint, local) || (!best && up_endpoint_is_any(&one->endpoint)))
			best = one;
	}
	if (!best)
		return NULL;
	requests_key_of(best->netns, &best->endpoint, &key);
	return entry_get(tally, &key, true);
}

static bool is_owned(const struct tally_owner *owner, const struct tally_space *space, const struct up_sock *sock)
{
	if (owner->host_netns)
		return owner->host_netns == space->space.inode;
	if (!(space->mask & 1u << owner->number))
		return false;
	/* The mask holds several targets when they share it. */
	if (space->space.is_private && space->mask == 1u << owner->number)
		return true;
	return (sock->cgroup_id.has && sockets_ids_has(&owner->ids, sock->cgroup_id.n)) ||
	       (sock->inode && sockets_ids_has(&owner->inodes, sock->inode));
}

static void count_sock(struct tally_entry *entry, const struct up_sock *sock)
{
	const struct tally_bounds bounds = tally_bounds(sock, entry->server);

	entry->next_connections++;
	entry->next_low += bounds.low;
	entry->next_high += bounds.high;
	entry->next_unread += bounds.unread;
}

struct walk {
	struct tally *tally;
	const struct tally_space *space;
};

/* The kernel hands out listeners before connections (net/ipv4/inet_diag.c, inet_diag_dump_icsk). */
static int take_sock(void *ctx, const struct up_sock *sock)
{
	const struct walk *walk = ctx;
	struct tally *tally = walk->tally;
	struct tally_entry *entry;

	if (sock->state == UP_TCP_LISTEN) {
		tally->ports[sock->local.port / 64] |= 1ull << sock->local.port % 64;
		return 0;
	}
	entry = server_of(tally, walk->space->space.inode, &sock->local);
	if (entry)
		count_sock(entry, sock);
	if (entry || tally->ports[sock->local.port / 64] >> sock->local.port % 64 & 1)
		return 0;
	for (size_t i = 0; i < tally->owner_count; i++) {
		struct up_req_key key;

		if (!is_owned(&tally->owners[i], walk->space, sock))
			continue;
		requests_key_of(walk->space->space.inode, &sock->remote, &key);
		key.target = tally->owners[i].number;
		entry = entry_get(tally, &key, false);
		if (entry)
			count_sock(entry, sock);
	}
	return 0;
}

/* Between two passes a level is taken to go straight from one to the other. */
static void fold(struct tally_entry *entry, uint64_t now_ns)
{
	const uint64_t dt_ns = entry->mono_ns ? now_ns - entry->mono_ns : 0;

	entry->low_ns += dt_ns * (entry->low + entry->next_low) / 2;
	entry->high_ns += dt_ns * (entry->high + entry->next_high) / 2;
	entry->unread_ns += dt_ns * (entry->unread + entry->next_unread) / 2;
	entry->low = entry->next_low;
	entry->high = entry->next_high;
	entry->unread = entry->next_unread;
	entry->connections = entry->next_connections;
	entry->mono_ns = now_ns;
	entry->counted = true;
}

static void pass_space(struct tally *tally, struct tally_space *space)
{
	const struct up_sock_query query = {
		.states = 1u << UP_TCP_LISTEN | 1u << UP_TCP_ESTABLISHED | 1u << UP_TCP_CLOSE_WAIT,
		.info = true,
	};
	struct walk walk = { .tally = tally, .space = space };
	struct up_req_key key;
	int r;

	memset(tally->ports, 0, sizeof(tally->ports));
	for (size_t i = 0; i < tally->listener_count; i++) {
		if (tally->listeners[i].netns != space->space.inode)
			continue;
		requests_key_of(tally->listeners[i].netns, &tally->listeners[i].endpoint, &key);
		(void)entry_get(tally, &key, true); /* one without connections has 0 of them */
	}
	for (size_t i = 0; i < tally->entry_count; i++) {
		struct tally_entry *entry = &tally->entries[i];

		entry->next_low = entry->next_high = entry->next_unread = entry->next_connections = 0;
	}
	r = up_sock_dump(&space->diag, &query, take_sock, &walk);
	if (r < 0)
		return; /* mono_ns stays: no window, no value */
	pthread_mutex_lock(&tally->lock);
	for (size_t i = 0; i < tally->entry_count; i++)
		if (tally->entries[i].key.netns == space->space.inode)
			fold(&tally->entries[i], sockets_now_ns());
	pthread_mutex_unlock(&tally->lock);
}

void tally_pass(struct tally *tally)
{
	if (!tally->owners_ns || sockets_now_ns() - tally->owners_ns > OWNERS_NS)
		make_owners(tally);
	take_spaces(tally);
	for (size_t i = 0; i < tally->space_count; i++)
		pass_space(tally, &tally->spaces[i]);
}
