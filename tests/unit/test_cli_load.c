/* useprobe latency and useprobe report from the outside: exit status, JSON keys and their values. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/cli.h"

enum { ARGS_MAX = 16 };

/* Runs COMMAND with the words of LINE; what it prints goes to PATH (standard error to nowhere). */
static int run(int (*command)(int argc, char **argv), const char *line, const char *path)
{
	char copy[512], *argv[ARGS_MAX + 1] = { NULL }, *at = copy;
	int argc = 0, saved[2] = { dup(1), dup(2) }, out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	snprintf(copy, sizeof(copy), "%s", line);
	while (argc < ARGS_MAX && (argv[argc] = strsep(&at, " ")))
		argc++;
	fflush(stdout);
	fflush(stderr);
	assert_true(saved[0] >= 0 && saved[1] >= 0 && out >= 0 && nowhere >= 0);
	dup2(out, 1);
	dup2(nowhere, 2);
	status = command(argc, argv);
	fflush(stdout);
	fflush(stderr);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);
	close(out);
	close(nowhere);
	return status;
}

static json_t *run_json(int (*command)(int argc, char **argv), const char *line, const char *written)
{
	char path[] = "/tmp/useprobe-cli.XXXXXX";
	int fd = mkstemp(path), status = run(command, line, path);
	json_t *json;

	assert_true(fd >= 0);
	close(fd);
	if (status != 0)
		fail_msg("%s: exit status %d", line, status);
	json = json_load_file(written ? written : path, 0, NULL);
	remove(path);
	assert_non_null(json);
	return json;
}

static double at(const json_t *json, const char *a, const char *b, const char *c)
{
	json = json_object_get(json, a);
	json = b ? json_object_get(json, b) : json;
	json = c ? json_object_get(json, c) : json;
	return json_is_number(json) ? json_number_value(json) : (double)NAN;
}

static void latency_of_a_closed_run(void **state)
{
	json_t *json = run_json(
		up_cli_latency, "latency " FIXTURES "load/k6_pause_closed.csv.gz --json --threshold 1s --window 10s", NULL);

	(void)state;
	assert_near(at(json, "n", NULL, NULL), 10800, 0, "n");
	assert_near(at(json, "percentiles", "p99", "ms"), 4.736, 0.0005, "p99");
	assert_near(at(json, "percentiles", "p99", "tail_n"), 108, 0, "tail");
	assert_string_equal(json_string_value(json_object_get(json, "model")), "closed");
	assert_near(at(json, "corrected", "n", NULL), 11660, 0, "corrected n");
	assert_near(at(json_object_get(json, "corrected"), "percentiles", "p99", "ms"), 4404, 0.5, "corrected p99");
	assert_near(at(json_object_get(json, "corrected"), "interval_ms", NULL, NULL), 111.11, 0.01, "interval");
	assert_true(json_is_null(json_object_get(json, "ok_only")));
	assert_int_equal(json_array_size(json_object_get(json, "windows")), 7);
	assert_near(at(json_array_get(json_object_get(json, "thresholds"), 0), "share", NULL, NULL), 10780.0 / 10800, 1e-9,
		"20 were slower than 1 s");
	assert_near(at(json, "skipped_lines", NULL, NULL), 0, 0, "skipped");
	/* 108 of 10,800 are slower than p99: of a hundred calls on a page at least one is in 63 % of the cases. */
	assert_near(
		at(json_array_get(json_object_get(json, "fanout_p99"), 2), "share", NULL, NULL), 0.63397, 1e-5, "1 - 0.99^100");
	assert_near(at(json, "mean_plus_2sd", "share_above", NULL), 20.0 / 10800, 1e-9, "only the twenty that met the freeze");
	json_decref(json);
}

static void latency_of_part_of_a_run(void **state)
{
	json_t *json =
		run_json(up_cli_latency, "latency --from 10s --to 20s --json " FIXTURES "load/k6_pause_closed.csv.gz", NULL);

	(void)state;
	assert_near(at(json, "n", NULL, NULL), 1960, 40, "ten seconds of 196/s");
	assert_true(at(json, "max_ms", NULL, NULL) < 100);
	json_decref(json);
}

static void several_files_and_their_average(void **state)
{
	json_t *json = run_json(up_cli_latency,
		"latency --json " FIXTURES "load/k6_pause_closed.csv.gz " FIXTURES "load/k6_pause_open.csv.gz", NULL);

	(void)state;
	assert_near(at(json, "n", NULL, NULL), 22325, 0, "together");
	assert_near(
		at(json, "averaged_file_percentiles_ms", "p99", NULL), (4.736258 + 4152.161) / 2, 0.01, "what must not be done");
	assert_near(
		at(json_array_get(json_object_get(json, "files"), 1), "latency", "n", NULL), 11525, 0, "the second file alone");
	assert_near(at(json, "dropped", NULL, NULL), 476, 0, "dropped");
	json_decref(json);
}

static void report_of_a_ladder(void **state)
{
	char written[] = "/tmp/useprobe-report.XXXXXX.json", line[256];
	int fd = mkstemps(written, 5);
	const json_t *knee, *step;
	json_t *json;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(line, sizeof(line), "report --load " FIXTURES "load/k6_steps.csv.gz --slo p95<200ms --peak 200 -o %s", written);
	json = run_json(up_cli_report, line, written);
	remove(written);
	knee = json_object_get(json, "knee");
	assert_string_equal(json_string_value(json_object_get(knee, "verdict")), "knee");
	assert_near(at(knee, "good_per_s", NULL, NULL), 300, 1, "good");
	assert_near(at(knee, "bad_per_s", NULL, NULL), 400, 4, "bad");
	assert_true(json_is_null(json_object_get(knee, "collapse_per_s")));
	assert_true(json_is_false(json_object_get(knee, "generator_bound")));
	assert_int_equal(json_array_size(json_object_get(json, "steps")), 10);
	step = json_array_get(json_object_get(json, "steps"), 3);
	assert_near(at(step, "achieved_ok_per_s", NULL, NULL), 353.8, 0.5, "achieved");
	assert_true(at(step, "failed", NULL, NULL) > 200);
	assert_true(at(step, "ok_only", "n", NULL) > 4000);
	assert_near(at(json, "headroom", "ratio", NULL), 1.776, 0.01, "355 over 200");
	assert_near(at(json, "slo_good_step", NULL, NULL), 2, 0, "the third step");
	assert_true(json_is_null(json_object_get(json_object_get(json, "clock_shift_s"), "value")));
	json_decref(json);
}

static void wrong_use_is_status_2(void **state)
{
	static const struct {
		int (*command)(int argc, char **argv);
		const char *line;
		int status;
	} cases[] = {
		{ up_cli_latency, "latency", 2 },
		{ up_cli_latency, "latency /nonexistent", 2 },
		{ up_cli_latency, "latency --window 0 x", 2 },
		{ up_cli_latency, "latency --nonsense x", 2 },
		{ up_cli_latency, "latency --threshold soon x", 2 },
		{ up_cli_latency, "latency --from 1h " FIXTURES "load/k6_pause_open.csv.gz", 1 },
		{ up_cli_latency, "latency Makefile", 2 },
		{ up_cli_latency, "latency --help", 0 },
		{ up_cli_report, "report", 2 },
		{ up_cli_report, "report --load x --steps 1:2:3", 2 },
		{ up_cli_report, "report --load x --slo p95", 2 },
		{ up_cli_report, "report --load x --peak fast", 2 },
		{ up_cli_report, "report --load x --offered 100,x", 2 },
		{ up_cli_report, "report --help", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status = run(cases[i].command, cases[i].line, "/dev/null");

		if (status != cases[i].status)
			fail_msg("%s: exit status %d instead of %d", cases[i].line, status, cases[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_of_a_closed_run),
		cmocka_unit_test(latency_of_part_of_a_run),
		cmocka_unit_test(several_files_and_their_average),
		cmocka_unit_test(report_of_a_ladder),
		cmocka_unit_test(wrong_use_is_status_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
