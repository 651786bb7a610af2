/* What `--queue` says: NAME=BINARY:ENQUEUE,DEQUEUE or `libuv`. Pure. */
#ifndef UP_QUEUE_SPEC_H
#define UP_QUEUE_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "useprobe/compiler.h"

#define UP_QUEUE_SPECS_MAX 16
#define UP_QUEUE_NAME 48
#define UP_QUEUE_PATH 1024
#define UP_QUEUE_SYMBOL 256
#define UP_QUEUE_SELF_TEST "self-test" /* measures a probe on ourselves: what doctor asks for */

/* When the function counts. A function that may wait inside for an item takes one only when it returns. */
enum up_queue_when {
	UP_QUEUE_AT_ENTRY, /* SYMBOL */
	UP_QUEUE_AT_BEGIN, /* SYMBOL@begin: likewise, and a call has its item already (the function that works on it) */
	UP_QUEUE_AT_RETURN, /* SYMBOL@return */
	UP_QUEUE_AT_NONNULL, /* SYMBOL@nonnull: when it returns something else than NULL */
};

struct up_queue_point {
	char symbol[UP_QUEUE_SYMBOL];
	enum up_queue_when when;
};

enum up_queue_kind { UP_QUEUE_FUNCTIONS, UP_QUEUE_LIBUV, UP_QUEUE_SELF };

struct up_queue_spec {
	enum up_queue_kind kind;
	char name[UP_QUEUE_NAME];
	/* UP_QUEUE_FUNCTIONS only: */
	char binary[UP_QUEUE_PATH]; /* absolute, as a process of the target sees it */
	struct up_queue_point put, take;
};

/* Parses TEXT. 0; -EINVAL with what was expected in MESSAGE. */
UP_MUST_CHECK int up_queue_spec_parse(const char *text, struct up_queue_spec *ret, char *message, size_t size);

#endif
