/* Names and futex words that threads of a pool share. Private to src/source. */
#ifndef UP_SOURCE_POOL_WORDS_H
#define UP_SOURCE_POOL_WORDS_H

#include "useprobe/thread_pools.h"

struct up_sleeper;

struct up_words {
	struct up_sleeper *sleepers; /* [room], owned */
	bool *shared; /* [room] by index of the snapshot: sleeps on a word with another thread of its process and name; owned */
	size_t room;
};

/* COMM without its trailing digits, unless it is digits only. Only trailing ones go: "pool-1-thread-" and "pool-2-thread-" are two. */
void up_pool_stem(const char comm[16], char ret[16]);
/* Words of one condition variable. */
bool up_word_near(uint64_t a, uint64_t b);
/* Fills words->shared for a snapshot. 0 or -ENOMEM. */
UP_MUST_CHECK int up_words_find(struct up_words *words, const struct up_thread *threads, size_t count);
void up_words_done(struct up_words *words);

#endif
