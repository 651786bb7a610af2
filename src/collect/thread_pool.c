/* thread_pool - the targets' thread pools and locks, from ten snapshots a second (useprobe/tasks.h): how many threads of a pool are busy on
 * average, and where they are. What waits for a pool's threads inside the application is not visible to the kernel; the analysis computes
 * it from the requests in flight. A second row per process counts threads that sleep on a futex which is not the one their pool idles on. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/tasks.h"

#define LOOP_IDLE_NS (UP_NS_PER_S / 5) /* seen twice in ten snapshots a second */
#define ROWS_MAX 64 /* pools shown a tick */

static const char no_window[] = "no snapshot in the window";

struct raw {
	struct up_tasks_view view;
	struct up_u64 mono_ns;
	const char *const *targets; /* [target_count] names as typed */
	size_t target_count;
};

static int thread_pool_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { .target_count = env->targets->count };
	const char **names = up_arena_alloc(arena, (raw.target_count + 1) * sizeof(*names));
	int r;

	(void)state;
	/* All threads of a machine would be too many rows: without a target there are none. */
	if (!env->tasks && !env->targets->count && !env->source->recorded)
		return 0;
	if (!env->tasks)
		return up_fail(env, env->tasks_error ? env->tasks_error : -EOPNOTSUPP, "%s",
			env->tasks_reason ? env->tasks_reason : "a recorded tree has no threads");
	if (!names)
		return -ENOSPC;
	r = up_tasks_read(env->tasks, arena, &raw.view);
	if (r < 0)
		return r;
	raw.mono_ns = (struct up_u64){ .n = raw.view.mono_ns, .has = raw.view.mono_ns != 0 };
	for (size_t i = 0; i < raw.target_count; i++) {
		names[i] = up_arena_strdup(arena, env->targets->items[i].name);
		if (!names[i])
			return -ENOSPC;
	}
	raw.targets = names;
	*(struct raw *)ret_raw = raw;
	return 0;
}

static const struct up_pool *find_pool(const struct raw *raw, const struct up_pool *like)
{
	for (size_t i = 0; raw && i < raw->view.count; i++)
		if (raw->view.pools[i].first_ns == like->first_ns && raw->view.pools[i].target == like->target &&
			strcmp(raw->view.pools[i].name, like->name) == 0)
			return &raw->view.pools[i];
	return NULL;
}

/* Counters of POOL at the sample before; of one that is new since then they were 0. */
static const struct up_pool *before_of(const struct raw *p, const struct up_pool *pool)
{
	static const struct up_pool none;
	const struct up_pool *before = find_pool(p, pool);

	return !before && p && p->mono_ns.has && pool->first_ns > p->mono_ns.n ? &none : before;
}

/* Mean of a level over the window from its two integrals. */
static struct up_value mean_of(const uint64_t *prev, uint64_t cur, struct up_value window_ns)
{
	const struct up_u64 before = { .n = prev ? *prev : 0, .has = prev != NULL };

	return up_ratio(up_delta(&before, (struct up_u64){ .n = cur, .has = true }, NULL), window_ns, no_window);
}

struct means {
	struct up_value threads, doing[UP_DOING_COUNT], busy;
};

static struct means means_of(const struct up_pool *p, const struct up_pool *c, struct up_value window_ns)
{
	struct means m = { .threads = mean_of(p ? &p->threads_area_ns : NULL, c->threads_area_ns, window_ns) };
	struct up_value idle;

	for (int i = 0; i < UP_DOING_COUNT; i++)
		m.doing[i] = mean_of(p ? &p->area_ns[i] : NULL, c->area_ns[i], window_ns);
	idle = m.doing[UP_DOING_IDLE];
	/* A thread that sleeps alone is a timer; several that do are a way to serve, and so is one that waits for events in between. */
	if (c->threads < 2 && c->area_ns[UP_DOING_IDLE] < LOOP_IDLE_NS)
		idle = up_plus(idle, m.doing[UP_DOING_SLEEP]);
	m.busy = up_minus(m.threads, idle);
	return m;
}

static void describe_ends(struct up_detail *detail, const struct raw *c, const struct up_pool *pool, const struct up_pool *before)
{
	const struct up_u64 ended = { .n = before ? before->ended : 0, .has = before != NULL };
	const struct up_u64 unseen = { .n = before ? before->unseen : 0, .has = before != NULL };

	up_detail_value(detail, "ended", up_delta(&ended, (struct up_u64){ pool->ended, !c->view.no_ends }, c->view.no_ends));
	if (!c->view.no_ends)
		up_detail_value(detail, "ended_unseen", up_delta(&unseen, (struct up_u64){ pool->unseen, true }, NULL));
}

/* What the snapshots themselves cost and miss. */
static void describe_snapshots(struct up_detail *detail, const struct raw *p, const struct raw *c, struct up_value window_ns)
{
	const struct up_value lost = up_delta(p ? &p->view.lost : NULL, c->view.lost, NULL);

	up_detail_value(detail, "snapshots_per_s",
		up_scaled(up_ratio(up_delta(p ? &p->view.snapshots : NULL, c->view.snapshots, NULL), window_ns, no_window),
			(double)UP_NS_PER_S, 1, NULL));
	up_detail_number(detail, "snapshot_ms", (double)c->view.cost_ns / (double)UP_NS_PER_MS);
	if (up_value_ok(lost) && lost.number > 0)
		up_detail_value(detail, "lost", lost);
	if (c->view.count > ROWS_MAX)
		up_detail_count(detail, "pools_not_shown", c->view.count - ROWS_MAX);
	if (c->view.note)
		up_detail_text(detail, "reason", c->view.note);
}

/* Where the threads are. Processes that were in no snapshot have none. */
static void describe_threads(struct up_detail *detail, const struct up_pool *pool, const struct means *m, const char *no_runnable)
{
	if (!pool->tgid)
		return;
	up_detail_value(detail, "threads", m->threads);
	up_detail_value(detail, "busy", m->busy);
	for (int i = 0; i < UP_DOING_COUNT; i++)
		up_detail_value(detail, up_doing_name((enum up_doing)i),
			i == UP_DOING_RUNNABLE && no_runnable ? up_none(no_runnable) : m->doing[i]);
}

static void add_pool(
	const struct raw *p, const struct raw *c, const struct up_pool *pool, struct up_value window_ns, struct up_rows *out)
{
	const struct up_pool *before = before_of(p, pool);
	const struct means m = means_of(before, pool, window_ns);
	const struct up_u64 cpu_before = { .n = before ? before->exec_ns : 0, .has = before != NULL };
	struct up_detail detail = { 0 };
	char method[64];

	snprintf(method, sizeof(method), "%s %s", c->view.method, c->view.lower_bound ? "lower bound" : "measured");
	describe_threads(&detail, pool, &m, c->view.no_runnable);
	up_detail_value(&detail, "used_cpus",
		up_ratio(up_delta(&cpu_before, (struct up_u64){ .n = pool->exec_ns, .has = true }, NULL), window_ns, no_window));
	describe_ends(&detail, c, pool, before);
	describe_snapshots(&detail, p, c, window_ns);
	up_rows_add(out,
		&(struct up_row){
			.scope = UP_SCOPE_PROCESS,
			.resource = "thread-pool",
			.name = pool->name,
			.target = pool->target < c->target_count ? c->targets[pool->target] : NULL,
			.utilization = pool->tgid ? up_ratio(m.busy, m.threads, "no thread")
						  : up_none("its processes begin and end between two snapshots"),
			.saturation =
				up_none("a queue inside the application is not visible; --queue or a runtime counter shows it"),
			.waiting = up_none(
				"a queue inside the application is not visible; the report computes it from the requests in flight"),
			.errors = up_none("failed thread creations are not counted"),
			.servers = up_value_ok(m.threads) ? m.threads.number : pool->threads,
			.method = method,
			.detail = detail.text,
			.state = before ? UP_OK : UP_FIRST,
			.reason = c->view.note,
			.window_ns = up_value_ok(window_ns) ? (uint64_t)window_ns.number : 0,
		});
}

/* Threads of one process that wait for a lock: all its pools together. */
static void add_lock(const struct raw *p, const struct raw *c, size_t first, struct up_value window_ns, struct up_rows *out)
{
	const struct up_pool *of = &c->view.pools[first];
	struct up_value waiting = up_value(0);
	struct up_detail detail = { 0 };
	char name[UP_POOL_NAME], method[64];
	bool known = false;

	snprintf(method, sizeof(method), "%s %s", c->view.method, c->view.lower_bound ? "lower bound" : "measured");
	for (size_t i = first; i < c->view.count; i++) {
		const struct up_pool *pool = &c->view.pools[i], *before;

		if (pool->tgid != of->tgid || pool->target != of->target)
			continue;
		before = before_of(p, pool);
		known = known || pool->word;
		if (before)
			waiting = up_plus(
				waiting, mean_of(&before->area_ns[UP_DOING_LOCK], pool->area_ns[UP_DOING_LOCK], window_ns));
	}
	/* Without a pool whose idle word is known, idling and waiting for a lock look the same. */
	if (!known)
		return;
	if (!p)
		waiting = up_value_state(UP_FIRST, NULL);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(of->name, "/"), of->name);
	up_detail_value(&detail, "threads", waiting);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_PROCESS,
				 .resource = "lock",
				 .name = name,
				 .target = of->target < c->target_count ? c->targets[of->target] : NULL,
				 .utilization = up_none("who holds a futex is not visible"),
				 .saturation = up_scaled(waiting, 1e3, 1, NULL),
				 .saturation_unit = "ms per s",
				 .waiting = waiting,
				 .errors = up_none("locks have no errors"),
				 .method = method,
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
				 .window_ns = up_value_ok(window_ns) ? (uint64_t)window_ns.number : 0,
			 });
}

static bool first_of_process(const struct raw *c, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (c->view.pools[i].tgid == c->view.pools[index].tgid && c->view.pools[i].target == c->view.pools[index].target)
			return false;
	return true;
}

static int thread_pool_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	const struct up_value window_ns = up_delta(p ? &p->mono_ns : NULL, c->mono_ns, "no snapshot yet");
	size_t shown = 0;

	(void)dt_ns;
	for (size_t i = 0; i < c->view.count && shown < ROWS_MAX; i++) {
		add_pool(p, c, &c->view.pools[i], window_ns, out);
		if (first_of_process(c, i))
			add_lock(p, c, i, window_ns, out);
		shown++;
	}
	return 0;
}

const struct up_collector up_collector_thread_pool = {
	.name = "thread_pool",
	.summary = "thread pools of the targets: busy threads, where the others are; threads waiting for locks",
	.per = UP_PER_RUN,
	.scope = UP_SCOPE_PROCESS,
	.resource = "thread-pool",
	.needs_tasks = true,
	.raw_bytes = sizeof(struct raw),
	.read = thread_pool_read,
	.derive = thread_pool_derive,
};
