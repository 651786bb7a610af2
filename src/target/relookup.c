/* Relookup: a target that is gone is looked for in a thread of its own, since walking thousands of cgroups, all of /proc or a container
 * daemon that hangs must not delay a tick. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "useprobe/clock.h"
#include "useprobe/thread.h"

#define STACK_BYTES ((size_t)1 << 20) /* paths of several kB on the stack */

#define PAUSE_MIN_NS (50 * UP_NS_PER_MS)
#define PAUSE_FACTOR 20 /* at most a twentieth of a CPU goes into looking */

struct up_relookup {
	pthread_t thread;
	pthread_mutex_t lock; /* of stop and ended */
	pthread_cond_t wake;
	bool stop, ended;
	bool found; /* read after the thread ended */
	struct up_source source; /* owned copy */
	struct up_arena arena;
	const struct up_hierarchies *hierarchies;
	char *name; /* owned */
	const char *only; /* static */
	struct up_candidates candidates;
};

/* Waits PAUSE_NS or until told to stop; true then. */
static bool wait_or_stop(struct up_relookup *relookup, uint64_t pause_ns)
{
	const uint64_t until_ns = up_clock_real.mono_ns(NULL) + pause_ns;
	const struct timespec until = { .tv_sec = (time_t)(until_ns / UP_NS_PER_S), .tv_nsec = (long)(until_ns % UP_NS_PER_S) };
	bool stop;

	pthread_mutex_lock(&relookup->lock);
	while (!relookup->stop && pthread_cond_timedwait(&relookup->wake, &relookup->lock, &until) != ETIMEDOUT)
		;
	stop = relookup->stop;
	pthread_mutex_unlock(&relookup->lock);
	return stop;
}

static bool look_once(struct up_relookup *relookup)
{
	struct up_candidates *found = &relookup->candidates;
	char none[1];

	up_arena_reset(&relookup->arena);
	if (up_lookup(&relookup->source, &relookup->arena, relookup->hierarchies, relookup->name, relookup->only, found, none,
		    0) < 0)
		return false;
	/* While an old and a new one of that name are both there, nobody can say which is meant. */
	if (found->count + found->more == 1 || found->all)
		return true;
	up_candidates_done(found);
	return false;
}

static void *run(void *opaque)
{
	struct up_relookup *relookup = opaque;

	for (;;) {
		const uint64_t start_ns = up_clock_real.mono_ns(NULL);
		uint64_t pause_ns;

		relookup->found = look_once(relookup);
		pause_ns = PAUSE_FACTOR * (up_clock_real.mono_ns(NULL) - start_ns);
		if (relookup->found || wait_or_stop(relookup, pause_ns > PAUSE_MIN_NS ? pause_ns : PAUSE_MIN_NS))
			break;
	}
	pthread_mutex_lock(&relookup->lock);
	relookup->ended = true;
	pthread_mutex_unlock(&relookup->lock);
	return NULL;
}

static void release(struct up_relookup *relookup)
{
	pthread_cond_destroy(&relookup->wake);
	pthread_mutex_destroy(&relookup->lock);
	up_candidates_done(&relookup->candidates);
	up_arena_done(&relookup->arena);
	if (relookup->source.root_fd >= 0)
		close(relookup->source.root_fd);
	free(relookup->name);
	free(relookup);
}

int up_relookup_start(const struct up_source *source, const struct up_hierarchies *hierarchies, const char *name,
	const char *only, struct up_relookup **ret)
{
	struct up_relookup *relookup = calloc(1, sizeof(*relookup));
	pthread_condattr_t attributes;
	int r;

	if (!relookup)
		return -ENOMEM;
	relookup->hierarchies = hierarchies;
	relookup->only = only;
	relookup->source = *source;
	relookup->source.top_fd = -1;
	relookup->source.root_fd = fcntl(source->root_fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_init(&relookup->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&relookup->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	relookup->name = strdup(name);
	r = relookup->source.root_fd < 0 ? -errno : relookup->name ? up_arena_init(&relookup->arena) : -ENOMEM;
	if (r == 0)
		r = up_thread_start(&relookup->thread, "up-relookup", STACK_BYTES, run, relookup);
	if (r < 0) {
		release(relookup);
		return r;
	}
	*ret = relookup;
	return 0;
}

int up_relookup_take(struct up_relookup *relookup, struct up_candidates *ret)
{
	bool ended;

	pthread_mutex_lock(&relookup->lock);
	ended = relookup->ended;
	pthread_mutex_unlock(&relookup->lock);
	if (!ended || !relookup->found)
		return ended ? -1 : 0;
	*ret = relookup->candidates;
	relookup->candidates = (struct up_candidates){ 0 };
	return 1;
}

bool up_relookup_stop(struct up_relookup *relookup)
{
	bool ended;

	pthread_mutex_lock(&relookup->lock);
	relookup->stop = true;
	pthread_cond_signal(&relookup->wake);
	ended = relookup->ended;
	pthread_mutex_unlock(&relookup->lock);
	return ended;
}

void up_relookup_free(struct up_relookup *relookup)
{
	if (!relookup)
		return;
	up_relookup_stop(relookup);
	pthread_join(relookup->thread, NULL);
	release(relookup);
}
