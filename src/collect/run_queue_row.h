/* Run-queue row of a target or of the host: the two collectors differ only in whom they ask about. */
#ifndef UP_COLLECT_RUN_QUEUE_ROW_H
#define UP_COLLECT_RUN_QUEUE_ROW_H

#include "useprobe/collector.h"
#include "useprobe/delay.h"

struct run_queue_raw {
	struct up_delay_sample sample;
	enum up_scope scope;
	const char *label; /* borrowed from the arena */
	const char *no_histogram; /* why sample.buckets is NULL; borrowed from the arena */
	unsigned generation; /* of the target */
};

/* As up_collector.read and .derive; env->target NULL asks for the host. */
int run_queue_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw);
int run_queue_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out);

#endif
