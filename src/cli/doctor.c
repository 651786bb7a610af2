/* useprobe doctor: two short ticks on the real machine, then one line a collector: works, falls back, is denied or absent, why, and the
 * command that changes it. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/cli.h"
#include "useprobe/clock.h"
#include "useprobe/delay.h"
#include "useprobe/probe.h"
#include "useprobe/queue_spec.h"

#define WINDOW_NS (300 * UP_NS_PER_MS)

static const char help[] =
	"useprobe doctor - what works on this machine, what does not, and the command that changes it\n"
	"\n"
	"  useprobe doctor [-c NAME]... [--json]\n"
	"\n"
	"  -c, --cgroup NAME   also look at this target (repeatable)\n"
	"      --json          for programs\n"
	"\n"
	"Status: works (the best source), fallback (a poorer one, named), denied (a right is missing), absent (not on this machine),\n"
	"failed (there, but not understood). Exit status: 0 also when something is denied; 2 wrong use or target not found.\n";

struct doctor {
	struct up_source source;
	struct up_arena arena;
	struct up_targets targets;
	struct up_probe *probe;
};

/* What an operator can do about a REASON. The first rule whose words are in it counts. */
static const struct {
	const char *words, *fix;
} fixes[] = {
	{ "CAP_BPF", "sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep $(command -v useprobe)" },
	{ "CAP_PERFMON", "sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep $(command -v useprobe)" },
	{ "CAP_NET_ADMIN", "sudo setcap cap_net_admin+ep $(command -v useprobe)" },
	{ "CAP_SYS_ADMIN", "run useprobe with sudo" },
	{ "CAP_SYS_PTRACE", "run useprobe with sudo" },
	{ "unprivileged_bpf", "run useprobe with sudo" },
	{ "hidepid", "run useprobe with sudo, or: sudo mount -o remount,hidepid=0 /proc" },
	{ "Permission denied", "run useprobe with sudo" },
	{ "Operation not permitted", "run useprobe with sudo" },
	{ "Operation not supported", "boot with psi=1 on the kernel's command line" },
	{ "/proc/pressure", "boot with psi=1, on a kernel with CONFIG_PSI" },
	{ "task_delayacct", "sudo sysctl kernel.task_delayacct=1" },
};

static const char *fix_of(const char *reason)
{
	for (size_t i = 0; reason && i < UP_COUNT(fixes); i++)
		if (strstr(reason, fixes[i].words))
			return fixes[i].fix;
	return NULL;
}

/* A row of the collector's resource tells the method; the collectors of one resource share it. */
static const struct up_row *row_of(const struct up_table *table, const struct up_probe_instance *instance)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct up_row *row = &table->rows.items[i];

		/* pressure has a row a kind: pressure-cpu, pressure-memory, ... */
		if (strncmp(row->resource, instance->collector->resource, strlen(instance->collector->resource)) == 0 &&
			row->method && row->scope == instance->collector->scope &&
			(!instance->target || (row->target && strcmp(row->target, instance->target->name) == 0)))
			return row;
	}
	return NULL;
}

struct finding {
	const char *status, *method, *reason, *fix;
};

static struct finding find_out(const struct up_table *table, const struct up_probe_instance *instance)
{
	const struct up_row *row = row_of(table, instance);
	struct finding finding = { .status = up_state_name(instance->state), .reason = instance->reason };

	finding.method = row ? row->method : NULL;
	if (row && (row->state == UP_DENIED || row->state == UP_FAILED)) {
		finding.status = up_state_name(row->state);
		finding.reason = row->reason;
		finding.fix = fix_of(row->reason);
		return finding;
	}
	if (instance->state == UP_OK || instance->state == UP_FIRST) {
		const bool poorer =
			finding.method && (strstr(finding.method, "lower bound") || strstr(finding.method, "bounds") ||
						  strstr(finding.method, "who spoke last"));

		finding.status = poorer ? "fallback" : "works";
		if (!finding.reason && row)
			finding.reason = row->reason;
	}
	finding.fix = fix_of(finding.reason);
	/* A dependency without a peer, a queue that nobody asked for: an empty cell would look like a fault. */
	if (!row && !finding.reason && strcmp(finding.status, "works") == 0)
		finding.reason = "ready, with nothing to show at the moment";
	return finding;
}

static const struct {
	enum up_delay_method method;
	const char *name;
} delay_methods[] = {
	{ UP_DELAY_BPF, "run-queue by BPF" },
	{ UP_DELAY_TASKSTATS, "run-queue by taskstats" },
	{ UP_DELAY_SCHEDSTAT, "run-queue by schedstat" },
};

static void print_line(const char *name, const char *target, const struct finding *finding)
{
	const char *what = finding->method;
	char safe[128];

	if (!finding->method && strcmp(finding->status, "works") == 0)
		what = finding->reason;
	printf("%-24s %-9s %-24s %s\n", name, finding->status,
		target ? up_terminal_text(target, false, safe, sizeof(safe)) : "host", what ? what : "");
	if (finding->reason && what != finding->reason)
		printf("%-24s   why: %s\n", "", finding->reason);
	if (finding->fix)
		printf("%-24s   fix: %s\n", "", finding->fix);
}

/* Sockets and threads are looked at for all targets at once. */
static const char *target_of(const struct up_probe_instance *instance)
{
	if (instance->target)
		return instance->target->name;
	return instance->collector->scope == UP_SCOPE_PROCESS || instance->collector->scope == UP_SCOPE_LISTENER ||
			       instance->collector->scope == UP_SCOPE_DEPENDENCY
		       ? "all targets"
		       : NULL;
}

static void print_text(const struct doctor *doctor)
{
	const struct up_delay *delay = up_probe_delay(doctor->probe);
	const char *blocks_reason = up_probe_blocks_reason(doctor->probe);
	struct up_probe_instance instance;
	bool better = true;

	printf("%-24s %-9s %-24s %s\n", "COLLECTOR", "STATUS", "TARGET", "METHOD");
	for (size_t i = 0; up_probe_instance(doctor->probe, i, &instance); i++) {
		const struct finding finding = find_out(up_probe_table(doctor->probe), &instance);

		print_line(instance.collector->name, target_of(&instance), &finding);
	}
	for (size_t i = 0; delay && i < UP_COUNT(delay_methods); i++) {
		const char *reason = up_delay_reason(delay, delay_methods[i].method);
		const struct finding finding = {
			.status = !better  ? "not needed"
				  : reason ? "refused"
					   : "in use",
			.reason = better ? reason : NULL,
			.fix = better ? fix_of(reason) : NULL,
		};

		print_line(delay_methods[i].name, NULL, &finding);
		better = better && reason;
	}
	print_line("disk latency by BPF", NULL,
		&(struct finding){
			.status = blocks_reason ? "refused" : "in use", .reason = blocks_reason, .fix = fix_of(blocks_reason) });
	if (doctor->targets.count == 0)
		puts("\nWith -c NAME the collectors of a target are looked at too.");
}

static json_t *text_or_null(const char *text)
{
	/* Bytes that are no UTF-8 cannot stand in JSON; they come from file names only and are left out. */
	json_t *value = text ? json_string(text) : NULL;

	return value ? value : json_null();
}

static json_t *disk_latency_json(const char *reason)
{
	json_t *item = json_object();

	json_object_set_new(item, "in_use", json_boolean(!reason));
	json_object_set_new(item, "reason", text_or_null(reason));
	return item;
}

static int print_json(const struct doctor *doctor)
{
	json_t *root = json_object(), *list = json_array(), *delays = json_array();
	const struct up_delay *delay = up_probe_delay(doctor->probe);
	struct up_probe_instance instance;
	int r;

	for (size_t i = 0; up_probe_instance(doctor->probe, i, &instance); i++) {
		const struct finding finding = find_out(up_probe_table(doctor->probe), &instance);
		json_t *item = json_object();

		json_object_set_new(item, "collector", text_or_null(instance.collector->name));
		json_object_set_new(item, "summary", text_or_null(instance.collector->summary));
		json_object_set_new(item, "target", text_or_null(instance.target ? instance.target->name : NULL));
		json_object_set_new(item, "status", text_or_null(finding.status));
		json_object_set_new(item, "method", text_or_null(finding.method));
		json_object_set_new(item, "reason", text_or_null(finding.reason));
		json_object_set_new(item, "fix", text_or_null(finding.fix));
		json_object_set_new(item, "read_cost_ms", json_real((double)instance.read_cost_ns / 1e6));
		json_array_append_new(list, item);
	}
	for (size_t i = 0; delay && i < UP_COUNT(delay_methods); i++) {
		const char *reason = up_delay_reason(delay, delay_methods[i].method);
		json_t *item = json_object();

		json_object_set_new(item, "method", text_or_null(delay_methods[i].name));
		json_object_set_new(item, "in_use", json_boolean(!reason));
		json_object_set_new(item, "reason", text_or_null(reason));
		json_array_append_new(delays, item);
	}
	json_object_set_new(root, "collectors", list);
	json_object_set_new(root, "delay", delays);
	json_object_set_new(root, "disk_latency", disk_latency_json(up_probe_blocks_reason(doctor->probe)));
	r = json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
	return r;
}

static int examine(struct doctor *doctor, const char *const *names, size_t name_count)
{
	/* Whether uprobes work here is found out by one on ourselves. */
	static const struct up_setting settings[] = { { .key = "queue", .value = UP_QUEUE_SELF_TEST } };
	struct up_probe_config config = {
		.source = &doctor->source, .clock = &up_clock_real, .interval_ns = WINDOW_NS, .host_rows = true
	};
	char message[8192];
	const char *sink;
	int r = up_source_open(&doctor->source, NULL);

	if (r == 0)
		r = up_arena_init(&doctor->arena);
	if (r == 0 && up_targets_init(&doctor->targets, &doctor->source, &doctor->arena) < 0)
		fputs("useprobe: no cgroup file system is mounted here\n", stderr);
	for (size_t i = 0; r == 0 && i < name_count; i++) {
		up_arena_reset(&doctor->arena);
		r = up_targets_add_name(
			&doctor->targets, &doctor->source, &doctor->arena, names[i], false, message, sizeof(message));
		if (r < 0)
			fprintf(stderr, "useprobe: %s\n", message);
	}
	config.targets = &doctor->targets;
	config.settings = settings;
	config.setting_count = UP_COUNT(settings);
	if (r == 0)
		r = up_probe_new(&config, &doctor->probe);
	/* The second tick has rates; a collector that works only once would show. */
	for (int i = 0; i < 2 && r == 0; i++) {
		up_clock_real.wait_until(NULL, up_probe_deadline_ns(doctor->probe), -1);
		r = up_probe_tick(doctor->probe, &sink);
	}
	return r;
}

int up_cli_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cgroup", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct doctor *doctor = calloc(1, sizeof(*doctor));
	const char *names[UP_TARGETS_MAX];
	size_t name_count = 0;
	bool json = false;
	int opt, r = 0;

	if (!doctor)
		return 1;
	optind = 1;
	while (r == 0 && (opt = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		if (opt == 'c' && name_count < UP_TARGETS_MAX)
			names[name_count++] = optarg;
		else if (opt == 'j')
			json = true;
		else
			r = opt == 'h' ? 1 : -EINVAL;
	}
	if (r == 0 && optind < argc)
		r = -EINVAL;
	if (r != 0) {
		fputs(help, r > 0 ? stdout : stderr);
		free(doctor);
		return r > 0 ? 0 : 2;
	}
	r = examine(doctor, names, name_count);
	if (r == 0 && json)
		r = print_json(doctor);
	else if (r == 0)
		print_text(doctor);
	up_probe_free(doctor->probe);
	up_targets_done(&doctor->targets);
	up_arena_done(&doctor->arena);
	up_source_close(&doctor->source);
	free(doctor);
	return r == -ENOENT || r == -ENOTUNIQ ? 2 : r < 0 ? 1 : 0;
}
