/* A socket service without threads: tests put in what the threads would have found. */
#ifndef UP_TESTS_SOCKETS_HELPER_H
#define UP_TESTS_SOCKETS_HELPER_H

#include "../../src/source/sockets_internal.h"

#define FAKE_NETNS 4026531840u

struct up_sockets *sockets_fake_new(const struct up_targets *targets);
/* A listening socket with COOKIE at TEXT ("127.0.0.1:80"), one of the targets in MASK. The search has then run once. */
void sockets_fake_listener(struct up_sockets *sockets, uint64_t cookie, const char *text, uint32_t mask);
/* One poll at NOW_MS. */
struct sockets_fake_row {
	uint64_t cookie;
	uint32_t queue, backlog, drops;
};
bool sockets_fake_poll(struct up_sockets *sockets, uint64_t now_ms, const struct sockets_fake_row *rows, size_t count);

#endif
