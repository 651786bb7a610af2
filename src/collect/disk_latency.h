/* What the row of a disk says of its requests' time at the device. Private to src/collect. */
#ifndef UP_DISK_LATENCY_H
#define UP_DISK_LATENCY_H

#include "useprobe/blocks.h"
#include "useprobe/collector.h"

/* Part of a sample; without the programs count is 0 and error says why. */
struct disk_latency {
	struct up_block_disk *disks; /* [count], of the arena */
	size_t count;
	struct up_u64 lost;
	const char *reason; /* NULL when they are there */
	int error;
};

/* 0, -ENOSPC. */
UP_MUST_CHECK int disk_latency_read(struct up_env *env, struct up_arena *arena, struct disk_latency *ret);
/* NULL when the disk has completed no request. */
const struct up_block_disk *disk_latency_find(const struct disk_latency *latency, unsigned major, unsigned minor);
/* Adds percentiles of the requests completed between P and C (either may be NULL), or why there are none. Pure. */
void disk_latency_describe(struct up_detail *detail, const struct disk_latency *cur, const struct disk_latency *prev,
	const struct up_block_disk *p, const struct up_block_disk *c);
/* Requests that failed in the window. HAS_PREV: there was a sample before, whether or not the disk was in it. */
struct up_value disk_latency_failed(bool has_prev, const struct up_block_disk *p, const struct up_block_disk *c);

#endif
