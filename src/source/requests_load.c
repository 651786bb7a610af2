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
	requests__destroy(requests->skeleton);
	free(requests->copy);
	free(requests);
}

/* Runs the iterator that adopts open connections; what it says is nothing. Without it idle connections are not counted as open. */
static void adopt(struct requests *skeleton)
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
	struct requests__bss *bss = requests->skeleton->bss;
	uint64_t netns = 0;

	up_match_write(&requests->match, bpf_map__fd(requests->skeleton->maps.groups), &bss->match, targets);
	if (targets->count == 0 && up_netns_of(requests->source, 0, &netns) == 0)
		bss->host_netns = netns;
	__atomic_fetch_add(&bss->generation, 1, __ATOMIC_RELEASE);
	if (requests->attached)
		adopt(requests->skeleton);
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
			requests_key(&listeners[i], &key);
			if (requests_server_slot(requests, &key) == -ENOSPC)
				break;
		}
	}
	up_arena_done(&arena);
}

/* The programs for the hooks that this kernel has: tracepoints, or the functions behind them. */
static struct requests *open_for(bool old)
{
	struct requests *skeleton = requests__open();
	struct bpf_program *program;

	if (!skeleton)
		return NULL;
	bpf_object__for_each_program(program, skeleton->obj)
	{
		const char *name = bpf_program__name(program);
		const bool for_old = strstr(name, "_old") != NULL;
		const bool for_new =
			strcmp(name, "up_req_ready") == 0 || strcmp(name, "up_req_recv") == 0 || strcmp(name, "up_req_send") == 0;

		if ((for_old && !old) || (for_new && old))
			bpf_program__set_autoload(program, false);
	}
	/* Gone since 6.5; a program for a function that is not there would fail the load. */
	if (old && libbpf_find_vmlinux_btf_id("inet_sendpage", BPF_TRACE_FEXIT) < 0)
		bpf_program__set_autoload(skeleton->progs.up_req_sendpage_old, false);
	bpf_program__set_autoattach(skeleton->progs.up_req_adopt, false);
	if (requests__load(skeleton) == 0)
		return skeleton;
	requests__destroy(skeleton);
	return NULL;
}

static int load(struct up_requests *requests)
{
	const size_t counts = sizeof(struct up_req_count), buckets = sizeof(struct up_req_histogram);
	bool old = false;

	for (size_t i = 0; i < UP_COUNT(needs); i++)
		old |= libbpf_find_vmlinux_btf_id(needs[i].type + strlen("btf_trace_"), BPF_TRACE_RAW_TP) < 0;
	requests->skeleton = open_for(old);
	if (!requests->skeleton)
		return errno ? -errno : -ENOTSUP;
	requests->method = old ? "fentry of inet_sendmsg, inet_recvmsg, sock_def_readable measured"
			       : "tp_btf/sk_data_ready, sock_recv_length, sock_send_length measured";
	requests->cpus = libbpf_num_possible_cpus();
	if (requests->cpus < 1)
		return requests->cpus;
	requests->copy = malloc((size_t)requests->cpus * (counts > buckets ? counts : buckets));
	return requests->copy ? 0 : -ENOMEM;
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
	r = load(requests);
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
	requests->attached = true;
	adopt(requests->skeleton);
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	*ret = requests;
	return 0;
}
