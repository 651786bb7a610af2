/* Inside of the delay service: what its three methods share. */
#ifndef UP_SOURCE_DELAY_INTERNAL_H
#define UP_SOURCE_DELAY_INTERNAL_H

#include "delay_bpf.h"
#include "ledger.h"
#include "taskstats.h"
#include "useprobe/delay.h"

#define UP_DELAY_REASON_BYTES 192
#define UP_DELAY_METHODS (UP_DELAY_SCHEDSTAT + 1)
#define UP_DELAY_HOST UP_TARGETS_MAX /* account of the host */
/* Without BPF the host is the sum of all processes: one query each. Beyond this many it would cost more than it tells. */
#define UP_DELAY_HOST_PROCESSES 2000

/* What was read of one target. */
struct up_delay_account {
	struct up_ledger ledger;
	uint64_t read_at_ticks; /* /proc/uptime at the last update, in USER_HZ ticks */
	uint64_t tick_plus_1; /* of the cached sample, 0 = none */
	int result; /* of that read */
	struct up_delay_sample sample;
	uint64_t buckets[UP_DELAY_BUCKETS]; /* behind sample.buckets until the next read */
};

struct up_delay {
	const struct up_targets *targets; /* borrowed */
	enum up_delay_method method; /* the best that works; a target it does not serve falls back to the next */
	struct up_delay_bpf *bpf; /* owned; NULL = refused */
	uint64_t refreshed_tick_plus_1; /* when the waits in progress were looked at */
	struct up_taskstats_link taskstats;
	char reason[UP_DELAY_METHODS][UP_DELAY_REASON_BYTES]; /* "" = in use or not needed */
	struct up_delay_account accounts[UP_TARGETS_MAX + 1];
};

/* One process (taskstats) or all its threads (schedstat) of each of PIDS, into the account's sample. 0; -ENOENT; -EPERM; -ENOMEM. */
UP_MUST_CHECK int up_delay_read_taskstats(struct up_delay *delay, struct up_delay_account *account,
	const struct up_source *source, struct up_arena *arena, const pid_t *pids, size_t count);
UP_MUST_CHECK int up_delay_read_schedstat(struct up_delay_account *account, const struct up_source *source,
	struct up_arena *arena, const pid_t *pids, size_t count);

/* Host-wide sums of /proc/schedstat (CONFIG_SCHEDSTATS): per-CPU counters, short-lived processes included. 0, -ENOENT, -EBADMSG. */
UP_MUST_CHECK int up_delay_read_host_file(
	struct up_delay_account *account, const struct up_source *source, struct up_arena *arena);

/* Fills throttled_bound_ns from the cpu controller's files, when they tell. */
void up_delay_read_throttled(
	struct up_delay_sample *sample, const struct up_source *source, struct up_arena *arena, const struct up_target *target);

/* "cpu0 yld 0 count idle ttwu local RUN DELAY PCOUNT" lines of /proc/schedstat, versions 14 to 17. 0 or -EBADMSG. */
UP_MUST_CHECK int up_delay_parse_host(const char *text, uint64_t ret[UP_LEDGER_COUNTERS]);
/* "RUN DELAY PCOUNT\n" of /proc/PID/schedstat. RET in the ledger's order: delay, run, count. 0 or -EBADMSG. */
UP_MUST_CHECK int up_delay_parse_task(const char *text, uint64_t ret[UP_LEDGER_COUNTERS]);
/* Field 22 of /proc/PID/stat, behind the last ')' since comm may hold anything. 0 or -EBADMSG. */
UP_MUST_CHECK int up_delay_parse_start(const char *text, uint64_t *ret_ticks);

#endif
