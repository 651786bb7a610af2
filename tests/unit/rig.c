#include "rig.h"

#include "check.h"

void rig_open(struct rig *rig, const char *root, const char *name, uint64_t interval_ns, const char *only)
{
	char message[1024];
	struct up_probe_config config = { .interval_ns = interval_ns, .only = only, .host_rows = true };

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(up_source_open(&rig->source, root), 0);
	assert_int_equal(up_arena_init(&rig->arena), 0);
	assert_int_equal(up_targets_init(&rig->targets, &rig->source, &rig->arena), 0);
	if (name && up_targets_add_name(&rig->targets, &rig->source, &rig->arena, name, false, message, sizeof(message)) < 0)
		fail_msg("%s: %s", root, message);
	rig->fake = (struct up_fake_clock){ .mono_ns = 5 * UP_NS_PER_S, .wall_ns = 1764532200 * UP_NS_PER_S };
	rig->clock = up_clock_fake(&rig->fake);
	config.source = &rig->source;
	config.clock = &rig->clock;
	config.targets = &rig->targets;
	assert_int_equal(up_probe_new(&config, &rig->probe), 0);
}

void rig_close(struct rig *rig)
{
	up_probe_free(rig->probe);
	up_targets_done(&rig->targets);
	up_arena_done(&rig->arena);
	up_source_close(&rig->source);
}

void rig_tick(struct rig *rig)
{
	const char *sink;

	rig->clock.wait_until(rig->clock.self, up_probe_deadline_ns(rig->probe), -1);
	assert_int_equal(up_probe_tick(rig->probe, &sink), 0);
}

void rig_next(struct rig *rig)
{
	assert_true(up_source_next_frame(&rig->source));
	rig_tick(rig);
}

const struct up_row *rig_row(const struct rig *rig, const char *resource, const char *name)
{
	const struct up_rows *rows = &up_probe_table(rig->probe)->rows;

	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->items[i].resource, resource) == 0 && (!name || strcmp(rows->items[i].name, name) == 0))
			return &rows->items[i];
	return NULL;
}
