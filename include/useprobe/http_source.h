/* HTTP source: one address asked again and again by a thread of its own, so that a server that is slow, silent or gone never delays a
 * tick. Each answer is parsed in that thread; the tick takes the newest result. */
#ifndef UP_HTTP_SOURCE_H
#define UP_HTTP_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

struct up_http_source;

struct up_http_source_config {
	const char *url; /* copied; see up_http_url_check */
	const char *bearer; /* token, copied; NULL = none */
	const char *thread_name; /* at most 15 bytes */
	uint64_t interval_ns; /* between the beginnings of two requests */
	long timeout_ms; /* of one request; also the longest time up_http_source_free may take */
	size_t max_bytes; /* of one answer */
	/* A body of status 200 -> something of the caller's, or NULL with one line in ERROR. Runs in the source's thread. */
	void *(*parse)(const char *body, size_t len, char *error, size_t error_size);
	void (*free)(void *parsed);
};

struct up_http_source_status {
	uint64_t answered_ns; /* monotonic time of the last good answer; 0 = none yet */
	int error; /* -errno of the last request: 0, -EACCES (401, 403), -ETIMEDOUT, -ECONNREFUSED, -EFBIG, -EBADMSG, -EIO */
	char reason[256]; /* of error, or why there is no answer yet */
};

/* 0 when URL is http or https with a host and without a name or password in it; -EINVAL with one line in ERROR (which never repeats the
 * URL: it may hold a password). */
UP_MUST_CHECK int up_http_url_check(const char *url, char *error, size_t error_size);
/* Reads a token from the first line of PATH, which nobody but its owner may read. 0; -errno, -EPERM (mode), -EINVAL (no token). */
UP_MUST_CHECK int up_http_token_read(const char *path, char *ret, size_t size, char *error, size_t error_size);

/* Starts asking. 0, -ENOMEM, -EAGAIN. */
UP_MUST_CHECK int up_http_source_new(const struct up_http_source_config *config, struct up_http_source **ret);
void up_http_source_free(struct up_http_source *source);
/* What was parsed since the last call, now the caller's; NULL when nothing new came. RET says how the source does. */
void *up_http_source_take(struct up_http_source *source, struct up_http_source_status *ret);

#endif
