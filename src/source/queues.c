#include "useprobe/queues.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_session.h"
#include "queues_internal.h"
#include "useprobe/clock.h"

#define READ_TRIES 1000

static const struct up_bpf_need needs[] = {
	{ "task_struct", "sched_task_group", "kernel without CONFIG_CGROUP_SCHED" },
};

void up_queues_free(struct up_queues *queues)
{
	if (!queues)
		return;
	for (size_t i = 0; i < queues->file_count; i++)
		queue_detach(&queues->files[i]);
	queues__destroy(queues->skeleton);
	free(queues);
}

static int load(struct up_queues *queues, char *reason, size_t size)
{
	int r;

	up_bpf_listen();
	queues->skeleton = queues__open_and_load();
	if (!queues->skeleton) {
		r = -errno;
		up_bpf_why(r, needs, UP_COUNT(needs), reason, size);
		return r;
	}
	for (uint32_t i = 0; i < UP_QUEUE_SLOT_SELF; i++)
		if (bpf_map_update_elem(bpf_map__fd(queues->skeleton->maps.free_slots), NULL, &i, BPF_ANY) < 0) {
			r = -errno;
			snprintf(reason, size, "filling a map: %s", strerror(-r));
			return r;
		}
	r = queue_measure_costs(queues->skeleton, &queues->costs);
	if (r == -EACCES || r == -EPERM)
		snprintf(reason, size, "%s",
			up_bpf_has_capability(CAP_SYS_ADMIN) ? "the kernel refuses uprobes (lockdown?)"
							     : "CAP_SYS_ADMIN is missing (uprobes)");
	else if (r < 0)
		snprintf(reason, size, "no uprobe can be attached: %s", strerror(-r));
	return r;
}

int up_queues_new(const struct up_source *source, const struct up_targets *targets, const struct up_queue_spec *specs,
	size_t count, struct up_queues **ret, char *reason, size_t reason_size)
{
	struct up_queues *queues;
	struct up_arena arena;
	int r;

	if (source->recorded) {
		snprintf(reason, reason_size, "a recorded tree has no programs");
		return -EOPNOTSUPP;
	}
	if (!up_bpf_pids_are_global()) {
		snprintf(reason, reason_size,
			"processes are counted by their ids in the initial pid namespace; this one is another");
		return -EOPNOTSUPP;
	}
	queues = calloc(1, sizeof(*queues));
	if (!queues)
		return -ENOMEM;
	queues->source = source;
	queues->spec_count = count < UP_QUEUE_SPECS_MAX ? count : UP_QUEUE_SPECS_MAX;
	memcpy(queues->specs, specs, queues->spec_count * sizeof(*specs));
	r = load(queues, reason, reason_size);
	if (r < 0) {
		up_queues_free(queues);
		return r;
	}
	malloc_trim(0); /* the kernel's BTF, parsed for loading, is not needed again */
	queues->skeleton->bss->any_process = targets->count == 0;
	r = up_arena_init(&arena);
	if (r < 0) {
		up_queues_free(queues);
		return r;
	}
	/* Attaching takes a while: the first tick finds it done. */
	queue_keep_up(queues, targets, &arena);
	up_arena_done(&arena);
	*ret = queues;
	return 0;
}

/* Items and calls of a process that is gone would never be taken out. */
static void forget_items(const struct up_queues *queues, const struct up_queue_slot *slot)
{
	const int fd = bpf_map__fd(queues->skeleton->maps.items);
	struct up_queue_item key, next, *previous = NULL;
	bool more;

	for (more = bpf_map_get_next_key(fd, previous, &next) == 0; more;) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next) == 0;
		if (key.pid == slot->pid && key.queue == slot->queue)
			bpf_map_delete_elem(fd, &key);
	}
}

/* Two steps a reading apart: no program that found the slot before is still at work in it when another process gets it. */
static void retire(struct up_queues *queues, uint32_t index)
{
	struct up_queue_slot *slot = &queues->skeleton->bss->slots[index];
	const struct up_queue_process process = { .pid = slot->pid, .queue = slot->queue };

	if (!queues->known[index].retired) {
		bpf_map_delete_elem(bpf_map__fd(queues->skeleton->maps.processes), &process);
		queues->known[index].retired = true;
		return;
	}
	forget_items(queues, slot);
	memset(slot, 0, sizeof(*slot));
	queues->known[index] = (struct queue_known){ 0 };
	(void)!bpf_map_update_elem(bpf_map__fd(queues->skeleton->maps.free_slots), NULL, &index, BPF_ANY);
}

/* Fields between two counts that agree. false when programs were at work in it all the time. */
static bool read_slot(const struct up_queue_slot *slot, struct up_queue_slot *ret)
{
	for (int i = 0; i < READ_TRIES; i++) {
		const uint64_t ended = __atomic_load_n(&slot->ended, __ATOMIC_ACQUIRE);

		memcpy(ret, slot, sizeof(*ret));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&slot->begun, __ATOMIC_ACQUIRE) == ended)
			return true;
	}
	return false;
}

/* True when the process of slot INDEX is there; learns its name. */
static bool alive(struct up_queues *queues, uint32_t index, uint32_t pid, struct up_arena *arena)
{
	struct queue_known *known = &queues->known[index];
	uint64_t start_ticks;

	if (up_pid_stat(queues->source, arena, (pid_t)pid, known->comm, &start_ticks) < 0)
		return false;
	if (known->pid && known->start_ticks != start_ticks)
		return false;
	known->pid = pid;
	known->start_ticks = start_ticks;
	return true;
}

static struct up_u64 number(uint64_t n)
{
	return (struct up_u64){ .n = n, .has = true };
}

static const struct queue_file *file_of(const struct up_queues *queues, size_t spec)
{
	const struct queue_file *dearest = NULL;

	/* Which of several files the process runs is not known: the dearest of them. */
	for (size_t i = 0; i < queues->file_count; i++)
		if (queues->files[i].spec == spec && (!dearest || queues->files[i].put_cost_ns + queues->files[i].take_cost_ns >
									  dearest->put_cost_ns + dearest->take_cost_ns))
			dearest = &queues->files[i];
	return dearest;
}

static void fill(struct up_queues *queues, struct up_queue_slot *live, const struct up_queue_slot *slot,
	struct queue_known *known, struct up_arena *arena, struct up_queue_sample *ret)
{
	const struct up_queue_spec *spec = &queues->specs[slot->queue];
	const struct queue_file *file = file_of(queues, slot->queue);
	const bool followed = spec->kind == UP_QUEUE_LIBUV;
	const uint64_t now_ns = up_clock_real.mono_ns(NULL);
	const int64_t level = (int64_t)(slot->put - slot->taken);
	int64_t highest;

	queue_zero_learn(&known->zero, slot, spec, queues->probed_ns[slot->queue]);
	highest = __atomic_exchange_n(&live->highest, level, __ATOMIC_ACQ_REL);
	*ret = (struct up_queue_sample){
		.name = up_arena_printf(arena, "%s[%u]/%s", known->comm, slot->pid, spec->name),
		.target = slot->target,
		.first_ns = slot->process_ns,
		.zero = known->zero.kind,
		.base = known->zero.base,
		.level = level - known->zero.base,
		.highest = (highest > level ? highest : level) - known->zero.base,
		.mono_ns = number(now_ns),
		.area_ns = (uint64_t)level * now_ns - (slot->put_ns - slot->taken_ns),
		.put = number(slot->put),
		.taken = number(slot->taken),
		.waited_ns = { slot->waited_ns, followed },
		.earlier = { slot->earlier, followed },
		.cancelled = { slot->cancelled, followed },
		.lost = number(slot->lost + queues->skeleton->bss->no_slot),
		.put_cost_ns = file ? file->put_cost_ns : NAN,
		.take_cost_ns = file ? file->take_cost_ns : NAN,
		.slow = file && file->slow ? up_arena_strdup(arena, file->slow) : NULL,
	};
}

static int add_gap(struct up_queues *queues, size_t spec, struct up_arena *arena, struct up_queue_sample *ret)
{
	const bool failed = !file_of(queues, spec);
	const bool hostless = queues->specs[spec].kind == UP_QUEUE_LIBUV && queues->skeleton->bss->any_process;

	*ret = (struct up_queue_sample){
		.name = up_arena_strdup(arena, queues->specs[spec].name),
		.error = failed && queues->errors[spec] ? queues->errors[spec] : -ENODATA,
		.put_cost_ns = NAN,
		.take_cost_ns = NAN,
		.reason = up_arena_strdup(arena, hostless ? "libuv is looked for in the processes of a target (-c, -p)"
						 : failed && queues->errors[spec] ? queues->reasons[spec]
						 : failed                         ? "no process of the targets is there"
										  : "neither function has been called yet"),
	};
	return ret->name && ret->reason ? 0 : -ENOSPC;
}

static int read_slots(struct up_queues *queues, struct up_arena *arena, bool *had, struct up_queue_sample *samples, size_t *count)
{
	for (uint32_t i = 0; i < UP_QUEUE_SLOT_SELF; i++) {
		struct up_queue_slot *live = &queues->skeleton->bss->slots[i], slot;

		if (!__atomic_load_n(&live->pid, __ATOMIC_ACQUIRE))
			continue;
		if (queues->known[i].retired || !alive(queues, i, live->pid, arena)) {
			retire(queues, i);
			continue;
		}
		if (live->queue >= queues->spec_count || !read_slot(live, &slot))
			continue;
		had[slot.queue] = true;
		fill(queues, live, &slot, &queues->known[i], arena, &samples[*count]);
		if (!samples[*count].name)
			return -ENOSPC;
		++*count;
	}
	return 0;
}

int up_queues_read(struct up_queues *queues, const struct up_targets *targets, struct up_arena *arena,
	struct up_queue_sample **ret, size_t *ret_count)
{
	struct up_queue_sample *samples = up_arena_alloc(arena, (UP_QUEUE_SLOTS + UP_QUEUE_SPECS_MAX) * sizeof(*samples));
	bool had[UP_QUEUE_SPECS_MAX] = { false };
	size_t count = 0;
	int r;

	if (!samples)
		return -ENOSPC;
	queue_keep_up(queues, targets, arena);
	r = read_slots(queues, arena, had, samples, &count);
	for (size_t s = 0; s < queues->spec_count && r == 0; s++)
		if (!had[s] && queues->specs[s].kind != UP_QUEUE_SELF)
			r = add_gap(queues, s, arena, &samples[count++]);
	if (r < 0)
		return r;
	*ret = samples;
	*ret_count = count;
	return 0;
}
