/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * The histogram of all our programs: 8 buckets per octave, the same as up_delay_bucket() in user space. */
#ifndef UP_BPF_BUCKET_H
#define UP_BPF_BUCKET_H

#include <bpf/bpf_helpers.h>

#define UP_BUCKETS 256
#define SUB_BITS 3

/* Position of the highest set bit by a de Bruijn product: without branches, whose paths the verifier would all follow. */
static const __u8 highest_bit[64] = { 0, 58, 1, 59, 47, 53, 2, 60, 39, 48, 27, 54, 33, 42, 3, 61, 51, 37, 40, 49, 18, 28, 20, 55,
	30, 34, 11, 43, 14, 22, 4, 62, 57, 46, 52, 38, 26, 32, 41, 50, 36, 17, 19, 29, 10, 13, 21, 56, 45, 25, 31, 35, 16, 9, 12,
	44, 24, 15, 8, 23, 7, 6, 5, 63 };

static __always_inline __u64 log2_floor(__u64 value)
{
	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value |= value >> 32;
	return highest_bit[(value * 0x03f6eaf2cd271461ull) >> 58];
}

/* The same as up_delay_bucket() in user space. */
static __always_inline __u64 bucket_of(__u64 ns)
{
	__u64 octave, bucket;

	if (ns < (1 << SUB_BITS))
		return ns;
	octave = log2_floor(ns);
	bucket = ((octave - SUB_BITS + 1) << SUB_BITS) + ((ns >> (octave - SUB_BITS)) & ((1 << SUB_BITS) - 1));
	return bucket < UP_BUCKETS ? bucket : UP_BUCKETS - 1;
}

#endif
