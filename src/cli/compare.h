/* Private to src/cli: what `useprobe compare` found out, for its printers. */
#ifndef UP_COMPARE_CLI_H
#define UP_COMPARE_CLI_H

#include "load_cli.h"
#include "useprobe/compare.h"
#include "useprobe/omission.h"

enum up_compare_side { UP_BASE, UP_NEXT, UP_SIDES };

/* Figures of one run, in the order in which they are shown. */
enum up_compare_figure {
	UP_CMP_OFFERED,
	UP_CMP_ACHIEVED,
	UP_CMP_FAILED,
	UP_CMP_DROPPED,
	UP_CMP_MEAN,
	UP_CMP_P50,
	UP_CMP_P90,
	UP_CMP_P95,
	UP_CMP_P99,
	UP_CMP_P999,
	UP_CMP_MAX,
	UP_CMP_CPU_OUTSIDE,
	UP_CMP_CPU_TARGETS,
	UP_CMP_FIGURES
};
extern const struct up_compare_figure_name {
	const char *name; /* "p99.9", as in the JSON */
	const char *label, *unit; /* for people */
	int better; /* 1: more is better, -1: less is, 0: neither */
	bool latency;
} up_compare_figures[UP_CMP_FIGURES];

enum { UP_COMPARE_FILES_MAX = 8 }; /* of one run: generators on several hosts, and the samples */
struct up_compare_run {
	const char *argument; /* borrowed */
	char *word; /* owned copy of it, which the paths point into; NULL when it is one path */
	char *path[UP_COMPARE_FILES_MAX]; /* of load files; borrowed */
	int n_paths;
	const char *samples; /* borrowed; NULL without */
	json_t *environment; /* owned; of the samples' sidecar; NULL without */
	struct up_load_traits traits; /* of the first load file */
	struct up_summary summary;
	bool told, undated, intended, failed_total_known;
	uint64_t failed_total, dropped, left_out, skipped_lines;
	int64_t first_start_us, last_end_us;
	double span_s; /* from the first start to the last end; NAN */
	struct up_model_guess guess;
	double value[UP_CMP_FIGURES]; /* NAN = not known */
	double resolution_ms; /* of its latencies; 0: a microsecond or finer */
	double span_error_s; /* span_s is known to this */
	size_t n_bars;
	struct up_bar bar[UP_BARS_MAX];
};

enum { UP_COMPARE_WARNINGS_MAX = 16, UP_COMPARE_TEXT_BYTES = 320, UP_COMPARE_FACTS_MAX = 512 };
struct up_compare_result {
	struct up_compare_run run[UP_SIDES][UP_COMPARE_RUNS_MAX];
	size_t n[UP_SIDES];
	struct up_difference figure[UP_CMP_FIGURES];
	size_t n_claims; /* latency, throughput, failures and drops */
	char warning[UP_COMPARE_WARNINGS_MAX][UP_COMPARE_TEXT_BYTES]; /* what makes the sides unequal, the worst first */
	size_t n_warnings;
	char refused[UP_COMPARE_TEXT_BYTES]; /* why latencies are not compared; empty when they are */
	char shape[UP_COMPARE_TEXT_BYTES]; /* median and tail going different ways; empty when they do not */
	json_t *differences; /* owned; array of {"key","base":[..],"new":[..]}, facts of the sidecars that differ */
	size_t n_same_facts, n_environments[UP_SIDES];
	size_t n_bars;
	struct {
		double lo_ms, hi_ms;
		uint64_t n[UP_SIDES]; /* of all runs of a side */
	} bar[UP_BARS_MAX];
	uint64_t bar_total[UP_SIDES];
};

struct up_compare_args {
	struct up_load_options load;
	const char *from, *until;
	bool json;
};
/* Reads the files that RUN names into its figures. 0 or the exit status. */
int up_compare_read_run(struct up_compare_run *run, struct up_compare_args *args);
/* Reads the samples of RUN: CPU outside the targets and used by them while the load ran, and the environment beside them. 0 or the exit status. */
int up_compare_read_samples(struct up_compare_run *run);
/* Whether PATH begins like a CSV of ours. */
bool up_compare_is_samples(const char *path);
/* Fills differences, n_same_facts and n_environments. 0 or -ENOMEM. */
int up_compare_environments(struct up_compare_result *result);
/* Compares what the runs hold: figures, claims, warnings, shape, bars. */
void up_compare_runs(struct up_compare_result *result);

/* "no difference can be claimed: the ranges overlap" and the like; "" for a claim. */
const char *up_compare_why(enum up_no_claim why);
void up_compare_print(FILE *out, const struct up_compare_result *result);
json_t *up_compare_json(const struct up_compare_result *result);

#endif
