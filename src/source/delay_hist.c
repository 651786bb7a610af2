/* Histogram of waits: 8 buckets per octave. Below 8 ns a bucket is one nanosecond; bucket 255 begins at 15 * 2^30 ns (16.1 s). */
#include <math.h>

#include "useprobe/delay.h"

#define SUB_BITS 3u

unsigned up_delay_bucket(uint64_t ns)
{
	if (ns < (1u << SUB_BITS))
		return (unsigned)ns;
	const unsigned octave = 63u - (unsigned)__builtin_clzll(ns);
	const unsigned bucket =
		((octave - SUB_BITS + 1) << SUB_BITS) + (unsigned)((ns >> (octave - SUB_BITS)) & ((1u << SUB_BITS) - 1));

	return bucket < UP_DELAY_BUCKETS ? bucket : UP_DELAY_BUCKETS - 1;
}

double up_delay_bucket_ns(unsigned bucket)
{
	if (bucket < (1u << SUB_BITS))
		return bucket;
	return ldexp((double)((1u << SUB_BITS) + (bucket & ((1u << SUB_BITS) - 1))), (int)(bucket >> SUB_BITS) - 1);
}

double up_delay_percentile_ns(const uint64_t *prev, const uint64_t *cur, double p)
{
	uint64_t total = 0, seen = 0;

	for (unsigned i = 0; i < UP_DELAY_BUCKETS; i++)
		total += cur[i] - (prev ? prev[i] : 0);
	if (total == 0)
		return NAN;
	const double exact = ceil(p / 100.0 * (double)total);
	const uint64_t rank = exact < 1 ? 1 : exact > (double)total ? total : (uint64_t)exact;

	for (unsigned i = 0; i < UP_DELAY_BUCKETS; i++) {
		seen += cur[i] - (prev ? prev[i] : 0);
		if (seen < rank)
			continue;
		/* The middle of the bucket; one-nanosecond buckets are exact, and the last has no upper edge. */
		if (i < (1u << SUB_BITS) || i == UP_DELAY_BUCKETS - 1)
			return up_delay_bucket_ns(i);
		return (up_delay_bucket_ns(i) + up_delay_bucket_ns(i + 1)) / 2;
	}
	return NAN;
}
