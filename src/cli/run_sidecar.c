#include "run_sidecar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "useprobe/sidecar.h"

#define COLLECTORS_MAX 512
#define LIMITS_MAX 8

/* Everything the JSON borrows from while it is written. */
struct facts {
	struct utsname uname;
	char distribution[256];
	char boot_id[64];
	char zone[16];
	char notes[UP_NOTES_MAX][256];
	struct up_sidecar_pair note_pairs[UP_NOTES_MAX];
	struct up_sidecar_target targets[UP_TARGETS_MAX];
	struct up_sidecar_pair limits[UP_TARGETS_MAX][LIMITS_MAX];
	char values[UP_TARGETS_MAX][LIMITS_MAX][64];
	struct up_sidecar_collector collectors[COLLECTORS_MAX];
};

static const struct {
	enum up_controller controller;
	const char *v1, *v2;
} limit_files[] = {
	{ UP_CTL_CPU, "cpu.cfs_quota_us", "cpu.max" },
	{ UP_CTL_CPU, "cpu.cfs_period_us", NULL },
	{ UP_CTL_MEMORY, "memory.limit_in_bytes", "memory.max" },
	{ UP_CTL_MEMORY, NULL, "memory.high" },
	{ UP_CTL_PIDS, "pids.max", "pids.max" },
	{ UP_CTL_CPUSET, "cpuset.effective_cpus", "cpuset.cpus.effective" },
};
_Static_assert(UP_COUNT(limit_files) <= LIMITS_MAX, "every limit has its place");

/* First line of PATH without its newline; false when it cannot be read or does not fit. */
static bool first_line(struct run *run, const char *path, char *ret, size_t size)
{
	char *text;
	size_t len;

	if (up_source_read(&run->source, &run->arena, path, &text, NULL) < 0)
		return false;
	len = strcspn(text, "\n");
	if (len + 1 > size)
		return false;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

static size_t fill_limits(struct run *run, struct facts *facts, size_t i)
{
	size_t count = 0;

	for (size_t k = 0; k < UP_COUNT(limit_files); k++) {
		char dir[UP_PATH_MAX], path[UP_PATH_MAX + 64];
		const char *name;
		bool v2;

		if (!up_target_dir(&run->targets.items[i], limit_files[k].controller, 0, dir, sizeof(dir), &v2))
			continue;
		name = v2 ? limit_files[k].v2 : limit_files[k].v1;
		if (!name)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (!first_line(run, path, facts->values[i][count], sizeof(facts->values[i][count])))
			continue;
		facts->limits[i][count] = (struct up_sidecar_pair){ .key = name, .value = facts->values[i][count] };
		count++;
	}
	return count;
}

static void fill_targets(struct run *run, struct facts *facts)
{
	static const char *const kinds[] = { [UP_TARGET_HOST] = "host", [UP_TARGET_CGROUP] = "cgroup", [UP_TARGET_PID] = "pid" };

	for (size_t i = 0; i < run->targets.count; i++) {
		const struct up_target *target = &run->targets.items[i];

		facts->targets[i] = (struct up_sidecar_target){
			.name = target->name,
			.kind = kinds[target->kind],
			.label = target->label,
			.how = target->how,
			.container_id = *target->container_id ? target->container_id : NULL,
			.limits = facts->limits[i],
			.limit_count = fill_limits(run, facts, i),
		};
	}
}

static size_t fill_collectors(struct run *run, struct facts *facts)
{
	struct up_probe_instance instance;
	size_t count = 0;

	for (; count < COLLECTORS_MAX && up_probe_instance(run->probe, count, &instance); count++)
		facts->collectors[count] = (struct up_sidecar_collector){
			.name = instance.collector->name,
			.target = instance.target ? instance.target->name : NULL,
			.state = instance.state,
			.reason = instance.reason,
		};
	return count;
}

static void fill_host(struct run *run, struct facts *facts)
{
	const time_t now = (time_t)(run->clock.wall_ns(run->clock.self) / UP_NS_PER_S);
	struct tm tm;
	char *text;

	uname(&facts->uname);
	localtime_r(&now, &tm);
	strftime(facts->zone, sizeof(facts->zone), "%z", &tm);
	first_line(run, "proc/sys/kernel/random/boot_id", facts->boot_id, sizeof(facts->boot_id));
	if (up_source_read(&run->source, &run->arena, "etc/os-release", &text, NULL) == 0) {
		const char *name = strstr(text, "PRETTY_NAME=\"");

		if (name)
			snprintf(facts->distribution, sizeof(facts->distribution), "%.*s", (int)strcspn(name + 13, "\"\n"),
				name + 13);
	}
}

static struct up_value online_cpus(struct run *run)
{
	unsigned cpus;
	char *text;

	if (up_source_read(&run->source, &run->arena, "sys/devices/system/cpu/online", &text, NULL) < 0 ||
		up_scan_cpu_list(text, &cpus) < 0)
		return up_none("not readable");
	return up_value(cpus);
}

static struct up_value memory_bytes(struct run *run)
{
	const char *cursor;
	uint64_t kib;
	char *text;

	if (up_source_read(&run->source, &run->arena, "proc/meminfo", &text, NULL) < 0)
		return up_none("not readable");
	cursor = text;
	if (!up_scan_literal(&cursor, "MemTotal:"))
		return up_none("not readable");
	up_scan_blanks(&cursor);
	return up_scan_u64(&cursor, &kib) < 0 ? up_none("not readable") : up_value((double)kib * 1024);
}

static const char *cgroup_mode(const struct up_hierarchies *hierarchies)
{
	if (hierarchies->v2 < 0)
		return hierarchies->count ? "v1" : NULL;
	return hierarchies->count > 1 ? "hybrid" : "v2";
}

static size_t fill_notes(const struct run_options *o, struct facts *facts)
{
	for (size_t i = 0; i < o->note_count; i++) {
		const size_t key_len = strcspn(o->notes[i], "=");

		snprintf(facts->notes[i], sizeof(facts->notes[i]), "%.*s", (int)key_len, o->notes[i]);
		facts->note_pairs[i] = (struct up_sidecar_pair){ .key = facts->notes[i], .value = o->notes[i] + key_len + 1 };
	}
	return o->note_count;
}

static size_t argument_count(char **command)
{
	size_t count = 0;

	while (command && command[0] && command[count + 1])
		count++;
	return count;
}

/* A pipe or /dev/stdout has no place beside it. */
static bool has_sidecar(const struct run *run)
{
	struct stat st;

	return *run->csv_path && stat(run->csv_path, &st) == 0 && S_ISREG(st.st_mode);
}

int run_sidecar_write(struct run *run, const char *end_reason)
{
	struct facts *facts = has_sidecar(run) ? calloc(1, sizeof(*facts)) : NULL;
	const struct run_options *o = &run->options;
	const struct up_table *table = up_probe_table(run->probe);
	struct up_sidecar sidecar;
	char path[UP_PATH_MAX];
	int r;

	if (!facts)
		return has_sidecar(run) ? -ENOMEM : 0;
	up_arena_reset(&run->arena);
	fill_host(run, facts);
	fill_targets(run, facts);
	sidecar = (struct up_sidecar){
		.csv = run->csv_path,
		.version = UP_VERSION,
		.host = facts->uname.nodename,
		.kernel = facts->uname.release,
		.machine = facts->uname.machine,
		.distribution = *facts->distribution ? facts->distribution : NULL,
		.cpu_count = online_cpus(run),
		.memory_bytes = memory_bytes(run),
		.cgroup_mode = cgroup_mode(&run->targets.hierarchies),
		.boot_id = *facts->boot_id ? facts->boot_id : NULL,
		.locale_zone = facts->zone,
		.start_wall_ns = run->start_wall_ns,
		.start_mono_ns = run->start_mono_ns,
		.interval_ns = o->interval_ns,
		.command = o->command ? o->command[0] : NULL,
		.command_argument_count = argument_count(o->command),
		.targets = facts->targets,
		.target_count = run->targets.count,
		.collectors = facts->collectors,
		.collector_count = fill_collectors(run, facts),
		.notes = facts->note_pairs,
		.note_count = fill_notes(o, facts),
	};
	if (end_reason) {
		sidecar.end_wall_ns = run->clock.wall_ns(run->clock.self);
		sidecar.end_mono_ns = run->clock.mono_ns(run->clock.self);
		sidecar.end_reason = end_reason;
		sidecar.ticks = table->tick.number + 1;
		sidecar.late_ticks = up_probe_late_ticks(run->probe);
	}
	r = up_sidecar_path(run->csv_path, path, sizeof(path));
	if (r == 0)
		r = up_sidecar_write(path, !end_reason && !o->force, &sidecar);
	if (r < 0)
		fprintf(stderr, "useprobe: %s: %s\n", path, strerror(-r));
	free(facts);
	return r;
}
