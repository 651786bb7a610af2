/* User side of bpf/delay.bpf.c. The counters are mapped: a read costs no system call, except the walk over the tasks that tells which
 * waits are still going on. */
#include "delay_bpf.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf_session.h"
#include "delay_bpf_internal.h"
#include "useprobe/scan.h"

#define WALK_SHARE 0.02 /* of the time between two ticks */
#define WALK_SHARE_VARIABLE "USEPROBE_WALK_SHARE" /* another share, for tests */
#define QUOTA_QUEUES_VARIABLE "USEPROBE_QUOTA_QUEUES" /* room for throttled queues, for tests */

static const struct up_bpf_need needs[] = {
	{ "btf_trace_sched_switch", NULL, "kernel without the sched_switch tracepoint in BTF" },
	{ "sched_info", "last_queued", "kernel without CONFIG_SCHED_INFO" },
	{ "task_struct", "sched_info", "kernel without CONFIG_SCHED_INFO" },
	{ "sched_entity", "cfs_rq", "kernel without CONFIG_FAIR_GROUP_SCHED" },
	{ "task_struct", "sched_task_group", "kernel without CONFIG_CGROUP_SCHED" },
};

/* Sizes the maps and loads; without the walk when the kernel has no task iterator (before 5.8). */
static int skeleton_load(struct up_delay_bpf *bpf, bool walk)
{
	int r;

	bpf->skeleton = delay__open();
	if (!bpf->skeleton)
		return errno ? -errno : -EINVAL;
	bpf->skeleton->rodata->walk_part = bpf->cpus;
	bpf_program__set_autoload(bpf->skeleton->progs.up_delay_pending, walk);
	r = bpf_map__set_max_entries(bpf->skeleton->maps.cells, bpf->cpus * UP_CELLS);
	if (r == 0)
		r = bpf_map__set_max_entries(bpf->skeleton->maps.known, (bpf->cpus + 1) * UP_GROUP_CACHE);
	if (r == 0)
		r = bpf_map__set_max_entries(bpf->skeleton->maps.runs, bpf->cpus);
	if (r == 0)
		r = bpf_map__set_max_entries(bpf->skeleton->maps.quotas, bpf->quota_queues);
	if (r == 0)
		r = delay__load(bpf->skeleton);
	if (r < 0) {
		delay__destroy(bpf->skeleton);
		bpf->skeleton = NULL;
	}
	return r;
}

static int map_in(struct bpf_map *map, size_t bytes, int protection, void **ret)
{
	void *at = mmap(NULL, bytes, protection, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

static int session_open(struct up_delay_bpf *bpf)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *cells = NULL, *pending = NULL;
	int r;

	bpf->cells_bytes = (bpf->cpus * UP_CELLS * sizeof(struct up_cell) + page - 1) / page * page;
	bpf->pending_bytes = (UP_CELLS * sizeof(struct up_pending) + page - 1) / page * page;
	r = skeleton_load(bpf, true);
	if (r < 0 && r != -EPERM)
		r = skeleton_load(bpf, false);
	if (r < 0)
		return r;
	r = map_in(bpf->skeleton->maps.cells, bpf->cells_bytes, PROT_READ, &cells);
	if (r < 0)
		return r;
	bpf->cells = cells;
	r = map_in(bpf->skeleton->maps.pending, bpf->pending_bytes, PROT_READ | PROT_WRITE, &pending);
	if (r < 0)
		return r;
	bpf->pending = pending;
	bpf->skeleton->bss->config.primary = UP_BY_V2;
	bpf->attached = bpf_program__attach(bpf->skeleton->progs.up_delay_switch);
	if (!bpf->attached)
		return -errno;
	if (bpf_program__fd(bpf->skeleton->progs.up_delay_pending) >= 0)
		bpf->walk = bpf_program__attach_iter(bpf->skeleton->progs.up_delay_pending, NULL);
	return 0;
}

static double walk_share(void)
{
	const char *text = secure_getenv(WALK_SHARE_VARIABLE);
	double share;

	return text && up_scan_whole_decimal(text, &share) == 0 ? share : WALK_SHARE;
}

static unsigned quota_room(void)
{
	const char *text = secure_getenv(QUOTA_QUEUES_VARIABLE);
	uint64_t room;

	return text && up_scan_whole_u64(text, &room) == 0 && room > 0 && room <= UP_QUOTA_QUEUES ? (unsigned)room
												  : UP_QUOTA_QUEUES;
}

int up_delay_bpf_new(unsigned quota_queues, struct up_delay_bpf **ret, char *reason, size_t reason_size)
{
	const int cpus = libbpf_num_possible_cpus();
	struct up_delay_bpf *bpf;
	int r;

	up_bpf_listen();
	bpf = cpus > 0 ? calloc(1, sizeof(*bpf)) : NULL;
	if (!bpf)
		return -ENOMEM;
	bpf->cpus = (unsigned)cpus;
	bpf->quota_queues = quota_queues ? quota_queues : quota_room();
	bpf->pids_global = up_bpf_pids_are_global();
	bpf->host_members = 1;
	bpf->walk_share = walk_share();
	r = session_open(bpf);
	if (r < 0) {
		up_bpf_why(r, needs, UP_COUNT(needs), reason, reason_size);
		up_delay_bpf_free(bpf);
		return r;
	}
	malloc_trim(0); /* loading parses the kernel's whole BTF: some 10 MB that are not needed again */
	*ret = bpf;
	return 0;
}

void up_delay_bpf_free(struct up_delay_bpf *bpf)
{
	if (!bpf)
		return;
	bpf_link__destroy(bpf->walk);
	bpf_link__destroy(bpf->attached);
	if (bpf->cells)
		munmap((void *)(uintptr_t)bpf->cells, bpf->cells_bytes);
	if (bpf->pending)
		munmap(bpf->pending, bpf->pending_bytes);
	delay__destroy(bpf->skeleton);
	free(bpf);
}

int up_delay_bpf_fd(const struct up_delay_bpf *bpf)
{
	return bpf_program__fd(bpf->skeleton->progs.up_delay_switch);
}

/* Hierarchy whose groups are the primary ones, -1 = none mounted. */
static int primary_hierarchy(const struct up_targets *targets, unsigned *ret_family)
{
	const struct up_hierarchies *all = &targets->hierarchies;
	const int cpu = all->owner[UP_CTL_CPU];

	/* On v2 a group without the cpu controller has no scheduler group of its own, but it has its v2 id. */
	*ret_family = cpu >= 0 && (size_t)cpu < all->count && !all->items[cpu].v2 ? UP_BY_CPU : UP_BY_V2;
	return *ret_family == UP_BY_CPU ? cpu : all->v2;
}

static void place_find(const struct up_delay_bpf *bpf, const struct up_targets *targets, size_t index, struct place *ret)
{
	const struct up_target *target = &targets->items[index];
	unsigned primary;
	int hierarchy = primary_hierarchy(targets, &primary);
	uint64_t id = primary == UP_BY_CPU ? target->cpu_id : target->v2_id;

	if (target->kind == UP_TARGET_PID) {
		if (bpf->pids_global && target->present)
			*ret = (struct place){ .family = UP_BY_PID, .cell = 1 + (unsigned)index };
		return;
	}
	ret->family = primary;
	if (!id && primary == UP_BY_CPU && target->v2_id) {
		id = target->v2_id;
		hierarchy = targets->hierarchies.v2;
		ret->family = UP_BY_V2;
	}
	if (!id || !target->present || hierarchy < 0) {
		ret->family = 0;
		return;
	}
	ret->cell = 1 + (unsigned)index;
	ret->key = (struct up_group_key){ .id = id, .family = ret->family };
	ret->path = target->cgroup.path[hierarchy];
}

/* Is INNER at or below OUTER? */
static bool inside(const struct place *inner, const struct place *outer)
{
	size_t len;

	if (inner->family != outer->family || inner->family == UP_BY_PID || !inner->path || !outer->path)
		return false;
	len = strlen(outer->path);
	if (strcmp(outer->path, "/") == 0)
		return true;
	return strncmp(inner->path, outer->path, len) == 0 && (inner->path[len] == '/' || inner->path[len] == '\0');
}

/* Which cells add up to which target. The same group asked for twice is counted in the first one's cell. */
static void members_find(struct up_delay_bpf *bpf)
{
	const unsigned primary = bpf->skeleton->bss->config.primary;

	for (size_t i = 0; i < bpf->count; i++) {
		struct place *place = &bpf->places[i];

		place->members = place->family ? 1u << place->cell : 0;
		for (size_t j = 0; j < bpf->count; j++) {
			if (!place->family || j == i || !inside(&bpf->places[j], place))
				continue;
			if (j < i && bpf->places[j].key.id == place->key.id)
				place->cell = bpf->places[j].cell;
			place->members |= 1u << bpf->places[j].cell;
		}
		if (place->family == primary)
			bpf->host_members |= 1u << place->cell;
	}
}

static int groups_write(struct up_delay_bpf *bpf, const struct place *old, size_t old_count)
{
	const int fd = bpf_map__fd(bpf->skeleton->maps.groups);

	for (size_t i = 0; i < old_count; i++)
		if (old[i].family == UP_BY_CPU || old[i].family == UP_BY_V2)
			(void)bpf_map_delete_elem(fd, &old[i].key);
	for (size_t i = 0; i < bpf->count; i++) {
		const struct place *place = &bpf->places[i];
		const __u32 cell = place->cell;

		if ((place->family == UP_BY_CPU || place->family == UP_BY_V2) &&
			bpf_map_update_elem(fd, &place->key, &cell, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

int up_delay_bpf_retarget(struct up_delay_bpf *bpf, const struct up_targets *targets)
{
	struct up_delay_config *config = &bpf->skeleton->bss->config;
	struct place old[UP_TARGETS_MAX];
	const size_t old_count = bpf->count;
	unsigned primary;
	__u32 pids = 0;

	memcpy(old, bpf->places, sizeof(old));
	memset(bpf->places, 0, sizeof(bpf->places));
	bpf->count = targets->count;
	const int hierarchy = primary_hierarchy(targets, &primary);

	bpf->primary = hierarchy < 0 ? NULL : &targets->hierarchies.items[hierarchy];
	config->primary = primary;
	config->secondary = 0;
	config->pid_count = 0;
	for (size_t i = 0; i < bpf->count; i++) {
		struct place *place = &bpf->places[i];

		place_find(bpf, targets, i, place);
		if (place->family == UP_BY_PID) {
			config->pid[pids] = (__u32)targets->items[i].pid;
			config->pid_cell[pids++] = place->cell;
		} else if (place->family && place->family != primary) {
			config->secondary = place->family;
		}
	}
	members_find(bpf);
	const int r = groups_write(bpf, old, old_count);

	config->pid_count = pids;
	__atomic_add_fetch(&config->generation, 1, __ATOMIC_RELEASE);
	return r;
}

bool up_delay_bpf_serves(const struct up_delay_bpf *bpf, size_t index)
{
	return index == UP_TARGETS_MAX || (index < bpf->count && bpf->places[index].family != 0);
}
