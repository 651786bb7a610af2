#include "scenario_answer.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void take_text(const json_t *object, const char *key, char *ret, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(ret, size, "%s", text ? text : "");
}

static double take_number(const json_t *object, const char *key)
{
	const json_t *number = json_object_get(object, key);

	return json_is_number(number) ? json_number_value(number) : NAN;
}

static void take_ceiling(const json_t *ceilings, struct scenario_answer *ret)
{
	const json_t *ceiling;
	size_t i;

	ret->next_per_s = NAN;
	json_array_foreach(ceilings, i, ceiling)
	{
		if (json_is_true(json_object_get(ceiling, "suspect")) || isnan(take_number(ceiling, "ceiling_per_s")))
			continue;
		take_text(ceiling, "resource", ret->next_resource, sizeof(ret->next_resource));
		take_text(ceiling, "name", ret->next_name, sizeof(ret->next_name));
		ret->next_per_s = take_number(ceiling, "ceiling_per_s");
		return;
	}
}

static void take_answer(const json_t *root, struct scenario_answer *ret)
{
	const json_t *bottleneck = json_object_get(root, "bottleneck"), *runner_up = json_object_get(bottleneck, "runner_up");
	const json_t *knee = json_object_get(root, "knee");

	take_text(bottleneck, "verdict", ret->verdict, sizeof(ret->verdict));
	take_text(bottleneck, "resource", ret->resource, sizeof(ret->resource));
	take_text(bottleneck, "name", ret->name, sizeof(ret->name));
	take_text(bottleneck, "reason", ret->reason, sizeof(ret->reason));
	take_text(knee, "verdict", ret->knee, sizeof(ret->knee));
	ret->good_per_s = take_number(knee, "good_per_s");
	ret->bad_per_s = take_number(knee, "bad_per_s");
	ret->unexplained = take_number(bottleneck, "unexplained_share");
	if (json_is_object(runner_up)) {
		char resource[64], name[160];

		take_text(runner_up, "resource", resource, sizeof(resource));
		take_text(runner_up, "name", name, sizeof(name));
		snprintf(ret->runner_up, sizeof(ret->runner_up), "%s %s", resource, name);
	}
	take_ceiling(json_object_get(root, "ceilings"), ret);
}

int scenario_ask(struct scenario_run *run, const char *samples, const char *load, struct scenario_answer *ret)
{
	char path[300];
	json_error_t error;
	json_t *root;
	pid_t pid;

	*ret = (struct scenario_answer){ .next_per_s = NAN };
	snprintf(path, sizeof(path), "%s/report.json", run->dir);
	pid = scenario_start(run, (const char *[]){ run->probe, "report", samples, "--load", load, "-o", path, NULL }, "",
		"report.log", SCENARIO_ROLES);
	if (pid < 0 || scenario_wait(run, pid, 30) != 0)
		return -EIO;
	root = json_load_file(path, 0, &error);
	if (!root)
		return -EBADMSG;
	take_answer(root, ret);
	json_decref(root);
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

enum scenario_grade scenario_judge(
	const struct scenario_run *run, const struct scenario_plan *plan, const struct scenario_answer *answer)
{
	char name[256];

	if (strcmp(answer->verdict, plan->verdict) == 0 &&
		(!plan->resource || (strcmp(answer->resource, plan->resource) == 0 &&
					    ends_with(answer->name, scenario_expand(run, plan->name, name, sizeof(name))))))
		return SCENARIO_RIGHT;
	/* Both say that nothing measured can be named. */
	if (strcmp(answer->verdict, "unknown") == 0 || strcmp(answer->verdict, "outside") == 0)
		return SCENARIO_UNKNOWN;
	return SCENARIO_WRONG;
}

const char *scenario_grade_name(enum scenario_grade grade)
{
	static const char *const names[] = { "right", "unknown", "wrong" };

	return names[grade];
}

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

int scenario_write_json(const char *path, const char *name, uint64_t seed, const struct scenario_run *run,
	const struct scenario_plan *plan, const struct scenario_answer *answer)
{
	static const char *const roles[SCENARIO_ROLES] = { "server", "db", "load", "decoy", "rival" };
	char truth[256] = "";
	json_t *root = json_object(), *cpu = json_object();
	int r;

	if (plan->name)
		scenario_expand(run, plan->name, truth, sizeof(truth));
	json_object_set_new(root, "scenario", json_string(name));
	json_object_set_new(root, "seed", json_integer((json_int_t)seed));
	json_object_set_new(root, "truth",
		json_pack("{s:s, s:s?, s:s?, s:o, s:s, s:s, s:s, s:o}", "verdict", plan->verdict, "resource", plan->resource,
			"name_ends", plan->name ? truth : NULL, "capacity_per_s", number(plan->capacity_per_s), "serve",
			plan->serve, "db", plan->db, "load", plan->load, "quota_cpus",
			number(plan->quota_cpus > 0 ? plan->quota_cpus : NAN)));
	json_object_set_new(root, "answer",
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "verdict", answer->verdict, "resource",
			answer->resource, "name", answer->name, "runner_up", answer->runner_up, "reason", answer->reason, "knee",
			answer->knee, "good_per_s", number(answer->good_per_s), "bad_per_s", number(answer->bad_per_s),
			"unexplained_share", number(answer->unexplained)));
	for (int i = 0; i < SCENARIO_ROLES; i++)
		json_object_set_new(cpu, roles[i], number(run->cpu_s[i]));
	json_object_set_new(root, "cpu_s", cpu);
	json_object_set_new(root, "result", json_string(scenario_grade_name(scenario_judge(run, plan, answer))));
	json_object_set_new(root, "seconds", number(answer->seconds));
	r = json_dump_file(root, path, JSON_INDENT(2)) < 0 ? -EIO : 0;
	json_decref(root);
	return r;
}
