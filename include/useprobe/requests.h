/* Requests: turns of connections (bpf/requests.bpf.c) per listening address of a target and per peer it talks to. One service for the
 * whole run; the BPF programs count, a tick only reads their slots. Needs BTF, CAP_BPF, CAP_PERFMON and, for every turn, either the
 * tracepoints sk_data_ready, sock_send_length and sock_recv_length (Linux 6.3) or fentry (5.12, where function tracing is allowed). With
 * none of them a thread looks at the connections many times a second: levels, but no counts and no times. Without BPF dumps of the
 * connections (sock_diag) give bounds of the levels. */
#ifndef UP_REQUESTS_H
#define UP_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/arena.h"
#include "useprobe/scan.h"
#include "useprobe/sockets.h"
#include "useprobe/target.h"

#define UP_REQUESTS_BUCKETS 256 /* as UP_DELAY_BUCKETS */

enum up_requests_by {
	UP_REQUESTS_BEST, /* the first of those below that works */
	UP_REQUESTS_EVENTS, /* every turn */
	UP_REQUESTS_LOOKS, /* levels from snapshots */
	UP_REQUESTS_BOUNDS, /* bounds of levels, without BPF */
};

/* Counters of one address, extended to mono_ns. What the source does not count is absent (has = false) for the reason in UNCOUNTED. */
struct up_turns {
	const char *uncounted; /* static; NULL: everything is counted */
	struct up_u64 mono_ns; /* of this reading */
	struct up_u64 area_ns; /* counter: turns under way, integrated */
	struct up_u64 area_high_ns; /* counter; when it is known, area_ns is a lower bound and this an upper one */
	struct up_u64 unread_area_ns; /* counter: server: requests nobody has read yet; client: answers nobody has read yet */
	struct up_u64 begun, ended; /* counter; ended counts those cut off too, not those that turned out to be no turns */
	struct up_u64 cut; /* counter: the connection ended in the middle of a turn */
	struct up_u64 residence_ns; /* counter: length of ended turns, summed */
	struct up_u64 reads, writes; /* counter: calls that moved bytes */
	struct up_u64 piled; /* counter: requests that came well before the end of the one before on their connection */
	struct up_u64 pipelined; /* counter: answers beyond the first to one read */
	struct up_u64 connects, connect_failures; /* counter, client side */
	struct up_u64 connected, connect_ns; /* counter, client side: those that got through, time they took */
	struct up_u64 retransmits, resets; /* counter */
	struct up_u64 held; /* counter: writes whose end waits for an acknowledgement (Nagle's algorithm) */
	uint64_t under_way; /* gauge */
	uint64_t connections; /* gauge: open connections */
	uint64_t http2_connections, stream_connections, tls_connections; /* gauge: of them */
	const uint64_t *
		buckets; /* [UP_REQUESTS_BUCKETS] counter: answered turns by length, borrowed from the arena; NULL: not counted */
};

struct up_peer {
	struct up_endpoint endpoint;
	uint64_t netns;
	struct up_turns turns;
};

struct up_requests;

/* Word for a source ("events", "looks", "bounds"; "" or NULL is the best one). 0 or -EINVAL. */
UP_MUST_CHECK int up_requests_by_parse(const char *word, enum up_requests_by *ret);
/* Loads, makes the listeners known that SOCKETS (may be NULL) has found by now, and attaches. 0; -EACCES, -ENOTSUP, ... with the reason in
 * REASON; the caller then goes on without. */
UP_MUST_CHECK int up_requests_new(const struct up_source *source, const struct up_targets *targets, struct up_sockets *sockets,
	enum up_requests_by by, struct up_requests **ret, char *reason, size_t reason_size);
void up_requests_free(struct up_requests *requests);
/* Targets appeared, came back or went. */
void up_requests_retarget(struct up_requests *requests, const struct up_targets *targets);

/* Turns at LISTENER; the first call makes it known to the programs. 0; -ENOSPC when there are more addresses than slots; -EEXIST when
 * another listener of this run has the same address (0.0.0.0:80 and [::]:80): its turns are in that row; -ENODATA when its namespace was
 * not looked at (yet, or it cannot be entered). */
UP_MUST_CHECK int up_requests_server(struct up_requests *requests, const struct up_listener *listener, uint64_t tick,
	struct up_arena *arena, struct up_turns *ret);
/* Peers of TARGET (NULL: the host), borrowed from ARENA. 0 or -ENOSPC. */
UP_MUST_CHECK int up_requests_peers(struct up_requests *requests, const struct up_targets *targets,
	const struct up_target *target, struct up_arena *arena, struct up_peer **ret, size_t *ret_count);

/* What the counts come from, for the method column: "tp_btf/sk_data_ready, ..." or "fentry ...". */
const char *up_requests_method(const struct up_requests *requests);
/* Connections and peers that found no place, since the start. */
uint64_t up_requests_dropped(const struct up_requests *requests);
/* CPU that the programs took, when kernel.bpf_stats_enabled is on. */
struct up_u64 up_requests_run_ns(const struct up_requests *requests);

#endif
