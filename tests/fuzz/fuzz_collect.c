/* The collectors of kernel text files on arbitrary bytes: open, read, derive with and without an earlier sample. No crash, no over-read,
 * and every value that claims to be fine is finite and not negative.
 * Input: one byte chooses the collector; the rest, divided at 0xff, are the contents of its files. */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "useprobe/collector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct up_collector up_collector_memory, up_collector_pressure, up_collector_tasks, up_collector_frozen,
	up_collector_disk, up_collector_descriptors, up_collector_host_memory, up_collector_host_pressure, up_collector_host_disk,
	up_collector_host_softnet, up_collector_host_ports, up_collector_host_conntrack, up_collector_host_tcp_memory,
	up_collector_host_network;

#define FILES 10
#define G "sys/fs/cgroup/api/"
#define H "proc/pressure/"
#define N "proc/self/net/"
#define S "proc/sys/net/"
static const struct {
	const struct up_collector *collector;
	bool v1;
	const char *files[FILES];
} subjects[] = {
	{ &up_collector_memory, false,
		{ "proc/meminfo", G "memory.current", G "memory.stat", G "memory.max", G "memory.high", G "memory.events",
			G "memory.swap.current", G "memory.pressure" } },
	{ &up_collector_memory, true,
		{ "proc/meminfo", G "memory.usage_in_bytes", G "memory.stat", G "memory.limit_in_bytes", G "memory.failcnt",
			G "memory.oom_control" } },
	{ &up_collector_pressure, false,
		{ G "cpu.pressure", G "memory.pressure", G "io.pressure", G "irq.pressure", G "cgroup.pressure" } },
	{ &up_collector_tasks, false, { G "pids.current", G "pids.max", G "pids.events" } },
	{ &up_collector_frozen, false, { G "cgroup.events", G "cgroup.stat.local", G "cgroup.procs", "proc/7/stat" } },
	{ &up_collector_frozen, true, { G "freezer.state" } },
	{ &up_collector_disk, false, { G "io.stat", G "io.pressure" } },
	{ &up_collector_disk, true, { G "blkio.throttle.io_service_bytes", G "blkio.throttle.io_serviced" } },
	{ &up_collector_descriptors, false,
		{ G "cgroup.procs", "proc/7/limits", "proc/7/comm", "proc/7/fd/0", "proc/self/mountinfo" } },
	{ &up_collector_host_memory, false, { "proc/meminfo", "proc/vmstat", H "memory" } },
	{ &up_collector_host_pressure, false, { H "cpu", H "memory", H "io", H "irq" } },
	{ &up_collector_host_disk, false, { "proc/diskstats" } },
	{ &up_collector_host_softnet, false, { "proc/net/softnet_stat", "proc/sys/net/core/netdev_max_backlog" } },
	{ &up_collector_host_ports, false,
		{ N "sockstat", N "netstat", S "ipv4/ip_local_port_range", S "ipv4/ip_local_reserved_ports",
			S "ipv4/tcp_max_tw_buckets", S "ipv4/tcp_tw_reuse" } },
	{ &up_collector_host_conntrack, false,
		{ N "stat/nf_conntrack", S "netfilter/nf_conntrack_count", S "netfilter/nf_conntrack_max" } },
	{ &up_collector_host_tcp_memory, false, { "proc/net/sockstat", S "ipv4/tcp_mem", "proc/net/netstat" } },
	{ &up_collector_host_network, false, { N "dev", N "snmp", N "netstat", "sys/class/net/eth0/speed" } },
};

static char top[64];

static void remove_top(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	(void)!system(command);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", top, path);
	for (char *slash = strchr(full + strlen(top) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void unlink_file(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", top, path);
	unlink(full);
}

static void check(struct up_value value)
{
	if (value.state == UP_OK && !(isfinite(value.number) && value.number >= 0))
		abort();
}

static void check_rows(const struct up_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		check(rows->items[i].utilization);
		check(rows->items[i].saturation);
		check(rows->items[i].waiting);
		check(rows->items[i].errors);
		if (!rows->items[i].name || !rows->items[i].resource)
			abort();
	}
}

static void run(const struct up_collector *collector, struct up_env *env, struct up_arena *arena, struct up_rows *rows)
{
	void *state = calloc(1, collector->state_bytes + 1), *raw[2];

	for (int i = 0; i < 2; i++)
		raw[i] = calloc(1, collector->raw_bytes + 1);
	if (!collector->open || collector->open(env, state) == 0) {
		if (collector->read(env, state, arena, raw[0]) == 0 && collector->read(env, state, arena, raw[1]) == 0) {
			collector->derive(NULL, raw[0], 0, rows);
			collector->derive(raw[0], raw[1], 1000000000, rows);
			check_rows(rows);
		}
	}
	if (collector->close)
		collector->close(state);
	for (int i = 0; i < 2; i++)
		free(raw[i]);
	free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct up_targets targets;
	static struct up_source source;
	static struct up_arena arena;
	static struct up_rows rows;
	static char group[] = "/api";
	struct up_env env = { .source = &source, .targets = &targets, .interval_ns = 1000000000 };
	size_t which, n = 0;

	if (!*top) {
		snprintf(top, sizeof(top), "/dev/shm/useprobe-fuzz-XXXXXX");
		if (!mkdtemp(top) || up_source_open(&source, top) < 0 || up_arena_init(&arena) < 0 || up_rows_init(&rows) < 0)
			abort();
		atexit(remove_top);
	}
	if (size < 1)
		return 0;
	which = data[0] % UP_COUNT(subjects);
	data++;
	size--;
	targets.hierarchies = (struct up_hierarchies){ .count = 1, .v2 = subjects[which].v1 ? -1 : 0 };
	targets.hierarchies.items[0] =
		(struct up_hierarchy){ .v2 = !subjects[which].v1, .controllers = ~0u, .mount = "/sys/fs/cgroup", .root = "/" };
	targets.count = 1;
	targets.items[0] = (struct up_target){ .kind = UP_TARGET_CGROUP,
		.name = "api",
		.label = "/api",
		.hierarchies = &targets.hierarchies,
		.cgroup.path[0] = group,
		.present = true };
	env.target = subjects[which].collector->per == UP_PER_HOST ? NULL : &targets.items[0];
	for (n = 0; n < FILES && subjects[which].files[n]; n++) {
		const uint8_t *end = memchr(data, 0xff, size);
		const size_t len = end ? (size_t)(end - data) : size;

		/* An empty part is a file that is not there. */
		if (len)
			write_file(subjects[which].files[n], data, len);
		else
			unlink_file(subjects[which].files[n]);
		data += end ? len + 1 : len;
		size -= end ? len + 1 : len;
	}
	up_arena_reset(&arena);
	up_rows_clear(&rows);
	run(subjects[which].collector, &env, &arena, &rows);
	for (n = 0; n < FILES && subjects[which].files[n]; n++)
		unlink_file(subjects[which].files[n]);
	return 0;
}
