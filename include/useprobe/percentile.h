/* Percentiles that are what they say: nearest rank, from every value (up to two million) or from a histogram (then said so). */
#ifndef UP_PERCENTILE_H
#define UP_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/histogram.h"

/* A distribution of latencies in one of two forms. Exact: SORTED points at ascending `packed` values (points.h), STRIDE words apart.
 * Histogram: HIST over all requests and HIST_OK over those that did not fail. */
struct up_dist {
	uint64_t n;
	const uint64_t *sorted; /* [n * stride] or NULL; borrowed, or `owned` */
	size_t stride;
	struct up_hist *hist; /* NULL in the exact form */
	struct up_hist *hist_ok;
	uint64_t *owned; /* freed by up_dist_done, as are the histograms when own_hist is set */
	bool own_hist;
};

enum up_quantile_index { UP_P50, UP_P90, UP_P95, UP_P99, UP_P999, UP_QUANTILES };
extern const struct up_quantile_name {
	double percent;
	const char *name; /* "p99.9", as in the JSON */
} up_quantile_names[UP_QUANTILES];

enum { UP_TAIL_MIN = 10 }; /* fewer samples beyond a percentile than this make it unreliable */

struct up_quantile {
	double ms; /* nearest rank */
	uint64_t tail_n; /* samples of higher rank: n - rank */
	double linear_ms; /* as k6 prints it: between the neighbours of (n - 1) p */
	double lo_ms, hi_ms; /* where only counts in buckets are known: ms lies in between; NAN else */
	double jmeter_ms; /* as JMeter's report prints it: between the neighbours of (n + 1) p */
};

struct up_summary {
	uint64_t n, failed, late;
	bool failed_known; /* false: the file does not tell, `failed` means nothing */
	bool exact;
	double mean_ms, sd_ms, min_ms, max_ms; /* NAN when n is 0 */
	double mean_share; /* share of requests at or below the mean */
	struct up_quantile q[UP_QUANTILES];
	struct {
		uint64_t n;
		double mean_ms, max_ms, ms[UP_QUANTILES];
	} ok_only; /* valid when failed_known */
};

/* Nearest rank of PERCENT among N: ceil(percent / 100 * n), at least 1; the rounding of a decimal PERCENT such as 99.9 does not move it. */
uint64_t up_rank(double percent, uint64_t n);
/* Value at 1-based RANK, in ns. RANK must be 1..n. */
uint64_t up_dist_at_rank(const struct up_dist *dist, uint64_t rank);
/* Samples at or below VALUE_NS (a histogram counts the bucket of VALUE_NS as a whole). */
uint64_t up_dist_count_le(const struct up_dist *dist, uint64_t value_ns);
/* Share of requests at or below MS; NAN without requests. */
double up_dist_share_le(const struct up_dist *dist, double ms);
/* Everything of a summary. With n = 0 all numbers are NAN. */
void up_dist_summary(const struct up_dist *dist, bool failed_known, struct up_summary *ret_summary);
/* Frees what DIST owns. */
void up_dist_done(struct up_dist *dist);

/* Bars of a histogram for people: logarithmic, four a decade (1, 1.8, 3.2, 5.6), from the bar of the minimum to that of the maximum. */
enum { UP_BARS_MAX = 64 };
struct up_bar {
	double lo_ms, hi_ms; /* [lo, hi) */
	uint64_t n;
};
/* Fills BARS and returns their number, 0 without requests. */
size_t up_dist_bars(const struct up_dist *dist, struct up_bar bars[UP_BARS_MAX]);

/* What the shape of a distribution gives away. */
enum up_mode_kind { UP_MODE_DELAYED_ACK, UP_MODE_TIMEOUT };
struct up_mode {
	enum up_mode_kind kind;
	double at_ms; /* where the cluster lies: its median */
	uint64_t n;
	double share;
};
enum { UP_MODES_MAX = 8 };
/* Recognises a cluster 36 to 46 ms above the median (the delayed acknowledgement of TCP is 40 ms) with an empty gap before it, and piles within
 * 2 % above a round time-out (1, 2, 5, 10, 15, 20, 30, 60, 90, 100, 120, 300 s). Returns how many of MODES were filled. */
size_t up_dist_modes(const struct up_dist *dist, struct up_mode modes[UP_MODES_MAX]);

#endif
