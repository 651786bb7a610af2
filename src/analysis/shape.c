/* The shape of a distribution: bars for people, and clusters that have a known cause. */
#include <math.h>

#include "useprobe/percentile.h"

enum { BARS_A_DECADE = 4 };

static uint64_t ns_of(double ms)
{
	double ns = ms * 1e6;

	return ns <= 0 ? 0 : ns >= (double)UP_HIST_MAX_NS ? UP_HIST_MAX_NS : (uint64_t)ns;
}

/* Samples below MS (a value of exactly MS is not). */
static uint64_t count_below(const struct up_dist *dist, double ms)
{
	uint64_t ns = ns_of(ms);

	return ns == 0 ? 0 : up_dist_count_le(dist, ns - 1);
}

size_t up_dist_bars(const struct up_dist *dist, struct up_bar bars[UP_BARS_MAX])
{
	double min_ms, max_ms;
	int first, last;
	size_t n = 0;
	uint64_t below = 0;

	if (dist->n == 0)
		return 0;
	min_ms = (double)up_dist_at_rank(dist, 1) / 1e6;
	max_ms = (double)up_dist_at_rank(dist, dist->n) / 1e6;
	first = (int)floor(BARS_A_DECADE * log10(min_ms > 1e-3 ? min_ms : 1e-3));
	last = (int)floor(BARS_A_DECADE * log10(max_ms > 1e-3 ? max_ms : 1e-3));
	for (int i = first; i <= last && n < UP_BARS_MAX; i++) {
		double lo = n == 0 && min_ms < 1e-3 ? 0 : pow(10, (double)i / BARS_A_DECADE),
		       hi = pow(10, (double)(i + 1) / BARS_A_DECADE);
		uint64_t upto = i == last ? dist->n : count_below(dist, hi);

		bars[n] = (struct up_bar){ .lo_ms = lo, .hi_ms = hi, .n = upto - below };
		n++;
		below = upto;
	}
	return n;
}

static double median_between_ms(const struct up_dist *dist, uint64_t below, uint64_t upto)
{
	return (double)up_dist_at_rank(dist, below + (upto - below + 1) / 2) / 1e6;
}

/* Linux holds an acknowledgement back for 40 ms (TCP_DELACK_MIN in include/net/tcp.h); a request cut in two small writes waits for it. */
static size_t find_delayed_ack(const struct up_dist *dist, struct up_mode *mode)
{
	const double p50 = (double)up_dist_at_rank(dist, up_rank(50, dist->n)) / 1e6;
	double base = p50;
	uint64_t at_lo, at_hi, gap;

	if (p50 >= 36 && p50 < 60) /* the median itself may be the cluster: look from the fastest tenth */
		base = (double)up_dist_at_rank(dist, up_rank(5, dist->n)) / 1e6;
	if (base >= 30)
		return 0;
	at_lo = count_below(dist, base + 36);
	at_hi = count_below(dist, base + 46);
	gap = at_lo - count_below(dist, base + 20);
	if (at_hi - at_lo < UP_TAIL_MIN || (double)(at_hi - at_lo) < 0.005 * (double)dist->n || (at_hi - at_lo) < 4 * gap)
		return 0;
	*mode = (struct up_mode){
		.kind = UP_MODE_DELAYED_ACK, .at_ms = median_between_ms(dist, at_lo, at_hi), .n = at_hi - at_lo
	};
	return 1;
}

static size_t find_timeout(const struct up_dist *dist, double at_s, struct up_mode *mode)
{
	const double at_ms = at_s * 1e3;
	uint64_t lo = count_below(dist, at_ms * 0.999), hi = count_below(dist, at_ms * 1.02);
	uint64_t before = lo - count_below(dist, at_ms * 0.979), after = count_below(dist, at_ms * 1.05) - hi;

	/* A pile: many more than in the equally wide windows before it and behind it. */
	if (hi - lo < 5 || (hi - lo) < 4 * before || (hi - lo) < 4 * after)
		return 0;
	*mode = (struct up_mode){ .kind = UP_MODE_TIMEOUT, .at_ms = at_ms, .n = hi - lo };
	return 1;
}

size_t up_dist_modes(const struct up_dist *dist, struct up_mode modes[UP_MODES_MAX])
{
	static const double round_s[] = { 1, 2, 3, 5, 10, 15, 20, 30, 60, 90, 100, 120, 300 };
	size_t n = 0;

	if (dist->n == 0)
		return 0;
	n += find_delayed_ack(dist, &modes[n]);
	for (size_t i = 0; i < sizeof(round_s) / sizeof(*round_s) && n < UP_MODES_MAX; i++)
		n += find_timeout(dist, round_s[i], &modes[n]);
	for (size_t i = 0; i < n; i++)
		modes[i].share = (double)modes[i].n / (double)dist->n;
	return n;
}
