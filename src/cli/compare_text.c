/* The terminal view of `useprobe compare`: what differed around the runs first, then ranges, then what can be claimed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compare.h"

enum { BAR_WIDTH = 24, FACTS_SHOWN = 30 };

static void print_values(FILE *out, const json_t *values)
{
	const json_t *value;
	char text[200];
	size_t i;

	if (json_array_size(values) == 0)
		fputs("not known", out);
	json_array_foreach((json_t *)values, i, value)
	{
		up_cli_clean(json_is_null(value) ? "-" : json_string_value(value), text, sizeof(text));
		fprintf(out, "%s%s", i ? " and " : "", text);
	}
}

static void print_cpu(FILE *out, const struct up_compare_result *result, unsigned figure)
{
	const struct up_difference *d = &result->figure[figure];

	if (d->base.n == 0 && d->next.n == 0)
		return;
	fprintf(out, "  %s: %s .. %s before, %s .. %s after", up_compare_figures[figure].label, up_figure(d->base.min).text,
		up_figure(d->base.max).text, up_figure(d->next.min).text, up_figure(d->next.max).text);
	if (d->kind == UP_DIFFERENCE_NONE)
		fprintf(out, ": %s\n", up_compare_why(d->why));
	else
		fprintf(out, ": %s%s\n", d->kind == UP_DIFFERENCE_HIGHER ? "higher" : "lower",
			figure == UP_CMP_CPU_OUTSIDE ? "; a difference below may come from that" : "");
}

static void print_environment(FILE *out, const struct up_compare_result *result)
{
	const json_t *item;
	char key[200];
	size_t i;

	fprintf(out, "environment");
	if (result->n_environments[UP_BASE] + result->n_environments[UP_NEXT] == 0) {
		fprintf(out, ": not known; give each run as LOAD+SAMPLES.csv\n");
		return;
	}
	if (result->n_environments[UP_BASE] < result->n[UP_BASE] || result->n_environments[UP_NEXT] < result->n[UP_NEXT])
		fprintf(out, ", known of %zu of %zu runs before and %zu of %zu after", result->n_environments[UP_BASE],
			result->n[UP_BASE], result->n_environments[UP_NEXT], result->n[UP_NEXT]);
	fputc('\n', out);
	json_array_foreach(result->differences, i, item)
	{
		if (i == FACTS_SHOWN) {
			fprintf(out, "  ... (--json has all)\n");
			break;
		}
		up_cli_clean(json_string_value(json_object_get(item, "key")), key, sizeof(key));
		fprintf(out, "  differs: %s: ", key);
		print_values(out, json_object_get(item, "base"));
		fprintf(out, " before, ");
		print_values(out, json_object_get(item, "new"));
		fprintf(out, " after\n");
	}
	fprintf(out, "  the same in all runs: %zu facts\n", result->n_same_facts);
	print_cpu(out, result, UP_CMP_CPU_OUTSIDE);
	print_cpu(out, result, UP_CMP_CPU_TARGETS);
}

static void print_run(FILE *out, const struct up_compare_run *run, const char *side)
{
	char name[UP_LOAD_PATH_BYTES];

	up_cli_clean(run->argument, name, sizeof(name));
	fprintf(out, "  %-6s %s: %s, %s, %" PRIu64 " requests", side, name, run->traits.name,
		run->told ? "a summary" : up_model_name(run->guess.model), run->summary.n);
	if (!run->told && !run->undated)
		fprintf(out, ", from %s on", up_clock(run->first_start_us, false).text);
	if (run->left_out)
		fprintf(out, ", %" PRIu64 " left out", run->left_out);
	fputc('\n', out);
}

/* "-28 .. -23 %" */
static void print_change(FILE *out, const struct up_difference *d, int better)
{
	const char *word = d->kind == UP_DIFFERENCE_HIGHER ? "higher" : "lower";

	if (d->kind == UP_DIFFERENCE_NONE) {
		fprintf(out, "  no difference can be claimed: %s\n", up_compare_why(d->why));
		return;
	}
	fprintf(out, "  %s", word);
	if (better)
		fprintf(out, ", %s", (d->kind == UP_DIFFERENCE_HIGHER) == (better > 0) ? "better" : "worse");
	if (!isnan(d->change_lo))
		fprintf(out, " (%+.3g .. %+.3g %%)", 100 * d->change_lo, 100 * d->change_hi);
	fputc('\n', out);
}

static void print_figures(FILE *out, const struct up_compare_result *result)
{
	fprintf(out, "\n%-14s %10s    %-10s %10s    %-10s\n", "", "before,", "min .. max", "after,", "min .. max");
	for (unsigned i = 0; i < UP_CMP_CPU_OUTSIDE; i++) {
		const struct up_difference *d = &result->figure[i];
		char label[32];

		if (d->base.n == 0 && d->next.n == 0)
			continue;
		snprintf(label, sizeof(label), "%s %s", up_compare_figures[i].label, up_compare_figures[i].unit);
		fprintf(out, "%-14s %10s .. %-10s %10s .. %-10s", label, up_figure(d->base.min).text, up_figure(d->base.max).text,
			up_figure(d->next.min).text, up_figure(d->next.max).text);
		print_change(out, d, up_compare_figures[i].better);
	}
}

static void print_answer(FILE *out, const struct up_compare_result *result)
{
	fputc('\n', out);
	if (result->n[UP_BASE] < UP_COMPARE_RUNS_MIN || result->n[UP_NEXT] < UP_COMPARE_RUNS_MIN)
		fprintf(out, "no difference can be claimed: %zu and %zu runs; a range needs at least %d runs a side\n",
			result->n[UP_BASE], result->n[UP_NEXT], UP_COMPARE_RUNS_MIN);
	else if (result->n_claims == 0)
		fprintf(out, "no difference can be claimed between these runs\n");
	else
		fprintf(out, "%zu %s beyond what runs of one side differ by (rule: ranges apart by more than %s)\n",
			result->n_claims, result->n_claims == 1 ? "figure differs" : "figures differ",
			result->n[UP_BASE] > UP_COMPARE_RUNS_MIN && result->n[UP_NEXT] > UP_COMPARE_RUNS_MIN
				? "half the wider of them"
				: "the wider of them");
	if (result->shape[0])
		fprintf(out, "%s\n", result->shape);
}

static void print_bar(FILE *out, uint64_t n, uint64_t total)
{
	/* Logarithmic, so that the tail is seen: full at all requests, empty below one in 100,000. */
	const double share = total ? (double)n / (double)total : 0;
	const double length = share > 0 ? BAR_WIDTH * (1 + log10(share) / 5) : 0;
	const int width = n == 0 ? 0 : length < 1 ? 1 : (int)length;

	if (n == 0)
		fprintf(out, " %8s   %-*s", "-", BAR_WIDTH, "");
	else
		fprintf(out, " %8.3g %% %-*.*s", 100 * share, BAR_WIDTH, width, "################################");
}

static void print_histograms(FILE *out, const struct up_compare_result *result)
{
	if (result->n_bars == 0)
		return;
	fprintf(out, "\n%12s %-*s %s\n", "from ms", BAR_WIDTH + 11, " before: share of requests", " after");
	for (size_t i = 0; i < result->n_bars; i++) {
		fprintf(out, "%12s", up_figure(result->bar[i].lo_ms).text);
		print_bar(out, result->bar[i].n[UP_BASE], result->bar_total[UP_BASE]);
		print_bar(out, result->bar[i].n[UP_NEXT], result->bar_total[UP_NEXT]);
		fputc('\n', out);
	}
	fprintf(out, "(bars are logarithmic; all runs of a side together)\n");
}

void up_compare_print(FILE *out, const struct up_compare_result *result)
{
	print_environment(out, result);
	fprintf(out, "\nruns\n");
	for (size_t i = 0; i < result->n[UP_BASE]; i++)
		print_run(out, &result->run[UP_BASE][i], "before");
	for (size_t i = 0; i < result->n[UP_NEXT]; i++)
		print_run(out, &result->run[UP_NEXT][i], "after");
	fprintf(out, "  latency = %s\n", result->run[UP_BASE][0].traits.includes);
	for (size_t i = 0; i < result->n_warnings; i++)
		fprintf(out, "  note: %s\n", result->warning[i]);
	print_figures(out, result);
	print_answer(out, result);
	print_histograms(out, result);
}
