/* Reading what bpf/delay.bpf.c counts: once a tick the waits in progress, then each target's sums. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf_session.h"
#include "delay_bpf_internal.h"

/* The walk may cost this share of the time between two ticks; beyond it, three times in a row, it is given up for the run. */
#define WALK_STRIKES 3
#define QUOTA_STALE_NS 60000000000ull

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Gives up entries of queues that no longer throttle, when the map fills. */
static void quotas_sweep(struct up_delay_bpf *bpf)
{
	const int fd = bpf_map__fd(bpf->skeleton->maps.quotas);
	const uint64_t clock = now_ns() + (uint64_t)bpf->skeleton->bss->clock_offset;
	struct up_quota_queue queue;
	__u64 key, next;
	bool more = bpf_map_get_next_key(fd, NULL, &next) == 0;

	if (bpf->skeleton->bss->quota_queues < bpf->quota_queues / 4 * 3)
		return;
	while (more) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next) == 0;
		if (bpf_map_lookup_elem(fd, &key, &queue) == 0 && queue.seen_clock + QUOTA_STALE_NS < clock &&
			bpf_map_delete_elem(fd, &key) == 0)
			__atomic_sub_fetch(&bpf->skeleton->bss->quota_queues, 1, __ATOMIC_RELAXED);
	}
}

static void walk_tasks(struct up_delay_bpf *bpf)
{
	const int fd = bpf_iter_create(bpf_link__fd(bpf->walk));
	char none[16];
	ssize_t n;

	memset(bpf->pending, 0, UP_CELLS * sizeof(*bpf->pending));
	if (fd < 0)
		return;
	do
		n = read(fd, none, sizeof(none)); /* the program writes nothing; EAGAIN: a million tasks later, go on */
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
}

void up_delay_bpf_refresh(struct up_delay_bpf *bpf)
{
	const uint64_t start_ns = now_ns(), since_ns = bpf->walked_at_ns ? start_ns - bpf->walked_at_ns : 0;
	uint64_t cost_ns;

	quotas_sweep(bpf);
	up_delay_rivals_read(&bpf->rivals, bpf_map__fd(bpf->skeleton->maps.rivals));
	/* Before the first switch of ours the clocks have not been compared. */
	if (bpf->walk && bpf->skeleton->bss->clock_known) {
		walk_tasks(bpf);
		cost_ns = now_ns() - start_ns;
		bpf->strikes = since_ns && (double)cost_ns > bpf->walk_share * (double)since_ns ? bpf->strikes + 1 : 0;
		if (bpf->strikes == WALK_STRIKES) {
			bpf_link__destroy(bpf->walk);
			bpf->walk = NULL;
			memset(bpf->pending, 0, UP_CELLS * sizeof(*bpf->pending));
		}
		bpf->skeleton->bss->clock_known = 0;
	}
	bpf->walked_at_ns = start_ns;
}

/* Waits still going on are known from the walk only. */
static const char *left_out(const struct up_delay_bpf *bpf)
{
	if (bpf->walk)
		return NULL;
	return bpf->strikes == WALK_STRIKES
		       ? "waits still going on: the walk over all tasks cost more than its budget three times in a row and was given up"
		       : "waits still going on: the kernel has no task iterator";
}

static void keep_rising(__u64 *last, __u64 *value)
{
	if (*value < *last)
		*value = *last;
	*last = *value;
}

void up_delay_bpf_read(struct up_delay_bpf *bpf, size_t index, uint64_t buckets[UP_DELAY_BUCKETS], struct up_delay_sample *ret)
{
	const uint32_t members = index == UP_TARGETS_MAX ? bpf->host_members : bpf->places[index].members;
	struct up_cell sum = { 0 };

	for (unsigned cpu = 0; cpu < bpf->cpus; cpu++) {
		for (unsigned cell = 0; cell < UP_CELLS; cell++) {
			const struct up_cell *one = &bpf->cells[cpu * UP_CELLS + cell];

			if (!(members >> cell & 1) || (one->waits == 0 && one->runs == 0))
				continue;
			for (size_t i = 0; i < UP_CELL_BUCKETS; i++)
				sum.bucket[i] += one->bucket[i];
			sum.waits += one->waits;
			sum.wait_ns += one->wait_ns;
			sum.throttled_ns += one->throttled_ns;
			sum.on_cpu_ns += one->on_cpu_ns;
		}
	}
	for (unsigned cell = 0; cell < UP_CELLS; cell++) {
		if (!(members >> cell & 1))
			continue;
		sum.wait_ns += bpf->pending[cell].wait_ns;
		sum.throttled_ns += bpf->pending[cell].throttled_ns;
		sum.on_cpu_ns += bpf->pending[cell].on_cpu_ns;
	}
	keep_rising(&bpf->last[index].wait_ns, &sum.wait_ns);
	keep_rising(&bpf->last[index].throttled_ns, &sum.throttled_ns);
	keep_rising(&bpf->last[index].on_cpu_ns, &sum.on_cpu_ns);
	memcpy(buckets, sum.bucket, sizeof(sum.bucket));
	*ret = (struct up_delay_sample){
		.method = UP_DELAY_BPF,
		.lower_bound = !bpf->walk,
		.left_out = left_out(bpf),
		.wait_ns = { sum.wait_ns, true },
		.throttled_ns = { sum.throttled_ns, true },
		.on_cpu_ns = { sum.on_cpu_ns, true },
		.waits = { sum.waits, true },
		.buckets = buckets,
		.dropped = { bpf->skeleton->bss->quota_dropped, true },
		.bpf_run_ns = up_bpf_run_ns(up_delay_bpf_fd(bpf)),
		/* Given up for its cost, or a kernel without task iterators. */
		.source = bpf->walk ? "tp_btf/sched_switch" : "tp_btf/sched_switch, only waits that ended",
	};
	if (index < UP_TARGETS_MAX)
		ret->competitor = up_delay_rivals_name(&bpf->rivals, bpf->places[index].cell, bpf->primary, &ret->competitor_ns);
}
