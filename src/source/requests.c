#include "useprobe/requests.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_match.h"
#include "bpf_session.h"
#include "requests.h"
#include "requests.skel.h"
#include "useprobe/clock.h"
#include "useprobe/netns.h"

_Static_assert(UP_REQ_BUCKETS == UP_REQUESTS_BUCKETS, "one histogram");

static const struct up_bpf_need needs[] = {
	{ "btf_trace_sk_data_ready", NULL, "kernel without the tracepoint sk_data_ready (6.1)" },
	{ "btf_trace_sock_recv_length", NULL, "kernel without the tracepoint sock_recv_length (6.3)" },
	{ "btf_trace_sock_send_length", NULL, "kernel without the tracepoint sock_send_length (6.3)" },
};

struct up_requests {
	const struct up_source *source; /* borrowed */
	struct requests *skeleton;
	struct up_req_key servers[UP_REQ_SERVERS];
	uint64_t server_tick[UP_REQ_SERVERS]; /* last tick it was read, +1 */
	size_t server_count;
	struct up_match match;
	/* Peers by slot, read again when the programs have given out another one. */
	struct up_req_key peers[UP_REQ_CLIENTS];
	bool peer_known[UP_REQ_CLIENTS];
	uint32_t peers_seen;
};

void up_requests_free(struct up_requests *requests)
{
	if (!requests)
		return;
	requests__destroy(requests->skeleton);
	free(requests);
}

void up_requests_retarget(struct up_requests *requests, const struct up_targets *targets)
{
	struct requests__bss *bss = requests->skeleton->bss;
	uint64_t netns = 0;

	up_match_write(&requests->match, bpf_map__fd(requests->skeleton->maps.groups), &bss->match, targets);
	if (targets->count == 0 && up_netns_of(requests->source, 0, &netns) == 0)
		bss->host_netns = netns;
	__atomic_fetch_add(&bss->generation, 1, __ATOMIC_RELEASE);
}

static void key_of(const struct up_listener *listener, struct up_req_key *ret)
{
	*ret = (struct up_req_key){ .netns = listener->netns, .port = listener->endpoint.port };
	if (!up_endpoint_is_any(&listener->endpoint))
		memcpy(ret->addr, listener->endpoint.addr, sizeof(ret->addr));
}

/* Slot of KEY, made when it is new. */
static int server_slot(struct up_requests *requests, const struct up_req_key *key)
{
	const int fd = bpf_map__fd(requests->skeleton->maps.servers);
	uint32_t slot;

	for (slot = 0; slot < requests->server_count; slot++)
		if (memcmp(&requests->servers[slot], key, sizeof(*key)) == 0)
			return (int)slot;
	if (slot == UP_REQ_SERVERS)
		return -ENOSPC;
	if (bpf_map_update_elem(fd, key, &slot, BPF_ANY) < 0)
		return -errno;
	__atomic_fetch_or(&requests->skeleton->bss->ports[key->port / 64], 1ull << (key->port % 64), __ATOMIC_RELAXED);
	requests->servers[requests->server_count++] = *key;
	__atomic_fetch_add(&requests->skeleton->bss->generation, 1, __ATOMIC_RELEASE);
	return (int)slot;
}

/* Listeners that are not known when the first event comes would make their connections look like the target's own. */
static void learn_listeners(struct up_requests *requests, const struct up_targets *targets, struct up_sockets *sockets)
{
	struct up_arena arena;

	if (!sockets || up_arena_init(&arena) < 0)
		return;
	for (size_t t = 0; t < (targets->count ? targets->count : 1); t++) {
		struct up_listener *listeners;
		struct up_req_key key;
		size_t count;

		if (up_sockets_listeners(sockets, targets->count ? &targets->items[t] : NULL, 0, &arena, &listeners, &count) < 0)
			continue;
		for (size_t i = 0; i < count; i++) {
			key_of(&listeners[i], &key);
			if (server_slot(requests, &key) == -ENOSPC)
				break;
		}
	}
	up_arena_done(&arena);
}

int up_requests_new(const struct up_source *source, const struct up_targets *targets, struct up_sockets *sockets,
	struct up_requests **ret, char *reason, size_t reason_size)
{
	struct up_requests *requests;
	int r;

	if (source->recorded) {
		snprintf(reason, reason_size, "a recorded tree has no sockets");
		return -EOPNOTSUPP;
	}
	requests = calloc(1, sizeof(*requests));
	if (!requests)
		return -ENOMEM;
	requests->source = source;
	up_bpf_listen();
	requests->skeleton = requests__open_and_load();
	r = requests->skeleton ? 0 : -errno;
	if (r == 0) {
		up_requests_retarget(requests, targets);
		learn_listeners(requests, targets, sockets);
		r = requests__attach(requests->skeleton);
	}
	if (r < 0) {
		up_bpf_why(r, needs, UP_COUNT(needs), reason, reason_size);
		up_requests_free(requests);
		return r;
	}
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	*ret = requests;
	return 0;
}

static struct up_u64 known(uint64_t n)
{
	return (struct up_u64){ .n = n, .has = true };
}

static int read_slot(struct up_requests *requests, uint32_t index, struct up_arena *arena, struct up_turns *ret)
{
	struct up_req_histogram *histogram = up_arena_alloc(arena, sizeof(*histogram));
	struct up_req_slot slot;
	uint64_t now_ns;

	if (!histogram)
		return -ENOSPC;
	if (bpf_map_lookup_elem_flags(bpf_map__fd(requests->skeleton->maps.slots), &index, &slot, BPF_F_LOCK) < 0 ||
		bpf_map_lookup_elem(bpf_map__fd(requests->skeleton->maps.histograms), &index, histogram) < 0)
		return -errno;
	now_ns = up_clock_real.mono_ns(NULL);
	if (now_ns < slot.last_ns)
		now_ns = slot.last_ns;
	*ret = (struct up_turns){
		.mono_ns = known(now_ns),
		.area_ns = known(slot.area_ns + slot.level * (now_ns - slot.last_ns)),
		.unread_area_ns = known(slot.unread_area_ns + slot.unread_level * (now_ns - slot.last_ns)),
		.begun = known(slot.begun),
		.ended = known(slot.ended),
		.cut = known(slot.cut),
		.residence_ns = known(slot.residence_ns),
		.reads = known(slot.reads),
		.writes = known(slot.writes),
		.streamed = known(slot.streamed),
		.piled = known(slot.piled),
		.connects = known(slot.connects),
		.connect_failures = known(slot.connect_failures),
		.under_way = slot.level,
		.connections = slot.opened > slot.closed ? slot.opened - slot.closed : 0,
		.buckets = (const uint64_t *)histogram->bucket,
	};
	return 0;
}

int up_requests_server(struct up_requests *requests, const struct up_listener *listener, uint64_t tick, struct up_arena *arena,
	struct up_turns *ret)
{
	struct up_req_key key;
	int slot;

	key_of(listener, &key);
	slot = server_slot(requests, &key);
	if (slot < 0)
		return slot;
	if (requests->server_tick[slot] == tick + 1)
		return -EEXIST;
	requests->server_tick[slot] = tick + 1;
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
		static const uint8_t zeros[12];
		int r;

		if (!requests->peer_known[i] || key->target != number)
			continue;
		r = read_slot(requests, UP_REQ_SERVERS + i, arena, &peer->turns);
		if (r < 0)
			return r;
		peer->netns = key->netns;
		peer->endpoint =
			(struct up_endpoint){ .port = key->port, .is_v6 = memcmp(key->addr + 4, zeros, sizeof(zeros)) != 0 };
		memcpy(peer->endpoint.addr, key->addr, sizeof(key->addr));
		count++;
	}
	*ret = peers;
	*ret_count = count;
	return 0;
}

uint64_t up_requests_dropped(const struct up_requests *requests)
{
	return __atomic_load_n(&requests->skeleton->bss->dropped, __ATOMIC_RELAXED);
}

struct up_u64 up_requests_run_ns(const struct up_requests *requests)
{
	struct up_u64 sum = { 0 };
	struct bpf_program *program;

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
