/* useprobe compare BASE... --to NEW...: do runs made before and after a change differ? */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"
#include "help_text.h"
#include "useprobe/cli.h"

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "useprobe compare: %s%s%s\n`useprobe compare --help` lists the options.\n", what, value ? ": " : "",
		value ? value : "");
	return 2;
}

enum { OPT_BEFORE = 256, OPT_TO, OPT_FROM, OPT_UNTIL, OPT_COLUMNS, OPT_FORMAT, OPT_TRANSACTIONS, OPT_TZ, OPT_JSON };

static const struct option long_options[] = {
	{ "before", no_argument, NULL, OPT_BEFORE },
	{ "to", no_argument, NULL, OPT_TO },
	{ "after", no_argument, NULL, OPT_TO },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "until", required_argument, NULL, OPT_UNTIL },
	{ "columns", required_argument, NULL, OPT_COLUMNS },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "transactions", no_argument, NULL, OPT_TRANSACTIONS },
	{ "tz", required_argument, NULL, OPT_TZ },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int add_path(struct up_compare_run *run, char *path)
{
	if (up_compare_is_samples(path)) {
		if (run->samples)
			return wrong("one run with two SAMPLES.csv", run->argument);
		run->samples = path;
		return 0;
	}
	if (run->n_paths == UP_COMPARE_FILES_MAX)
		return wrong("too many files in one run", run->argument);
	run->path[run->n_paths++] = path;
	return 0;
}

/* "a.csv+b.csv" are two files of one run, unless there is a file of just that name. */
static int add_run(struct up_compare_result *result, enum up_compare_side side, char *argument)
{
	struct up_compare_run *run = &result->run[side][result->n[side]];
	char *at, *path;
	int r = 0;

	if (result->n[side] == UP_COMPARE_RUNS_MAX)
		return wrong("more than 32 runs on a side", argument);
	result->n[side]++;
	run->argument = argument;
	if (!strchr(argument, '+') || access(argument, F_OK) == 0)
		return add_path(run, argument);
	run->word = strdup(argument);
	if (!run->word) {
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	at = run->word;
	while (r == 0 && (path = strsep(&at, "+")))
		r = *path ? add_path(run, path) : wrong("an empty file name", argument);
	return r;
}

static int take_option(struct up_compare_args *args, enum up_compare_side *side, int option, const char *value)
{
	switch (option) {
	case OPT_BEFORE:
		return *side == UP_NEXT ? wrong("--before comes before --to", NULL) : 0;
	case OPT_TO:
		*side = UP_NEXT;
		return 0;
	case OPT_FROM:
		args->from = value;
		return 0;
	case OPT_UNTIL:
		args->until = value;
		return 0;
	case OPT_COLUMNS:
		args->load.columns = value;
		return 0;
	case OPT_FORMAT:
		args->load.format = value;
		return 0;
	case OPT_TRANSACTIONS:
		args->load.keep_transactions = true;
		return 0;
	case OPT_TZ:
		up_cli_zone(value);
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	default:
		return wrong("unknown option", NULL);
	}
}

/* One run given twice would make its range too narrow: the same file, or a copy of it. */
static bool same_run(const struct up_compare_run *a, const struct up_compare_run *b)
{
	struct stat first, second;

	if (stat(a->path[0], &first) == 0 && stat(b->path[0], &second) == 0 && S_ISREG(first.st_mode) &&
		first.st_dev == second.st_dev && first.st_ino == second.st_ino)
		return true;
	return !a->told && !b->told && a->summary.n == b->summary.n && a->summary.mean_ms == b->summary.mean_ms &&
	       a->summary.sd_ms == b->summary.sd_ms && a->first_start_us == b->first_start_us &&
	       a->last_end_us == b->last_end_us && a->summary.n > 1;
}

static int check_runs(const struct up_compare_result *result)
{
	const struct up_compare_run *run[UP_SIDES * UP_COMPARE_RUNS_MAX];
	size_t n = 0;

	for (unsigned side = 0; side < UP_SIDES; side++)
		for (size_t i = 0; i < result->n[side]; i++)
			run[n++] = &result->run[side][i];
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (!same_run(run[k], run[i]))
				continue;
			fprintf(stderr, "useprobe compare: %s and %s are the same run: a run counts once\n", run[k]->argument,
				run[i]->argument);
			return 2;
		}
	}
	return 0;
}

static int output(const struct up_compare_result *result, bool as_json)
{
	json_t *json;
	int r;

	if (as_json) {
		json = up_compare_json(result);
		r = json ? up_json_write(json, NULL) : -ENOMEM;
		json_decref(json);
	} else {
		up_compare_print(stdout, result);
		r = fflush(stdout) == 0 ? 0 : -errno;
	}
	if (r < 0)
		fprintf(stderr, "useprobe: standard output: %s\n", strerror(-r));
	return r < 0 ? 1 : 0;
}

static int run_all(struct up_compare_result *result, struct up_compare_args *args)
{
	int r = 0;

	if (result->n[UP_BASE] == 0 || result->n[UP_NEXT] == 0)
		return wrong("give the runs before the change, --to, and those after it", NULL);
	for (unsigned side = 0; side < UP_SIDES; side++)
		for (size_t i = 0; r == 0 && i < result->n[side]; i++)
			r = up_compare_read_run(&result->run[side][i], args);
	if (r == 0)
		r = check_runs(result);
	if (r != 0)
		return r;
	if (up_compare_environments(result) < 0) {
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	up_compare_runs(result);
	return output(result, args->json);
}

static void result_done(struct up_compare_result *result)
{
	for (unsigned side = 0; side < UP_SIDES; side++) {
		for (size_t i = 0; i < result->n[side]; i++) {
			free(result->run[side][i].word);
			json_decref(result->run[side][i].environment);
		}
	}
	json_decref(result->differences);
	free(result);
}

int up_cli_compare(int argc, char **argv)
{
	struct up_compare_args args = { 0 };
	struct up_compare_result *result = calloc(1, sizeof(*result));
	enum up_compare_side side = UP_BASE;
	int option, r = 0;

	if (!result) {
		fprintf(stderr, "useprobe: out of memory\n");
		return 1;
	}
	optind = 0;
	opterr = 0;
	/* "-" hands over words where they stand: --to changes the side of those behind it. */
	while (r == 0 && (option = getopt_long(argc, argv, "-h", long_options, NULL)) != -1) {
		if (option == 'h') {
			printf("%s%s%s", help_compare, help_readers,
				"\nExit status: 0 compared, whatever the outcome; 1 failed while running; 2 wrong use, a file that cannot be read, or a run given twice.\n"
				"\nExamples\n"
				"  useprobe compare old1.csv old2.csv old3.csv --to new1.csv new2.csv new3.csv\n"
				"  useprobe compare a.jtl+a-samples.csv b.jtl+b-samples.csv c.jtl --to d.jtl e.jtl f.jtl --from 1m\n");
			result_done(result);
			return 0;
		}
		if (option == 1)
			r = add_run(result, side, optarg);
		else
			r = option == '?' ? wrong("unknown option or missing value", argv[optind - 1])
					  : take_option(&args, &side, option, optarg);
	}
	while (r == 0 && optind < argc)
		r = add_run(result, side, argv[optind++]);
	if (r == 0)
		r = run_all(result, &args);
	result_done(result);
	return r;
}
