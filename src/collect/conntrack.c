/* conntrack - connections that the packet filter keeps track of in a network namespace. Reads nf_conntrack_count and nf_conntrack_max
 * inside the namespace, and
 *   /proc/PID/net/stat/nf_conntrack (net/netfilter/nf_conntrack_standalone.c): a line of names, then a line of hexadecimal numbers for each
 *   CPU the kernel can have. Columns have come and gone (searched, delete, clashres, chainlength): they are found by name.
 * A packet of a new connection that finds the table full is dropped, and counted in "drop". */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network_parts.h"

#define COLUMNS_MAX 32
#define BITS 32

static const char *const names[] = { "drop", "early_drop", "insert_failed" };
enum { DROP, EARLY_DROP, INSERT_FAILED, NAMES };

struct cpu {
	struct up_u64 counts[NAMES]; /* counters, 32 bits */
};

struct raw {
	const char *label;
	struct network_space inside;
	struct cpu *cpus; /* [cpu_count]; none: the file is not there */
	size_t cpu_count;
};

/* Word at *CURSOR before END; 0 at the end. */
static size_t word(const char **cursor, const char *end)
{
	size_t len = 0;

	while (*cursor < end && **cursor == ' ')
		++*cursor;
	while (*cursor + len < end && (*cursor)[len] != ' ')
		len++;
	return len;
}

/* Which column each of the names is in, -1 = none; the number of columns. */
static int scan_names(const char *line, size_t len, int ret_columns[NAMES])
{
	const char *cursor = line, *end = line + len;
	size_t word_len;
	int column = 0;

	for (int i = 0; i < NAMES; i++)
		ret_columns[i] = -1;
	for (; (word_len = word(&cursor, end)) > 0; cursor += word_len, column++)
		for (int i = 0; i < NAMES; i++)
			if (strlen(names[i]) == word_len && memcmp(names[i], cursor, word_len) == 0)
				ret_columns[i] = column;
	return column > 0 && column <= COLUMNS_MAX ? column : -EBADMSG;
}

static int scan_cpu(const char *line, size_t len, const int columns[NAMES], int count, struct cpu *ret)
{
	const char *cursor = line, *end = line + len;
	uint64_t n[COLUMNS_MAX];
	int column = 0;
	size_t word_len;

	for (; (word_len = word(&cursor, end)) > 0; column++) {
		const char *stop = cursor + word_len;

		if (column == count || up_scan_hex(&cursor, &n[column]) < 0 || cursor != stop)
			return -EBADMSG;
	}
	if (column != count)
		return -EBADMSG;
	for (int i = 0; i < NAMES; i++)
		if (columns[i] >= 0)
			ret->counts[i] = (struct up_u64){ n[columns[i]], true };
	return 0;
}

static int scan_stat(struct up_arena *arena, const char *text, struct raw *raw)
{
	const char *cursor = text, *line;
	int columns[NAMES], count;
	size_t len, lines = 0;
	bool cut = false;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	raw->cpus = up_arena_alloc(arena, (lines + 1) * sizeof(*raw->cpus));
	if (!raw->cpus)
		return -ENOSPC;
	if (!up_scan_line(&cursor, &line, &len, &cut) || (count = scan_names(line, len, columns)) < 0)
		return -EBADMSG;
	for (; up_scan_line(&cursor, &line, &len, &cut); raw->cpu_count++)
		if (scan_cpu(line, len, columns, count, &raw->cpus[raw->cpu_count]) < 0)
			return -EBADMSG;
	return cut || raw->cpu_count == 0 ? -EBADMSG : 0;
}

static int conntrack_read(struct up_env *env, void *state, struct up_arena *arena, void *ret_raw)
{
	struct raw raw = { 0 };
	char dir[32], path[64], *text;
	pid_t pid;
	int r = network_find(env, arena, &pid, dir);

	(void)state;
	if (r == 0)
		r = network_look(env, arena, pid, &raw.inside);
	if (r < 0)
		return r;
	if (raw.inside.limits && !raw.inside.limits->conntrack_count.has)
		return up_fail(env, -ENOENT, "/%s: not there: connections are not tracked (nf_conntrack is not loaded)",
			up_netlimit_path(UP_NETLIMIT_CONNTRACK_COUNT));
	snprintf(path, sizeof(path), "%s/stat/nf_conntrack", dir);
	/* The file is optional (CONFIG_NF_CONNTRACK_PROCFS), and some kernels show it to root only. */
	if (up_source_read(env->source, arena, path, &text, NULL) == 0) {
		r = scan_stat(arena, text, &raw);
		if (r < 0)
			return up_fail(
				env, r, "/%s: expected a line of names and a line of hexadecimal numbers for each CPU", path);
	}
	raw.label = up_arena_strdup(arena, env->target ? env->target->label : "host");
	if (!raw.label)
		return -ENOSPC;
	*(struct raw *)ret_raw = raw;
	return 0;
}

static struct up_value grown(const struct raw *p, const struct raw *c, int name)
{
	struct up_value sum = up_value(0);

	if (c->cpu_count == 0)
		return up_none("/proc/net/stat/nf_conntrack cannot be read");
	if (p && p->cpu_count != c->cpu_count)
		return up_value_state(UP_RESET, "CPUs came or went");
	for (size_t i = 0; i < c->cpu_count; i++)
		sum = up_plus(sum, up_delta_wrap(p ? &p->cpus[i].counts[name] : NULL, c->cpus[i].counts[name], BITS,
					   "not counted by this kernel"));
	return sum;
}

static int conntrack_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	const struct up_netlimits *limits = c->inside.limits;
	const struct up_value drops = grown(p, c, DROP), failed = grown(p, c, INSERT_FAILED), early = grown(p, c, EARLY_DROP);
	struct up_value used = network_unknown(&c->inside, "net.netfilter.nf_conntrack_max cannot be read");
	struct up_detail detail = { 0 };

	(void)dt_ns;
	if (limits) {
		up_detail_count(&detail, "connections", limits->conntrack_count.n);
		if (limits->conntrack_max.has)
			up_detail_count(&detail, "connections_max", limits->conntrack_max.n);
		used = limits->conntrack_max.has ? up_scaled(up_value((double)limits->conntrack_count.n), 1,
							   (double)limits->conntrack_max.n, "nf_conntrack_max is 0: no limit")
						 : up_none("net.netfilter.nf_conntrack_max cannot be read");
	}
	up_detail_value(&detail, "drops", drops);
	up_detail_value(&detail, "insert_failed", failed);
	up_detail_value(&detail, "early_drops", early);
	up_detail_text(&detail, "of", c->label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "conntrack",
				 .name = c->label,
				 .utilization = used,
				 .saturation = early,
				 .saturation_unit = "evictions",
				 .waiting = up_none("a packet that finds no room is dropped at once"),
				 .errors = up_plus(drops, failed),
				 .method = "nf_conntrack sysctl and stat measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
	return 0;
}

const struct up_collector up_collector_conntrack = {
	.name = "conntrack",
	.summary = "tracked connections of the target's network namespace against their limit",
	.per = UP_PER_TARGET,
	.scope = UP_SCOPE_NETNS,
	.resource = "conntrack",
	.needs_netspaces = true,
	.raw_bytes = sizeof(struct raw),
	.read = conntrack_read,
	.derive = conntrack_derive,
};

const struct up_collector up_collector_host_conntrack = {
	.name = "host_conntrack",
	.summary = "tracked connections of the machine's network namespace against their limit",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_NETNS,
	.resource = "conntrack",
	.needs_netspaces = true,
	.raw_bytes = sizeof(struct raw),
	.read = conntrack_read,
	.derive = conntrack_derive,
};
