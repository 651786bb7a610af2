/* The rules around the walk, one by one, on rows written by hand: two good steps and a bad one of six seconds each. */
#include "check.h"

#include <stdlib.h>

#include "tape.h"
#include "useprobe/attribution.h"
#include "useprobe/ceilings.h"

#define LISTENER "tcp:0.0.0.0:8080"
#define PEER "10.0.0.2:5433"
enum { STEP_S = 6 };

/* Levels of one second. What is NAN has no row. */
struct second {
	double in_flight, arrivals, departures, unread;
	double workers, busy; /* of the pool worker- */
	double used_cpus, throttled, contended;
	double lock, accept;
	double open, at_db; /* connections, queries under way */
};

/* A healthy service at RATE: 10 ms at the database, 1 ms of CPU. */
static struct second healthy(double rate_per_s)
{
	return (struct second){ .in_flight = rate_per_s * 0.012,
		.arrivals = rate_per_s,
		.departures = rate_per_s,
		.workers = 16,
		.busy = rate_per_s * 0.012,
		.used_cpus = rate_per_s * 0.001,
		.open = 16,
		.at_db = rate_per_s * 0.010 };
}

static void write_second(struct tape *tape, const struct second *s)
{
	tape_requests(tape, LISTENER, s->in_flight, s->arrivals, s->departures, s->unread);
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/worker-", s->busy / s->workers, s->workers, NAN);
	tape_row(tape, UP_SCOPE_CGROUP, "cpu", "/api", s->used_cpus / 2, 2, s->throttled);
	tape_row(tape, UP_SCOPE_CGROUP, "run-queue", "/api", NAN, NAN, s->contended);
	tape_row(tape, UP_SCOPE_PROCESS, "lock", "api[7]", NAN, NAN, s->lock);
	tape_row(tape, UP_SCOPE_LISTENER, "listen", LISTENER, s->accept / 128, 128, s->accept);
	tape_dependency(tape, PEER, s->open, s->at_db, s->departures);
}

struct scene {
	struct tape tape;
	struct up_stage stage[3];
	struct up_attribution_input input;
	struct up_attribution answer;
};

static void scene_begin(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	tape_init(&scene->tape);
	for (int i = 0; i < 3; i++)
		scene->stage[i] = (struct up_stage){ .from_us = tape_us(STEP_S * i),
			.to_us = tape_us(STEP_S * (i + 1)),
			.in_flight = NAN,
			.verdict = i < 2 ? UP_STAGE_GOOD : UP_STAGE_BAD };
	scene->input = (struct up_attribution_input){
		.recording = &scene->tape.recording, .stage = scene->stage, .n_stages = 3, .bad = 2, .collapse = -1
	};
}

static void scene_answer(struct scene *scene)
{
	assert_int_equal(up_attribution_find(&scene->input, &scene->answer), 0);
}

/* 50/s, 100/s, then BAD for a step. EACH may be NULL: adds rows to each second. */
static void scene_run(struct scene *scene, const struct second *bad, void (*each)(struct tape *tape, int second))
{
	scene_begin(scene);
	for (int second = 0; second < 3 * STEP_S; second++) {
		const struct second good = healthy(second < STEP_S ? 50 : 100);

		write_second(&scene->tape, second < 2 * STEP_S ? &good : bad);
		if (each)
			each(&scene->tape, second);
		tape_tick(&scene->tape);
	}
	scene_answer(scene);
}

/* The database answers late: the connections fill, the threads fill, requests wait in front of all. */
static struct second slow_database(void)
{
	struct second s = healthy(100);

	s.in_flight = 60;
	s.arrivals = 150;
	s.busy = 16;
	s.at_db = 15.8;
	return s;
}

static void assert_suspect(const struct scene *scene, const char *resource, const char *name)
{
	if (scene->answer.verdict != UP_BOTTLENECK_RESOURCE)
		fail_msg("verdict %s: %s", up_bottleneck_verdict_name(scene->answer.verdict), scene->answer.reason);
	assert_string_equal(scene->answer.suspect.resource, resource);
	assert_string_equal(scene->answer.suspect.name, name);
}

static void test_inherits_to_the_dependency(void **state)
{
	const struct second bad = slow_database();
	struct scene scene;

	(void)state;
	scene_run(&scene, &bad, NULL);
	assert_suspect(&scene, "dependency", PEER);
	assert_int_equal(scene.answer.n_walk, 3);
	assert_string_equal(scene.answer.walk[0].resource, "thread-pool");
	assert_string_equal(scene.answer.walk[1].resource, "connection-pool");
	assert_near(scene.answer.suspect.hold_good_ms, 10, 0.1, "good");
	assert_near(scene.answer.suspect.hold_bad_ms, 158, 0.1, "bad");
	assert_true(scene.answer.n_symptoms >= 1);
	assert_true(strstr(scene.answer.falsifier, "it is held for") != NULL);
	tape_done(&scene.tape);
}

static void add_second_target(struct tape *tape, int second)
{
	const bool bad = second >= 2 * STEP_S;
	const double rate = second < STEP_S ? 50 : 100;

	tape->target = "db";
	tape_requests(tape, "tcp:10.0.0.2:5433", bad ? 15.8 : rate * 0.01, rate, rate, 0);
	tape_row(tape, UP_SCOPE_PROCESS, "thread-pool", "db[9]/worker-", bad ? 0.98 : rate / 102, 1, NAN);
	tape_row(tape, UP_SCOPE_CGROUP, "cpu", "/db", rate * 0.0002, 1, 0);
	tape->target = "api";
}

static void sql_row(struct tape *tape, const char *name, double tasks)
{
	tape_full_row(tape,
		&(struct up_row){ .scope = UP_SCOPE_DATABASE, .resource = "sql", .name = name, .saturation = up_value(tasks) });
}

static void add_waits(struct tape *tape, int second)
{
	const bool bad = second >= 2 * STEP_S;

	tape->target = NULL;
	sql_row(tape, "shop", bad ? 16 : 1);
	sql_row(tape, "shop/buffer-io", bad ? 1.5 : 1);
	if (bad)
		sql_row(tape, "shop/lock", 14);
	tape->target = "api";
}

/* Classes of waits divide the dependency's time: the suspect stays, and what it waits for is said. */
static void test_a_database_is_looked_into(void **state)
{
	const struct second bad = slow_database();
	struct scene scene;
	bool said = false;

	(void)state;
	scene_run(&scene, &bad, add_waits);
	assert_suspect(&scene, "dependency", PEER);
	for (size_t i = 0; i < scene.answer.n_evidence; i++)
		said = said || (strstr(scene.answer.evidence[i], "shop/lock") && strstr(scene.answer.evidence[i], "14 tasks"));
	assert_true(said);
	assert_non_null(strstr(scene.answer.next, "who holds the locks"));
	tape_done(&scene.tape);
}

static void test_walk_goes_on_in_the_second_target(void **state)
{
	const struct second bad = slow_database();
	struct scene scene;

	(void)state;
	scene_run(&scene, &bad, add_second_target);
	/* The database's one worker is full at 9.8 ms a query, as before. */
	assert_suspect(&scene, "thread-pool", "db[9]/worker-");
	assert_string_equal(scene.answer.suspect.target, "db");
	tape_done(&scene.tape);
}

static void test_cpu_quota_and_its_ancestor(void **state)
{
	struct second bad = healthy(100);
	struct scene scene;

	(void)state;
	bad.in_flight = 60;
	bad.arrivals = 150;
	bad.busy = 16;
	bad.used_cpus = 0.1;
	bad.throttled = 14;
	bad.at_db = 1;
	scene_begin(&scene);
	for (int second = 0; second < 3 * STEP_S; second++) {
		const struct second good = healthy(second < STEP_S ? 50 : 100), *s = second < 2 * STEP_S ? &good : &bad;
		struct up_row row = { .scope = UP_SCOPE_CGROUP,
			.resource = "cpu",
			.name = "/pod/api",
			.utilization = up_value(s->used_cpus / 0.105),
			.servers = 0.105,
			.waiting = up_value(s->throttled),
			.detail = "capacity_by=quota;limited_by=/pod" };

		tape_requests(&scene.tape, LISTENER, s->in_flight, s->arrivals, s->departures, 0);
		tape_row(&scene.tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/worker-", s->busy / 16, 16, NAN);
		tape_full_row(&scene.tape, &row);
		row.name = "/pod";
		row.detail = NULL;
		tape_full_row(&scene.tape, &row);
		tape_dependency(&scene.tape, PEER, 16, s->at_db, s->departures);
		tape_tick(&scene.tape);
	}
	scene_answer(&scene);
	assert_suspect(&scene, "cpu", "/pod");
	tape_done(&scene.tape);
}

/* All threads are busy and held only 1.2 times as long, but for the CPU that is full inside them: both look like the limit, and the CPU would have
 * been full first. With more CPU to spare the threads are the limit. */
static void run_full_inside(struct scene *scene, double cpu_ms)
{
	struct second bad = healthy(1111);

	bad.in_flight = 60;
	bad.arrivals = 1400;
	bad.busy = 16;
	bad.used_cpus = 2;
	bad.throttled = 3;
	scene_begin(scene);
	for (int second = 0; second < 3 * STEP_S; second++) {
		struct second good = healthy(second < STEP_S ? 50 : 100);

		good.used_cpus = good.departures * cpu_ms / 1e3;
		write_second(&scene->tape, second < 2 * STEP_S ? &good : &bad);
		tape_tick(&scene->tape);
	}
	scene_answer(scene);
}

static void test_full_inside_a_full_pool(void **state)
{
	struct scene scene;

	(void)state;
	run_full_inside(&scene, 1.8);
	assert_suspect(&scene, "cpu", "/api");
	assert_int_equal(scene.answer.walk[0].kind, UP_STATION_WORKERS);
	tape_done(&scene.tape);
	run_full_inside(&scene, 1.3); /* 2 CPUs / 1.3 ms = 1538/s, 16 threads / 12 ms = 1333/s */
	assert_suspect(&scene, "thread-pool", "api[7]/worker-");
	tape_done(&scene.tape);
}

/* Ten threads sleep on a lock, and the CPU is full at the CPU time per request of before: who holds the lock waits for it. */
static void test_a_lock_hides_a_full_cpu(void **state)
{
	struct second bad = healthy(800);
	struct scene scene;

	(void)state;
	bad.in_flight = 60;
	bad.arrivals = 1000;
	bad.busy = 16; /* held 20 ms instead of 12 */
	bad.used_cpus = 2;
	bad.throttled = 3;
	bad.lock = 10;
	bad.at_db = 1;
	for (int full = 1; full >= 0; full--) {
		scene_begin(&scene);
		for (int second = 0; second < 3 * STEP_S; second++) {
			struct second good = healthy(second < STEP_S ? 50 : 100);

			good.used_cpus = good.departures * 2.4 / 1e3;
			if (!full)
				bad.used_cpus = 1.2;
			write_second(&scene.tape, second < 2 * STEP_S ? &good : &bad);
			tape_tick(&scene.tape);
		}
		scene_answer(&scene);
		if (full) {
			assert_suspect(&scene, "cpu", "/api");
			assert_non_null(strstr(scene.answer.symptom[1], "lock"));
		} else { /* three tasks wait for a CPU that is not full: both are named */
			assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_UNKNOWN);
			assert_string_equal(scene.answer.suspect.resource, "lock");
			assert_string_equal(scene.answer.runner_up.resource, "cpu");
		}
		tape_done(&scene.tape);
	}
}

static void test_other_users_of_the_cpus(void **state)
{
	struct second bad = healthy(100);
	struct scene scene;

	(void)state;
	bad.in_flight = 60;
	bad.arrivals = 150;
	bad.busy = 16;
	bad.contended = 14;
	scene_begin(&scene);
	for (int second = 0; second < 3 * STEP_S; second++) {
		const struct second good = healthy(second < STEP_S ? 50 : 100), *s = second < 2 * STEP_S ? &good : &bad;

		write_second(&scene.tape, s);
		scene.tape.rows.count--; /* the dependency's row: written below, behind the competitor's name */
		tape_full_row(&scene.tape, &(struct up_row){ .scope = UP_SCOPE_CGROUP,
						   .resource = "run-queue",
						   .name = "/api",
						   .waiting = up_value(s->contended),
						   .detail = "competitor=/batch" });
		tape_full_row(&scene.tape, &(struct up_row){ .scope = UP_SCOPE_HOST,
						   .resource = "cpu-outside",
						   .name = "host",
						   .utilization = up_value(0.9),
						   .servers = 2,
						   .target = "",
						   .detail = "used_cpus=1.8" });
		tape_dependency(&scene.tape, PEER, 16, s->at_db, s->departures);
		tape_tick(&scene.tape);
	}
	scene_answer(&scene);
	assert_suspect(&scene, "run-queue", "/batch");
	tape_done(&scene.tape);
}

static void test_two_causes_are_unknown(void **state)
{
	struct second bad = healthy(100);
	struct scene scene;

	(void)state;
	bad.in_flight = 40;
	bad.arrivals = 150;
	bad.busy = 16;
	bad.lock = 8;
	bad.throttled = 6;
	scene_run(&scene, &bad, NULL);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_UNKNOWN);
	assert_true(scene.answer.has_suspect && scene.answer.has_runner_up);
	assert_non_null(strstr(scene.answer.reason, "lock"));
	assert_non_null(strstr(scene.answer.reason, "cpu"));
	tape_done(&scene.tape);
}

static void test_nothing_measured_is_outside(void **state)
{
	struct second bad = healthy(100);
	struct scene scene;

	(void)state;
	bad.in_flight = 40;
	bad.arrivals = 150;
	scene_run(&scene, &bad, NULL);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_OUTSIDE);
	assert_true(scene.answer.unexplained_share > 0.9);
	tape_done(&scene.tape);
}

static void add_refusals(struct tape *tape, int second)
{
	tape_full_row(tape, &(struct up_row){ .scope = UP_SCOPE_PROCESS,
				    .resource = "descriptors",
				    .name = "api[7]",
				    .utilization = up_value(second < 2 * STEP_S ? 0.4 : 1),
				    .errors = up_value(second < 2 * STEP_S ? 0 : 12) });
}

static void test_refusals_move_it_inwards(void **state)
{
	struct second bad = healthy(100);
	struct scene scene;

	(void)state;
	bad.accept = 90;
	bad.arrivals = 150;
	scene_run(&scene, &bad, NULL);
	assert_suspect(&scene, "listen", LISTENER);
	tape_done(&scene.tape);
	scene_run(&scene, &bad, add_refusals);
	assert_suspect(&scene, "descriptors", "api[7]");
	assert_true(scene.answer.n_symptoms >= 1);
	tape_done(&scene.tape);
}

/* A thread for each request: there are as many as the descriptors allow, and then the accept queue grows. */
static void test_a_growing_pool_is_limited_by_the_table(void **state)
{
	struct scene scene;

	(void)state;
	for (int full = 0; full < 2; full++) {
		scene_begin(&scene);
		for (int second = 0; second < 3 * STEP_S; second++) {
			const bool bad = second >= 2 * STEP_S;
			const double rate = second < STEP_S ? 50 : bad ? 300 : 100, done = fmin(rate, 200), threads = done * 0.1;

			tape_requests(&scene.tape, LISTENER, threads + (bad ? 400 : 0), rate, done, bad ? 400 : 0);
			tape_row(&scene.tape, UP_SCOPE_LISTENER, "listen", LISTENER, bad ? 0.8 : 0, 512, bad ? 400 : 0);
			tape_row(&scene.tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/request", 0.99, threads, NAN);
			tape_row(&scene.tape, UP_SCOPE_CGROUP, "cpu", "/api", 0.05, 2, 0);
			tape_row(&scene.tape, UP_SCOPE_CGROUP, "run-queue", "/api", NAN, NAN, 0);
			tape_row(&scene.tape, UP_SCOPE_PROCESS, "descriptors", "api[7]", full && bad ? 1 : 0.4, 36, NAN);
			tape_tick(&scene.tape);
		}
		scene_answer(&scene);
		if (full)
			assert_suspect(&scene, "descriptors", "api[7]");
		else
			assert_string_not_equal(scene.answer.suspect.resource, "descriptors");
		tape_done(&scene.tape);
	}
}

static void test_late_onset_is_a_veto(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	for (int second = 0; second < 3 * STEP_S + 6; second++) {
		struct second s = healthy(second < STEP_S ? 50 : 100);

		/* Requests pile up from the first second of a long bad step, the lock grows only five seconds later. */
		if (second >= 2 * STEP_S) {
			s.in_flight = 40;
			s.arrivals = 150;
			s.busy = 16;
			s.lock = second >= 2 * STEP_S + 5 ? 14 : 0;
		}
		write_second(&scene.tape, &s);
		tape_tick(&scene.tape);
	}
	scene.stage[2].to_us = tape_us(3 * STEP_S + 6);
	scene_answer(&scene);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_UNKNOWN);
	assert_non_null(strstr(scene.answer.reason, "too late"));
	tape_done(&scene.tape);
}

/* Behind two workers at most two tasks can wait for the CPU, and now and then they do in good steps too. */
static void test_bounded_queue_has_no_onset(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	for (int second = 0; second < 3 * STEP_S; second++) {
		struct second s = healthy(second < STEP_S ? 50 : 100);

		s.workers = 2;
		s.busy = fmin(s.busy, 1.2);
		s.used_cpus = 1.0;
		s.throttled = second % 5 == 0 ? 1.2 : 0;
		if (second >= 2 * STEP_S) {
			s.in_flight = 40;
			s.arrivals = 150;
			s.busy = 2;
			s.used_cpus = 1.95;
			s.throttled = 1.2;
			s.at_db = 0.1;
		}
		write_second(&scene.tape, &s);
		tape_tick(&scene.tape);
	}
	scene_answer(&scene);
	assert_suspect(&scene, "cpu", "/api");
	tape_done(&scene.tape);
}

static void test_pool_full_in_good_steps_is_no_cause(void **state)
{
	const struct second bad = slow_database();
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	for (int second = 0; second < 3 * STEP_S; second++) {
		const struct second good = healthy(second < STEP_S ? 50 : 100);

		write_second(&scene.tape, second < 2 * STEP_S ? &good : &bad);
		tape_row(&scene.tape, UP_SCOPE_PROCESS, "thread-pool", "api[7]/spinner-", 0.99, 4, NAN);
		tape_tick(&scene.tape);
	}
	scene_answer(&scene);
	assert_suspect(&scene, "dependency", PEER);
	{
		bool acquitted = false;

		for (size_t i = 0; i < scene.answer.n_evidence; i++)
			acquitted = acquitted || strstr(scene.answer.evidence[i], "spinner- acquitted");
		assert_true(acquitted);
	}
	tape_done(&scene.tape);
}

static void add_late_ticks(struct tape *tape, int second)
{
	tape_full_row(tape, &(struct up_row){ .scope = UP_SCOPE_PROBE,
				    .resource = "probe",
				    .name = "useprobe",
				    .target = "",
				    .saturation = up_value(second % 4 == 0),
				    .saturation_unit = "late ticks" });
}

static void test_invalid_runs_are_unknown(void **state)
{
	const struct second bad = slow_database();
	struct scene scene;

	(void)state;
	scene_run(&scene, &bad, add_late_ticks);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_UNKNOWN);
	assert_non_null(strstr(scene.answer.reason, "came late"));
	tape_done(&scene.tape);
	scene_run(&scene, &bad, NULL);
	scene.stage[0].verdict = UP_STAGE_UNJUDGED;
	scene_answer(&scene);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_UNKNOWN);
	assert_non_null(strstr(scene.answer.reason, "1 good step "));
	scene.input.target = "nobody";
	scene_answer(&scene);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_UNKNOWN);
	assert_non_null(strstr(scene.answer.reason, "nobody"));
	tape_done(&scene.tape);
}

static void test_client_side(void **state)
{
	struct second bad = healthy(110);
	struct scene scene;

	(void)state;
	scene_run(&scene, &bad, NULL);
	/* The target has as many inside as before, the generator has 300 on the way. */
	scene.stage[0].in_flight = 0.7;
	scene.stage[1].in_flight = 1.3;
	scene.stage[2].in_flight = 300;
	scene_answer(&scene);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_GENERATOR);
	scene.input.generator_bound = true;
	scene.input.generator_reason = "3 of 4 were dropped";
	scene_answer(&scene);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_GENERATOR);
	assert_string_equal(scene.answer.reason, "3 of 4 were dropped");
	tape_done(&scene.tape);
}

/* Thirty seconds at an even rate; FROM..TO the requests pile up, frozen or not. */
static void run_without_knee(struct scene *scene, int from, int to, bool frozen)
{
	scene_begin(scene);
	scene->input.n_stages = 0;
	scene->input.bad = -1;
	for (int second = 0; second < 30; second++) {
		const bool out = second >= from && second < to;
		struct second s = healthy(100 + second % 3);

		if (out) {
			s = slow_database();
			s.departures = frozen ? 0 : 60;
		}
		write_second(&scene->tape, &s);
		tape_full_row(&scene->tape, &(struct up_row){ .scope = UP_SCOPE_CGROUP,
						    .resource = "frozen",
						    .name = "/api",
						    .saturation = up_value(out && frozen),
						    .saturation_unit = "ratio" });
		tape_tick(&scene->tape);
	}
	scene_answer(scene);
}

static void test_episodes(void **state)
{
	struct scene scene;

	(void)state;
	run_without_knee(&scene, 14, 19, true);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_FROZEN);
	assert_near(scene.answer.frozen_for_s, 5, 0.01, "stopped for five seconds");
	assert_near(scene.answer.frozen_from_s, 14, 0.01, "from second 14 on");
	tape_done(&scene.tape);
	run_without_knee(&scene, 14, 19, false);
	assert_true(scene.answer.episode);
	assert_int_equal(scene.answer.episodes, 1);
	assert_suspect(&scene, "dependency", PEER);
	assert_int_equal(scene.answer.from_us, tape_us(14));
	assert_int_equal(scene.answer.to_us, tape_us(19));
	tape_done(&scene.tape);
	run_without_knee(&scene, 0, 0, false);
	assert_int_equal(scene.answer.verdict, UP_BOTTLENECK_NONE);
	tape_done(&scene.tape);
}

static void knee_by_rows(const struct second *bad, int *ret_bad, struct up_attribution *ret)
{
	struct scene scene;
	struct up_stage stage[8];
	struct up_subject subject;
	int n;

	scene_begin(&scene);
	for (int second = 0; second < 30; second++) {
		const struct second good = healthy(second < 10 ? 50 : 100);

		write_second(&scene.tape, second < 20 ? &good : bad);
		tape_tick(&scene.tape);
	}
	assert_int_equal(up_subjects(&scene.tape.recording, &subject, 1), 1);
	n = up_stages_from_rows(&scene.tape.recording, &subject, stage, 8, ret_bad);
	assert_int_equal(n, 5); /* 29 s between the first and the last tick */
	scene.input.stage = stage;
	scene.input.n_stages = *ret_bad < 0 ? 0 : (size_t)n;
	scene.input.bad = *ret_bad;
	assert_int_equal(up_attribution_find(&scene.input, ret), 0);
	tape_done(&scene.tape);
}

/* No load file: more arrives than leaves, twice in a row; or more and more are inside while no more is completed. */
static void test_knee_without_load_file(void **state)
{
	struct second bad = slow_database();
	struct up_attribution answer;
	int index;

	(void)state;
	knee_by_rows(&bad, &index, &answer);
	assert_int_equal(index, 4); /* the fourth window holds the change, the fifth is bad all through */
	assert_int_equal(answer.verdict, UP_BOTTLENECK_RESOURCE);
	assert_string_equal(answer.suspect.resource, "dependency");
	bad.arrivals = 100; /* a closed model: only as many ask as are answered */
	knee_by_rows(&bad, &index, &answer);
	assert_int_equal(index, 4);
	assert_string_equal(answer.suspect.resource, "dependency");
	bad = healthy(100);
	bad.in_flight = 2.9; /* twice as many, but fewer than two more: the chance of a quiet service */
	knee_by_rows(&bad, &index, &answer);
	assert_int_equal(index, -1);
	assert_int_equal(answer.verdict, UP_BOTTLENECK_NONE);
}

static void test_ceilings(void **state)
{
	const struct second bad = slow_database();
	struct up_ceiling ceiling[UP_CEILINGS_MAX];
	struct scene scene;
	int n;

	(void)state;
	scene_run(&scene, &bad, NULL);
	n = up_ceilings_find(&scene.input, &scene.answer, ceiling, UP_CEILINGS_MAX);
	assert_int_equal(n, 4);
	/* 16 threads at 12 ms, 2 CPUs at 1 ms. */
	assert_string_equal(ceiling[0].resource, "thread-pool");
	assert_near(ceiling[0].ceiling_per_s, 16 / 0.012, 1, "threads");
	assert_string_equal(ceiling[1].resource, "cpu");
	assert_near(ceiling[1].ceiling_per_s, 2 / 0.001, 1, "CPUs");
	/* As many connections are open as there are threads: how many there could be is not known. */
	for (int i = 2; i < 4; i++)
		assert_true(isnan(ceiling[i].ceiling_per_s));
	assert_true(ceiling[2].suspect || ceiling[3].suspect);
	tape_done(&scene.tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inherits_to_the_dependency),
		cmocka_unit_test(test_a_database_is_looked_into),
		cmocka_unit_test(test_walk_goes_on_in_the_second_target),
		cmocka_unit_test(test_cpu_quota_and_its_ancestor),
		cmocka_unit_test(test_full_inside_a_full_pool),
		cmocka_unit_test(test_a_lock_hides_a_full_cpu),
		cmocka_unit_test(test_other_users_of_the_cpus),
		cmocka_unit_test(test_two_causes_are_unknown),
		cmocka_unit_test(test_nothing_measured_is_outside),
		cmocka_unit_test(test_refusals_move_it_inwards),
		cmocka_unit_test(test_a_growing_pool_is_limited_by_the_table),
		cmocka_unit_test(test_late_onset_is_a_veto),
		cmocka_unit_test(test_bounded_queue_has_no_onset),
		cmocka_unit_test(test_pool_full_in_good_steps_is_no_cause),
		cmocka_unit_test(test_invalid_runs_are_unknown),
		cmocka_unit_test(test_client_side),
		cmocka_unit_test(test_episodes),
		cmocka_unit_test(test_knee_without_load_file),
		cmocka_unit_test(test_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
