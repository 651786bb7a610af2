#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "useprobe/clock.h"
#include "useprobe/sidecar.h"

static const struct up_sidecar_pair limits[] = { { "cpu.max", "50000 100000" } };
static const struct up_sidecar_pair notes[] = { { "build", "42" }, { "k\xff", "bad \xc0 byte\n" } };
static const struct up_sidecar_target targets[] = {
	{ .name = "a\xfe\"b", .kind = "cgroup", .label = "/a", .how = "relative path", .limits = limits, .limit_count = 1 }
};
static const struct up_sidecar_collector collectors[] = { { .name = "cpu", .target = "api", .state = UP_OK },
	{ .name = "listen", .state = UP_DENIED, .reason = "needs CAP_NET_ADMIN" } };

static struct up_sidecar sample(void)
{
	return (struct up_sidecar){ .csv = "x.csv",
		.version = "0.1.0",
		.host = "box",
		.kernel = "6.1.0",
		.cpu_count = { 4, UP_OK, 0 },
		.start_wall_ns = 1796068200123456789ull,
		.start_mono_ns = 77 * UP_NS_PER_S,
		.interval_ns = UP_NS_PER_S,
		.command = "k6",
		.command_argument_count = 3,
		.targets = targets,
		.target_count = 1,
		.collectors = collectors,
		.collector_count = 2,
		.notes = notes,
		.note_count = 2 };
}

static json_t *parse(const struct up_sidecar *sidecar)
{
	char *text = up_sidecar_text(sidecar);
	json_t *json;

	assert_non_null(text);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

static json_t *at(json_t *json, const char *object, const char *key)
{
	json_t *value = json_object_get(json_object_get(json, object), key);

	assert_non_null(value);
	return value;
}

static void running(void **state)
{
	const struct up_sidecar sidecar = sample();
	json_t *json = parse(&sidecar);
	json_t *target = json_array_get(json_object_get(json, "targets"), 0);
	json_t *listen = json_array_get(json_object_get(json, "collectors"), 1);

	(void)state;
	assert_string_equal(json_string_value(at(json, "run", "start")), "2026-11-30T19:50:00.123Z");
	assert_true(json_is_null(at(json, "run", "end")));
	assert_true(json_is_null(at(json, "run", "ticks")));
	assert_true(json_is_null(at(json, "environment", "memory_bytes")));
	assert_int_equal(json_integer_value(at(json, "environment", "cpu_count")), 4);
	assert_string_equal(json_string_value(json_object_get(target, "name")), "a\\xfe\"b");
	assert_string_equal(json_string_value(at(target, "limits", "cpu.max")), "50000 100000");
	assert_string_equal(json_string_value(json_object_get(listen, "state")), "denied");
	assert_true(json_is_null(json_object_get(listen, "target")));
	assert_string_equal(json_string_value(at(json, "notes", "k\\xff")), "bad \\xc0 byte\n");
	assert_string_equal(json_string_value(at(json, "command", "program")), "k6");
	assert_int_equal(json_integer_value(at(json, "command", "argument_count")), 3);
	json_decref(json);
}

static void ended(void **state)
{
	struct up_sidecar sidecar = sample();
	json_t *json;

	(void)state;
	sidecar.command = NULL;
	sidecar.end_reason = "duration";
	sidecar.end_mono_ns = sidecar.start_mono_ns + 60 * UP_NS_PER_S;
	sidecar.end_wall_ns = sidecar.start_wall_ns + 3660 * UP_NS_PER_S;
	json = parse(&sidecar);
	assert_near(json_real_value(at(json, "clock", "elapsed_s")), 60, 1e-6, "elapsed");
	assert_near(json_real_value(at(json, "clock", "wall_gained_s")), 3600, 1e-3, "the wall clock was stepped by an hour");
	assert_int_equal(json_integer_value(at(json, "run", "late_ticks")), 0);
	assert_true(json_is_null(json_object_get(json, "command")));
	json_decref(json);
}

static void paths(void **state)
{
	char path[4096], longest[4096];

	(void)state;
	assert_int_equal(up_sidecar_path("a/b.csv", path, sizeof(path)), 0);
	assert_string_equal(path, "a/b.json");
	assert_int_equal(up_sidecar_path("b", path, sizeof(path)), 0);
	assert_string_equal(path, "b.json");
	assert_int_equal(up_sidecar_path(".csv", path, sizeof(path)), 0);
	assert_string_equal(path, ".csv.json");
	assert_int_equal(up_sidecar_path("b.csv", path, 6), -ENAMETOOLONG);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(up_sidecar_path(longest, path, sizeof(path)), -ENAMETOOLONG);
}

static void files(void **state)
{
	char directory[] = "/tmp/up_sidecar_XXXXXX", path[64];
	struct up_sidecar sidecar = sample();
	struct stat before, after;
	json_t *json;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/x.json", directory);
	assert_int_equal(up_sidecar_write(path, true, &sidecar), 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(up_sidecar_write(path, true, &sidecar), -EEXIST);
	sidecar.end_wall_ns = sidecar.start_wall_ns;
	sidecar.end_mono_ns = sidecar.start_mono_ns;
	assert_int_equal(up_sidecar_write(path, false, &sidecar), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_true(before.st_ino != after.st_ino);
	json = json_load_file(path, 0, NULL);
	assert_non_null(json);
	json_decref(json);
	unlink(path);
	/* Nothing else was left behind. */
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(up_sidecar_write(path, true, &sidecar), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running),
		cmocka_unit_test(ended),
		cmocka_unit_test(paths),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
