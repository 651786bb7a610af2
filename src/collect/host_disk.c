/* host_disk - every whole disk of the machine. Reads /proc/diskstats (Documentation/admin-guide/iostats.rst):
 *     8 0 sda 1234 5 67890 321 99 8 7654 210 0 400 531 ...      14 columns since 2.6.25, 18 since 4.18, 20 since 5.5
 * Field 13 (io_ticks) is the time with at least one request in flight, field 14 the same weighted by their number: their growth over a
 * window is the busy share and the mean queue length. Both are milliseconds in 32 bits that wrap (block/genhd.c prints unsigned int).
 * How long a request takes at the device comes from the block tracepoints (useprobe/blocks.h) where they can be had.
 * A device that serves requests in parallel (NVMe, RAID) can be 100 % busy and still have room. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "disk_latency.h"
#include "useprobe/clock.h"
#include "useprobe/collector.h"

#define DISKS_MAX 64

struct disk {
	unsigned major, minor;
	const char *name; /* kernel name, may hold '/' (cciss/c0d0) */
	struct up_u64 reads, writes; /* counter, requests completed */
	struct up_u64 read_sectors, write_sectors; /* counter, of 512 bytes */
	struct up_u64 busy_ms, weighted_ms; /* counter, 32 bits */
	struct up_u64 in_flight; /* gauge */
};

struct state {
	struct up_file diskstats;
};

struct raw {
	struct disk *disks; /* [disk_count] */
	size_t disk_count;
	size_t more; /* disks beyond DISKS_MAX */
	struct disk_latency latency;
};

static int host_disk_open(struct up_env *env, void *opaque)
{
	(void)env;
	((struct state *)opaque)->diskstats.path = "proc/diskstats";
	return 0;
}

static void host_disk_close(void *opaque)
{
	up_file_close(&((struct state *)opaque)->diskstats);
}

/* sysfs writes the '/' of a device name as '!'. Without /sys/block (a recorded tree) everything counts as a disk. */
static bool whole_disk(const struct up_source *source, const char *name)
{
	char path[128];

	if (!up_source_is_dir(source, "sys/block"))
		return true;
	if ((size_t)snprintf(path, sizeof(path), "sys/block/%s", name) >= sizeof(path))
		return false;
	for (char *p = path + strlen("sys/block/"); *p; p++)
		if (*p == '/')
			*p = '!';
	return up_source_exists(source, path);
}

/* One line. -ENOENT for the 7 columns that partitions had before 2.6.25, -EBADMSG for anything else that is no line of this file. */
static int scan_disk(struct up_arena *arena, const char *line, size_t len, struct disk *ret)
{
	uint64_t major, minor, field[11];
	const char *end = line + len, *name;
	size_t name_len, n = 0;

	up_scan_blanks(&line);
	if (up_scan_u64(&line, &major) < 0)
		return -EBADMSG;
	up_scan_blanks(&line);
	if (up_scan_u64(&line, &minor) < 0)
		return -EBADMSG;
	up_scan_blanks(&line);
	name = line;
	name_len = strcspn(name, " \n");
	line = name + name_len;
	for (; n < UP_COUNT(field) && line < end; n++) {
		up_scan_blanks(&line);
		if (line >= end)
			break;
		if (up_scan_u64(&line, &field[n]) < 0 || (*line != ' ' && *line != '\n'))
			return -EBADMSG;
	}
	if (n == 4)
		return -ENOENT;
	if (n < UP_COUNT(field) || name_len == 0)
		return -EBADMSG;
	*ret = (struct disk){
		.major = (unsigned)major,
		.minor = (unsigned)minor,
		.name = up_arena_strndup(arena, name, name_len),
		.reads = { .n = field[0], .has = true },
		.read_sectors = { .n = field[2], .has = true },
		.writes = { .n = field[4], .has = true },
		.write_sectors = { .n = field[6], .has = true },
		.in_flight = { .n = field[8], .has = true },
		.busy_ms = { .n = field[9], .has = true },
		.weighted_ms = { .n = field[10], .has = true },
	};
	return ret->name ? 0 : -ENOSPC;
}

static int host_disk_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { .disks = up_arena_alloc(arena, DISKS_MAX * sizeof(*raw.disks)) };
	const char *cursor, *line;
	bool cut = false;
	char *text;
	size_t len;
	int r = up_file_read(env->source, &state->diskstats, arena, &text, NULL);

	if (r < 0)
		return up_fail(env, r, "/proc/diskstats: %s", strerror(-r));
	if (!raw.disks)
		return -ENOSPC;
	for (cursor = text; up_scan_line(&cursor, &line, &len, &cut);) {
		struct disk disk;

		r = scan_disk(arena, line, len, &disk);
		if (r == -EBADMSG)
			return up_fail(env, r, "/proc/diskstats: not understood: \"%.*s\"", (int)(len < 60 ? len : 60), line);
		/* Loop and RAM disks that never did anything would only fill the screen. */
		if (r == -ENOENT || disk.reads.n + disk.writes.n == 0 || !whole_disk(env->source, disk.name))
			continue;
		if (r < 0)
			return r;
		if (raw.disk_count < DISKS_MAX)
			raw.disks[raw.disk_count++] = disk;
		else
			raw.more++;
	}
	if (cut)
		return up_fail(env, -EBADMSG, "/proc/diskstats is cut off");
	r = disk_latency_read(env, arena, &raw.latency);
	if (r < 0)
		return r;
	*(struct raw *)ret_raw = raw;
	return 0;
}

static const struct disk *find_disk(const struct raw *raw, const char *name)
{
	for (size_t i = 0; raw && i < raw->disk_count; i++)
		if (strcmp(raw->disks[i].name, name) == 0)
			return &raw->disks[i];
	return NULL;
}

static struct up_value per_second(const struct up_u64 *prev, struct up_u64 cur, double factor, uint64_t dt_ns)
{
	return up_scaled(up_delta(prev, cur, NULL), factor * (double)UP_NS_PER_S, (double)dt_ns, "no time passed");
}

static void add_disk(const struct raw *prev, const struct raw *cur, const struct disk *c, uint64_t dt_ns, struct up_rows *out)
{
	const struct disk *p = find_disk(prev, c->name);
	const struct up_block_disk *requests = disk_latency_find(&cur->latency, c->major, c->minor);
	const struct up_block_disk *requests_before = prev ? disk_latency_find(&prev->latency, c->major, c->minor) : NULL;
	const struct up_value busy_ms = up_delta_wrap(p ? &p->busy_ms : NULL, c->busy_ms, 32, NULL);
	const struct up_value weighted_ms = up_delta_wrap(p ? &p->weighted_ms : NULL, c->weighted_ms, 32, NULL);
	const struct up_value queue = up_scaled(weighted_ms, (double)UP_NS_PER_MS, (double)dt_ns, "no time passed");
	struct up_value busy = up_scaled(busy_ms, (double)UP_NS_PER_MS, (double)dt_ns, "no time passed");
	struct up_detail detail = { 0 };

	/* The kernel rounds to jiffies: a full second can read as 1.004 s. */
	if (up_value_ok(busy) && busy.number > 1)
		busy.number = 1;
	up_detail_value(&detail, "reads_per_s", per_second(p ? &p->reads : NULL, c->reads, 1, dt_ns));
	up_detail_value(&detail, "writes_per_s", per_second(p ? &p->writes : NULL, c->writes, 1, dt_ns));
	up_detail_value(&detail, "read_bytes_per_s", per_second(p ? &p->read_sectors : NULL, c->read_sectors, 512, dt_ns));
	up_detail_value(&detail, "write_bytes_per_s", per_second(p ? &p->write_sectors : NULL, c->write_sectors, 512, dt_ns));
	up_detail_count(&detail, "in_flight", c->in_flight.n);
	disk_latency_describe(&detail, &cur->latency, prev ? &prev->latency : NULL, requests_before, requests);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_HOST,
				 .resource = "disk",
				 .name = c->name,
				 .utilization = busy,
				 .saturation = queue,
				 .saturation_unit = "requests",
				 .waiting = up_none("a device's queue is not the target's; see its cgroup row"),
				 .errors = requests ? disk_latency_failed(prev != NULL, requests_before, requests)
						    : up_none("failed requests are not in /proc/diskstats"),
				 .method = requests ? "/proc/diskstats, tp_btf/block_rq_issue, block_rq_complete measured"
						    : "/proc/diskstats measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
}

static int host_disk_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *c = cur;

	for (size_t i = 0; i < c->disk_count; i++)
		add_disk(prev, c, &c->disks[i], dt_ns, out);
	return 0;
}

const struct up_collector up_collector_host_disk = {
	.name = "host_disk",
	.summary = "busy share and queue length of every disk",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "disk",
	.needs_blocks = true,
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = host_disk_open,
	.read = host_disk_read,
	.derive = host_disk_derive,
	.close = host_disk_close,
};
