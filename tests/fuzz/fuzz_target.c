/* Names and paths of cgroups from arbitrary bytes: mount tables, /proc/PID/cgroup, unit names, container paths, messages. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/target/internal.h"
#include "useprobe/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mounts(const char *text, bool mountinfo)
{
	struct up_hierarchies *found = calloc(1, sizeof(*found));

	if (found && up_hierarchies_parse(text, mountinfo, found) == 0)
		for (size_t i = 0; i < found->count; i++)
			if (!memchr(found->items[i].mount, 0, sizeof(found->items[i].mount)) ||
				(found->items[i].named && found->items[i].controllers))
				abort();
	free(found);
}

static void process_lines(const char *text, struct up_arena *arena)
{
	static struct up_hierarchies hierarchies;
	struct up_pid_cgroups paths;
	bool cut;

	if (!hierarchies.count) {
		hierarchies.v2 = 0;
		hierarchies.count = 2;
		hierarchies.items[0] = (struct up_hierarchy){ .v2 = true, .mount = "/c", .root = "/../..", .ns = "/a/b" };
		hierarchies.items[1] = (struct up_hierarchy){ .controllers = 1, .mount = "/d", .root = "/x" };
	}
	if (up_pid_cgroups_parse(text, arena, &hierarchies, &paths, &cut) < 0)
		return;
	/* What is below a mount is absolute and never leaves it. */
	for (size_t h = 0; h < hierarchies.count; h++)
		if (paths.path[h] && (paths.path[h][0] != '/' || up_path_leaves(paths.path[h])))
			abort();
}

static void names(const char *text)
{
	char out[512], path[512];

	if (up_unit_unescape(text, out, sizeof(out)) && strlen(out) > strlen(text))
		abort();
	if (up_unit_slice_path(text, out, sizeof(out)) && strcmp(up_path_base(out), text) != 0)
		abort();
	if (strlen(up_message_quote(text, out, sizeof(out))) >= sizeof(out) || strpbrk(out, "\n\x1b\x7f"))
		abort();
	if (strlen(text) < sizeof(path)) {
		memcpy(path, text, strlen(text) + 1);
		if (up_container_cut_path(path, "0123456789ab") && !strstr(path, "0123456789ab"))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct up_arena arena;
	char *text = malloc(size + 1);

	if (!text || (!arena.base && up_arena_init(&arena) < 0))
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	mounts(text, true);
	mounts(text, false);
	process_lines(text, &arena);
	names(text);
	up_arena_reset(&arena);
	free(text);
	return 0;
}
