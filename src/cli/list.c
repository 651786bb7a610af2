/* useprobe list: what -c NAME can name here, with limits. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/cli.h"
#include "useprobe/inventory.h"
#include "useprobe/sink.h"

static const char help[] = "useprobe list - cgroups, units and containers that -c NAME can name, with their limits\n"
			   "\n"
			   "  useprobe list [--json] [--all] [--root DIR]\n"
			   "\n"
			   "      --all     also groups without any process\n"
			   "      --json    for programs\n";

struct list_args {
	bool json, all;
	const char *root;
};

static json_t *number_or_null(struct up_u64 value)
{
	return value.has ? json_integer((json_int_t)value.n) : json_null();
}

/* JSON holds UTF-8 only; other bytes are escaped as on a terminal. */
static json_t *text_json(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	char safe[4 * 1024];

	return json ? json : json_string(up_terminal_text(text, true, safe, sizeof(safe)));
}

static int print_json(const struct up_inventory_item *items, size_t count, bool all)
{
	json_t *list = json_array();
	int r;

	for (size_t i = 0; i < count; i++) {
		json_t *item;

		if (!all && !items[i].processes)
			continue;
		item = json_object();
		json_object_set_new(item, "path", text_json(items[i].path));
		json_object_set_new(item, "kind", text_json(items[i].kind));
		json_object_set_new(item, "container", text_json(items[i].container));
		json_object_set_new(item, "processes", json_integer((json_int_t)items[i].processes));
		json_object_set_new(item, "cpu_quota_us", number_or_null(items[i].cpu_quota_us));
		json_object_set_new(item, "cpu_period_us", number_or_null(items[i].cpu_period_us));
		json_object_set_new(item, "memory_limit_bytes", number_or_null(items[i].memory_bytes));
		json_array_append_new(list, item);
	}
	r = json_dumpf(list, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(list);
	return r;
}

static void print_text(const struct up_inventory_item *items, size_t count, bool all)
{
	const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;

	printf("%-9s %9s %10s %9s  %s\n", "KIND", "PROCESSES", "CPU LIMIT", "MEMORY", "NAME");
	for (size_t i = 0; i < count; i++) {
		const struct up_inventory_item *item = &items[i];
		char cpu[32] = "-", memory[32] = "-", safe[2048];

		if (!all && !item->processes)
			continue;
		if (item->cpu_quota_us.has && item->cpu_period_us.has && item->cpu_period_us.n)
			snprintf(cpu, sizeof(cpu), "%.2f", (double)item->cpu_quota_us.n / (double)item->cpu_period_us.n);
		if (item->memory_bytes.has)
			snprintf(memory, sizeof(memory), "%.0fM", (double)item->memory_bytes.n / 1048576);
		printf("%-9s %9zu %10s %9s  %s", item->container ? "container" : item->kind, item->processes, cpu, memory,
			up_terminal_text(item->path, utf8, safe, sizeof(safe)));
		if (item->container)
			printf("  (%s)", up_terminal_text(item->container, utf8, safe, sizeof(safe)));
		putchar('\n');
	}
}

static int run(const struct list_args *args)
{
	struct up_hierarchies hierarchies;
	struct up_inventory_item *items;
	struct up_source source;
	struct up_arena arena;
	size_t count;
	int r = up_source_open(&source, args->root);

	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", args->root ? args->root : "/", strerror(-r));
		return 1;
	}
	r = up_arena_init(&arena);
	if (r == 0)
		r = up_hierarchies_read(&source, &arena, &hierarchies);
	if (r == 0)
		r = up_inventory_read(&source, &arena, &hierarchies, &items, &count);
	if (r == 0 && args->json)
		r = print_json(items, count, args->all);
	else if (r == 0)
		print_text(items, count, args->all);
	if (r < 0)
		fprintf(stderr, "useprobe: %s\n",
			r == -ENOENT ? "no cgroup file system is mounted; only --pid and --host can be measured" : strerror(-r));
	up_arena_done(&arena);
	up_source_close(&source);
	return r < 0 ? 1 : 0;
}

int up_cli_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "all", no_argument, NULL, 'a' },
		{ "root", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct list_args args = { 0 };
	int opt;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			args.json = true;
			break;
		case 'a':
			args.all = true;
			break;
		case 'r':
			args.root = optarg;
			break;
		default:
			fputs(help, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
	}
	if (optind < argc) {
		fputs(help, stderr);
		return 2;
	}
	return run(&args);
}
