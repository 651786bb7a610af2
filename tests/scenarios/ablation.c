/* What each rule of the attribution is worth: answers over recorded scenario runs with one rule taken out, beside two ways in which people
 * rank resources without any. Each variant gets the threshold that served it best on the runs with even seeds and is then counted on the
 * odd ones.
 *
 * usage: ablation DIR...   each DIR as `uselab scenario NAME --keep DIR --json DIR/truth.json` left it */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cli/answer.h"

enum { RUNS_MAX = 1000, THRESHOLDS = 6 };
enum grade { RIGHT, UNKNOWN, WRONG, GRADES };
enum method { WALK, CORRELATION, PERCENT };

struct truth {
	char verdict[32], resource[32], name[256];
	long seed;
};

struct run {
	struct truth truth;
	struct up_report report;
};

struct variant {
	const char *name;
	enum method method;
	bool no_hold, no_veto;
	const char *threshold; /* what is tuned */
	double value[THRESHOLDS];
};

static const struct variant variants[] = {
	{ "the rules", WALK, false, false, "explains_min", { 0.2, 0.25, 0.3, 0.35, 0.4, 0.5 } },
	{ "no hold-time rule", WALK, true, false, "explains_min", { 0.1, 0.2, 0.3, 0.4, 0.5, 0.7 } },
	{ "no onset veto", WALK, false, true, "explains_min", { 0.2, 0.25, 0.3, 0.35, 0.4, 0.5 } },
	{ "correlation with latency", CORRELATION, false, false, "r", { 0.3, 0.5, 0.6, 0.7, 0.8, 0.9 } },
	{ "highest utilization", PERCENT, false, false, "utilization", { 0.5, 0.6, 0.7, 0.8, 0.9, 0.95 } },
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

/* One way to name a row. */
struct named {
	const char *verdict, *resource, *name;
};

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

static enum grade judge(const struct truth *truth, const struct named *answer)
{
	if (strcmp(answer->verdict, truth->verdict) == 0 &&
		(!*truth->resource || (strcmp(answer->resource, truth->resource) == 0 && ends_with(answer->name, truth->name))))
		return RIGHT;
	return strcmp(answer->verdict, "unknown") == 0 || strcmp(answer->verdict, "outside") == 0 ? UNKNOWN : WRONG;
}

static void take(json_t *truth, const char *key, char *ret, size_t size)
{
	const char *text = json_string_value(json_object_get(truth, key));

	snprintf(ret, size, "%s", text ? text : "");
}

static int load_run(const char *dir, struct run *run)
{
	struct up_load_options options = { 0 };
	struct up_curve_options curve = up_curve_defaults;
	char path[4096], *paths[] = { path };
	json_t *root, *truth;
	json_error_t error;
	int r;

	snprintf(path, sizeof(path), "%s/truth.json", dir);
	root = json_load_file(path, 0, &error);
	truth = json_object_get(root, "truth");
	take(truth, "verdict", run->truth.verdict, sizeof(run->truth.verdict));
	take(truth, "resource", run->truth.resource, sizeof(run->truth.resource));
	take(truth, "name_ends", run->truth.name, sizeof(run->truth.name));
	run->truth.seed = (long)json_integer_value(json_object_get(root, "seed"));
	json_decref(root);
	if (!*run->truth.verdict || up_load_init(&run->report.load) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/load.csv", dir);
	r = up_cli_read_load(&run->report.load, paths, 1, &options);
	curve.settle_s = NAN;
	if (r != 0 || up_curve_build(&run->report.load, &curve, &run->report.curve) < 0)
		return -1;
	run->report.has_load = true;
	return 0;
}

static enum grade grade_walk(struct run *run, const char *dir, const struct variant *variant, double threshold)
{
	struct up_rules rules = up_rules_default;
	const struct up_attribution *a;
	struct named named = { "unknown", "", "" };
	char path[4096];
	enum grade grade;

	rules.explains_min = threshold;
	rules.follow_hold = !variant->no_hold;
	rules.onset_veto = !variant->no_veto;
	snprintf(path, sizeof(path), "%s/samples.csv", dir);
	up_knee_find(&run->report.curve, NULL, &run->report.knee);
	if (up_answer_find(&run->report, path, &rules) == 0) {
		a = &run->report.answer->attribution;
		named = (struct named){ up_bottleneck_verdict_name(a->verdict), a->has_suspect ? a->suspect.resource : "",
			a->has_suspect ? a->suspect.name : "" };
	}
	grade = judge(&run->truth, &named);
	up_answer_done(&run->report);
	return grade;
}

/* What a person would watch of a row in a tick: how full it is, or for a dependency how long a query takes. */
static double watched(const struct up_track *track, size_t i, bool as_dependency)
{
	const float *figure = track->figure ? track->figure + i * UP_FIGURES : NULL;

	if (as_dependency)
		return figure && figure[UP_FIG_QUERIES] > 0 ? (double)(figure[UP_FIG_BUSY_AREA_S] / figure[UP_FIG_QUERIES]) : NAN;
	return (double)track->at[i].utilization;
}

static double correlation(const double *x, const double *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		mx += x[i] / (double)n;
		my += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return n >= 5 && xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* Mean latency of the requests by tick, NAN without. */
static double *latencies(const struct up_recording *r)
{
	double *ret = malloc((r->n_ticks + 1) * sizeof(*ret));

	for (size_t i = 0; ret && i < r->n_ticks; i++)
		ret[i] = NAN;
	for (size_t k = 0; ret && k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];

		for (size_t i = 0; track->resource == UP_RES_REQUESTS && track->figure && i < track->n; i++) {
			const float *figure = track->figure + i * UP_FIGURES;

			if (figure[UP_FIG_DEPARTURES] > 0)
				ret[track->at[i].tick] = (double)(figure[UP_FIG_AREA_S] / figure[UP_FIG_DEPARTURES]);
		}
	}
	return ret;
}

static double score_correlation(const struct up_track *track, const double *latency, bool as_dependency)
{
	double *x = malloc(2 * (track->n + 1) * sizeof(*x)), score = NAN;
	size_t n = 0;

	for (size_t i = 0; x && i < track->n; i++) {
		const double value = watched(track, i, as_dependency), y = latency[track->at[i].tick];

		if (isnan(value) || isnan(y))
			continue;
		x[n] = value;
		x[track->n + n++] = y;
	}
	if (x)
		score = correlation(x, x + track->n, n);
	free(x);
	return score;
}

static double score_percent(const struct up_recording *r, const struct up_track *track, const struct run *run)
{
	const struct up_step *bad = &run->report.curve.step[run->report.knee.bad < 0 ? 0 : run->report.knee.bad];
	struct up_reading reading;

	up_track_read(r, track, bad->settled_us, bad->end_us, &reading);
	return reading.utilization;
}

static bool is_ranked(enum up_resource resource)
{
	return resource == UP_RES_CPU || resource == UP_RES_MEMORY || resource == UP_RES_DISK || resource == UP_RES_LISTEN ||
	       resource == UP_RES_THREAD_POOL || resource == UP_RES_DEPENDENCY || resource == UP_RES_DESCRIPTORS;
}

/* The first row by SCORE, of the target's own rows. A dependency's row stands for its connections and, as_dependency, for itself. */
static void rank_rows(const struct run *run, const struct variant *variant, double threshold, struct named *named)
{
	const struct up_recording *r = &run->report.answer->recording;
	double *latency = latencies(r), best = threshold;

	for (size_t k = 0; latency && k < r->n_tracks; k++) {
		const struct up_track *track = &r->track[k];

		if (!track->target || !is_ranked(track->resource))
			continue;
		for (int as = 0; as < (variant->method == CORRELATION && track->resource == UP_RES_DEPENDENCY ? 2 : 1); as++) {
			const double score = variant->method == CORRELATION ? score_correlation(track, latency, as)
									    : score_percent(r, track, run);

			if (!(score >= best))
				continue;
			best = score;
			*named = (struct named){ "resource",
				track->resource == UP_RES_DEPENDENCY && !as ? "connection-pool"
									    : up_resource_name(track->resource),
				track->name };
		}
	}
	free(latency);
}

/* Rankings get the curve's verdicts for nothing; what they are asked is which row. */
static enum grade grade_ranking(struct run *run, const char *dir, const struct variant *variant, double threshold)
{
	struct named named = { "unknown", "", "" };
	enum grade grade;
	char path[4096];

	snprintf(path, sizeof(path), "%s/samples.csv", dir);
	up_knee_find(&run->report.curve, NULL, &run->report.knee);
	if (up_answer_find(&run->report, path, NULL) == 0) {
		if (run->report.knee.generator_bound)
			named.verdict = "generator";
		else if (run->report.knee.verdict == UP_KNEE_FOUND)
			rank_rows(run, variant, threshold, &named);
		else
			named.verdict = "none";
	}
	grade = judge(&run->truth, &named);
	up_answer_done(&run->report);
	return grade;
}

static void print_counts(const struct variant *variant, double threshold, const unsigned count[GRADES])
{
	const unsigned n = count[RIGHT] + count[UNKNOWN] + count[WRONG];

	printf("| %s | %s %.2g | %u | %.0f %% | %.0f %% | %.0f %% |\n", variant->name, variant->threshold, threshold, n,
		n ? 100.0 * count[RIGHT] / n : 0, n ? 100.0 * count[UNKNOWN] / n : 0, n ? 100.0 * count[WRONG] / n : 0);
}

/* By variant, threshold and half of the runs: half 0 tunes, half 1 is counted. */
static unsigned counts[VARIANTS][THRESHOLDS][2][GRADES];

/* Right answers count one, wrong ones cost one: to say nothing is better than to mislead. Of equals the middle one. */
static unsigned best_threshold(unsigned count[THRESHOLDS][2][GRADES])
{
	int best = -RUNS_MAX;
	unsigned equal[THRESHOLDS], n = 0;

	for (unsigned t = 0; t < THRESHOLDS; t++) {
		const int worth = (int)count[t][0][RIGHT] - (int)count[t][0][WRONG];

		if (worth > best)
			n = 0;
		if (worth >= best)
			equal[n++] = t;
		best = worth > best ? worth : best;
	}
	return n ? equal[n / 2] : 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct run *run = calloc(1, sizeof(*run));

		if (!run || load_run(argv[i], run) < 0) {
			fprintf(stderr, "ablation: %s: no truth.json, load.csv or samples.csv of a scenario; left out\n",
				argv[i]);
			free(run);
			continue;
		}
		for (unsigned v = 0; v < VARIANTS; v++)
			for (unsigned t = 0; t < THRESHOLDS; t++) {
				const double threshold = variants[v].value[t];
				const enum grade grade = variants[v].method == WALK
								 ? grade_walk(run, argv[i], &variants[v], threshold)
								 : grade_ranking(run, argv[i], &variants[v], threshold);

				counts[v][t][run->truth.seed % 2][grade]++;
			}
		up_curve_done(&run->report.curve);
		up_load_done(&run->report.load);
		free(run);
	}
	printf("| variant | best threshold | runs | right | unknown | confidently wrong |\n|---|---|---|---|---|---|\n");
	for (unsigned v = 0; v < VARIANTS; v++) {
		const unsigned best = best_threshold(counts[v]);

		print_counts(&variants[v], variants[v].value[best], counts[v][best][1]);
	}
	return 0;
}
