#include "scenario.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net.h"
#include "number.h"
#include "scenario_answer.h"
#include "scenario_plans.h"

#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_UNKNOWN 3
#define EXIT_WRONG 4
#define EXIT_NO_RIGHTS 77

/* The knee found may lie so far below a predicted ceiling: a ceiling is an upper bound. */
#define CEILING_BELOW_RATIO 0.2

static const char usage[] =
	"usage: uselab scenario NAME [--seed N] [--json FILE] [--keep DIR] [--lift] [--plan]\n"
	"A service with one bottleneck, loaded in steps with useprobe beside it; a fresh `useprobe report` then names the bottleneck from samples\n"
	"and load file alone. Needs root, takes less than a minute, undoes everything at the end.\n"
	"\n"
	"  --seed N      of service times, sizes, rates, load model and the decoy (1)\n"
	"  --json FILE   truth and answer for programs\n"
	"  --keep DIR    keeps samples, load file and logs there\n"
	"  --lift        runs again with what limits times four: is the next limit the one that the first answer's ceilings name?\n"
	"  --plan        only prints what the seed draws\n"
	"  --list        the scenarios\n"
	"\n"
	"Exit status: 0 the answer is right, 3 `unknown`, 4 wrong, 1 could not run, 77 no right to make a cgroup.\n";

struct arguments {
	const struct scenario *scenario;
	uint64_t seed;
	const char *json, *keep;
	bool lift, plan;
};

/* Runs service, probe and load. 0 or -errno; the files are in run->dir afterwards. */
static int perform(struct scenario_run *run, const struct scenario_plan *plan, const char *samples, const char *load_file)
{
	char server_path[160], db_path[160];
	pid_t server, probe, load;
	int r;

	scenario_path(run, SCENARIO_SERVER, server_path, sizeof(server_path));
	scenario_path(run, SCENARIO_DB, db_path, sizeof(db_path));
	if (*plan->db)
		scenario_start(
			run, (const char *[]){ run->self, "db", "--duration", "90s", NULL }, plan->db, "db.log", SCENARIO_DB);
	if (*plan->other)
		scenario_start(run, (const char *[]){ run->self, "db", "--duration", "90s", NULL }, plan->other, "other.log",
			SCENARIO_DB);
	server = scenario_start(run, (const char *[]){ run->self, "serve", "--duration", "90s", NULL }, plan->serve, "serve.log",
		SCENARIO_SERVER);
	if (*plan->decoy)
		scenario_start(run, (const char *[]){ run->self, "burn", "--duration", "90s", NULL }, plan->decoy, "decoy.log",
			SCENARIO_DECOY);
	if (*plan->rival)
		scenario_start(run, (const char *[]){ run->self, "burn", "--duration", "90s", NULL }, plan->rival, "rival.log",
			SCENARIO_RIVAL);
	scenario_sleep(0.7);
	/* Another program on the port would be measured instead. */
	if (server > 0 && scenario_wait(run, server, 0.01) >= 0)
		return -EADDRINUSE;
	probe = scenario_start(run,
		(const char *[]){ run->probe, "-c", server_path + 1, "-b", "-i", "0.5", "-d", "80s", "-o", samples, "--force",
			plan->db_is_target ? "-c" : NULL, db_path + 1, NULL },
		"", "probe.log", SCENARIO_ROLES);
	scenario_sleep(1.5);
	load = scenario_start(run, (const char *[]){ run->self, "load", "--quiet", "--out", load_file, NULL }, plan->load,
		"load.log", SCENARIO_LOAD);
	if (server < 0 || probe < 0 || load < 0)
		return -EAGAIN;
	if (plan->stop_for_s > 0) {
		scenario_sleep(plan->stop_at_s);
		kill(server, SIGSTOP);
		scenario_sleep(plan->stop_for_s);
		kill(server, SIGCONT);
	}
	r = scenario_wait(run, load, 75);
	scenario_sleep(0.6);
	scenario_cpu(run);
	kill(probe, SIGINT);
	if (scenario_wait(run, probe, 10) != 0)
		return -EIO;
	return r == 0 ? 0 : -EIO;
}

/* The program beside this one, or in PATH. */
static int find_programs(struct scenario_run *run)
{
	const ssize_t n = readlink("/proc/self/exe", run->self, sizeof(run->self) - 1);
	char *slash;

	if (n < 0)
		return -errno;
	run->self[n] = '\0';
	slash = strrchr(run->self, '/');
	snprintf(run->probe, sizeof(run->probe), "%.*s/useprobe", (int)(slash - run->self), run->self);
	if (access(run->probe, X_OK) < 0)
		snprintf(run->probe, sizeof(run->probe), "useprobe");
	return 0;
}

static struct scenario_run *to_clean;

static void interrupted(int signal_number)
{
	/* Children first: the groups can only go when they are empty. Ending by the signal is the honest status. */
	if (to_clean)
		/* NOLINTNEXTLINE(bugprone-signal-handler) down there are only kill, waitpid, nanosleep and rmdir */
		scenario_cleanup(to_clean);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static int find_place(struct scenario_run *run, const char *keep)
{
	char temporary[] = "/tmp/uselab-XXXXXX";
	const char *place = keep ? keep : mkdtemp(temporary);

	if (!place || (keep && mkdir(keep, 0755) < 0 && errno != EEXIST))
		return -errno;
	snprintf(run->dir, sizeof(run->dir), "%s", place);
	return 0;
}

/* Files of a run that nobody asked to keep. */
static void remove_files(const struct scenario_run *run)
{
	static const char *const files[] = { "samples.csv", "samples.json", "load.csv", "report.json", "db.log", "other.log",
		"serve.log", "synced", "pages", "decoy.log", "rival.log", "probe.log", "load.log", "report.log" };
	char path[300];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", run->dir, files[i]);
		unlink(path);
	}
	rmdir(run->dir);
}

static void make_plan(const struct arguments *args, double lift, struct scenario_plan *ret)
{
	struct lab_random random;
	uint64_t stream = 0;

	*ret = (struct scenario_plan){ 0 };
	scenario_add(ret->serve, "--listen @URL --seed %llu ", (unsigned long long)args->seed);
	scenario_add(ret->db, "--listen @DB ");
	scenario_add(ret->other, "--listen @OTHER ");
	scenario_add(ret->load, "--url http://@URL/ --seed %llu ", (unsigned long long)args->seed);
	for (const char *p = args->scenario->name; *p; p++)
		stream = stream * 31 + (unsigned char)*p;
	lab_random_init(&random, args->seed, stream);
	args->scenario->draw(&random, lift, ret);
	/* Nothing was added: nobody is started. */
	if (strcmp(ret->db, "--listen @DB ") == 0)
		ret->db[0] = '\0';
	if (strcmp(ret->other, "--listen @OTHER ") == 0)
		ret->other[0] = '\0';
}

static void print_plan(const char *name, const struct scenario_plan *plan)
{
	printf("%s: truth %s %s %s, about %.0f/s\n  quota %.3g, around it %.3g, memory %u MiB\n  serve %s\n  db    %s\n  other %s\n  decoy %s\n  rival %s\n"
	       "  load  %s\n",
		name, plan->verdict, plan->resource ? plan->resource : "", plan->name ? plan->name : "", plan->capacity_per_s,
		plan->quota_cpus, plan->parent_quota_cpus, plan->memory_mb, plan->serve, plan->db, plan->other, plan->decoy,
		plan->rival, plan->load);
	if (plan->stop_for_s > 0)
		printf("  stopped after %.1f s for %.1f s\n", plan->stop_at_s, plan->stop_for_s);
}

/* One run with its answer. 0 or the exit status of a failure. */
static int run_once(
	const struct arguments *args, const struct scenario_plan *plan, struct scenario_run *run, struct scenario_answer *ret)
{
	const uint64_t begin_ns = lab_now_ns();
	char samples[300], load_file[300];
	int r = find_programs(run);

	if (r == 0)
		r = find_place(run, args->keep);
	if (r == 0)
		r = scenario_ports(run);
	if (r < 0) {
		fprintf(stderr, "uselab: cannot begin: %s\n", strerror(-r));
		return EXIT_FAILED;
	}
	to_clean = run;
	r = scenario_groups(run, plan);
	if (r < 0) {
		fprintf(stderr, "uselab: cannot make a cgroup: %s\n", strerror(-r));
		scenario_cleanup(run);
		return EXIT_NO_RIGHTS;
	}
	snprintf(samples, sizeof(samples), "%s/samples.csv", run->dir);
	snprintf(load_file, sizeof(load_file), "%s/load.csv", run->dir);
	r = perform(run, plan, samples, load_file);
	if (r == 0)
		r = scenario_ask(run, samples, load_file, ret);
	scenario_cleanup(run);
	to_clean = NULL;
	ret->seconds = (double)(lab_now_ns() - begin_ns) / 1e9;
	if (r != 0) {
		fprintf(stderr, "uselab: %s could not be run: %s; logs are in %s\n", args->scenario->name, strerror(-r),
			run->dir);
		return EXIT_FAILED;
	}
	return 0;
}

static void print_answer(const struct arguments *args, const struct scenario_run *run, const struct scenario_plan *plan,
	const struct scenario_answer *a)
{
	const enum scenario_grade grade = scenario_judge(run, plan, a);
	char truth[256] = "";

	if (plan->name)
		scenario_expand(run, plan->name, truth, sizeof(truth));
	printf("%-16s seed %-4llu %-8s truth: %s %s %s  answer: %s %s %s  runner-up: %s  unexplained: ", args->scenario->name,
		(unsigned long long)args->seed, scenario_grade_name(grade), plan->verdict, plan->resource ? plan->resource : "-",
		truth, a->verdict, a->resource, a->name, *a->runner_up ? a->runner_up : "-");
	if (isnan(a->unexplained))
		printf("-  %.0f s\n", a->seconds);
	else
		printf("%.0f %%  %.0f s\n", 100 * a->unexplained, a->seconds);
	if (grade != SCENARIO_RIGHT)
		printf("    %s\n", a->reason);
}

/* Second run with what limits lifted: does the next limit lie where the ceilings of the first answer said? */
static int lifted(const struct arguments *args, const struct scenario_answer *first)
{
	struct scenario_plan plan;
	struct scenario_run run = { 0 };
	struct scenario_answer second;
	bool same, near_it;
	int r;

	make_plan(args, 4, &plan);
	r = run_once(args, &plan, &run, &second);
	if (r != 0)
		return r;
	if (!args->keep)
		remove_files(&run);
	/* Group and process numbers differ between the runs: only what stands behind them is compared. */
	same = strcmp(second.resource, first->next_resource) == 0;
	near_it = second.good_per_s <= first->next_per_s && second.bad_per_s >= (1 - CEILING_BELOW_RATIO) * first->next_per_s;
	printf("%-16s seed %-4llu %-8s next ceiling: %s at %.0f/s  found with the limit lifted: %s %s, knee %.0f to %.0f/s\n",
		args->scenario->name, (unsigned long long)args->seed,
		same && near_it ? "right"
		: same          ? "off"
				: "wrong",
		first->next_resource, first->next_per_s, second.resource, second.name, second.good_per_s, second.bad_per_s);
	if (strcmp(second.verdict, "unknown") == 0)
		return EXIT_UNKNOWN;
	return same && near_it ? 0 : EXIT_WRONG;
}

static int run_scenario(const struct arguments *args)
{
	static const int status[] = { 0, EXIT_UNKNOWN, EXIT_WRONG };
	struct scenario_run run = { 0 };
	struct scenario_plan plan;
	struct scenario_answer answer;
	int r;

	make_plan(args, 1, &plan);
	if (args->plan) {
		print_plan(args->scenario->name, &plan);
		return 0;
	}
	r = run_once(args, &plan, &run, &answer);
	if (r != 0)
		return r;
	print_answer(args, &run, &plan, &answer);
	fflush(stdout);
	r = args->json ? scenario_write_json(args->json, args->scenario->name, args->seed, &run, &plan, &answer) : 0;
	if (r < 0)
		fprintf(stderr, "uselab: %s: %s\n", args->json, strerror(-r));
	if (!args->keep)
		remove_files(&run);
	r = status[scenario_judge(&run, &plan, &answer)];
	return r == 0 && args->lift ? lifted(args, &answer) : r;
}

static int list(void)
{
	const struct scenario *s;

	for (unsigned i = 0; (s = scenario_at(i)); i++)
		printf("%-16s %s\n", s->name, s->what);
	return 0;
}

static int take_arguments(int argc, char **argv, struct arguments *ret)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "json", required_argument, NULL, 'j' },
		{ "keep", required_argument, NULL, 'k' },
		{ "lift", no_argument, NULL, 'f' },
		{ "plan", no_argument, NULL, 'p' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const struct scenario *s;
	int opt;

	*ret = (struct arguments){ .seed = 1 };
	optind = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 's' && lab_count_read(optarg, 0, UINT64_MAX, &ret->seed) < 0)
			opt = '?';
		if (opt == 'j')
			ret->json = optarg;
		else if (opt == 'k')
			ret->keep = optarg;
		else if (opt == 'f')
			ret->lift = true;
		else if (opt == 'p')
			ret->plan = true;
		else if (opt == 'l' || opt == 'h')
			return opt;
		else if (opt != 's')
			return '?';
	}
	for (unsigned i = 0; optind < argc && (s = scenario_at(i)); i++)
		if (strcmp(argv[optind], s->name) == 0)
			ret->scenario = s;
	return 0;
}

int lab_scenario_main(int argc, char **argv)
{
	struct arguments args;
	const int r = take_arguments(argc, argv, &args);

	if (r == 'l')
		return list();
	if (r) {
		fputs(usage, r == 'h' ? stdout : stderr);
		return r == 'h' ? 0 : EXIT_USAGE;
	}
	if (!args.scenario || (args.lift && !args.scenario->liftable)) {
		fprintf(stderr, "uselab scenario: %s; there are:\n",
			args.scenario   ? "it has no limit that can be lifted"
			: optind < argc ? "no such scenario"
					: "which one?");
		list();
		return EXIT_USAGE;
	}
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	return run_scenario(&args);
}
