/* Loading, attaching and retargeting of the request programs. */
#include "requests_internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_session.h"
#include "useprobe/netns.h"

static const struct up_bpf_need needs[] = {
	{ "btf_trace_sk_data_ready", NULL, "kernel without the tracepoint sk_data_ready (6.1), and fentry does not work" },
	{ "btf_trace_sock_recv_length", NULL, "kernel without the tracepoint sock_recv_length (6.3), and fentry does not work" },
	{ "btf_trace_sock_send_length", NULL, "kernel without the tracepoint sock_send_length (6.3), and fentry does not work" },
};

void up_requests_free(struct up_requests *requests)
{
	if (!requests)
		return;
	requests_look_stop(requests);
	tally_free(requests->tally);
	requests__destroy(requests->skeleton);
	free(requests->copy);
	free(requests);
}

void requests_adopt(struct requests *skeleton)
{
	struct bpf_link *link = bpf_program__attach_iter(skeleton->progs.up_req_adopt, NULL);
	const int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	char nothing[64];

	while (fd >= 0 && read(fd, nothing, sizeof(nothing)) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
}

void up_requests_retarget(struct up_requests *requests, const struct up_targets *targets)
{
	struct requests__bss *bss;
	uint64_t netns = 0;

	if (requests->by == UP_REQUESTS_BOUNDS) {
		tally_retarget(requests->tally, targets);
		return;
	}
	bss = requests->skeleton->bss;
	up_match_write(&requests->match, bpf_map__fd(requests->skeleton->maps.groups), &bss->match, targets);
	if (targets->count == 0 && up_netns_of(requests->source, 0, &netns) == 0)
		bss->host_netns = netns;
	__atomic_fetch_add(&bss->generation, 1, __ATOMIC_RELEASE);
	if (requests->attached)
		requests_adopt(requests->skeleton);
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
			requests_key_of(listeners[i].netns, &listeners[i].endpoint, &key);
			if (requests_server_slot(requests, &key) == -ENOSPC)
				break;
		}
	}
	up_arena_done(&arena);
}

/* Which set of programs: the tracepoints, the functions behind them, or looks. */
enum hooks { HOOKS_TRACEPOINTS, HOOKS_FUNCTIONS, HOOKS_LOOKS, HOOKS_COUNT };

static const char *const methods[] = {
	[HOOKS_TRACEPOINTS] = "tp_btf/sk_data_ready, sock_recv_length, sock_send_length measured",
	[HOOKS_FUNCTIONS] = "fentry of inet_sendmsg, inet_recvmsg, sock_def_readable measured",
	[HOOKS_LOOKS] = "iter/tcp, who spoke last, measured",
};

static bool is_wanted(const char *program, enum hooks hooks)
{
	if (strstr(program, "_old"))
		return hooks == HOOKS_FUNCTIONS;
	if (strcmp(program, "up_req_ready") == 0 || strcmp(program, "up_req_recv") == 0 || strcmp(program, "up_req_send") == 0)
		return hooks == HOOKS_TRACEPOINTS;
	return strcmp(program, "up_req_look") != 0 || hooks == HOOKS_LOOKS;
}

static struct requests *open_for(enum hooks hooks)
{
	struct requests *skeleton = requests__open();
	struct bpf_program *program;

	if (!skeleton)
		return NULL;
	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, is_wanted(bpf_program__name(program), hooks));
	/* Gone since 6.5; a program for a function that is not there would fail the load. */
	if (hooks == HOOKS_FUNCTIONS && libbpf_find_vmlinux_btf_id("inet_sendpage", BPF_TRACE_FEXIT) < 0)
		bpf_program__set_autoload(skeleton->progs.up_req_sendpage_old, false);
	bpf_program__set_autoattach(skeleton->progs.up_req_adopt, false);
	bpf_program__set_autoattach(skeleton->progs.up_req_look, false);
	if (requests__load(skeleton) == 0)
		return skeleton;
	requests__destroy(skeleton);
	return NULL;
}

static bool has_tracepoints(void)
{
	bool all = true;

	for (size_t i = 0; i < UP_COUNT(needs); i++)
		all &= libbpf_find_vmlinux_btf_id(needs[i].type + strlen("btf_trace_"), BPF_TRACE_RAW_TP) >= 0;
	return all;
}

/* Loads and attaches one set. */
static int try_hooks(struct up_requests *requests, enum hooks hooks, const struct up_targets *targets, struct up_sockets *sockets)
{
	int r;

	requests->skeleton = open_for(hooks);
	if (!requests->skeleton)
		return errno ? -errno : -ENOTSUP;
	requests->server_count = 0;
	requests->method = methods[hooks];
	requests->by = hooks == HOOKS_LOOKS ? UP_REQUESTS_LOOKS : UP_REQUESTS_EVENTS;
	up_requests_retarget(requests, targets);
	learn_listeners(requests, targets, sockets);
	r = requests__attach(requests->skeleton);
	if (r == 0) {
		requests->attached = true;
		requests_adopt(requests->skeleton);
	}
	if (r == 0 && hooks == HOOKS_LOOKS)
		r = requests_look_start(requests, sockets);
	if (r < 0) {
		requests->attached = false;
		requests__destroy(requests->skeleton);
		requests->skeleton = NULL;
	}
	return r;
}

/* The best set that works; of the others the first refusal explains most. */
static int start(struct up_requests *requests, enum up_requests_by by, const struct up_targets *targets,
	struct up_sockets *sockets, char *reason, size_t reason_size)
{
	const size_t counts = sizeof(struct up_req_count), buckets = sizeof(struct up_req_histogram);
	int r = 0;

	requests->cpus = libbpf_num_possible_cpus();
	if (requests->cpus < 1)
		return requests->cpus;
	requests->copy = malloc((size_t)requests->cpus * (counts > buckets ? counts : buckets));
	if (!requests->copy)
		return -ENOMEM;
	for (enum hooks hooks = has_tracepoints() ? HOOKS_TRACEPOINTS : HOOKS_FUNCTIONS; hooks < HOOKS_COUNT; hooks++) {
		int now;

		if ((by == UP_REQUESTS_LOOKS && hooks != HOOKS_LOOKS) || (by == UP_REQUESTS_EVENTS && hooks == HOOKS_LOOKS) ||
			(hooks == HOOKS_FUNCTIONS && has_tracepoints()))
			continue;
		now = try_hooks(requests, hooks, targets, sockets);
		if (now == 0)
			return 0;
		if (r == 0) {
			up_bpf_why(now, needs, UP_COUNT(needs), reason, reason_size);
			r = now;
		}
	}
	return r;
}

static int start_tally(struct up_requests *requests, const struct up_targets *targets, struct up_sockets *sockets, char *reason,
	size_t reason_size)
{
	const int r = tally_new(requests->source, targets, sockets, &requests->tally);

	if (r < 0) {
		snprintf(reason, reason_size, "counting connections by sock_diag: %s", strerror(-r));
		return r;
	}
	requests->by = UP_REQUESTS_BOUNDS;
	requests->server_count = 0;
	requests->method = "sock_diag tcp_info, lower and upper bounds";
	return 0;
}

int up_requests_by_parse(const char *word, enum up_requests_by *ret)
{
	if (!word || !*word)
		*ret = UP_REQUESTS_BEST;
	else if (strcmp(word, "events") == 0)
		*ret = UP_REQUESTS_EVENTS;
	else if (strcmp(word, "looks") == 0)
		*ret = UP_REQUESTS_LOOKS;
	else if (strcmp(word, "bounds") == 0)
		*ret = UP_REQUESTS_BOUNDS;
	else
		return -EINVAL;
	return 0;
}

int up_requests_new(const struct up_source *source, const struct up_targets *targets, struct up_sockets *sockets,
	enum up_requests_by by, struct up_requests **ret, char *reason, size_t reason_size)
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
	r = by == UP_REQUESTS_BOUNDS ? 0 : start(requests, by, targets, sockets, reason, reason_size);
	if (by == UP_REQUESTS_BOUNDS || (by == UP_REQUESTS_BEST && r < 0 && sockets))
		r = start_tally(requests, targets, sockets, reason, reason_size);
	if (r < 0) {
		up_requests_free(requests);
		return r;
	}
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	*ret = requests;
	return 0;
}
