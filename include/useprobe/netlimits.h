/* Netlimits: the sysctls of a network namespace that bound its sockets. They are not under /proc/PID/net: /proc/sys/net shows those of who
 * opens the file (fs/proc/proc_sysctl.c). */
#ifndef UP_NETLIMITS_H
#define UP_NETLIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"
#include "useprobe/scan.h"

#define UP_PORT_WORDS 1024 /* 65,536 bits */

enum up_netlimit {
	UP_NETLIMIT_PORT_RANGE,
	UP_NETLIMIT_PORTS_RESERVED,
	UP_NETLIMIT_TIME_WAIT_MAX,
	UP_NETLIMIT_TIME_WAIT_REUSE,
	UP_NETLIMIT_CONNTRACK_COUNT,
	UP_NETLIMIT_CONNTRACK_MAX,
	UP_NETLIMIT_COUNT
};

struct up_netlimits {
	struct up_u64 port_first, port_last; /* of ip_local_port_range, both included */
	struct up_u64 ports; /* in that range and not reserved */
	uint64_t is_ephemeral[UP_PORT_WORDS]; /* bit set of those */
	struct up_u64 time_wait_max; /* tcp_max_tw_buckets */
	struct up_u64 time_wait_reuse; /* tcp_tw_reuse: 0 never, 1 after a second, 2 on loopback */
	struct up_u64 conntrack_count, conntrack_max;
};

/* Path of a sysctl without the leading slash: "proc/sys/net/ipv4/ip_local_port_range". */
const char *up_netlimit_path(enum up_netlimit limit);
/* Takes TEXTS[UP_NETLIMIT_COUNT] apart; NULL: the file is not there. What is not understood (docs of the kernel: networking/ip-sysctl,
 * networking/nf_conntrack-sysctl) stays without "has". A reserved list that is not understood leaves the range unknown. */
void up_netlimits_parse(const char *const texts[UP_NETLIMIT_COUNT], struct up_netlimits *ret);

static inline bool up_netlimits_is_ephemeral(const struct up_netlimits *limits, uint16_t port)
{
	return limits->is_ephemeral[port / 64] >> (port % 64) & 1;
}

#endif
