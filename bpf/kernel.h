/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * The kernel types our programs touch, with only the fields they read: no BTF is needed to build. CO-RE finds each field's place in the
 * running kernel at load time. Fields that some kernel lacks stand in core_compat.bpf.h behind an existence test. */
#ifndef UP_BPF_KERNEL_H
#define UP_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_group {
	struct cgroup_subsys_state css;
};

struct rq {
	__u64 clock; /* the clock run_delay is made of; bpf_ktime_get_ns() is another one */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u64 exec_start;
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* set for every scheduling class (set_task_rq), CONFIG_FAIR_GROUP_SCHED */
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued; /* 0 while not queued */
};

struct task_struct {
	int prio;
	int pid;
	int tgid;
	unsigned int flags;
	int exit_state; /* 0 while it lives */
	void *stack;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time; /* CLOCK_MONOTONIC, ns */
	struct task_struct *group_leader;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group; /* CONFIG_CGROUP_SCHED */
	struct css_set *cgroups;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
