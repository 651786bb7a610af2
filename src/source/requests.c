#include "useprobe/requests.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf_session.h"
#include "requests_internal.h"
#include "useprobe/clock.h"

_Static_assert(UP_REQ_BUCKETS == UP_REQUESTS_BUCKETS, "one histogram");

#define READS_MAX 16 /* of one slot, until no program was in the middle of it */

/* Slot of KEY, made when it is new. */
int requests_server_slot(struct up_requests *requests, const struct up_req_key *key)
{
	uint32_t slot;

	for (slot = 0; slot < requests->server_count; slot++)
		if (memcmp(&requests->servers[slot], key, sizeof(*key)) == 0)
			return (int)slot;
	if (slot == UP_REQ_SERVERS)
		return -ENOSPC;
	if (requests->by == UP_REQUESTS_BOUNDS) {
		requests->servers[requests->server_count++] = *key;
		return (int)slot;
	}
	if (bpf_map_update_elem(bpf_map__fd(requests->skeleton->maps.servers), key, &slot, BPF_ANY) < 0)
		return -errno;
	__atomic_fetch_or(&requests->skeleton->bss->ports[key->port / 64], 1ull << (key->port % 64), __ATOMIC_RELAXED);
	requests->servers[requests->server_count++] = *key;
	__atomic_fetch_add(&requests->skeleton->bss->generation, 1, __ATOMIC_RELEASE);
	return (int)slot;
}

const char *up_requests_method(const struct up_requests *requests)
{
	return requests->method;
}

static struct up_u64 known(uint64_t n)
{
	return (struct up_u64){ .n = n, .has = true };
}

/* Sums the counters of all CPUs. An update is in progress on a CPU while `started` is ahead of `done`; the kernel copies a value word by
 * word in ascending order, so a copy in which the two are equal holds no half of an update. */
static int sum_counts(struct up_requests *requests, uint32_t index, struct up_req_count *ret)
{
	const int fd = bpf_map__fd(requests->skeleton->maps.counts);
	const struct up_req_count *copy = requests->copy;
	uint64_t *sum = (uint64_t *)ret;
	bool whole = false;

	for (int i = 0; i < READS_MAX && !whole; i++) {
		if (bpf_map_lookup_elem(fd, &index, requests->copy) < 0)
			return -errno;
		whole = true;
		for (int cpu = 0; cpu < requests->cpus; cpu++)
			whole &= copy[cpu].done == copy[cpu].started;
	}
	if (!whole)
		return -EAGAIN;
	memset(ret, 0, sizeof(*ret));
	for (int cpu = 0; cpu < requests->cpus; cpu++)
		for (size_t word = 0; word < sizeof(*ret) / sizeof(*sum); word++)
			sum[word] += ((const uint64_t *)&copy[cpu])[word];
	return 0;
}

static int sum_buckets(struct up_requests *requests, uint32_t index, struct up_arena *arena, uint64_t **ret)
{
	uint64_t *sum = up_arena_alloc(arena, UP_REQ_BUCKETS * sizeof(*sum));
	const struct up_req_histogram *copy = requests->copy;

	if (!sum)
		return -ENOSPC;
	if (bpf_map_lookup_elem(bpf_map__fd(requests->skeleton->maps.histograms), &index, requests->copy) < 0)
		return -errno;
	for (int cpu = 0; cpu < requests->cpus; cpu++)
		for (size_t i = 0; i < UP_REQ_BUCKETS; i++)
			sum[i] += copy[cpu].bucket[i];
	*ret = sum;
	return 0;
}

/* 0 when a CPU's view is a hair ahead of another's. */
static uint64_t gauge(uint64_t up, uint64_t down)
{
	return (int64_t)(up - down) > 0 ? up - down : 0;
}

static void take_levels(const struct up_req_count *c, uint64_t now_ns, struct up_turns *ret)
{
	const uint64_t level = c->begun - c->answered - c->cut - c->moved, unread = c->unread - c->seen;

	/* What began while we were reading would count from before it began: less than nothing is nothing. */
	ret->area_ns = known(gauge(level * now_ns - c->begun_at_ns + c->answered_at_ns + c->cut_at_ns + c->moved_at_ns, 0));
	ret->unread_area_ns = known(gauge(unread * now_ns - c->unread_at_ns + c->seen_at_ns, 0));
	ret->under_way = gauge(level, 0);
	ret->connections = gauge(c->opened, c->closed);
	ret->http2_connections = gauge(c->http2_opened, c->http2_closed);
	ret->stream_connections = gauge(c->stream_opened, c->stream_closed);
	ret->tls_connections = gauge(c->tls_opened, c->tls_closed);
}

static void take_turns(const struct up_req_count *c, const uint64_t *buckets, struct up_turns *ret)
{
	ret->begun = known(c->begun);
	ret->ended = known(c->answered + c->cut);
	ret->cut = known(c->cut);
	ret->residence_ns = known(c->residence_ns);
	ret->reads = known(c->reads);
	ret->writes = known(c->writes);
	ret->piled = known(c->piled);
	ret->pipelined = known(c->pipelined);
	ret->held = known(c->held);
	ret->buckets = buckets;
}

static int read_slot(struct up_requests *requests, uint32_t index, struct up_arena *arena, struct up_turns *ret)
{
	const uint64_t now_ns = up_clock_real.mono_ns(NULL);
	struct up_req_count c = { 0 };
	uint64_t *buckets = NULL;
	int r = sum_counts(requests, index, &c);

	if (r == 0)
		r = requests->by == UP_REQUESTS_LOOKS ? 0 : sum_buckets(requests, index, arena, &buckets);
	if (r < 0)
		return r;
	*ret = (struct up_turns){
		.mono_ns = known(now_ns),
		.connects = known(c.connects),
		.connect_failures = known(c.connect_failures),
		.connected = known(c.connected),
		.connect_ns = known(c.connect_ns),
		.retransmits = known(c.retransmits),
		.resets = known(c.resets),
	};
	take_levels(&c, now_ns, ret);
	if (requests->by == UP_REQUESTS_LOOKS)
		ret->uncounted = "looks at connections see levels, not single requests";
	else
		take_turns(&c, buckets, ret);
	return 0;
}

int up_requests_server(struct up_requests *requests, const struct up_listener *listener, uint64_t tick, struct up_arena *arena,
	struct up_turns *ret)
{
	struct up_req_key key;
	int slot;

	requests_key_of(listener->netns, &listener->endpoint, &key);
	slot = requests_server_slot(requests, &key);
	if (slot < 0)
		return slot;
	if (requests->server_tick[slot] == tick + 1)
		return -EEXIST;
	requests->server_tick[slot] = tick + 1;
	if (requests->by == UP_REQUESTS_BOUNDS)
		return tally_server(requests->tally, &key, ret);
	if (requests->by == UP_REQUESTS_LOOKS && !requests_looked(requests, key.netns))
		return -ENODATA;
	return read_slot(requests, (uint32_t)slot, arena, ret);
}

static void learn_peers(struct up_requests *requests)
{
	const int fd = bpf_map__fd(requests->skeleton->maps.clients);
	const uint32_t given_out = __atomic_load_n(&requests->skeleton->bss->client_next, __ATOMIC_RELAXED);
	struct up_req_key key, *previous = NULL;
	uint32_t index;

	if (given_out == requests->peers_seen)
		return;
	for (size_t i = 0; i < UP_REQ_CLIENTS && bpf_map_get_next_key(fd, previous, &key) == 0; i++) {
		previous = &key;
		if (bpf_map_lookup_elem(fd, &key, &index) < 0 || index < UP_REQ_SERVERS || index >= UP_REQ_SLOTS)
			continue;
		requests->peers[index - UP_REQ_SERVERS] = key;
		requests->peer_known[index - UP_REQ_SERVERS] = true;
	}
	requests->peers_seen = given_out;
}

int up_requests_peers(struct up_requests *requests, const struct up_targets *targets, const struct up_target *target,
	struct up_arena *arena, struct up_peer **ret, size_t *ret_count)
{
	const uint16_t number = target ? (uint16_t)(target - targets->items) : UP_REQ_TARGET_HOST;
	struct up_peer *peers = NULL;
	size_t count = 0;

	if (requests->by == UP_REQUESTS_BOUNDS)
		return tally_peers(requests->tally, number, arena, ret, ret_count);
	learn_peers(requests);
	for (size_t i = 0; i < UP_REQ_CLIENTS; i++)
		count += requests->peer_known[i] && requests->peers[i].target == number;
	peers = up_arena_alloc(arena, count * sizeof(*peers) + 1);
	if (!peers)
		return -ENOSPC;
	count = 0;
	for (uint32_t i = 0; i < UP_REQ_CLIENTS; i++) {
		const struct up_req_key *key = &requests->peers[i];
		struct up_peer *peer = &peers[count];
		int r;

		if (!requests->peer_known[i] || key->target != number)
			continue;
		if (requests->by == UP_REQUESTS_LOOKS && !requests_looked(requests, key->netns))
			continue;
		r = read_slot(requests, UP_REQ_SERVERS + i, arena, &peer->turns);
		if (r < 0)
			return r;
		peer->netns = key->netns;
		requests_endpoint_of(key, &peer->endpoint);
		count++;
	}
	*ret = peers;
	*ret_count = count;
	return 0;
}

uint64_t up_requests_dropped(const struct up_requests *requests)
{
	if (requests->by == UP_REQUESTS_BOUNDS)
		return tally_dropped(requests->tally);
	return __atomic_load_n(&requests->skeleton->bss->dropped, __ATOMIC_RELAXED);
}

struct up_u64 up_requests_run_ns(const struct up_requests *requests)
{
	struct up_u64 sum = { 0 };
	struct bpf_program *program;

	if (requests->by == UP_REQUESTS_BOUNDS)
		return sum;
	bpf_object__for_each_program(program, requests->skeleton->obj)
	{
		const struct up_u64 one = up_bpf_run_ns(bpf_program__fd(program));

		if (!one.has)
			return (struct up_u64){ 0 };
		sum.n += one.n;
		sum.has = true;
	}
	return sum;
}
