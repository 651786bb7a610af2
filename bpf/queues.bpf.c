/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Queues inside the targets' programs, by uprobes on the functions that put items in and take them out. One program serves all points:
 * the attach cookie (bpf_get_attach_cookie: Linux 5.15) says which queue and what the point means. A uprobe's program may be preempted
 * (5.19 and later, commit 8c7dcb84e3b7), so nothing here relies on having the CPU to itself. */
#include "queues.h"

#include "core_compat.bpf.h"
#include "match.bpf.h"

#include <linux/ptrace.h>

#include <bpf/bpf_tracing.h>

#define RAISE_TRIES 8

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Queue of a process to its slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_QUEUE_SLOTS);
	__type(key, struct up_queue_process);
	__type(value, __u32);
} processes SEC(".maps");

/* Slots nobody has: user space puts them in, zeroed. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, UP_QUEUE_SLOTS);
	__uint(value_size, sizeof(__u32));
} free_slots SEC(".maps");

/* Waiting items to the time they were put. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_QUEUE_ITEMS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct up_queue_item);
	__type(value, __u64);
} items SEC(".maps");

/* Threads inside DEQUEUE. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_QUEUE_CALLS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct up_queue_process); /* pid: of the thread */
	__type(value, __u64); /* since when */
} calls SEC(".maps");

struct up_queue_slot slots[UP_QUEUE_SLOTS] = {};
bool any_process = false; /* no target: every process counts */
__u64 no_slot = 0; /* counter: events of processes that found no free slot */

static __always_inline struct up_queue_slot *new_slot(const struct up_queue_process *process)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int target = any_process ? 0 : target_of_task(task);
	struct up_queue_slot *slot;
	__u32 index, *other;

	if (target < 0)
		return NULL;
	if (bpf_map_pop_elem(&free_slots, &index)) {
		__sync_fetch_and_add(&no_slot, 1);
		return NULL;
	}
	slot = &slots[index & (UP_QUEUE_SLOTS - 1)];
	slot->process_ns = task->group_leader->start_time;
	slot->pid = process->pid;
	slot->queue = process->queue;
	slot->target = target;
	if (bpf_map_update_elem(&processes, process, &index, BPF_NOEXIST) == 0)
		return slot;
	/* Another thread of the process was faster. */
	slot->pid = 0;
	bpf_map_push_elem(&free_slots, &index, 0);
	other = bpf_map_lookup_elem(&processes, process);
	return other ? &slots[*other & (UP_QUEUE_SLOTS - 1)] : NULL;
}

static __always_inline struct up_queue_slot *slot_of(__u32 queue)
{
	const struct up_queue_process process = { .pid = bpf_get_current_pid_tgid() >> 32, .queue = queue };
	__u32 *index = bpf_map_lookup_elem(&processes, &process);

	return index ? &slots[*index & (UP_QUEUE_SLOTS - 1)] : new_slot(&process);
}

static __always_inline void raise(__s64 *highest, __s64 level)
{
	for (int i = 0; i < RAISE_TRIES; i++) {
		const __s64 seen = *(volatile __s64 *)highest;

		if (level <= seen || __sync_val_compare_and_swap(highest, seen, level) == seen)
			return;
	}
}

static __always_inline void lower(__s64 *lowest, __s64 level)
{
	for (int i = 0; i < RAISE_TRIES; i++) {
		const __s64 seen = *(volatile __s64 *)lowest;

		if (level >= seen || __sync_val_compare_and_swap(lowest, seen, level) == seen)
			return;
	}
}

static __always_inline void put(struct up_queue_slot *slot)
{
	const __u64 now_ns = bpf_ktime_get_ns();

	__sync_fetch_and_add(&slot->begun, 1);
	__sync_fetch_and_add(&slot->put, 1);
	__sync_fetch_and_add(&slot->put_ns, now_ns);
	raise(&slot->highest, __sync_fetch_and_add(&slot->level, 1) + 1);
	__sync_fetch_and_add(&slot->ended, 1);
}

static __always_inline void take(struct up_queue_slot *slot, __u64 now_ns)
{
	__sync_fetch_and_add(&slot->begun, 1);
	__sync_fetch_and_add(&slot->taken, 1);
	__sync_fetch_and_add(&slot->taken_ns, now_ns);
	lower(&slot->lowest, __sync_fetch_and_add(&slot->level, -1) - 1);
	__sync_fetch_and_add(&slot->ended, 1);
}

static __always_inline void put_item(struct up_queue_slot *slot, const struct up_queue_item *item)
{
	const __u64 now_ns = bpf_ktime_get_ns();
	const long r = bpf_map_update_elem(&items, item, &now_ns, BPF_NOEXIST);

	/* One function of a pair that calls the other: the item is counted once. */
	if (r == 0)
		put(slot);
	else if (r != -17 /* EEXIST */)
		__sync_fetch_and_add(&slot->lost, 1);
}

static __always_inline void take_item(struct up_queue_slot *slot, const struct up_queue_item *item, bool cancel)
{
	const __u64 *since_ns = bpf_map_lookup_elem(&items, item);
	const __u64 now_ns = bpf_ktime_get_ns();
	__u64 put_ns;

	if (!since_ns) {
		if (!cancel)
			__sync_fetch_and_add(&slot->earlier, 1);
		return;
	}
	put_ns = *since_ns;
	if (bpf_map_delete_elem(&items, item))
		return;
	__sync_fetch_and_add(&slot->waited_ns, now_ns - put_ns);
	if (cancel)
		__sync_fetch_and_add(&slot->cancelled, 1);
	take(slot, now_ns);
}

static __always_inline void enter(struct up_queue_slot *slot, __u32 queue)
{
	const struct up_queue_process thread = { .pid = (__u32)bpf_get_current_pid_tgid(), .queue = queue };
	const __u64 now_ns = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&calls, &thread, &now_ns, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&slot->inside, 1);
}

static __always_inline void leave(struct up_queue_slot *slot, __u32 queue)
{
	const struct up_queue_process thread = { .pid = (__u32)bpf_get_current_pid_tgid(), .queue = queue };

	const __u64 *since_ns = bpf_map_lookup_elem(&calls, &thread);

	if (!since_ns)
		return;
	raise((__s64 *)&slot->longest_ns, bpf_ktime_get_ns() - *since_ns);
	if (bpf_map_delete_elem(&calls, &thread) == 0)
		__sync_fetch_and_add(&slot->inside, -1);
}

SEC("uprobe")
int up_queue_entry(struct pt_regs *ctx)
{
	const __u64 cookie = bpf_get_attach_cookie(ctx);
	const __u32 queue = cookie & 0xff, role = cookie >> 8 & 0xff, argument = cookie >> 24 & 0xff;
	struct up_queue_slot *slot = slot_of(queue);
	struct up_queue_item item = { .pid = bpf_get_current_pid_tgid() >> 32, .queue = queue };
	__u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx);

	if (!slot)
		return 0;
	/* The verifier wants registers read at fixed places: both are read before one is chosen. */
	barrier_var(first);
	barrier_var(second);
	item.address = (argument == 1 ? first : second) + (cookie >> 32);
	if (role == UP_QUEUE_PUT && argument)
		put_item(slot, &item);
	else if (role == UP_QUEUE_PUT)
		put(slot);
	else if (role == UP_QUEUE_TAKE && !argument)
		take(slot, bpf_ktime_get_ns());
	else if (role == UP_QUEUE_TAKE || role == UP_QUEUE_CANCEL)
		take_item(slot, &item, role == UP_QUEUE_CANCEL);
	else if (role == UP_QUEUE_ENTER)
		enter(slot, queue);
	return 0;
}

SEC("uretprobe")
int up_queue_return(struct pt_regs *ctx)
{
	const __u64 cookie = bpf_get_attach_cookie(ctx);
	const __u32 queue = cookie & 0xff, role = cookie >> 8 & 0xff;
	struct up_queue_slot *slot = slot_of(queue);

	if (!slot)
		return 0;
	if (role == UP_QUEUE_TAKE && cookie & UP_QUEUE_COOKIE_NONNULL)
		leave(slot, queue);
	if (cookie & UP_QUEUE_COOKIE_NONNULL && PT_REGS_RC(ctx) == 0)
		return 0;
	if (role == UP_QUEUE_PUT)
		put(slot);
	else if (role == UP_QUEUE_TAKE)
		take(slot, bpf_ktime_get_ns());
	return 0;
}
