/* A mergeable log-linear histogram of latencies: 512 buckets an octave, so a value read back is at most 1/1024 (below 0.1 %) away
 * from the one recorded. The idea is that of Gil Tene's HdrHistogram; the layout is our own. Values below 512 ns are kept exactly. */
#ifndef UP_HISTOGRAM_H
#define UP_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
	UP_HIST_SUB = 512, /* buckets an octave */
	UP_HIST_PAGES = 40, /* page 0 is [0, 512) ns, page k is [2^(k+8), 2^(k+9)) ns */
};
#define UP_HIST_MAX_NS ((UINT64_C(1) << 48) - 1) /* 78 hours; larger values are refused */

struct up_hist {
	uint64_t n; /* counter */
	unsigned __int128 sum_ns; /* exact, so that merging is associative */
	uint64_t min_ns, max_ns; /* valid when n > 0 */
	uint64_t *page[UP_HIST_PAGES]; /* [UP_HIST_SUB] counts; owned, NULL while nothing fell there */
};

/* All-zero is an empty histogram, so no init is needed. Frees the pages; NULL is fine. */
void up_hist_done(struct up_hist *hist);
/* Adds COUNT samples of VALUE_NS. 0, -ERANGE above UP_HIST_MAX_NS, -ENOMEM. */
int up_hist_add(struct up_hist *hist, uint64_t value_ns, uint64_t count);
/* Adds every count of FROM to HIST. Associative and commutative in n, sum, extremes and counts. 0 or -ENOMEM (HIST then holds a part). */
int up_hist_merge(struct up_hist *hist, const struct up_hist *from);
/* Value at 1-based RANK (1..n): the middle of its bucket, kept within [min, max]; rank n gives max exactly. 0 for an empty histogram. */
uint64_t up_hist_at_rank(const struct up_hist *hist, uint64_t rank);
/* How many samples are at or below VALUE_NS, counting the bucket VALUE_NS falls in as a whole. */
uint64_t up_hist_count_le(const struct up_hist *hist, uint64_t value_ns);
/* Calls VISIT with the bounds [lo, hi] and the count of each bucket that is not empty, ascending. */
void up_hist_each(
	const struct up_hist *hist, void (*visit)(void *ctx, uint64_t lo_ns, uint64_t hi_ns, uint64_t count), void *ctx);

#endif
