#include "bpf_match.h"

#include <bpf/bpf.h>
#include <string.h>

#include "useprobe/compiler.h"

static void add_group(
	struct up_match *match, int fd, struct up_match_config *config, uint64_t id, uint32_t family, uint32_t target)
{
	const struct up_match_key key = { .id = id, .family = family };

	if (!id || match->count == UP_COUNT(match->keys) || bpf_map_update_elem(fd, &key, &target, BPF_ANY) < 0)
		return;
	match->keys[match->count++] = key;
	config->families |= family;
}

void up_match_write(struct up_match *match, int groups_fd, struct up_match_config *config, const struct up_targets *targets)
{
	const int cpu = targets->hierarchies.owner[UP_CTL_CPU];
	const bool cpu_is_v1 = cpu >= 0 && !targets->hierarchies.items[cpu].v2;
	uint32_t pid_count = 0;

	for (size_t i = 0; i < match->count; i++)
		bpf_map_delete_elem(groups_fd, &match->keys[i]);
	match->count = 0;
	for (size_t i = 0; i < targets->count; i++) {
		const struct up_target *target = &targets->items[i];

		if (!target->present)
			continue;
		if (target->kind == UP_TARGET_PID && pid_count < UP_MATCH_PIDS) {
			config->pid[pid_count] = (uint32_t)target->pid;
			config->pid_target[pid_count++] = (uint32_t)i;
		} else if (target->kind == UP_TARGET_CGROUP) {
			/* On v2 one id says it all; only v1 has a group of the cpu controller apart. */
			if (cpu_is_v1)
				add_group(match, groups_fd, config, target->cpu_id, UP_MATCH_CPU, (uint32_t)i);
			add_group(match, groups_fd, config, target->v2_id, UP_MATCH_V2, (uint32_t)i);
		}
	}
	config->pid_count = pid_count;
}

/* Is INNER (a process: the group it is in) at or below OUTER? */
static bool lies_inside(const struct up_target *inner, const struct up_target *outer)
{
	const char *below, *above;
	size_t len;

	if (outer->kind != UP_TARGET_CGROUP || outer->main < 0 || !inner->present || !outer->present)
		return false;
	below = inner->cgroup.path[outer->main];
	above = outer->cgroup.path[outer->main];
	if (!below || !above)
		return false;
	len = strcmp(above, "/") == 0 ? 0 : strlen(above);
	return strncmp(below, above, len) == 0 && (below[len] == '/' || below[len] == '\0');
}

void up_match_members(const struct up_targets *targets, uint32_t ret[UP_TARGETS_MAX])
{
	memset(ret, 0, UP_TARGETS_MAX * sizeof(*ret));
	for (size_t i = 0; i < targets->count; i++) {
		ret[i] = 1u << i;
		for (size_t j = 0; j < targets->count; j++)
			if (lies_inside(&targets->items[j], &targets->items[i]))
				ret[i] |= 1u << j;
	}
}
