/* useprobe compare: the rule on plain numbers, six runs of the lab with and without a change, a noisy series cut in two, and what differs around runs. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/cli.h"
#include "useprobe/compare.h"

#define RUNS FIXTURES "load/compare/"
#define THREE(name) RUNS name "1.csv.gz " RUNS name "2.csv.gz " RUNS name "3.csv.gz"

enum { ARGS_MAX = 40 };

/* Runs the words of LINE; what is printed goes to OUT (one file for both streams). */
static int run(const char *line, const char *path)
{
	char copy[2048], *argv[ARGS_MAX + 1] = { NULL }, *at = copy;
	int argc = 0, saved[2] = { dup(1), dup(2) }, out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;

	assert_true((size_t)snprintf(copy, sizeof(copy), "%s", line) < sizeof(copy));
	while (argc < ARGS_MAX && (argv[argc] = strsep(&at, " ")))
		argc++;
	fflush(stdout);
	fflush(stderr);
	assert_true(saved[0] >= 0 && saved[1] >= 0 && out >= 0);
	dup2(out, 1);
	dup2(out, 2);
	status = up_cli_compare(argc, argv);
	fflush(stdout);
	fflush(stderr);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);
	close(out);
	return status;
}

/* What LINE prints, at most SIZE - 1 bytes, and its exit status. */
static int run_text(const char *line, char *text, size_t size)
{
	char path[] = "/tmp/useprobe-compare.XXXXXX";
	int fd = mkstemp(path), status = run(line, path);
	ssize_t n = read(fd, text, size - 1);

	close(fd);
	remove(path);
	assert_true(n >= 0);
	text[n] = '\0';
	return status;
}

static json_t *run_json(const char *line)
{
	char path[] = "/tmp/useprobe-compare.XXXXXX";
	int fd = mkstemp(path), status = run(line, path);
	json_t *json = json_load_file(path, 0, NULL);

	close(fd);
	remove(path);
	if (status != 0 || !json)
		fail_msg("%s: exit status %d", line, status);
	return json;
}

static const char *difference(const json_t *json, const char *figure)
{
	return json_string_value(json_object_get(json_object_get(json_object_get(json, "figures"), figure), "difference"));
}

static const char *reason(const json_t *json, const char *figure)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(json_object_get(json, "figures"), figure), "reason"));

	return text ? text : "";
}

static double bound(const json_t *json, const char *figure, const char *side, const char *which)
{
	const json_t *range = json_object_get(json_object_get(json_object_get(json, "figures"), figure), side);

	return json_number_value(json_object_get(range, which));
}

static bool has_warning(const json_t *json, const char *part)
{
	const json_t *warning;
	size_t i;

	json_array_foreach(json_object_get(json, "warnings"), i, warning)
	{
		if (strstr(json_string_value(warning), part))
			return true;
	}
	return false;
}

static enum up_no_claim why(const double *base, size_t n, const double *next, size_t m, double resolution)
{
	struct up_difference d;

	up_compare(base, n, next, m, resolution, &d);
	assert_true((d.why == UP_CLAIMED) == (d.kind != UP_DIFFERENCE_NONE));
	return d.why;
}

static void the_rule(void **state)
{
	static const double low[] = { 10, 11, 10.5, 10.2 }, high[] = { 12.1, 12.5, 13, 12.4 },
			    near[] = { 11.9, 12.3, 12.4, 12.2 };
	static const double drift[] = { 1, 2, 3 }, drifted[] = { 4, 5, 6 }, none[] = { 0, 0, 0 };
	const double holes[] = { 10, NAN, 11 };
	struct up_difference d;

	(void)state;
	assert_int_equal(why(low, 2, high, 3, 0), UP_NO_RUNS);
	assert_int_equal(why(holes, 3, high, 3, 0), UP_NO_RUNS);
	assert_int_equal(why(low, 3, high, 3, 0), UP_CLAIMED);
	assert_int_equal(why(low, 3, high, 3, 1.2), UP_NO_RESOLUTION);
	assert_int_equal(why(low, 3, near, 3, 0), UP_NO_GAP);
	assert_int_equal(why(low, 4, near, 4, 0), UP_CLAIMED); /* half the width is enough from four on */
	assert_int_equal(why(low, 4, near, 3, 0), UP_NO_GAP);
	assert_int_equal(why(low, 3, low, 3, 0), UP_NO_OVERLAP);
	assert_int_equal(why(none, 3, none, 3, 0), UP_NO_OVERLAP);
	/* Ranges that do not overlap, made by nothing but time. */
	assert_int_equal(why(drift, 3, drifted, 3, 0), UP_NO_GAP);
	up_compare(high, 3, low, 3, 0, &d);
	assert_int_equal(d.kind, UP_DIFFERENCE_LOWER);
	assert_near(d.base.median, 12.5, 0, "median");
	assert_near(d.change_lo, 10 / 13.0 - 1, 1e-12, "from the farthest runs");
	assert_near(d.change_hi, 11 / 12.1 - 1, 1e-12, "to the nearest");
	up_compare(none, 3, high, 3, 0, &d);
	assert_int_equal(d.kind, UP_DIFFERENCE_HIGHER);
	assert_true(isnan(d.change_lo) && isnan(d.change_hi));
	assert_true(up_compare_counts_alike(0, 1000, 3, 1000));
	assert_false(up_compare_counts_alike(0, 1000, 12, 1000));
}

/* Lab, 220/s Poisson for 5 s on 16 workers, in turns: wait exp:8 ms before; exp:5 ms and 60 ms more in one of 30 after. */
static void a_change_is_claimed(void **state)
{
	json_t *json = run_json("compare " THREE("base") " --to " THREE("tail") " --json");

	(void)state;
	assert_string_equal(difference(json, "p50"), "lower");
	assert_string_equal(difference(json, "p99"), "higher");
	assert_string_equal(difference(json, "achieved_per_s"), "none");
	assert_string_equal(reason(json, "p99.9"), "fewer than 10 requests of a run lie beyond it");
	/* By a separate program, nearest rank from planned_s. */
	assert_near(bound(json, "p50", "base", "min"), 6.840, 0.0006, "p50");
	assert_near(bound(json, "p50", "new", "max"), 5.113, 0.0006, "p50 after");
	assert_near(bound(json, "p99", "base", "median"), 38.279, 0.0006, "p99");
	assert_near(bound(json, "achieved_per_s", "base", "min"), 213.413, 0.0006, "throughput");
	assert_near(bound(json, "offered_per_s", "new", "max"), 231.342, 0.0006, "offered");
	assert_non_null(strstr(json_string_value(json_object_get(json, "shape")), "helps the median and hurts the tail"));
	assert_false(has_warning(json, "in turns"));
	assert_true(json_integer_value(json_object_get(json, "claims")) >= 2);
	assert_int_equal(json_array_size(json_object_get(json, "base")), 3);
	json_decref(json);
	/* The other way round the words change sides. */
	json = run_json("compare --before " THREE("tail") " --after " THREE("base") " --json");
	assert_non_null(strstr(json_string_value(json_object_get(json, "shape")), "hurts the median and helps the tail"));
	json_decref(json);
}

/* One server with a lock that is held now and then and a slow stretch: six runs one after the other, cut in the middle. */
static void a_noisy_series_is_not(void **state)
{
	json_t *json = run_json(
		"compare " THREE("noise") " --to " RUNS "noise4.csv.gz " RUNS "noise5.csv.gz " RUNS "noise6.csv.gz --json");
	const char *figure;
	json_t *value;

	(void)state;
	json_object_foreach(json_object_get(json, "figures"), figure, value)
		assert_string_equal(json_string_value(json_object_get(value, "difference")), "none");
	assert_near((double)json_integer_value(json_object_get(json, "claims")), 0, 0, "claims");
	assert_true(has_warning(json, "in turns"));
	assert_true(json_is_null(json_object_get(json, "shape")));
	json_decref(json);
}

static void histograms_add_up(void **state)
{
	json_t *json = run_json("compare " THREE("base") " --to " THREE("tail") " --json");
	const json_t *bar, *run;
	json_int_t sum[2] = { 0 }, n[2] = { 0 };
	double last_ms = 0;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(json, "histogram"), i, bar)
	{
		sum[0] += json_integer_value(json_object_get(bar, "base_n"));
		sum[1] += json_integer_value(json_object_get(bar, "new_n"));
		assert_true(json_number_value(json_object_get(bar, "lo_ms")) >= last_ms * 0.999);
		last_ms = json_number_value(json_object_get(bar, "hi_ms"));
	}
	json_array_foreach(json_object_get(json, "base"), i, run) n[0] += json_integer_value(json_object_get(run, "n"));
	json_array_foreach(json_object_get(json, "new"), i, run) n[1] += json_integer_value(json_object_get(run, "n"));
	assert_int_equal(sum[0], n[0]);
	assert_int_equal(sum[1], n[1]);
	json_decref(json);
}

static void too_few_or_the_same(void **state)
{
	char text[16384];
	json_t *json = run_json("compare " RUNS "base1.csv.gz " RUNS "base2.csv.gz --to " THREE("tail") " --json");

	(void)state;
	assert_string_equal(difference(json, "p50"), "none");
	assert_string_equal(reason(json, "p50"), "fewer than three runs on a side");
	json_decref(json);
	assert_int_equal(run_text("compare " RUNS "base1.csv.gz --to " RUNS "tail1.csv.gz", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "no difference can be claimed: 1 and 1 runs"));
	assert_int_equal(
		run_text("compare " THREE("base") " --to " RUNS "tail1.csv.gz " RUNS "base2.csv.gz", text, sizeof(text)), 2);
	assert_non_null(strstr(text, "are the same run"));
	assert_int_equal(run_text("compare " THREE("base"), text, sizeof(text)), 2);
	assert_int_equal(run_text("compare " THREE("base") " --to /nowhere/x.csv", text, sizeof(text)), 2);
	assert_int_equal(run_text("compare --to " THREE("base") " --before x", text, sizeof(text)), 2);
	assert_int_equal(run_text("compare " THREE("base") " --to " THREE("tail") " --from 1h", text, sizeof(text)), 2);
	assert_int_equal(run_text("compare --help", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "Exit status"));
}

static void cut_and_text(void **state)
{
	char text[16384];
	json_t *json = run_json("compare " THREE("base") " --to " THREE("tail") " --from 1s --until 3s --json");

	(void)state;
	/* About 440 requests are left: five of them lie beyond p99. */
	assert_string_equal(reason(json, "p99"), "fewer than 10 requests of a run lie beyond it");
	json_decref(json);
	assert_int_equal(run_text("compare " THREE("base") " --to " THREE("tail"), text, sizeof(text)), 0);
	assert_non_null(strstr(text, "environment: not known"));
	assert_non_null(strstr(text, "lower, better"));
	assert_non_null(strstr(text, "the ranges overlap"));
	assert_non_null(strstr(text, "before: share of requests"));
}

static void different_kinds_are_refused(void **state)
{
	json_t *json = run_json("compare " THREE("base") " --to " FIXTURES "load/k6_pause_open.csv.gz " FIXTURES
							 "load/vegeta_attack.csv.gz " FIXTURES "load/hey_rate.csv.gz --json");

	(void)state;
	assert_true(has_warning(json, "latencies are not compared"));
	assert_string_equal(difference(json, "p50"), "none");
	assert_string_equal(reason(json, "p50"), "the two sides do not measure the same");
	json_decref(json);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Samples of a minute around the fixture runs: OUTSIDE CPUs used by others, 0.5 by the target, once more in the row of its limiting parent. */
static void write_samples(const char *dir, const char *name, int64_t start_s, double outside, const char *quota)
{
	char path[256], text[16384];
	size_t n;

	n = (size_t)snprintf(text, sizeof(text),
		"time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,detail,target\n");
	for (int i = 0; i < 8; i++) {
		char when[32];
		time_t at = start_s + i;
		struct tm tm;

		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&at, &tm));
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"%s.000Z,%d.000,1.000,host,cpu-outside,host,0.1,,,,,ok,ok,m,used_cpus=%g,\n"
			"%s.000Z,%d.000,1.000,cgroup,cpu,/up,0.5,,,,,ok,ok,m,used_cpus=0.5,api\n"
			"%s.000Z,%d.000,1.000,cgroup,cpu,/up/api,0.5,,,,,ok,ok,m,used_cpus=0.5,api\n",
			when, i, outside, when, i, when, i);
	}
	snprintf(path, sizeof(path), "%s/%s.csv", dir, name);
	write_file(path, text);
	snprintf(text, sizeof(text),
		"{\"version\": \"0.1.0\", \"environment\": {\"kernel\": \"6.1\", \"cpu_count\": 2, \"boot_id\": \"%s\"},"
		" \"targets\": [{\"name\": \"api\", \"kind\": \"cgroup\", \"limits\": {\"cpu.max\": \"%s\"}},"
		" {\"name\": \"%s1\", \"kind\": \"pid\"}], \"notes\": {\"build\": \"%s\"}}",
		name, quota, name, name);
	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	write_file(path, text);
}

/* What is wrong with a file quotes its first line: no escape sequence reaches the terminal. */
static void messages_are_clean(void **state)
{
	char path[] = "/tmp/useprobe-compare.XXXXXX", line[512], text[4096];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_file(path, "\033[31mred \xff\xc2\x9b"
			 "31m\n");
	snprintf(line, sizeof(line), "compare %s --to " THREE("base"), path);
	assert_int_equal(run_text(line, text, sizeof(text)), 2);
	remove(path);
	assert_non_null(strstr(text, "red"));
	assert_null(strchr(text, '\033'));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strchr(text, '\xff'));
}

static void environment_comes_first(void **state)
{
	static const int64_t start_s[2][3] = { { 1796104657, 1796104668, 1796104679 }, { 1796104662, 1796104673, 1796104684 } };
	static const char *const sides[] = { "base", "tail" };
	char dir[] = "/tmp/useprobe-compare.XXXXXX", line[2048] = "compare", name[16], path[64], text[16384];
	const json_t *item;
	json_t *json;
	bool quota = false, note = false, boot = false, process = false;
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (unsigned side = 0; side < 2; side++) {
		if (side == 1)
			strcat(line, " --to");
		for (unsigned k = 0; k < 3; k++) {
			snprintf(name, sizeof(name), "%s%u", sides[side], k);
			write_samples(dir, name, start_s[side][k], side ? 1.2 + 0.01 * k : 0.1 + 0.01 * k,
				side ? "max" : "50000 100000");
			snprintf(line + strlen(line), sizeof(line) - strlen(line), " " RUNS "%s%u.csv.gz+%s/%s.csv", sides[side],
				k + 1, dir, name);
		}
	}
	assert_int_equal(run_text(line, text, sizeof(text)), 0);
	assert_ptr_equal(strstr(text, "environment"), text);
	assert_non_null(strstr(text, "differs: limit cpu.max of api: 50000 100000 before, max after"));
	assert_non_null(strstr(text, "a difference below may come from that"));
	strcat(line, " --json");
	json = run_json(line);
	json_array_foreach(json_object_get(json_object_get(json, "environment"), "differences"), i, item)
	{
		const char *key = json_string_value(json_object_get(item, "key"));

		quota = quota || strcmp(key, "limit cpu.max of api") == 0;
		note = note || strcmp(key, "note build") == 0;
		boot = boot || strstr(key, "boot");
		process = process || strncmp(key, "target", 6) == 0;
	}
	assert_true(quota && note && !boot && !process);
	assert_string_equal(difference(json, "cpu_outside_cpus"), "higher");
	assert_near(bound(json, "cpu_outside_cpus", "base", "max"), 0.12, 1e-6, "CPUs outside before");
	assert_near(bound(json, "cpu_outside_cpus", "new", "min"), 1.2, 1e-6, "CPUs outside after");
	assert_near(bound(json, "cpu_targets_cpus", "new", "max"), 0.5, 1e-6, "counted once");
	assert_string_equal(difference(json, "p50"), "lower");
	json_decref(json);
	for (unsigned side = 0; side < 2; side++) {
		for (unsigned k = 0; k < 3; k++) {
			snprintf(path, sizeof(path), "%s/%s%u.csv", dir, sides[side], k);
			remove(path);
			snprintf(path, sizeof(path), "%s/%s%u.json", dir, sides[side], k);
			remove(path);
		}
	}
	rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rule),
		cmocka_unit_test(a_change_is_claimed),
		cmocka_unit_test(a_noisy_series_is_not),
		cmocka_unit_test(histograms_add_up),
		cmocka_unit_test(too_few_or_the_same),
		cmocka_unit_test(cut_and_text),
		cmocka_unit_test(different_kinds_are_refused),
		cmocka_unit_test(messages_are_clean),
		cmocka_unit_test(environment_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
