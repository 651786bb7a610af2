/* The two sides of `useprobe compare` against each other. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "compare.h"

const struct up_compare_figure_name up_compare_figures[UP_CMP_FIGURES] = {
	[UP_CMP_OFFERED] = { "offered_per_s", "offered", "/s", 0, false },
	[UP_CMP_ACHIEVED] = { "achieved_per_s", "completed", "/s", 1, false },
	[UP_CMP_FAILED] = { "failed_percent", "failed", "%", -1, false },
	[UP_CMP_DROPPED] = { "dropped_percent", "dropped", "%", -1, false },
	[UP_CMP_MEAN] = { "mean", "mean", "ms", -1, true },
	[UP_CMP_P50] = { "p50", "p50", "ms", -1, true },
	[UP_CMP_P90] = { "p90", "p90", "ms", -1, true },
	[UP_CMP_P95] = { "p95", "p95", "ms", -1, true },
	[UP_CMP_P99] = { "p99", "p99", "ms", -1, true },
	[UP_CMP_P999] = { "p99.9", "p99.9", "ms", -1, true },
	[UP_CMP_MAX] = { "max", "max", "ms", -1, true },
	[UP_CMP_CPU_OUTSIDE] = { "cpu_outside_cpus", "CPU used outside the targets", "CPUs", 0, false },
	[UP_CMP_CPU_TARGETS] = { "cpu_targets_cpus", "CPU used by the targets", "CPUs", 0, false },
};

const char *up_compare_why(enum up_no_claim why)
{
	static const char *const text[] = {
		[UP_CLAIMED] = "",
		[UP_NO_RUNS] = "fewer than three runs on a side",
		[UP_NO_OVERLAP] = "the ranges overlap",
		[UP_NO_GAP] = "the ranges are no farther apart than runs of one side are",
		[UP_NO_RESOLUTION] = "the ranges are no farther apart than the files can tell",
		[UP_NO_REFUSED] = "the two sides do not measure the same",
		[UP_NO_TAIL] = "fewer than 10 requests of a run lie beyond it",
		[UP_NO_COUNTS] = "counts this small differ by chance",
	};

	return text[why];
}

__attribute__((format(printf, 2, 3))) static void warn(struct up_compare_result *result, const char *format, ...)
{
	va_list args;

	if (result->n_warnings == UP_COMPARE_WARNINGS_MAX)
		return;
	va_start(args, format);
	vsnprintf(result->warning[result->n_warnings++], UP_COMPARE_TEXT_BYTES, format, args);
	va_end(args);
}

/* Latencies of two tools, of a corrected and a raw file, or of an open and a closed generator are different quantities. */
static void check_same_kind(struct up_compare_result *result)
{
	const struct up_compare_run *first = &result->run[UP_BASE][0];

	for (unsigned side = 0; side < UP_SIDES && !result->refused[0]; side++) {
		for (size_t i = 0; i < result->n[side] && !result->refused[0]; i++) {
			const struct up_compare_run *run = &result->run[side][i];

			if (run->traits.corrected != first->traits.corrected)
				snprintf(result->refused, UP_COMPARE_TEXT_BYTES,
					"%s is corrected for coordinated omission and %s is not",
					run->traits.corrected ? run->traits.name : first->traits.name,
					run->traits.corrected ? first->traits.name : run->traits.name);
			else if (strcmp(run->traits.includes, first->traits.includes) != 0)
				snprintf(result->refused, UP_COMPARE_TEXT_BYTES, "latency is %s in %s, and %s in %s",
					first->traits.includes, first->traits.name, run->traits.includes, run->traits.name);
			else if (run->intended != first->intended)
				snprintf(result->refused, UP_COMPARE_TEXT_BYTES,
					"some latencies run from the intended start, others from the real one");
			else if (run->guess.model != first->guess.model && run->guess.model != UP_MODEL_UNKNOWN &&
				 first->guess.model != UP_MODEL_UNKNOWN)
				snprintf(result->refused, UP_COMPARE_TEXT_BYTES,
					"some runs are of an open and some of a closed generator");
		}
	}
}

static double resolution_of(const struct up_compare_result *result, unsigned figure)
{
	double resolution = 0;

	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			const struct up_compare_run *run = &result->run[side][i];

			if (up_compare_figures[figure].latency)
				resolution = fmax(resolution, run->resolution_ms);
			if (figure >= UP_CMP_P50 && figure <= UP_CMP_P999 && !isnan(run->summary.q[figure - UP_CMP_P50].hi_ms))
				resolution = fmax(resolution,
					run->summary.q[figure - UP_CMP_P50].hi_ms - run->summary.q[figure - UP_CMP_P50].lo_ms);
			if ((figure == UP_CMP_ACHIEVED || figure == UP_CMP_OFFERED) && run->span_s > 0 &&
				!isnan(run->value[figure]))
				resolution = fmax(resolution, run->value[figure] * run->span_error_s / run->span_s);
		}
	}
	return resolution;
}

static bool tail_too_short(const struct up_compare_result *result, unsigned figure)
{
	if (figure < UP_CMP_P50 || figure > UP_CMP_P999)
		return false;
	for (unsigned side = 0; side < UP_SIDES; side++)
		for (size_t i = 0; i < result->n[side]; i++)
			if (result->run[side][i].summary.q[figure - UP_CMP_P50].tail_n < UP_TAIL_MIN)
				return true;
	return false;
}

static bool counts_alike(const struct up_compare_result *result, unsigned figure)
{
	uint64_t hit[UP_SIDES] = { 0 }, n[UP_SIDES] = { 0 };

	if (figure != UP_CMP_FAILED && figure != UP_CMP_DROPPED)
		return false;
	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			const struct up_compare_run *run = &result->run[side][i];

			hit[side] += figure == UP_CMP_FAILED ? run->failed_total : run->dropped;
			n[side] += run->summary.n + (figure == UP_CMP_DROPPED ? run->dropped : 0);
		}
	}
	return up_compare_counts_alike(hit[UP_BASE], n[UP_BASE], hit[UP_NEXT], n[UP_NEXT]);
}

static void compare_figure(struct up_compare_result *result, unsigned figure)
{
	struct up_difference *d = &result->figure[figure];
	double value[UP_SIDES][UP_COMPARE_RUNS_MAX];

	for (unsigned side = 0; side < UP_SIDES; side++)
		for (size_t i = 0; i < result->n[side]; i++)
			value[side][i] = result->run[side][i].value[figure];
	up_compare(value[UP_BASE], result->n[UP_BASE], value[UP_NEXT], result->n[UP_NEXT], resolution_of(result, figure), d);
	if (d->why == UP_NO_RUNS)
		return;
	if (up_compare_figures[figure].latency && result->refused[0])
		d->why = UP_NO_REFUSED;
	else if (tail_too_short(result, figure))
		d->why = UP_NO_TAIL;
	else if (d->kind != UP_DIFFERENCE_NONE && counts_alike(result, figure))
		d->why = UP_NO_COUNTS;
	if (d->why != UP_CLAIMED)
		d->kind = UP_DIFFERENCE_NONE;
	else if (up_compare_figures[figure].better != 0)
		result->n_claims++;
}

/* What makes the sides unequal although the program may be the same. */
static void warn_load(struct up_compare_result *result)
{
	const struct up_difference *offered = &result->figure[UP_CMP_OFFERED];
	const bool closed = result->run[UP_BASE][0].guess.model == UP_MODEL_CLOSED;

	if (offered->kind != UP_DIFFERENCE_NONE && !closed && fabs(offered->next.median / offered->base.median - 1) > 0.02)
		warn(result,
			"the load differs: %s/s were offered before and %s/s after: latencies at two loads are no comparison of two programs",
			up_figure(offered->base.median).text, up_figure(offered->next.median).text);
	if (closed && fabs(result->run[UP_BASE][0].guess.users - result->run[UP_NEXT][0].guess.users) >
			      0.02 * result->run[UP_BASE][0].guess.users)
		warn(result, "the load differs: about %s users before and %s after",
			up_figure(result->run[UP_BASE][0].guess.users).text, up_figure(result->run[UP_NEXT][0].guess.users).text);
	if (closed)
		warn(result,
			"closed runs: at most one request of each user meets a stall, so the tail shows less of it than an open run would");
}

static void warn_runs(struct up_compare_result *result)
{
	double shortest_s = INFINITY, longest_s = 0;
	uint64_t dropped = 0, skipped = 0;

	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			const struct up_compare_run *run = &result->run[side][i];

			shortest_s = fmin(shortest_s, isnan(run->span_s) ? shortest_s : run->span_s);
			longest_s = fmax(longest_s, isnan(run->span_s) ? longest_s : run->span_s);
			dropped += run->dropped;
			skipped += run->skipped_lines;
		}
	}
	if (longest_s > 1.2 * shortest_s)
		warn(result, "runs are of different length, %s to %s s: a longer run meets rare events more often",
			up_figure(shortest_s).text, up_figure(longest_s).text);
	if (dropped)
		warn(result, "%llu iterations were dropped: latencies are those of the requests that were sent",
			(unsigned long long)dropped);
	if (skipped)
		warn(result, "%llu lines were left out", (unsigned long long)skipped);
}

/* Made in turns, runs of both sides meet the same hour of the machine; one after the other, a drift looks like a change. */
static void warn_order(struct up_compare_result *result)
{
	int64_t first[UP_SIDES] = { INT64_MAX, INT64_MAX }, last[UP_SIDES] = { INT64_MIN, INT64_MIN };

	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			const struct up_compare_run *run = &result->run[side][i];

			if (run->undated || run->told)
				return;
			first[side] = run->first_start_us < first[side] ? run->first_start_us : first[side];
			last[side] = run->first_start_us > last[side] ? run->first_start_us : last[side];
		}
	}
	if (last[UP_BASE] < first[UP_NEXT] || last[UP_NEXT] < first[UP_BASE])
		warn(result,
			"all runs of one side were made before those of the other: what drifted on the machine meanwhile looks like a change; "
			"make them in turns");
}

static void find_shape(struct up_compare_result *result)
{
	static const enum up_compare_figure tail[] = { UP_CMP_P95, UP_CMP_P99, UP_CMP_P999, UP_CMP_MAX };
	const struct up_difference *median = &result->figure[UP_CMP_P50];

	if (median->kind == UP_DIFFERENCE_NONE)
		return;
	for (size_t i = sizeof(tail) / sizeof(*tail); i-- > 0;) {
		const struct up_difference *d = &result->figure[tail[i]];

		if (d->kind == UP_DIFFERENCE_NONE || d->kind == median->kind)
			continue;
		snprintf(result->shape, UP_COMPARE_TEXT_BYTES,
			"the change %s the median and %s the tail: p50 %s .. %s ms -> %s .. %s, %s %s .. %s ms -> %s .. %s",
			median->kind == UP_DIFFERENCE_LOWER ? "helps" : "hurts",
			median->kind == UP_DIFFERENCE_LOWER ? "hurts" : "helps", up_figure(median->base.min).text,
			up_figure(median->base.max).text, up_figure(median->next.min).text, up_figure(median->next.max).text,
			up_compare_figures[tail[i]].label, up_figure(d->base.min).text, up_figure(d->base.max).text,
			up_figure(d->next.min).text, up_figure(d->next.max).text);
		return;
	}
	if (result->figure[UP_CMP_P99].kind == UP_DIFFERENCE_NONE)
		snprintf(result->shape, UP_COMPARE_TEXT_BYTES, "the median is %s; of p99 no difference can be claimed",
			median->kind == UP_DIFFERENCE_LOWER ? "lower" : "higher");
}

/* The bars of all runs have the same bounds, four a decade, so they add up. */
static void merge_bars(struct up_compare_result *result)
{
	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			const struct up_compare_run *run = &result->run[side][i];

			for (size_t b = 0; b < run->n_bars; b++) {
				size_t at = 0;

				while (at < result->n_bars && result->bar[at].hi_ms < run->bar[b].hi_ms * 0.99)
					at++;
				if (at == result->n_bars || result->bar[at].hi_ms > run->bar[b].hi_ms * 1.01) {
					if (result->n_bars == UP_BARS_MAX)
						continue;
					memmove(&result->bar[at + 1], &result->bar[at],
						(result->n_bars - at) * sizeof(*result->bar));
					memset(&result->bar[at], 0, sizeof(*result->bar));
					result->bar[at].lo_ms = run->bar[b].lo_ms;
					result->bar[at].hi_ms = run->bar[b].hi_ms;
					result->n_bars++;
				}
				result->bar[at].n[side] += run->bar[b].n;
				result->bar_total[side] += run->bar[b].n;
			}
		}
	}
}

void up_compare_runs(struct up_compare_result *result)
{
	check_same_kind(result);
	for (unsigned figure = 0; figure < UP_CMP_FIGURES; figure++)
		compare_figure(result, figure);
	if (result->refused[0])
		warn(result, "latencies are not compared: %s", result->refused);
	warn_load(result);
	warn_order(result);
	warn_runs(result);
	find_shape(result);
	merge_bars(result);
}
