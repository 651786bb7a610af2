/* Parts of the network collectors: TCP as a whole, the queue in front of an interface. */
#ifndef UP_NETWORK_PARTS_H
#define UP_NETWORK_PARTS_H

#include "useprobe/clock.h"
#include "useprobe/collector.h"
#include "useprobe/netspaces.h"

/* Growth of a counter, and growth per second. */
static inline struct up_value network_grown(const struct up_u64 *prev, struct up_u64 cur)
{
	return up_delta(prev, cur, "not counted by this kernel");
}

static inline struct up_value network_per_second(struct up_value value, uint64_t dt_ns)
{
	return up_scaled(value, (double)UP_NS_PER_S, (double)dt_ns, "no time passed");
}

/* Whose network: a process of the target in the namespace (0: the probe's own) and its directory below the root ("proc/12/net"). 0, or
 * -ENOENT when the target has no process. */
int network_find(struct up_env *env, struct up_arena *arena, pid_t *ret_pid, char ret_dir[32]);

/* What only somebody inside the namespace sees. */
struct network_space {
	enum up_state state; /* UP_OK, or UP_DENIED or UP_ABSENT with the reason */
	const char *reason;
	struct up_netspace space; /* with UP_OK */
	const struct up_netlimits *limits; /* NULL: not known; on a recorded tree those of the tree */
};
/* 0, or -ENOSPC when the arena is full. */
int network_look(struct up_env *env, struct up_arena *arena, pid_t pid, struct network_space *ret);
/* Why a figure of SPACE is not there. */
struct up_value network_unknown(const struct network_space *space, const char *otherwise);

/* Bytes that are not sent (useprobe/census.h): of responses, which leave through listening ports, and of requests opened from here. */
struct network_unsent {
	bool has; /* there was a census */
	bool by_listener; /* responses of the target's own listeners only; else of every listening port of the namespace */
	uint64_t census_ns;
	struct up_u64 responses_ns, nagle_ns, window_ns; /* counters: connections, integrated */
	struct up_u64 requests_nagle_ns;
	uint32_t responses_max; /* sum of the ports' maxima in the window */
	uint64_t bytes; /* of responses, at the last census */
	uint32_t connections; /* that responses leave through */
};
/* Adds up the ports that are the target's. 0, -ENOSPC. */
int network_unsent_read(
	struct up_env *env, struct up_arena *arena, const struct network_space *space, struct network_unsent *ret);
/* Adds the figures to DETAIL. *RET_WAITING: connections with response bytes unsent beyond a round trip, on average; *RET_MAX: most seen. */
void network_unsent_fill(const struct network_unsent *p, const struct network_unsent *c, const struct network_space *space,
	struct up_detail *detail, struct up_value *ret_waiting, struct up_value *ret_max);

/* Counters of a namespace. */
struct network_tcp {
	struct up_u64 retransmits, sent, timeouts, connect_failures, resets, out_resets, listen_drops, backlog_drops,
		memory_aborts, syn_retransmits, pruned, receive_dropped, zero_windows;
};
/* Reads DIR/snmp and DIR/netstat (DIR: "proc/PID/net"). 0, -EBADMSG. */
int network_tcp_read(struct up_env *env, struct up_arena *arena, const char *dir, struct network_tcp *ret);
/* The row "tcp" of the namespace LABEL. P NULL: first sample. */
struct network_tcp_sample {
	const struct network_tcp *tcp;
	const struct network_unsent *unsent;
};
void network_tcp_add(const struct network_tcp_sample *p, const struct network_tcp_sample *c, const struct network_space *space,
	const char *label, uint64_t dt_ns, struct up_rows *out);

/* What the queue of an interface did in a window. */
struct network_queue {
	struct up_value packets; /* average number queued */
	struct up_value packets_max;
	struct up_value drops; /* packets */
	struct up_value sent_ratio; /* bytes let through / what the shaper lets through; absent without a shaper */
};
/* Fills *RET and adds the figures to DETAIL. C NULL: the queue is not known, because of REASON (state UP_ABSENT or UP_DENIED); P NULL:
 * first sample. WINDOW_NS: time between the polls behind both. */
void network_queue_fill(const struct up_link_queue *p, const struct up_link_queue *c, struct up_value unknown, uint64_t window_ns,
	struct network_queue *ret, struct up_detail *detail);

#endif
