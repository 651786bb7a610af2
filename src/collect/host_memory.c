/* host_memory - memory of the whole machine: 1 - MemAvailable / MemTotal (what can be given out without swapping, since 3.14), stalls from
 * PSI, OOM kills from /proc/vmstat "oom_kill 0" (since 4.13). */
#include <errno.h>
#include <string.h>

#include "psi.h"

struct state {
	struct up_file meminfo, vmstat, pressure;
};

struct raw {
	struct up_u64 total_kib, available_kib, swap_total_kib, swap_free_kib; /* gauge */
	struct up_u64 ooms, swapped_in, swapped_out, direct_scans; /* counter */
	struct psi psi;
};

static int host_memory_open(struct up_env *env, void *opaque)
{
	struct state *state = opaque;

	(void)env;
	state->meminfo.path = "proc/meminfo";
	state->vmstat.path = "proc/vmstat";
	state->pressure.path = "proc/pressure/memory";
	return 0;
}

static void host_memory_close(void *opaque)
{
	struct state *state = opaque;

	up_file_close(&state->meminfo);
	up_file_close(&state->vmstat);
	up_file_close(&state->pressure);
}

/* "MemTotal:       24683656 kB" */
static int scan_kib(const char *text, const char *key, struct up_u64 *ret)
{
	const size_t key_len = strlen(key);
	const char *line;
	bool cut = false;
	size_t len;

	while (up_scan_line(&text, &line, &len, &cut)) {
		const char *p = line + key_len;
		uint64_t kib;

		if (len <= key_len || strncmp(line, key, key_len) != 0 || *p++ != ':')
			continue;
		up_scan_blanks(&p);
		if (up_scan_u64(&p, &kib) < 0 || !up_scan_literal(&p, " kB\n"))
			return -EBADMSG;
		*ret = (struct up_u64){ .n = kib, .has = true };
		return 0;
	}
	return cut ? -EBADMSG : 0;
}

static int host_memory_read(struct up_env *env, void *opaque, struct up_arena *arena, void *ret_raw)
{
	struct state *state = opaque;
	struct raw raw = { 0 };
	char *text;
	int r = up_file_read(env->source, &state->meminfo, arena, &text, NULL);

	if (r < 0)
		return up_fail(env, r, "/proc/meminfo: %s", strerror(-r));
	if (scan_kib(text, "MemTotal", &raw.total_kib) < 0 || scan_kib(text, "MemAvailable", &raw.available_kib) < 0 ||
		scan_kib(text, "SwapTotal", &raw.swap_total_kib) < 0 || scan_kib(text, "SwapFree", &raw.swap_free_kib) < 0 ||
		!raw.total_kib.has)
		return up_fail(env, -EBADMSG, "/proc/meminfo is cut off or not understood");
	if (up_file_read(env->source, &state->vmstat, arena, &text, NULL) == 0 &&
		(up_scan_key(text, "oom_kill", &raw.ooms) < 0 || up_scan_key(text, "pswpin", &raw.swapped_in) < 0 ||
			up_scan_key(text, "pswpout", &raw.swapped_out) < 0 ||
			up_scan_key(text, "pgscan_direct", &raw.direct_scans) < 0))
		return up_fail(env, -EBADMSG, "/proc/vmstat is cut off or not understood");
	(void)psi_read(env, &state->pressure, arena, &raw.psi);
	*(struct raw *)ret_raw = raw;
	return 0;
}

static int host_memory_derive(const void *prev, const void *cur, uint64_t dt_ns, struct up_rows *out)
{
	const struct raw *p = prev, *c = cur;
	struct up_value used = up_none("no MemAvailable before 3.14");
	struct up_detail detail = { 0 };

	if (c->available_kib.has)
		used = up_minus(up_value((double)c->total_kib.n), up_value((double)c->available_kib.n));
	up_detail_value(&detail, "used_bytes", up_scaled(used, 1024, 1, NULL));
	up_detail_number(&detail, "limit_bytes", (double)c->total_kib.n * 1024);
	if (c->swap_total_kib.has && c->swap_free_kib.has)
		up_detail_value(&detail, "swap_used_bytes",
			up_scaled(up_minus(up_value((double)c->swap_total_kib.n), up_value((double)c->swap_free_kib.n)), 1024, 1,
				NULL));
	up_detail_value(&detail, "swapped_in_pages", up_delta(p ? &p->swapped_in : NULL, c->swapped_in, "not counted"));
	up_detail_value(&detail, "swapped_out_pages", up_delta(p ? &p->swapped_out : NULL, c->swapped_out, "not counted"));
	up_detail_value(&detail, "direct_scan_pages", up_delta(p ? &p->direct_scans : NULL, c->direct_scans, "not counted"));
	return up_rows_add(out, &(struct up_row){
					.scope = UP_SCOPE_HOST,
					.resource = "memory",
					.name = "host",
					.utilization = up_scaled(used, 1, (double)c->total_kib.n, "MemTotal is 0"),
					.saturation = psi_some_share(p ? &p->psi : NULL, &c->psi, dt_ns, NULL),
					.saturation_unit = "ratio",
					.waiting = up_none("stalled threads are not counted here"),
					.errors = up_delta(p ? &p->ooms : NULL, c->ooms, "this kernel does not count oom_kill"),
					.method = "/proc/meminfo, /proc/vmstat measured",
					.detail = detail.text,
					.state = p ? UP_OK : UP_FIRST,
				});
}

const struct up_collector up_collector_host_memory = {
	.name = "host_memory",
	.summary = "memory of the machine, stalls, OOM kills",
	.per = UP_PER_HOST,
	.scope = UP_SCOPE_HOST,
	.resource = "memory",
	.state_bytes = sizeof(struct state),
	.raw_bytes = sizeof(struct raw),
	.open = host_memory_open,
	.read = host_memory_read,
	.derive = host_memory_derive,
	.close = host_memory_close,
};
