/* Blocks: how long the disks take for their requests, from the kernel's block tracepoints (bpf/blocks.bpf.c). Needs BTF, CAP_BPF,
 * CAP_PERFMON, Linux 5.12. Devices without requests of their own (dm, md, zram) do not appear: those below them do. */
#ifndef UP_BLOCKS_H
#define UP_BLOCKS_H

#include "useprobe/arena.h"
#include "useprobe/scan.h"
#include "useprobe/source.h"

#define UP_BLOCKS_BUCKETS 256 /* as UP_DELAY_BUCKETS */

struct up_blocks;

/* Requests of one direction from their issue to the driver to their completion. */
struct up_block_times {
	struct up_u64 done; /* counter */
	struct up_u64 failed; /* counter: done with an error */
	struct up_u64 time_ns; /* counter: summed */
	const uint64_t *buckets; /* [UP_BLOCKS_BUCKETS] counter, borrowed from the arena; up_delay_percentile_ns reads it */
};

struct up_block_disk {
	unsigned major, minor;
	struct up_block_times read, write;
};

/* 0; -EACCES, -ENOTSUP, ... with the reason in REASON. */
UP_MUST_CHECK int up_blocks_new(const struct up_source *source, struct up_blocks **ret, char *reason, size_t reason_size);
void up_blocks_free(struct up_blocks *blocks);
/* All disks that completed something since the start, copied into ARENA. 0, -ENOSPC. *RET_LOST: requests that could not be followed. */
UP_MUST_CHECK int up_blocks_read(
	struct up_blocks *blocks, struct up_arena *arena, struct up_block_disk **ret, size_t *ret_count, struct up_u64 *ret_lost);

#endif
