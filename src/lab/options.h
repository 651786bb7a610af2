#ifndef LAB_OPTIONS_H
#define LAB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "meter.h"
#include "net.h"
#include "number.h"

/* Descriptors a server can have connections on. */
#define LAB_FDS_MAX 65536u

/* Who works on a request. */
enum lab_mode {
	LAB_MODE_POOL, /* one thread reads, W workers take requests from a queue */
	LAB_MODE_THREAD, /* one thread reads, each request gets a thread of its own */
	LAB_MODE_DIRECT, /* W workers, each accepts a connection and serves it until it is closed */
	LAB_MODE_SINGLE, /* one thread does everything: while it works, nothing is read */
};

/* A database or other server that requests ask. */
struct lab_dependency {
	struct lab_address address;
	unsigned pool; /* connections, kept open */
	unsigned queries; /* per asking request, one after the other, each with a connection of its own */
	unsigned every; /* 1 = each request asks, 10 = one in ten */
};

/* Everything a server of the laboratory can be told; `uselab serve` and `uselab db` differ only in protocol and defaults.
 * A zero switches the thing off. */
struct lab_server_options {
	bool line_protocol; /* lines instead of HTTP */
	struct lab_address listen;
	struct lab_address admin; /* length 0: none. Counters on a listener of their own */
	enum lab_mode mode;
	unsigned workers;
	unsigned queue_max; /* waiting requests beyond which one is answered 503 */
	unsigned backlog;
	uint64_t accept_delay_ns; /* pause before each accept */
	struct lab_dist cpu; /* CPU time per request */
	struct lab_dist wait; /* plain wait per request */
	unsigned miss_every; /* one request in so many waits miss_ns longer */
	uint64_t miss_ns;
	uint64_t report_every_ns; /* a report holds the lock that every request needs */
	uint64_t report_hold_ns;
	uint64_t hot_lock_ns; /* every request holds one lock for so long */
	const char *fsync_path; /* borrowed; each request writes 4 KiB there and syncs */
	char pages_path[256]; /* each request reads pages_per_request random pages of pages_mb MiB */
	unsigned pages_mb, pages_per_request;
	uint64_t slow_at_ns, slow_for_ns; /* since the start; CPU and wait are multiplied by slow_factor meanwhile */
	double slow_factor;
	struct lab_dependency dependencies[LAB_DEPENDENCIES_MAX];
	unsigned n_dependencies;
	uint64_t pool_timeout_ns; /* longest wait for a connection, then 503 */
	uint64_t freeze_at_ns, freeze_for_ns;
	unsigned alloc_mb;
	unsigned leak_every; /* one request in so many leaks a descriptor */
	unsigned max_fds;
	unsigned decoys;
	double decoy_ratio; /* busy share of each decoy thread */
	unsigned body_bytes;
	unsigned sndbuf_bytes; /* send buffer of each connection, 0 = the kernel's own choice */
	uint64_t duration_ns;
	uint64_t seed;
	const char *stats_path; /* borrowed; the counters are written there at the end */
	bool quiet;
};

/* Text of a failure for the person at the terminal: what went wrong and what to do. */
struct lab_error {
	char text[400];
};

#endif
