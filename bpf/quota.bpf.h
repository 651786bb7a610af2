/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * Which part of a wait was spent behind a CPU quota (the task's own group's or an ancestor's).
 *
 * For every group run queue that has been throttled, the throttled time so far is kept as a function of the clock: a few corner points
 * (clock, throttled time), straight lines between them. The throttled part of a wait [queued, now] is f(now) - f(queued).
 *   6.6 and later:  the kernel counts it (throttled_clock_self and _self_time); we note its value at each switch.
 *   before:         throttle_count > 0 at a switch opens an interval; the first switch of that queue that finds it 0 ends it. */
#ifndef UP_BPF_QUOTA_H
#define UP_BPF_QUOTA_H

#include "core_compat.bpf.h"
#include "delay.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_QUOTA_QUEUES);
	__type(key, __u64); /* address of the cfs_rq, only as a name */
	__type(value, struct up_quota_queue);
} quotas SEC(".maps");

__u64 quota_dropped = 0; /* looks at queues that found no room in the map */
__u32 quota_queues = 0; /* entries made; user space takes off what it deletes */

static const struct up_quota_queue quota_new = {};

static __always_inline bool quota_counted(void)
{
	return bpf_core_field_exists(((struct cfs_rq___quota *)0)->throttled_clock_self_time);
}

/* Has this queue ever been throttled? Most have not, and cost no look-up. */
static __always_inline bool quota_touched(struct cfs_rq___quota *queue)
{
	struct cfs_rq___task_time *older = (void *)queue;

	if (quota_counted())
		return queue->throttled_clock_self_time || queue->throttled_clock_self;
	if (queue->throttle_count > 0)
		return true;
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return queue->throttled_clock_pelt_time;
	if (bpf_core_field_exists(older->throttled_clock_task_time))
		return older->throttled_clock_task_time;
	return false;
}

static __always_inline bool quota_is_open(struct cfs_rq___quota *queue)
{
	return quota_counted() ? queue->throttled_clock_self != 0 : queue->throttle_count > 0;
}

/* Throttled time at clock NOW; what was noted last is LAST. */
static __always_inline __u64 quota_value(struct cfs_rq___quota *queue, const struct up_quota_queue *last, __u64 now)
{
	if (quota_counted()) {
		const __u64 since = queue->throttled_clock_self;

		return queue->throttled_clock_self_time + (since && now > since ? now - since : 0);
	}
	return last->throttled_ns + (last->open && now > last->seen_clock ? now - last->seen_clock : 0);
}

static __always_inline void quota_push(struct up_quota_queue *kept, __u64 clock, __u64 throttled_ns)
{
	__u64 at = kept->points;

	barrier_var(at);
	at &= UP_QUOTA_POINTS - 1;
	kept->point[at].clock = clock;
	kept->point[at].throttled_ns = throttled_ns;
	kept->points++;
}

/* Notes the value at NOW: corners where the line begins and ends to rise. */
static __always_inline void quota_update(struct cfs_rq___quota *queue, struct up_quota_queue *kept, __u64 now)
{
	const __u64 value = quota_value(queue, kept, now);
	const bool open = quota_is_open(queue);

	if (value < kept->throttled_ns) { /* another queue at the same address */
		kept->points = 0;
	} else if (value > kept->throttled_ns) {
		__u64 end = now;

		/* Throttled at the last look: it rose from there on, one for one, until it was let go. */
		if (kept->open && kept->seen_clock + (value - kept->throttled_ns) < now)
			end = kept->seen_clock + (value - kept->throttled_ns);
		quota_push(kept, kept->seen_clock, kept->throttled_ns);
		quota_push(kept, end, value);
	} else if (open && !kept->open) {
		quota_push(kept, now, value);
	}
	kept->seen_clock = now;
	kept->throttled_ns = value;
	kept->open = open;
}

static __always_inline struct up_quota_queue *quota_keep(struct cfs_rq___quota *queue, __u64 now)
{
	const __u64 key = (__u64)queue;
	struct up_quota_queue *kept = bpf_map_lookup_elem(&quotas, &key);

	if (kept)
		return kept;
	if (bpf_map_update_elem(&quotas, &key, &quota_new, BPF_NOEXIST)) {
		__sync_fetch_and_add(&quota_dropped, 1);
		return 0;
	}
	__sync_fetch_and_add(&quota_queues, 1);
	kept = bpf_map_lookup_elem(&quotas, &key);
	if (!kept)
		return 0;
	/* First look: what came before is unknown, but a throttle that is going on tells when it began. */
	kept->throttled_ns = quota_counted() ? queue->throttled_clock_self_time : 0;
	kept->seen_clock = quota_counted() && queue->throttled_clock_self ? queue->throttled_clock_self : now;
	kept->open = quota_is_open(queue);
	return kept;
}

/* Value at clock WHEN, from the corner points; those older than the oldest point count as it. */
static __always_inline __u64 quota_value_at(const struct up_quota_queue *kept, __u64 when)
{
	__u64 later_clock = kept->seen_clock, later = kept->throttled_ns;
	const __u32 points = kept->points;

	for (__u32 i = 1; i <= UP_QUOTA_POINTS; i++) {
		__u64 at = points - i;
		__u64 clock, value;

		if (when >= later_clock || i > points)
			break;
		barrier_var(at);
		at &= UP_QUOTA_POINTS - 1;
		clock = kept->point[at].clock;
		value = kept->point[at].throttled_ns;
		if (when >= clock) {
			const __u64 rise = later - value, span = later_clock - clock;

			if (rise == 0 || span == 0)
				return value;
			/* Times of one queue lie within hours: microseconds keep the product inside 64 bits. */
			return rise >= span ? value + (when - clock)
					    : value + ((when - clock) >> 10) * (rise >> 10) / ((span >> 10) + 1) * 1024;
		}
		later_clock = clock;
		later = value;
	}
	return later;
}

/* The task leaves its CPU at NOW. */
static __always_inline void quota_note(struct task_struct *task, __u64 now)
{
	struct cfs_rq___quota *queue = (void *)task->se.cfs_rq;
	struct up_quota_queue *kept;

	if (!quota_touched(queue) || task->prio < UP_MAX_RT_PRIO)
		return;
	kept = quota_keep(queue, now);
	if (kept)
		quota_update(queue, kept, now);
}

/* The task got a CPU at NOW after waiting since QUEUED. */
static __always_inline __u64 quota_part(struct task_struct *task, __u64 queued, __u64 now)
{
	struct cfs_rq___quota *queue = (void *)task->se.cfs_rq;
	struct up_quota_queue *kept;
	__u64 before, part;

	if (!quota_touched(queue) || task->prio < UP_MAX_RT_PRIO)
		return 0;
	kept = quota_keep(queue, now);
	if (!kept)
		return 0;
	quota_update(queue, kept, now);
	before = quota_value_at(kept, queued);
	part = kept->throttled_ns > before ? kept->throttled_ns - before : 0;
	return part < now - queued ? part : now - queued;
}

/* The same for a task that still waits: looks without noting. */
static __always_inline __u64 quota_part_seen(struct task_struct *task, __u64 queued, __u64 now)
{
	struct cfs_rq___quota *queue = (void *)task->se.cfs_rq;
	const __u64 key = (__u64)queue;
	struct up_quota_queue *kept;
	__u64 before, value, part;

	if (!quota_touched(queue) || task->prio < UP_MAX_RT_PRIO)
		return 0;
	kept = bpf_map_lookup_elem(&quotas, &key);
	if (!kept)
		return 0;
	value = quota_value(queue, kept, now);
	before = quota_value_at(kept, queued);
	part = value > before ? value - before : 0;
	return part < now - queued ? part : now - queued;
}

/* Does a quota hold the task's queue right now? */
static __always_inline __u32 quota_held(struct task_struct *task)
{
	struct cfs_rq___quota *queue = (void *)task->se.cfs_rq;

	return quota_touched(queue) && quota_is_open(queue) && task->prio >= UP_MAX_RT_PRIO;
}

#endif
