/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * How long disks take for a request: from block_rq_issue (it is handed to the driver) to the block_rq_complete of its last bytes. Both
 * take the request as their first argument from 5.11 on (commit a54895fa057c); user space refuses older kernels. Reads and writes are
 * told apart; flushes, discards and what passes commands through are left out. */
#include "blocks.h"

#include "bucket.bpf.h"
#include "kernel_block.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define REQ_OP_MASK 0xff /* include/linux/blk_types.h */
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1

_Static_assert(UP_BLOCK_BUCKETS == UP_BUCKETS, "one histogram");

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Requests at a device to the time they were issued. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_BLOCK_REQUESTS);
	__type(key, __u64); /* address of the request */
	__type(value, __u64);
} issued SEC(".maps");

/* Device number (major << 20 | minor) to its slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_BLOCK_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} disks SEC(".maps");

struct up_block_slot slots[UP_BLOCK_SLOTS] = {};
__u32 next_slot = 0;
__u64 lost = 0; /* counter: requests that could not be followed */

static __always_inline struct gendisk *disk_of(struct request *rq)
{
	struct request___disk *old = (void *)rq;

	if (bpf_core_field_exists(old->rq_disk))
		return BPF_CORE_READ(old, rq_disk);
	return rq->q ? rq->q->disk : NULL;
}

static __always_inline struct up_block_slot *slot_of(struct request *rq)
{
	struct gendisk *disk = disk_of(rq);
	__u32 device, fresh, *index;

	if (!disk)
		return NULL;
	device = (__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
	index = bpf_map_lookup_elem(&disks, &device);
	if (index)
		return &slots[*index & (UP_BLOCK_SLOTS - 1)];
	if (next_slot >= UP_BLOCK_SLOTS)
		return NULL;
	fresh = __sync_fetch_and_add(&next_slot, 1);
	/* Another CPU may have been faster: then its slot counts, and this one stays empty. */
	if (fresh >= UP_BLOCK_SLOTS || bpf_map_update_elem(&disks, &device, &fresh, BPF_NOEXIST))
		return NULL;
	return &slots[fresh & (UP_BLOCK_SLOTS - 1)];
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(up_block_issue, struct request *rq)
{
	const __u64 key = (__u64)rq, now_ns = bpf_ktime_get_ns();

	if ((rq->cmd_flags & REQ_OP_MASK) > REQ_OP_WRITE)
		return 0;
	if (bpf_map_update_elem(&issued, &key, &now_ns, BPF_ANY))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(up_block_complete, struct request *rq, int error, unsigned int bytes)
{
	const __u64 key = (__u64)rq;
	const __u64 *since_ns;
	struct up_block_slot *slot;
	__u64 took_ns;
	__u32 direction;

	/* A request may be completed in parts. */
	if (bytes < rq->__data_len)
		return 0;
	since_ns = bpf_map_lookup_elem(&issued, &key);
	if (!since_ns)
		return 0;
	took_ns = bpf_ktime_get_ns() - *since_ns;
	bpf_map_delete_elem(&issued, &key);
	slot = slot_of(rq);
	if (!slot) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	direction = (rq->cmd_flags & REQ_OP_MASK) == REQ_OP_WRITE;
	__sync_fetch_and_add(&slot->done[direction], 1);
	__sync_fetch_and_add(&slot->time_ns[direction], took_ns);
	if (error & 0xff) /* blk_status_t is a byte; before 5.16 an errno */
		__sync_fetch_and_add(&slot->failed[direction], 1);
	__sync_fetch_and_add(&slot->bucket[direction][bucket_of(took_ns) & (UP_BLOCK_BUCKETS - 1)], 1);
	return 0;
}
