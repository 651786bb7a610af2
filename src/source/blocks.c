#include "useprobe/blocks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_session.h"
#include "blocks.h"
#include "blocks.skel.h"
#include "useprobe/delay.h"

_Static_assert(UP_BLOCK_BUCKETS == UP_BLOCKS_BUCKETS && UP_BLOCKS_BUCKETS == UP_DELAY_BUCKETS, "one histogram");

#define ISSUE_ARGUMENTS 2 /* the tracepoint's own data, the request */
#define MINOR_BITS 20

static const struct up_bpf_need needs[] = {
	{ "btf_trace_block_rq_issue", NULL, "kernel without the tracepoint block_rq_issue" },
	{ "btf_trace_block_rq_complete", NULL, "kernel without the tracepoint block_rq_complete" },
};

struct up_blocks {
	struct blocks *skeleton;
};

/* Before 5.11 the queue came first: the program would read one for the other. A kernel that does not say is left to the verifier. */
static bool queue_comes_first(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	bool older = false;
	int id;

	if (!btf)
		return false;
	id = btf__find_by_name_kind(btf, "btf_trace_block_rq_issue", BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
	if (type)
		type = btf__type_by_id(btf, type->type); /* pointer */
	if (type)
		type = btf__type_by_id(btf, type->type);
	if (type && btf_is_func_proto(type))
		older = btf_vlen(type) != ISSUE_ARGUMENTS;
	btf__free(btf);
	return older;
}

void up_blocks_free(struct up_blocks *blocks)
{
	if (!blocks)
		return;
	blocks__destroy(blocks->skeleton);
	free(blocks);
}

int up_blocks_new(const struct up_source *source, struct up_blocks **ret, char *reason, size_t reason_size)
{
	struct up_blocks *blocks;
	int r;

	if (source->recorded) {
		snprintf(reason, reason_size, "a recorded tree has no requests");
		return -EOPNOTSUPP;
	}
	blocks = calloc(1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	up_bpf_listen();
	if (queue_comes_first()) {
		snprintf(reason, reason_size, "kernel whose block_rq_issue does not begin with the request (before 5.11)");
		up_blocks_free(blocks);
		return -EOPNOTSUPP;
	}
	blocks->skeleton = blocks__open_and_load();
	r = blocks->skeleton ? blocks__attach(blocks->skeleton) : -errno;
	if (r < 0) {
		up_bpf_why(r, needs, UP_COUNT(needs), reason, reason_size);
		up_blocks_free(blocks);
		return r;
	}
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	*ret = blocks;
	return 0;
}

static struct up_block_times times_of(const struct up_block_slot *slot, enum up_block_direction direction)
{
	return (struct up_block_times){
		.done = { slot->done[direction], true },
		.failed = { slot->failed[direction], true },
		.time_ns = { slot->time_ns[direction], true },
		.buckets = (const uint64_t *)slot->bucket[direction],
	};
}

int up_blocks_read(
	struct up_blocks *blocks, struct up_arena *arena, struct up_block_disk **ret, size_t *ret_count, struct up_u64 *ret_lost)
{
	const int fd = bpf_map__fd(blocks->skeleton->maps.disks);
	struct up_block_disk *disks = up_arena_alloc(arena, UP_BLOCK_SLOTS * sizeof(*disks));
	uint32_t device, index, *previous = NULL;
	size_t count = 0;

	if (!disks)
		return -ENOSPC;
	/* Devices are only ever added. */
	for (; count < UP_BLOCK_SLOTS && bpf_map_get_next_key(fd, previous, &device) == 0; previous = &device) {
		struct up_block_slot *slot;

		if (bpf_map_lookup_elem(fd, &device, &index) < 0 || index >= UP_BLOCK_SLOTS)
			continue;
		slot = up_arena_alloc(arena, sizeof(*slot));
		if (!slot)
			return -ENOSPC;
		memcpy(slot, &blocks->skeleton->bss->slots[index], sizeof(*slot));
		disks[count++] = (struct up_block_disk){
			.major = device >> MINOR_BITS,
			.minor = device & ((1u << MINOR_BITS) - 1),
			.read = times_of(slot, UP_BLOCK_READ),
			.write = times_of(slot, UP_BLOCK_WRITE),
		};
	}
	*ret = disks;
	*ret_count = count;
	*ret_lost = (struct up_u64){ blocks->skeleton->bss->lost, true };
	return 0;
}
