#include "scenario.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scenario_run.h"

#define EXIT_RIGHT 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_UNKNOWN 3
#define EXIT_WRONG 4
#define EXIT_NO_RIGHTS 77

static const char usage[] =
	"usage: uselab scenario NAME [--seed N] [--json FILE] [--keep DIR]\n"
	"A service with one bottleneck, loaded in steps with useprobe beside it; a fresh `useprobe report` then names the bottleneck from samples\n"
	"and load file alone. Root, one minute at most, everything is undone at the end.\n"
	"\n"
	"  --seed N      of service times, sizes, rates and the decoy (1)\n"
	"  --json FILE   truth and answer for programs\n"
	"  --keep DIR    keeps samples, load file and logs there\n"
	"  --list        the scenarios\n"
	"\n"
	"Exit status: 0 the answer is right, 3 `unknown`, 4 wrong, 1 could not run, 77 no right to make a cgroup.\n";

struct outcome {
	char verdict[32], resource[64], name[256], runner_up[256], reason[512], knee[64];
	double unexplained;
	double seconds;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Options as typed behind the program's own words. */
static void make_argv(
	char **argv, unsigned size, const char *const *head, char tail[SCENARIO_ARGS][SCENARIO_TEXT], unsigned tail_count)
{
	unsigned n = 0;

	for (; *head && n + 1 < size; head++)
		argv[n++] = (char *)*head;
	for (unsigned i = 0; i < tail_count && n + 1 < size; i++)
		argv[n++] = tail[i];
	argv[n] = NULL;
}

static pid_t start(struct scenario_run *run, const char *const *head, char tail[SCENARIO_ARGS][SCENARIO_TEXT],
	unsigned tail_count, const char *log, bool inside)
{
	char *argv[SCENARIO_ARGS + 24];

	make_argv(argv, sizeof(argv) / sizeof(argv[0]), head, tail, tail_count);
	return scenario_start(run, argv, log, inside);
}

/* Runs service, probe and load. 0 or -errno; the files are in run->dir afterwards. */
static int perform(struct scenario_run *run, struct scenario_plan *plan, const char *csv, const char *load_csv)
{
	char percent[16];
	pid_t server, probe, load;
	int r;

	if (plan->db_count)
		start(run, (const char *[]){ run->self, "db", "--listen", SCENARIO_DB, "--duration", "90s", NULL }, plan->db,
			plan->db_count, "db.log", false);
	server = start(run, (const char *[]){ run->self, "serve", "--listen", SCENARIO_SERVER, "--duration", "90s", NULL },
		plan->serve, plan->serve_count, "serve.log", true);
	if (plan->decoy_percent) {
		snprintf(percent, sizeof(percent), "%u", plan->decoy_percent);
		start(run, (const char *[]){ run->self, "burn", "--percent", percent, "--duration", "90s", NULL }, NULL, 0,
			"burn.log", false);
	}
	scenario_sleep(1);
	/* Another program on the port would be measured instead. */
	if (scenario_wait(run, server, 0.01) >= 0)
		return -EADDRINUSE;
	probe = start(run,
		(const char *[]){ run->probe, "-c", run->group, "-b", "-i", "0.5", "-d", "80s", "-o", csv, "--force", NULL },
		NULL, 0, "probe.log", false);
	scenario_sleep(1.5);
	load = start(run,
		(const char *[]){ run->self, "load", "--quiet", "--url", "http://" SCENARIO_SERVER "/", "--out", load_csv, NULL },
		plan->load, plan->load_count, "load.log", false);
	if (server < 0 || probe < 0 || load < 0)
		return -EAGAIN;
	if (plan->stop_for_s > 0) {
		scenario_sleep(plan->stop_at_s);
		kill(server, SIGSTOP);
		scenario_sleep(plan->stop_for_s);
		kill(server, SIGCONT);
	}
	r = scenario_wait(run, load, 70);
	scenario_sleep(1);
	kill(probe, SIGINT);
	if (scenario_wait(run, probe, 10) != 0)
		return -EIO;
	return r == 0 ? 0 : -EIO;
}

static void take_text(const json_t *object, const char *key, char *ret, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(ret, size, "%s", text ? text : "");
}

/* The answer of a process that was told nothing but the two files. */
static int judge(struct scenario_run *run, const char *csv, const char *load_csv, struct outcome *ret)
{
	char path[300];
	const json_t *bottleneck, *runner_up, *knee;
	json_error_t error;
	json_t *root;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/report.json", run->dir);
	pid = start(run, (const char *[]){ run->probe, "report", csv, "--load", load_csv, "-o", path, NULL }, NULL, 0,
		"report.log", false);
	if (pid < 0 || scenario_wait(run, pid, 30) != 0)
		return -EIO;
	root = json_load_file(path, 0, &error);
	if (!root)
		return -EBADMSG;
	bottleneck = json_object_get(root, "bottleneck");
	runner_up = json_object_get(bottleneck, "runner_up");
	knee = json_object_get(root, "knee");
	take_text(bottleneck, "verdict", ret->verdict, sizeof(ret->verdict));
	take_text(bottleneck, "resource", ret->resource, sizeof(ret->resource));
	take_text(bottleneck, "name", ret->name, sizeof(ret->name));
	take_text(bottleneck, "reason", ret->reason, sizeof(ret->reason));
	take_text(knee, "verdict", ret->knee, sizeof(ret->knee));
	if (json_is_object(runner_up)) {
		char resource[64], name[160];

		take_text(runner_up, "resource", resource, sizeof(resource));
		take_text(runner_up, "name", name, sizeof(name));
		snprintf(ret->runner_up, sizeof(ret->runner_up), "%s %s", resource, name);
	}
	ret->unexplained = json_is_number(json_object_get(bottleneck, "unexplained_share"))
				   ? json_number_value(json_object_get(bottleneck, "unexplained_share"))
				   : -1;
	json_decref(root);
	return 0;
}

static int grade(const struct scenario_run *run, const struct scenario_plan *plan, const struct outcome *outcome)
{
	char group[80];

	if (strcmp(outcome->verdict, "unknown") == 0)
		return EXIT_UNKNOWN;
	if (strcmp(outcome->verdict, plan->verdict) != 0)
		return EXIT_WRONG;
	if (!plan->resource)
		return EXIT_RIGHT;
	snprintf(group, sizeof(group), "/%s", run->group);
	return strcmp(outcome->resource, plan->resource) == 0 &&
			       strstr(outcome->name, plan->name_holds ? plan->name_holds : group)
		       ? EXIT_RIGHT
		       : EXIT_WRONG;
}

static const char *grade_name(int grade)
{
	return grade == EXIT_RIGHT ? "right" : grade == EXIT_UNKNOWN ? "unknown" : "wrong";
}

static int write_json(const char *path, const struct scenario *scenario, uint64_t seed, const struct scenario_plan *plan,
	const struct outcome *o, int result)
{
	json_t *root = json_pack("{s:s, s:I, s:{s:s, s:s?, s:f}, s:{s:s, s:s, s:s, s:s, s:s, s:f}, s:s, s:f}", "scenario",
		scenario->name, "seed", (json_int_t)seed, "truth", "verdict", plan->verdict, "resource", plan->resource,
		"capacity_per_s", plan->capacity_per_s, "answer", "verdict", o->verdict, "resource", o->resource, "name", o->name,
		"runner_up", o->runner_up, "knee", o->knee, "unexplained_share", o->unexplained, "result", grade_name(result),
		"seconds", o->seconds);
	int r = root ? json_dump_file(root, path, JSON_INDENT(2)) : -1;

	json_decref(root);
	return r;
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
		scenario_cleanup(to_clean);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static int run_scenario(const struct scenario *scenario, uint64_t seed, const char *json, const char *keep)
{
	struct scenario_run run = { 0 };
	struct scenario_plan plan = { 0 };
	struct outcome outcome = { 0 };
	char unexplained[16] = "-";
	char csv[300], load_csv[300], temporary[] = "/tmp/uselab-XXXXXX";
	const double begin_s = now_s();
	int r = find_programs(&run), result = EXIT_FAILED;

	snprintf(run.dir, sizeof(run.dir), "%s", keep ? keep : r == 0 && mkdtemp(temporary) ? temporary : "");
	if (r < 0 || !*run.dir || (keep && mkdir(keep, 0755) < 0 && errno != EEXIST)) {
		fprintf(stderr, "uselab: no place for the files: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	scenario->draw(seed, &plan);
	r = scenario_group(&run, plan.quota_cpus);
	if (r < 0) {
		fprintf(stderr, "uselab: cannot make a cgroup: %s\n", strerror(-r));
		scenario_cleanup(&run);
		return EXIT_NO_RIGHTS;
	}
	to_clean = &run;
	snprintf(csv, sizeof(csv), "%s/samples.csv", run.dir);
	snprintf(load_csv, sizeof(load_csv), "%s/load.csv", run.dir);
	r = perform(&run, &plan, csv, load_csv);
	if (r == 0)
		r = judge(&run, csv, load_csv, &outcome);
	scenario_cleanup(&run);
	to_clean = NULL;
	if (r < 0) {
		fprintf(stderr, "uselab: %s could not be run: %s; logs are in %s\n", scenario->name, strerror(-r), run.dir);
		return EXIT_FAILED;
	}
	outcome.seconds = now_s() - begin_s;
	result = grade(&run, &plan, &outcome);
	if (outcome.unexplained >= 0)
		snprintf(unexplained, sizeof(unexplained), "%.0f %%", 100 * outcome.unexplained);
	printf("%-16s seed %-4llu %-8s truth: %s %s%s%s  answer: %s %s %s  runner-up: %s  unexplained %s  %.0f s\n",
		scenario->name, (unsigned long long)seed, grade_name(result), plan.verdict, plan.resource ? plan.resource : "",
		plan.name_holds ? " " : "", plan.name_holds ? plan.name_holds : "", outcome.verdict, outcome.resource,
		outcome.name, *outcome.runner_up ? outcome.runner_up : "-", unexplained, outcome.seconds);
	if (result != EXIT_RIGHT)
		printf("    %s\n", outcome.reason);
	if (json && write_json(json, scenario, seed, &plan, &outcome, result) < 0)
		fprintf(stderr, "uselab: %s could not be written\n", json);
	return result;
}

static int list(void)
{
	for (const struct scenario *s = scenarios; s->name; s++)
		printf("%-16s %s\n", s->name, s->what);
	return 0;
}

int lab_scenario_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "json", required_argument, NULL, 'j' },
		{ "keep", required_argument, NULL, 'k' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *json = NULL, *keep = NULL;
	unsigned long long seed = 1;
	char rest;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 's' && sscanf(optarg, "%llu%c", &seed, &rest) != 1)
			opt = '?';
		switch (opt) {
		case 's':
			break;
		case 'j':
			json = optarg;
			break;
		case 'k':
			keep = optarg;
			break;
		case 'l':
			return list();
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	for (const struct scenario *s = scenarios; optind < argc && s->name; s++)
		if (strcmp(argv[optind], s->name) == 0)
			return run_scenario(s, seed, json, keep);
	fprintf(stderr, "uselab scenario: %s; there are:\n", optind < argc ? "no such scenario" : "which one?");
	list();
	return EXIT_USAGE;
}
