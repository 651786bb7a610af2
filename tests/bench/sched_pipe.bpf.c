/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What sched_pipe.sh compares the product's program with: a program that does nothing, and the usual way of measuring run-queue waits
 * (a hash by thread, filled at wake-ups and when a task is preempted, emptied at the switch). */
#include <linux/types.h>

#include "bucket.bpf.h"
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sched_switch")
int BPF_PROG(empty_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, __u64);
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} waits SEC(".maps");

static __always_inline int begin(__u32 pid)
{
	const __u64 now = bpf_ktime_get_ns();

	if (pid)
		bpf_map_update_elem(&begun, &pid, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(hash_wakeup, struct task_struct *task)
{
	return begin(task->pid);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(hash_wakeup_new, struct task_struct *task)
{
	return begin(task->pid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(hash_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	const __u32 pid = next->pid;
	__u64 *since, *count;
	__u32 bucket;

	if (preempt)
		begin(prev->pid);
	since = bpf_map_lookup_elem(&begun, &pid);
	if (!since)
		return 0;
	bucket = bucket_of(bpf_ktime_get_ns() - *since) & 255;
	count = bpf_map_lookup_elem(&waits, &bucket);
	if (count)
		(*count)++;
	bpf_map_delete_elem(&begun, &pid);
	return 0;
}
