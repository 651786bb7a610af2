/* --queue before the run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "run.h"
#include "useprobe/queues.h"

int run_check_queues(struct run *run)
{
	const struct run_options *o = &run->options;

	for (size_t i = 0; i < o->setting_count; i++) {
		char message[UP_QUEUE_PATH + UP_QUEUE_SYMBOL + 256];
		struct up_queue_spec spec;

		if (strcmp(o->settings[i].key, "queue") != 0 ||
			up_queue_spec_parse(o->settings[i].value, &spec, message, sizeof(message)) < 0)
			continue;
		up_arena_reset(&run->arena);
		if (up_queues_check(&run->source, &run->targets, &run->arena, &spec, message, sizeof(message)) < 0) {
			fprintf(stderr, "useprobe: --queue %s: %s\n", spec.name, message);
			return -EINVAL;
		}
	}
	return 0;
}
