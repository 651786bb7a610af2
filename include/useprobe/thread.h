/* Threads of the probe: what may hang or must not wait for the tick runs in one of these. */
#ifndef UP_THREAD_H
#define UP_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "useprobe/compiler.h"

/* Starts MAIN(ARG) with all signals blocked (they are the main thread's) under NAME (at most 15 bytes, as `top -H` shows it) and a stack of
 * STACK_BYTES. 0 with a thread to join; -EAGAIN, -EINVAL. */
UP_MUST_CHECK int up_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*main)(void *), void *arg);

#endif
