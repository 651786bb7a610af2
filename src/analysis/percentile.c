/* Summaries of a distribution. Everything is counted in ranks, so the exact and the histogram form share one code. */
#include <math.h>
#include <stdlib.h>

#include "useprobe/percentile.h"
#include "useprobe/points.h"

const struct up_quantile_name up_quantile_names[UP_QUANTILES] = {
	[UP_P50] = { 50, "p50" },
	[UP_P90] = { 90, "p90" },
	[UP_P95] = { 95, "p95" },
	[UP_P99] = { 99, "p99" },
	[UP_P999] = { 99.9, "p99.9" },
};

static double ms_of(double ns)
{
	return ns / 1e6;
}

uint64_t up_rank(double percent, uint64_t n)
{
	/* 99.9 is not a binary fraction: 99.9 / 100 * 1000 comes out a little above 999. A double is within 1.2e-16 of its decimal. */
	const long double slack = 1 - 4e-16L;
	long double rank = ceill((long double)percent / 100 * (long double)n * slack);

	if (rank < 1)
		return n ? 1 : 0;
	return rank > (long double)n ? n : (uint64_t)rank;
}

uint64_t up_dist_at_rank(const struct up_dist *dist, uint64_t rank)
{
	if (dist->hist)
		return up_hist_at_rank(dist->hist, rank);
	return up_packed_latency_ns(dist->sorted[(rank - 1) * dist->stride]);
}

uint64_t up_dist_count_le(const struct up_dist *dist, uint64_t value_ns)
{
	uint64_t lo = 0, hi = dist->n;

	if (dist->hist)
		return up_hist_count_le(dist->hist, value_ns);
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (up_packed_latency_ns(dist->sorted[mid * dist->stride]) <= value_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

double up_dist_share_le(const struct up_dist *dist, double ms)
{
	if (dist->n == 0)
		return NAN;
	if (ms < 0)
		return 0;
	if (ms * 1e6 >= (double)UP_HIST_MAX_NS)
		return 1;
	return (double)up_dist_count_le(dist, (uint64_t)llround(ms * 1e6)) / (double)dist->n;
}

/* Value between the ranks around the 1-based position AT, by linear interpolation. */
static double between_ms(const struct up_dist *dist, double at)
{
	double below = floor(at), share = at - below;
	double lo, hi;

	if (at <= 1)
		return ms_of((double)up_dist_at_rank(dist, 1));
	if (at >= (double)dist->n)
		return ms_of((double)up_dist_at_rank(dist, dist->n));
	lo = ms_of((double)up_dist_at_rank(dist, (uint64_t)below));
	hi = ms_of((double)up_dist_at_rank(dist, (uint64_t)below + 1));
	return lo + share * (hi - lo);
}

static void quantiles(const struct up_dist *dist, struct up_summary *s)
{
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		double percent = up_quantile_names[i].percent;
		uint64_t rank = up_rank(percent, dist->n);

		s->q[i] = (struct up_quantile){
			.ms = ms_of((double)up_dist_at_rank(dist, rank)),
			.lo_ms = NAN,
			.hi_ms = NAN,
			.tail_n = dist->n - rank,
			.linear_ms = between_ms(dist, percent / 100 * (double)(dist->n - 1) + 1),
			.jmeter_ms = between_ms(dist, percent / 100 * (double)(dist->n + 1)),
		};
	}
}

struct moments {
	unsigned __int128 sum_ns, sum_ok_ns;
	uint64_t n_ok, last_ok_ns, late;
};

static struct moments moments_exact(const struct up_dist *dist)
{
	struct moments m = { 0 };

	for (uint64_t i = 0; i < dist->n; i++) {
		uint64_t packed = dist->sorted[i * dist->stride], ns = up_packed_latency_ns(packed);

		m.sum_ns += ns;
		m.late += (packed & UP_POINT_LATE) != 0;
		if (packed & UP_POINT_FAILED)
			continue;
		m.sum_ok_ns += ns;
		m.n_ok++;
		m.last_ok_ns = ns;
	}
	return m;
}

static double sd_exact(const struct up_dist *dist, double mean_ms)
{
	double sum = 0;

	for (uint64_t i = 0; i < dist->n; i++) {
		double d = ms_of((double)up_packed_latency_ns(dist->sorted[i * dist->stride])) - mean_ms;

		sum += d * d;
	}
	return sqrt(sum / (double)dist->n);
}

struct spread {
	double mean_ms, sum;
};

static void spread_add(void *ctx, uint64_t lo_ns, uint64_t hi_ns, uint64_t count)
{
	struct spread *spread = ctx;
	double d = ms_of(((double)lo_ns + (double)hi_ns) / 2) - spread->mean_ms;

	spread->sum += d * d * (double)count;
}

/* The percentiles of the successful requests alone: one pass over the sorted values, which are already in order. */
static void ok_quantiles_exact(const struct up_dist *dist, struct up_summary *s)
{
	uint64_t seen = 0, want[UP_QUANTILES];

	for (unsigned i = 0; i < UP_QUANTILES; i++)
		want[i] = up_rank(up_quantile_names[i].percent, s->ok_only.n);
	for (uint64_t k = 0; k < dist->n; k++) {
		uint64_t packed = dist->sorted[k * dist->stride];

		if (packed & UP_POINT_FAILED)
			continue;
		seen++;
		for (unsigned i = 0; i < UP_QUANTILES; i++) {
			if (want[i] == seen)
				s->ok_only.ms[i] = ms_of((double)up_packed_latency_ns(packed));
		}
	}
}

static void summary_exact(const struct up_dist *dist, struct up_summary *s)
{
	struct moments m = moments_exact(dist);

	s->mean_ms = ms_of((double)m.sum_ns / (double)dist->n);
	s->sd_ms = sd_exact(dist, s->mean_ms);
	s->min_ms = ms_of((double)up_dist_at_rank(dist, 1));
	s->max_ms = ms_of((double)up_dist_at_rank(dist, dist->n));
	s->failed = dist->n - m.n_ok;
	s->late = m.late;
	s->ok_only.n = m.n_ok;
	if (m.n_ok == 0)
		return;
	s->ok_only.mean_ms = ms_of((double)m.sum_ok_ns / (double)m.n_ok);
	s->ok_only.max_ms = ms_of((double)m.last_ok_ns);
	ok_quantiles_exact(dist, s);
}

static void summary_hist(const struct up_dist *dist, struct up_summary *s)
{
	const struct up_hist *all = dist->hist, *ok = dist->hist_ok;
	struct spread spread;

	s->mean_ms = ms_of((double)all->sum_ns / (double)all->n);
	spread = (struct spread){ .mean_ms = s->mean_ms };
	up_hist_each(all, spread_add, &spread);
	s->sd_ms = sqrt(spread.sum / (double)all->n);
	s->min_ms = ms_of((double)all->min_ns);
	s->max_ms = ms_of((double)all->max_ns);
	s->ok_only.n = ok ? ok->n : 0;
	s->failed = all->n - s->ok_only.n;
	if (!ok || ok->n == 0)
		return;
	s->ok_only.mean_ms = ms_of((double)ok->sum_ns / (double)ok->n);
	s->ok_only.max_ms = ms_of((double)ok->max_ns);
	for (unsigned i = 0; i < UP_QUANTILES; i++)
		s->ok_only.ms[i] = ms_of((double)up_hist_at_rank(ok, up_rank(up_quantile_names[i].percent, ok->n)));
}

static void summary_none(struct up_summary *s)
{
	s->mean_ms = s->sd_ms = s->min_ms = s->max_ms = s->mean_share = NAN;
	s->ok_only.mean_ms = s->ok_only.max_ms = NAN;
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		s->q[i] = (struct up_quantile){ .ms = NAN, .linear_ms = NAN, .jmeter_ms = NAN };
		s->ok_only.ms[i] = NAN;
	}
}

void up_dist_summary(const struct up_dist *dist, bool failed_known, struct up_summary *ret_summary)
{
	struct up_summary s = { .n = dist->n, .failed_known = failed_known, .exact = !dist->hist };

	summary_none(&s);
	if (dist->n > 0) {
		quantiles(dist, &s);
		if (dist->hist)
			summary_hist(dist, &s);
		else
			summary_exact(dist, &s);
		s.mean_share = up_dist_share_le(dist, s.mean_ms);
	}
	*ret_summary = s;
}

void up_dist_done(struct up_dist *dist)
{
	if (!dist)
		return;
	free(dist->owned);
	if (dist->own_hist) {
		up_hist_done(dist->hist);
		up_hist_done(dist->hist_ok);
		free(dist->hist);
		free(dist->hist_ok);
	}
	*dist = (struct up_dist){ 0 };
}
