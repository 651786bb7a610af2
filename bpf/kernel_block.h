/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * The kernel types of the block layer that we touch, as in kernel.h. */
#ifndef UP_BPF_KERNEL_BLOCK_H
#define UP_BPF_KERNEL_BLOCK_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk; /* 5.15 and later; before, the request has it */
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
};

/* To 5.16 (commit f3fa33acca9f). */
struct request___disk {
	struct gendisk *rq_disk;
};

#pragma clang attribute pop

#endif
