/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What blocks.bpf.c and src/source/blocks.c share: one slot for each disk. */
#ifndef UP_BPF_BLOCKS_H
#define UP_BPF_BLOCKS_H

#include <linux/types.h>

#define UP_BLOCK_SLOTS 64 /* disks; a power of two: the program masks the index */
#define UP_BLOCK_BUCKETS 256
#define UP_BLOCK_REQUESTS 16384 /* at the devices at one time */

enum up_block_direction { UP_BLOCK_READ, UP_BLOCK_WRITE, UP_BLOCK_DIRECTIONS };

struct up_block_slot {
	__u64 done[UP_BLOCK_DIRECTIONS]; /* counter */
	__u64 failed[UP_BLOCK_DIRECTIONS]; /* counter: done with an error */
	__u64 time_ns[UP_BLOCK_DIRECTIONS]; /* counter: from issue to completion, summed */
	__u64 bucket[UP_BLOCK_DIRECTIONS][UP_BLOCK_BUCKETS]; /* counter: by length, 8 buckets an octave */
};
_Static_assert(sizeof(struct up_block_slot) == 2 * (3 + 256) * 8, "up_block_slot");

#endif
