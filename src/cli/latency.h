/* Private to src/cli: what `useprobe latency` found out, for its printers. */
#ifndef UP_LATENCY_H
#define UP_LATENCY_H

#include "load_cli.h"
#include "useprobe/omission.h"

enum { UP_THRESHOLDS_MAX = 32, UP_WINDOWS_MAX = 100000 };

struct up_latency {
	struct up_load load;
	struct up_summary summary;
	uint64_t dropped, left_out; /* requests left out by --from and --to */
	double above_2sd_share; /* share of requests above mean + 2 standard deviations; NAN */
	struct up_model_guess guess;
	struct up_omission_plan plan;
	struct up_summary corrected; /* valid when plan.apply */
	double corrected_share_max; /* share of samples at or below the largest threshold; unused without */
	unsigned n_thresholds;
	double threshold_ms[UP_THRESHOLDS_MAX], threshold_share[UP_THRESHOLDS_MAX];
	size_t n_bars, n_modes;
	struct up_bar bars[UP_BARS_MAX];
	struct up_mode modes[UP_MODES_MAX];
	struct up_summary *names; /* owned, [load.names.n] */
	double window_s; /* 0: none asked for */
	size_t n_windows;
	struct up_select *window; /* owned, [n_windows] */
	struct up_summary *window_summary; /* owned, [n_windows] */
	double averaged_ms[UP_QUANTILES]; /* mean of the windows' percentiles: what must not be done */
	double files_averaged_ms[UP_QUANTILES]; /* the same over the files */
	bool failed_total_known; /* how many failed, even where not which ones */
	uint64_t failed_total;
	bool told; /* summaries only: nothing was computed here */
	uint64_t requested; /* --requests, 0 not given */
};

/* Calls on one page, for the share of pages that meet the tail. */
enum { UP_FANOUTS = 3 };
extern const unsigned up_fanout_calls[UP_FANOUTS];
/* Share of pages with CALLS independent requests of which at least one is slower than the 99th percentile; NAN without requests. */
double up_fanout_share(const struct up_summary *summary, unsigned calls);

void up_latency_print(FILE *out, const struct up_latency *latency);
json_t *up_latency_json(const struct up_latency *latency);
/* {"n","failed",...,"percentiles"} of one summary, without and with the part about successful requests. */
json_t *up_summary_json(const struct up_summary *summary);
json_t *up_ok_only_json(const struct up_summary *summary);

#endif
