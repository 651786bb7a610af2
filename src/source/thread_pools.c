#include "useprobe/thread_pools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_REACH_BYTES 48 /* futex words of one condition variable lie this close */
#define THREAD_SLOTS (2u * UP_POOL_THREADS_MAX)
#define NONE UINT32_MAX

/* What is remembered of a thread between snapshots. */
struct memory {
	uint32_t pid; /* 0: free */
	uint32_t pool; /* index */
	uint64_t start_ns;
	uint64_t exec_ns;
	uint64_t word; /* it idles on, 0 = not known yet */
	uint32_t snapshot; /* last one it was in */
};

struct up_pools {
	struct up_pool items[UP_POOLS_MAX];
	size_t count;
	struct memory *threads; /* [THREAD_SLOTS] open addressing by pid, owned */
	size_t thread_count;
	uint64_t mono_ns;
	uint32_t snapshot;
	uint64_t dropped;
	struct up_pool shown[UP_POOLS_MAX];
	size_t shown_count;
};

static const char *const doing_names[UP_DOING_COUNT] = { "running", "runnable", "disk", "memory", "blocked", "lock", "socket",
	"sleep", "idle" };

const char *up_doing_name(enum up_doing doing)
{
	return doing_names[doing];
}

int up_pools_new(struct up_pools **ret)
{
	struct up_pools *pools = calloc(1, sizeof(*pools));

	if (pools)
		pools->threads = calloc(THREAD_SLOTS, sizeof(*pools->threads));
	if (!pools || !pools->threads) {
		free(pools);
		return -ENOMEM;
	}
	*ret = pools;
	return 0;
}

void up_pools_free(struct up_pools *pools)
{
	if (!pools)
		return;
	free(pools->threads);
	free(pools);
}

/* Only trailing digits go: "pool-1-thread-" and "pool-2-thread-" are two pools. */
static void stem_of(const char comm[16], char ret[16])
{
	size_t len = strnlen(comm, 15);

	while (len > 0 && comm[len - 1] >= '0' && comm[len - 1] <= '9')
		len--;
	if (len == 0)
		len = strnlen(comm, 15);
	memset(ret, 0, 16);
	memcpy(ret, comm, len);
}

static struct memory *remember(struct up_pools *pools, const struct up_thread *thread)
{
	uint32_t slot = thread->pid * 2654435761u % THREAD_SLOTS;

	while (pools->threads[slot].pid && pools->threads[slot].pid != thread->pid)
		slot = (slot + 1) % THREAD_SLOTS;
	if (!pools->threads[slot].pid) {
		if (pools->thread_count == UP_POOL_THREADS_MAX)
			return NULL;
		pools->thread_count++;
		pools->threads[slot] = (struct memory){ .pid = thread->pid, .pool = NONE, .start_ns = thread->start_ns };
	} else if (pools->threads[slot].start_ns != thread->start_ns) {
		pools->threads[slot] = (struct memory){ .pid = thread->pid, .pool = NONE, .start_ns = thread->start_ns };
	}
	return &pools->threads[slot];
}

static bool near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < WORD_REACH_BYTES;
}

/* Another thread of the same process and name that sleeps on the same word. */
static bool shares_word(const struct up_thread *threads, size_t count, size_t index)
{
	const struct up_thread *thread = &threads[index];
	char stem[16], other[16];

	stem_of(thread->comm, stem);
	for (size_t i = 0; i < count; i++) {
		if (i == index || threads[i].tgid != thread->tgid || !threads[i].futex || !near(threads[i].futex, thread->futex))
			continue;
		stem_of(threads[i].comm, other);
		if (strcmp(stem, other) == 0)
			return true;
	}
	return false;
}

/* Name of the process: that of its first thread. */
static const char *process_name(const struct up_thread *threads, size_t count, uint32_t tgid)
{
	for (size_t i = 0; i < count; i++)
		if (threads[i].pid == tgid)
			return threads[i].comm;
	return "?";
}

static uint32_t pool_find(struct up_pools *pools, const struct up_thread *threads, size_t count, const struct up_thread *thread,
	uint64_t word, uint64_t mono_ns)
{
	struct up_pool *pool;
	unsigned same = 0;
	char stem[16];

	stem_of(thread->comm, stem);
	for (size_t i = 0; i < pools->count; i++) {
		pool = &pools->items[i];
		if (pool->tgid != thread->tgid || pool->target != thread->target || strcmp(pool->stem, stem) != 0)
			continue;
		same++;
		/* The first group of a name takes the threads that have shown no word yet. */
		if (pool->word == word || (word && pool->word && near(pool->word, word)))
			return (uint32_t)i;
		if (word && !pool->word && same == 1) {
			pool->word = word;
			return (uint32_t)i;
		}
		if (!word && same == 1)
			return (uint32_t)i;
	}
	if (pools->count == UP_POOLS_MAX)
		return NONE;
	pool = &pools->items[pools->count];
	*pool = (struct up_pool){ .target = thread->target, .tgid = thread->tgid, .word = word, .first_ns = mono_ns };
	memcpy(pool->stem, stem, sizeof(pool->stem));
	snprintf(pool->name, sizeof(pool->name), "%.15s[%u]/%.15s", process_name(threads, count, thread->tgid), thread->tgid,
		stem);
	if (same) {
		const size_t len = strlen(pool->name);

		snprintf(pool->name + len, sizeof(pool->name) - len, "#%u", same + 1);
	}
	return (uint32_t)pools->count++;
}

/* Threads that were not in this snapshot have ended; their places are given up. */
static void forget(struct up_pools *pools)
{
	struct memory *old = pools->threads;
	struct memory *kept = calloc(THREAD_SLOTS, sizeof(*kept));

	if (!kept)
		return;
	pools->threads = kept;
	pools->thread_count = 0;
	for (size_t i = 0; i < THREAD_SLOTS; i++) {
		struct memory *place;

		if (!old[i].pid || old[i].snapshot != pools->snapshot)
			continue;
		place = remember(pools, &(struct up_thread){ .pid = old[i].pid, .start_ns = old[i].start_ns });
		if (place)
			*place = old[i];
	}
	free(old);
}

static void count_thread(
	struct up_pools *pools, struct memory *memory, const struct up_thread *thread, uint64_t dt_ns, uint64_t mono_ns)
{
	struct up_pool *pool = &pools->items[memory->pool];
	enum up_doing doing = thread->doing;

	if (doing == UP_DOING_IDLE && thread->futex && memory->word && !near(thread->futex, memory->word))
		doing = UP_DOING_LOCK;
	if (pool->seen_ns != mono_ns) {
		memset(pool->now, 0, sizeof(pool->now));
		pool->threads = 0;
		pool->seen_ns = mono_ns;
	}
	pool->threads++;
	pool->now[doing]++;
	pool->threads_area_ns += dt_ns;
	pool->area_ns[doing] += dt_ns;
	/* CPU time of before the pool was first seen belongs to no window of ours. */
	if (memory->snapshot && thread->exec_ns > memory->exec_ns)
		pool->exec_ns += thread->exec_ns - memory->exec_ns;
	memory->exec_ns = thread->exec_ns;
	memory->snapshot = pools->snapshot;
}

int up_pools_fold(struct up_pools *pools, const struct up_thread *threads, size_t count, uint64_t mono_ns)
{
	const uint64_t dt_ns = pools->mono_ns && mono_ns > pools->mono_ns ? mono_ns - pools->mono_ns : 0;
	size_t seen = 0;

	pools->snapshot++;
	for (size_t i = 0; i < count; i++) {
		const struct up_thread *thread = &threads[i];
		struct memory *memory = remember(pools, thread);

		if (!memory) {
			pools->dropped++;
			continue;
		}
		if (!memory->word && thread->futex && shares_word(threads, count, i)) {
			memory->word = thread->futex;
			memory->pool = NONE;
		}
		if (memory->pool == NONE)
			memory->pool = pool_find(pools, threads, count, thread, memory->word, mono_ns);
		if (memory->pool == NONE) {
			pools->dropped++;
			continue;
		}
		count_thread(pools, memory, thread, dt_ns, mono_ns);
		seen++;
	}
	pools->mono_ns = mono_ns;
	if (pools->thread_count > seen + seen / 4 + 64)
		forget(pools);
	pools->shown_count = 0;
	for (size_t i = 0; i < pools->count; i++)
		if (pools->items[i].seen_ns == mono_ns)
			pools->shown[pools->shown_count++] = pools->items[i];
	return 0;
}

const struct up_pool *up_pools_get(const struct up_pools *pools, size_t *ret_count)
{
	*ret_count = pools->shown_count;
	return pools->shown;
}

uint64_t up_pools_mono_ns(const struct up_pools *pools)
{
	return pools->mono_ns;
}

uint64_t up_pools_dropped(const struct up_pools *pools)
{
	return pools->dropped;
}
