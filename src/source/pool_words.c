#include "pool_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD_REACH_BYTES 48 /* futex words of one condition variable lie this close */
#define NEIGHBOURS 16 /* sleepers looked at for one of the same name */

/* A thread that sleeps on a futex, to find those that share one. */
struct up_sleeper {
	uint64_t futex;
	uint32_t tgid, index;
};

void up_pool_stem(const char comm[16], char ret[16])
{
	size_t len = strnlen(comm, 15);

	while (len > 0 && comm[len - 1] >= '0' && comm[len - 1] <= '9')
		len--;
	if (len == 0)
		len = strnlen(comm, 15);
	memset(ret, 0, 16);
	memcpy(ret, comm, len);
}

bool up_word_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < WORD_REACH_BYTES;
}

static int by_word(const void *a, const void *b)
{
	const struct up_sleeper *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return (x->futex > y->futex) - (x->futex < y->futex);
}

static int make_room(struct up_words *words, size_t count)
{
	struct up_sleeper *sleepers;
	bool *shared;

	if (count <= words->room)
		return 0;
	sleepers = realloc(words->sleepers, count * sizeof(*sleepers));
	if (sleepers)
		words->sleepers = sleepers;
	shared = realloc(words->shared, count * sizeof(*shared));
	if (shared)
		words->shared = shared;
	if (!sleepers || !shared)
		return -ENOMEM;
	words->room = count;
	return 0;
}

/* Marks the threads that sleep on a word which another thread of the same process and name sleeps on. Sorted, since with ten thousand
 * threads that each park on a word of their own looking at all pairs would take a tenth of a second. */
int up_words_find(struct up_words *words, const struct up_thread *threads, size_t count)
{
	size_t sleepers = 0;

	if (make_room(words, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		words->shared[i] = false;
		if (threads[i].futex)
			words->sleepers[sleepers++] =
				(struct up_sleeper){ .futex = threads[i].futex, .tgid = threads[i].tgid, .index = (uint32_t)i };
	}
	if (sleepers)
		qsort(words->sleepers, sleepers, sizeof(*words->sleepers), by_word);
	for (size_t i = 0; i < sleepers; i++) {
		const struct up_sleeper *one = &words->sleepers[i];
		char stem[16], other[16];

		up_pool_stem(threads[one->index].comm, stem);
		for (size_t j = i + 1; j < sleepers && j <= i + NEIGHBOURS; j++) {
			const struct up_sleeper *next = &words->sleepers[j];

			if (next->tgid != one->tgid || !up_word_near(next->futex, one->futex))
				break;
			up_pool_stem(threads[next->index].comm, other);
			if (strcmp(stem, other) == 0) {
				words->shared[one->index] = words->shared[next->index] = true;
				break;
			}
		}
	}
	return 0;
}

void up_words_done(struct up_words *words)
{
	free(words->sleepers);
	free(words->shared);
	*words = (struct up_words){ 0 };
}
