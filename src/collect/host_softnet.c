/* host_softnet - packets between the driver and the protocol stack, per CPU of the machine. Reads /proc/net/softnet_stat
 * (net/core/net-procfs.c, softnet_seq_show), the same numbers in every network namespace, a line a CPU that is online, all hexadecimal:
 *     00311ff3 0000000a 00000005 00000000 ... 00000000 00000001 ...
 * 1 processed, 2 dropped (the CPU's backlog was full), 3 squeezed (net_rx_action ended its budget with work left); 9 columns at first, 10
 * with received_rps (2.6.36), 11 with flow_limit_count (3.11), 13 with the length of the backlog and the number of the CPU (5.10), 15 with
 * its two queues (6.4). Counters are unsigned int and wrap. /proc/sys/net/core/netdev_max_backlog is the limit of the backlog. */
#include <errno.h>
#include <string.h>

#include "useprobe/clock.h"
#include "useprobe/collector.h"

#define COLUMNS_MIN 9
#define COLUMNS_MAX 32
#define BITS 32

struct cpu {
	uint64_t number; /* the kernel's, or that of the line before 5.10 */
	struct up_u64 processed, dropped, squeezed, steered, flow_limited; /* counters, 32 bits */
	struct up_u64 backlog; /* gauge, packets */
};

struct state {
	struct up_file softnet, limit;
};

struct raw {
	struct cpu *cpus; /* [count] */
	size_t count;
	struct up_u64 limit; /* packets a CPU's backlog may hold */
};

static int softnet_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;

	(void)env;
	state->softnet.path = "proc/net/softnet_stat";
	state->limit.path = "proc/sys/net/core/netdev_max_backlog";
	return 0;
}

static void softnet_close(void *opaque)
{
	struct state *state = opaque;

	up_file_close(&state->softnet);
	up_file_close(&state->limit);
}

/* Columns of one line into FOUND. Their number, or -EBADMSG. */
static int scan_columns(const char *line, size_t len, uint64_t found[COLUMNS_MAX])
{
	const char *p = line;
	int count = 0;

	while (p < line + len) {
		uint64_t number;

		up_scan_blanks(&p);
		if (p == line + len)
			break;
		if (up_scan_hex(&p, &number) < 0 || (*p != ' ' && *p != '\n') || number > UINT32_MAX)
			return -EBADMSG;
		if (count < COLUMNS_MAX)
			found[count++] = number;
	}
	return count >= COLUMNS_MIN ? count : -EBADMSG;
}

static int scan_cpu(const char *line, size_t len, uint64_t row, struct cpu *ret)
{
	uint64_t n[COLUMNS_MAX];
	const int count = scan_columns(line, len, n);

	if (count < 0)
		return count;
	*ret = (struct cpu){
		.number = count >= 13 ? n[12] : row,
		.processed = { n[0], true },
		.dropped = { n[1], true },
		.squeezed = { n[2], true },
		.steered = { count >= 10 ? n[9] : 0, count >= 10 },
		.flow_limited = { count >= 11 ? n[10] : 0, count >= 11 },
		.backlog = { count >= 13 ? n[11] : 0, count >= 13 },
	};
	return 0;
}

static int softnet_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { 0 };
	const char *cursor, *line;
	size_t len, lines = 0;
	bool cut = false, unlimited;
	char *text;
	int r;

	r = up_file_read(env->source, &state->softnet, arena, &text, NULL);
	if (r < 0)
		return up_fail(env, r, "/%s: %s", state->softnet.path, strerror(-r));
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	raw.cpus = up_arena_alloc(arena, (lines + 1) * sizeof(*raw.cpus));
	if (!raw.cpus)
		return -ENOSPC;
	for (cursor = text; up_scan_line(&cursor, &line, &len, &cut); raw.count++)
		if (scan_cpu(line, len, raw.count, &raw.cpus[raw.count]) < 0)
			return up_fail(env, -EBADMSG, "/%s line %zu: expected at least %d hexadecimal columns, found \"%.*s\"",
				state->softnet.path, raw.count + 1, COLUMNS_MIN, (int)(len < 60 ? len : 60), line);
	if (cut || raw.count == 0)
		return up_fail(env, -EBADMSG, "/%s is cut off", state->softnet.path);
	/* Without the limit the packets are still counted. */
	if (up_file_read(env->source, &state->limit, arena, &text, NULL) < 0 ||
		up_scan_single(text, &raw.limit, &unlimited) < 0 || raw.limit.n == 0)
		raw.limit.has = false;
	*(struct raw *)ret_raw = raw;
	return 0;
}

/* A CPU that came or went changes every sum, and before 5.10 which line is whose. */
static bool same_cpus(const struct raw *a, const struct raw *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = a->cpus[i].number == b->cpus[i].number;
	return same;
}

/* Growth of the counter at OFFSET of struct cpu over all CPUs. */
static struct up_value grown(const struct raw *p, const struct raw *c, size_t offset)
{
	struct up_value sum = up_value(0);

	if (p && !same_cpus(p, c))
		return up_value_state(UP_RESET, "CPUs came or went");
	for (size_t i = 0; i < c->count; i++) {
		const struct up_u64 *now = (const struct up_u64 *)((const char *)&c->cpus[i] + offset);
		const struct up_u64 *before = p ? (const struct up_u64 *)((const char *)&p->cpus[i] + offset) : NULL;

		sum = up_plus(sum, up_delta_wrap(before, *now, BITS, "not counted by this kernel"));
	}
	return sum;
}
#define GROWN(p, c, field) grown(p, c, offsetof(struct cpu, field))

/* The CPU with the longest backlog; NULL before 5.10. */
static const struct cpu *fullest(const struct raw *c)
{
	const struct cpu *most = NULL;

	for (size_t i = 0; i < c->count; i++)
		if (c->cpus[i].backlog.has && (!most || c->cpus[i].backlog.n > most->backlog.n))
			most = &c->cpus[i];
	return most;
}

/* The CPU that was squeezed most in the window; NULL when none was. */
static const struct cpu *most_squeezed(const struct raw *p, const struct raw *c)
{
	const struct cpu *most = NULL;
	double highest = 0;

	for (size_t i = 0; p && same_cpus(p, c) && i < c->count; i++) {
		const struct up_value value = up_delta_wrap(&p->cpus[i].squeezed, c->cpus[i].squeezed, BITS, NULL);

		if (up_value_ok(value) && value.number > highest) {
			highest = value.number;
			most = &c->cpus[i];
		}
	}
	return most;
}

static struct up_value utilization_of(const struct raw *p, const struct raw *c, const struct cpu *full)
{
	if (!full)
		return up_none("this kernel does not show the backlog (5.10)");
	if (p && !same_cpus(p, c))
		return up_value_state(UP_RESET, "CPUs came or went");
	if (!c->limit.has)
		return up_none("net.core.netdev_max_backlog cannot be read");
	return up_scaled(up_value((double)full->backlog.n), 1, (double)c->limit.n, NULL);
}

static int softnet_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	const struct cpu *full = fullest(c), *squeezed = most_squeezed(p, c);
	const struct up_value squeezes = GROWN(p, c, squeezed);
	struct up_detail detail = { 0 };

	up_detail_value(&detail, "packets_per_s",
		up_scaled(GROWN(p, c, processed), (double)UP_NS_PER_S, (double)dt_ns, "no time passed"));
	up_detail_value(&detail, "squeezes", squeezes);
	if (squeezed)
		up_detail_count(&detail, "squeezed_cpu", squeezed->number);
	if (full && (!p || same_cpus(p, c))) {
		up_detail_count(&detail, "backlog_packets", full->backlog.n);
		up_detail_count(&detail, "backlog_cpu", full->number);
	}
	if (c->limit.has)
		up_detail_count(&detail, "backlog_limit_packets", c->limit.n);
	if (c->cpus[0].steered.has)
		up_detail_value(&detail, "steered", GROWN(p, c, steered));
	if (c->cpus[0].flow_limited.has)
		up_detail_value(&detail, "flow_limited", GROWN(p, c, flow_limited));
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_HOST,
				 .resource = "softnet",
				 .name = "host",
				 .utilization = utilization_of(p, c, full),
				 .saturation = up_scaled(squeezes, (double)UP_NS_PER_S, (double)dt_ns, "no time passed"),
				 .saturation_unit = "squeezes/s",
				 .waiting = up_none("packets are not requests"),
				 .errors = GROWN(p, c, dropped),
				 .method = "net/softnet_stat measured",
				 .detail = detail.text,
				 .state = p ? UP_OK : UP_FIRST,
			 });
	return 0;
}

const struct up_collector up_collector_host_softnet = {
	.name = "host_softnet",
	.summary = "packets that wait for a CPU of the machine or are dropped there",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "softnet",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = softnet_open,
	.read = softnet_read,
	.derive = softnet_derive,
	.close = softnet_close,
};
