/* Who may ask a listener of ours over HTTP: where it listens, which names call it, which token they show. Pure. */
#ifndef UP_HTTP_GUARD_H
#define UP_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

struct up_http_guard {
	char address[64]; /* to listen on, without brackets */
	uint16_t port; /* 0 = a free one */
	bool loopback;
	char token[256]; /* "" = none */
	char hosts[8][256]; /* [n_hosts] further names that clients may call us by */
	size_t n_hosts;
};

/* "127.0.0.1:80", "[::1]:80" into GUARD. 0 or -EINVAL. */
UP_MUST_CHECK int up_http_listen_parse(const char *text, struct up_http_guard *guard);
/* May a request with this Host, Origin (NULL = without), Authorization be answered? On loopback a foreign name is DNS rebinding. */
bool up_http_host_allowed(const struct up_http_guard *guard, const char *host);
bool up_http_origin_allowed(const struct up_http_guard *guard, const char *origin, const char *host);
bool up_http_token_matches(const struct up_http_guard *guard, const char *authorization);

#endif
