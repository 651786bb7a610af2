#include "pool_words.h"
#include "useprobe/thread_pools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_SLOTS_MIN 512u /* the table is at most half full; it grows and shrinks with the threads */
#define NONE UINT32_MAX
#define SHOWN_NS 2000000000ull /* a pool is shown this long after its last thread has ended, and its place is not given away */
#define MISSED_SNAPSHOTS 50 /* so long a thread that has gone may still be told of: its parent asks late for its status */
#define FORGET_SNAPSHOTS 10 /* between two times of looking through all that is remembered */

/* What is remembered of a thread between snapshots. */
struct memory {
	uint32_t pid; /* 0: free */
	uint32_t pool; /* index */
	uint64_t start_ns;
	uint64_t exec_ns;
	uint64_t word; /* it idles on, 0 = not known yet */
	uint32_t snapshot; /* last one it was in */
	bool ended; /* and nothing more will be heard of it */
};

struct up_pools {
	struct up_pool items[UP_POOLS_MAX];
	size_t count;
	struct memory *threads; /* [slots] open addressing by pid, owned */
	uint32_t slots;
	size_t thread_count;
	struct up_words words;
	uint64_t mono_ns;
	uint64_t begun_ns; /* of the first snapshot */
	uint32_t snapshot;
	uint32_t forgot; /* snapshot of the last forget */
	bool ends_told;
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
		pools->threads = calloc(THREAD_SLOTS_MIN, sizeof(*pools->threads));
	if (!pools || !pools->threads) {
		free(pools);
		return -ENOMEM;
	}
	pools->slots = THREAD_SLOTS_MIN;
	*ret = pools;
	return 0;
}

void up_pools_free(struct up_pools *pools)
{
	if (!pools)
		return;
	free(pools->threads);
	up_words_done(&pools->words);
	free(pools);
}

/* Where PID is, or the free place it would take. */
static struct memory *place_of(struct memory *threads, uint32_t slots, uint32_t pid)
{
	uint32_t slot = pid * 2654435761u % slots;

	while (threads[slot].pid && threads[slot].pid != pid)
		slot = (slot + 1) % slots;
	return &threads[slot];
}

static bool is_kept(const struct up_pools *pools, const struct memory *memory)
{
	if (!memory->pid || memory->ended)
		return false;
	return memory->snapshot == pools->snapshot || (pools->ends_told && pools->snapshot - memory->snapshot < MISSED_SNAPSHOTS);
}

/* Moves what is remembered into a table of SLOTS; with FORGET without the threads that have ended. 0 or -ENOMEM. */
static int table_remake(struct up_pools *pools, uint32_t slots, bool forget)
{
	struct memory *kept = calloc(slots, sizeof(*kept));
	size_t count = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < pools->slots; i++) {
		const struct memory *old = &pools->threads[i];

		if (!old->pid || (forget && !is_kept(pools, old)))
			continue;
		*place_of(kept, slots, old->pid) = *old;
		count++;
	}
	free(pools->threads);
	pools->threads = kept;
	pools->slots = slots;
	pools->thread_count = count;
	return 0;
}

static struct memory *remember(struct up_pools *pools, const struct up_thread *thread)
{
	struct memory *place = place_of(pools->threads, pools->slots, thread->pid);

	if (!place->pid) {
		if (pools->thread_count == UP_POOL_THREADS_MAX)
			return NULL;
		if (2 * (pools->thread_count + 1) > pools->slots) {
			if (table_remake(pools, 2 * pools->slots, false) < 0)
				return NULL;
			place = place_of(pools->threads, pools->slots, thread->pid);
		}
		pools->thread_count++;
		*place = (struct memory){ .pid = thread->pid, .pool = NONE, .start_ns = thread->start_ns };
	} else if (place->start_ns != thread->start_ns) {
		*place = (struct memory){ .pid = thread->pid, .pool = NONE, .start_ns = thread->start_ns };
	}
	return place;
}

/* Name of the process: that of its first thread; when that one has ended, of any that is left. */
static const char *process_name(const struct up_thread *threads, size_t count, uint32_t tgid)
{
	const char *name = "?";

	for (size_t i = 0; i < count; i++) {
		if (threads[i].pid == tgid)
			return threads[i].comm;
		if (threads[i].tgid == tgid)
			name = threads[i].comm;
	}
	return name;
}

static uint64_t active_ns(const struct up_pool *pool)
{
	return pool->seen_ns > pool->ended_ns ? pool->seen_ns : pool->ended_ns;
}

/* Whether anything was heard of it lately: else its process is another one, or has gone. */
static bool is_alive(const struct up_pools *pools, const struct up_pool *pool, uint64_t mono_ns)
{
	/* Snapshots may be further apart than that. */
	return active_ns(pool) + SHOWN_NS >= mono_ns || (pool->seen_ns && pool->seen_ns >= pools->mono_ns);
}

/* A new place, or that of the pool that has been gone the longest. */
static struct up_pool *pool_place(struct up_pools *pools, uint64_t mono_ns)
{
	struct up_pool *oldest = NULL;

	if (pools->count < UP_POOLS_MAX)
		return &pools->items[pools->count++];
	for (size_t i = 0; i < pools->count; i++)
		if (!is_alive(pools, &pools->items[i], mono_ns) && (!oldest || active_ns(&pools->items[i]) < active_ns(oldest)))
			oldest = &pools->items[i];
	return oldest;
}

static struct up_pool *pool_add(
	struct up_pools *pools, const struct up_thread *like, const char *process, uint64_t word, unsigned same, uint64_t mono_ns)
{
	struct up_pool *pool = pool_place(pools, mono_ns);
	int n;

	if (!pool)
		return NULL;
	*pool = (struct up_pool){
		.target = like->target, .tgid = like->tgid, .word = word, .first_ns = mono_ns, .seen_ns = mono_ns
	};
	up_pool_stem(like->comm, pool->stem);
	if (like->tgid)
		n = snprintf(pool->name, sizeof(pool->name), "%.15s[%u]/%.15s", process, like->tgid, pool->stem);
	else
		n = snprintf(pool->name, sizeof(pool->name), "%.15s[*]/%.15s", process, pool->stem);
	if (same && n > 0)
		snprintf(pool->name + n, sizeof(pool->name) - (size_t)n, "#%u", same + 1);
	return pool;
}

static uint32_t pool_find(struct up_pools *pools, const struct up_thread *threads, size_t count, const struct up_thread *thread,
	uint64_t word, uint64_t mono_ns)
{
	struct up_pool *pool;
	unsigned same = 0;
	char stem[16];

	up_pool_stem(thread->comm, stem);
	for (size_t i = 0; i < pools->count; i++) {
		pool = &pools->items[i];
		if (pool->tgid != thread->tgid || pool->target != thread->target || strcmp(pool->stem, stem) != 0 ||
			!is_alive(pools, pool, mono_ns))
			continue;
		same++;
		/* The first group of a name takes the threads that have shown no word yet. */
		if (pool->word == word || (word && pool->word && up_word_near(pool->word, word)))
			return (uint32_t)i;
		if (word && !pool->word && same == 1) {
			pool->word = word;
			return (uint32_t)i;
		}
		if (!word && same == 1)
			return (uint32_t)i;
	}
	pool = pool_add(pools, thread, process_name(threads, count, thread->tgid), word, same, mono_ns);
	return pool ? (uint32_t)(pool - pools->items) : NONE;
}

/* Pool of a thread that was in no snapshot: of its name in its process, of a new name in a process we know, else of all short processes
 * of its name. NULL when there is no place left. */
static struct up_pool *pool_of_unseen(struct up_pools *pools, const struct up_ended *ended, uint64_t mono_ns)
{
	struct up_thread like = { .tgid = ended->tgid, .target = ended->target };
	const struct up_pool *relative = NULL;
	char stem[16], process[16];

	memcpy(like.comm, ended->comm, sizeof(like.comm));
	up_pool_stem(ended->comm, stem);
	for (size_t i = 0; i < pools->count; i++) {
		struct up_pool *pool = &pools->items[i];

		if (pool->tgid != ended->tgid || pool->target != ended->target || !is_alive(pools, pool, mono_ns))
			continue;
		if (strcmp(pool->stem, stem) == 0)
			return pool;
		relative = pool;
	}
	if (relative) {
		snprintf(process, sizeof(process), "%.*s", (int)strcspn(relative->name, "["), relative->name);
		return pool_add(pools, &like, process, 0, 0, mono_ns);
	}
	like.tgid = 0;
	for (size_t i = 0; i < pools->count; i++)
		if (pools->items[i].tgid == 0 && pools->items[i].target == ended->target &&
			strcmp(pools->items[i].stem, stem) == 0)
			return &pools->items[i];
	return pool_add(pools, &like, stem, 0, 0, mono_ns);
}

/* Threads that were not in this snapshot have ended; their places are given up. */
static void forget(struct up_pools *pools)
{
	size_t kept = 0;
	uint32_t slots = THREAD_SLOTS_MIN;

	for (size_t i = 0; i < pools->slots; i++)
		kept += is_kept(pools, &pools->threads[i]);
	while (slots < 2 * kept)
		slots *= 2;
	if (table_remake(pools, slots, true) == 0)
		pools->forgot = pools->snapshot;
}

static struct memory *recall(struct up_pools *pools, uint32_t pid, uint64_t start_ns)
{
	struct memory *place = place_of(pools->threads, pools->slots, pid);

	return place->pid && place->start_ns == start_ns ? place : NULL;
}

void up_pools_end(struct up_pools *pools, const struct up_ended *ended, uint64_t mono_ns)
{
	struct memory *memory = recall(pools, ended->pid, ended->start_ns);
	struct up_pool *pool = NULL;
	uint64_t before_ns = 0;

	pools->ends_told = true;
	/* Older ones were there at the first snapshot: they have been forgotten, or never were a target's. */
	if (!pools->begun_ns || (!memory && ended->start_ns < pools->begun_ns))
		return;
	if (memory && !memory->ended) {
		before_ns = memory->exec_ns;
		memory->ended = true;
		if (memory->pool != NONE && pools->items[memory->pool].tgid == ended->tgid)
			pool = &pools->items[memory->pool];
	}
	if (!pool) {
		pool = pool_of_unseen(pools, ended, mono_ns);
		if (pool)
			pool->unseen += memory == NULL;
	}
	if (!pool) {
		pools->dropped++;
		return;
	}
	pool->ended++;
	pool->ended_ns = mono_ns;
	if (ended->exec_ns > before_ns)
		pool->exec_ns += ended->exec_ns - before_ns;
}

static void count_thread(
	struct up_pools *pools, struct memory *memory, const struct up_thread *thread, uint64_t dt_ns, uint64_t mono_ns)
{
	struct up_pool *pool = &pools->items[memory->pool];
	enum up_doing doing = thread->doing;

	if (doing == UP_DOING_IDLE && thread->futex && memory->word && !up_word_near(thread->futex, memory->word))
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
	/* What a thread used before the first snapshot belongs to no window of ours; of one that came later all of it does. */
	if ((memory->snapshot || thread->start_ns > pools->begun_ns) && thread->exec_ns > memory->exec_ns)
		pool->exec_ns += thread->exec_ns - memory->exec_ns;
	memory->exec_ns = thread->exec_ns;
	memory->snapshot = pools->snapshot;
}

/* What is shown: copies, since a reader may hold them while the next snapshot is folded. */
static void show(struct up_pools *pools, uint64_t mono_ns)
{
	pools->shown_count = 0;
	for (size_t i = 0; i < pools->count; i++) {
		struct up_pool *pool = &pools->items[i];

		if (pool->seen_ns != mono_ns) {
			memset(pool->now, 0, sizeof(pool->now));
			pool->threads = 0;
		}
		if (pool->seen_ns == mono_ns || (pool->ended_ns && pool->ended_ns + SHOWN_NS >= mono_ns))
			pools->shown[pools->shown_count++] = *pool;
	}
}

int up_pools_fold(struct up_pools *pools, const struct up_thread *threads, size_t count, uint64_t mono_ns)
{
	const uint64_t dt_ns = pools->mono_ns && mono_ns > pools->mono_ns ? mono_ns - pools->mono_ns : 0;
	size_t seen = 0;

	if (up_words_find(&pools->words, threads, count) < 0)
		return -ENOMEM;
	if (!pools->begun_ns)
		pools->begun_ns = mono_ns;
	pools->snapshot++;
	for (size_t i = 0; i < count; i++) {
		const struct up_thread *thread = &threads[i];
		struct memory *memory = remember(pools, thread);

		if (!memory) {
			pools->dropped++;
			continue;
		}
		if (!memory->word && pools->words.shared[i]) {
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
	if (pools->thread_count > seen + seen / 4 + 64 && pools->snapshot - pools->forgot >= FORGET_SNAPSHOTS)
		forget(pools);
	show(pools, mono_ns);
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
