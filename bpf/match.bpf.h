/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Whose task is it? By process, by the group of the cpu controller (v1), by the v2 group; descendants belong to the target. */
#ifndef UP_BPF_MATCH_BPF_H
#define UP_BPF_MATCH_BPF_H

#include "kernel.h"
#include "match.h"

#include <bpf/bpf_helpers.h>

#define UP_MATCH_DEPTH 24 /* levels of cgroups looked at above a task */

/* Cgroups of the targets to the target's number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct up_match_key);
	__type(value, __u32);
} groups SEC(".maps");

struct up_match_config match = {};

static __always_inline __u32 *find_group(struct cgroup *group, __u32 family)
{
	for (int i = 0; i < UP_MATCH_DEPTH; i++) {
		struct up_match_key key = { .id = group->kn->id, .family = family };
		__u32 *target = bpf_map_lookup_elem(&groups, &key);

		if (target)
			return target;
		if (group->level <= 0)
			break;
		group = group->self.parent->cgroup;
	}
	return NULL;
}

/* Number of the target TASK belongs to, -1 when it is nobody's. */
static __always_inline int target_of_task(struct task_struct *task)
{
	__u32 *target = NULL;

	for (int i = 0; i < UP_MATCH_PIDS; i++)
		if (i < match.pid_count && match.pid[i] == task->tgid)
			return match.pid_target[i];
	if (match.families & UP_MATCH_CPU)
		target = find_group(task->sched_task_group->css.cgroup, UP_MATCH_CPU);
	if (!target && match.families & UP_MATCH_V2)
		target = find_group(task->cgroups->dfl_cgrp, UP_MATCH_V2);
	return target ? *target : -1;
}

#endif
