/* HTTP: one bounded GET through libcurl, which is loaded (dlopen) at the first request, so that a run without such an option neither
 * needs nor pays for it. Every request has a deadline and a size limit. Safe to call from several threads. */
#ifndef UP_HTTP_H
#define UP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "useprobe/compiler.h"

struct up_http_request {
	const char *url; /* http or https; file:// only with allow_file */
	const char *unix_socket; /* path of a unix socket to talk to instead of TCP; NULL = none */
	const char *bearer; /* token for "Authorization: Bearer", NULL = none; never put into a message */
	long timeout_ms; /* for everything: connect, send, wait, receive */
	size_t max_bytes; /* of the body */
	bool allow_file;
};

struct up_http_reply {
	long status; /* 200, ...; 0 for file:// */
	char *body; /* owned, NUL-terminated; up_http_reply_done */
	size_t len;
};

/* 0 with RET (whatever its status); -ENOSYS without libcurl, -EFBIG past max_bytes, -ETIMEDOUT, -ECONNREFUSED (nothing listens, or no
 * such socket), -EACCES (a socket without the right to it), -EIO for the rest. ERROR gets one line that says what happened. */
UP_MUST_CHECK int up_http_get(const struct up_http_request *request, struct up_http_reply *ret, char *error, size_t error_size);
void up_http_reply_done(struct up_http_reply *reply);

#endif
