#include "disk_latency.h"

#include <errno.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/delay.h"

#define REQUESTS_MIN 20 /* below it a percentile is one of a handful of values */

/* A disk that completes its first request in this window had none before it. */
static const struct up_u64 none_before = { 0, true };
static const uint64_t no_buckets[UP_BLOCKS_BUCKETS];

int disk_latency_read(struct up_env *env, struct up_arena *arena, struct disk_latency *ret)
{
	int r;

	if (!env->blocks) {
		ret->error = env->blocks_error ? env->blocks_error : -EOPNOTSUPP;
		ret->reason = up_arena_strdup(arena, env->blocks_reason ? env->blocks_reason : "no requests here");
		return ret->reason ? 0 : -ENOSPC;
	}
	r = up_blocks_read(env->blocks, arena, &ret->disks, &ret->count, &ret->lost);
	return r < 0 ? up_fail(env, r, "reading the programs' counters: %s", strerror(-r)) : 0;
}

const struct up_block_disk *disk_latency_find(const struct disk_latency *latency, unsigned major, unsigned minor)
{
	for (size_t i = 0; i < latency->count; i++)
		if (latency->disks[i].major == major && latency->disks[i].minor == minor)
			return &latency->disks[i];
	return NULL;
}

static void describe_direction(
	struct up_detail *detail, const char *const keys[3], const struct up_block_times *p, const struct up_block_times *c)
{
	const struct up_value done = up_delta(p ? &p->done : &none_before, c->done, NULL);
	const struct up_value time_ns = up_delta(p ? &p->time_ns : &none_before, c->time_ns, NULL);
	const uint64_t *before = p ? p->buckets : no_buckets;

	if (!up_value_ok(done) || done.number < 1)
		return;
	up_detail_value(detail, keys[0], up_scaled(up_ratio(time_ns, done, NULL), 1, (double)UP_NS_PER_MS, NULL));
	if (done.number < REQUESTS_MIN)
		return;
	up_detail_number(detail, keys[1], up_delay_percentile_ns(before, c->buckets, 50) / (double)UP_NS_PER_MS);
	up_detail_number(detail, keys[2], up_delay_percentile_ns(before, c->buckets, 99) / (double)UP_NS_PER_MS);
}

void disk_latency_describe(struct up_detail *detail, const struct disk_latency *cur, const struct disk_latency *prev,
	const struct up_block_disk *p, const struct up_block_disk *c)
{
	static const char *const read_keys[] = { "read_mean_ms", "read_p50_ms", "read_p99_ms" };
	static const char *const write_keys[] = { "write_mean_ms", "write_p50_ms", "write_p99_ms" };

	if (cur->reason) {
		up_detail_value(detail, "latency",
			up_value_state(cur->error == -EACCES || cur->error == -EPERM ? UP_DENIED : UP_ABSENT, cur->reason));
		return;
	}
	if (cur->lost.n)
		up_detail_count(detail, "latency_lost", cur->lost.n);
	/* The first sample has no window; later a disk may be new in it. */
	if (!c || !prev)
		return;
	describe_direction(detail, read_keys, p ? &p->read : NULL, &c->read);
	describe_direction(detail, write_keys, p ? &p->write : NULL, &c->write);
}

struct up_value disk_latency_failed(bool has_prev, const struct up_block_disk *p, const struct up_block_disk *c)
{
	const struct up_u64 *read = p ? &p->read.failed : &none_before, *write = p ? &p->write.failed : &none_before;

	return up_plus(
		up_delta(has_prev ? read : NULL, c->read.failed, NULL), up_delta(has_prev ? write : NULL, c->write.failed, NULL));
}
