/* useprobe list: what -c NAME can name here, with limits; with names: what each of them stands for. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/cli.h"
#include "useprobe/inventory.h"
#include "useprobe/sink.h"

static const char help[] =
	"useprobe list - cgroups, units and containers that -c NAME can name, with their limits\n"
	"\n"
	"  useprobe list [--json] [--all] [--root DIR] [NAME]...\n"
	"\n"
	"  NAME          what this name stands for: how it is found, its directory in every hierarchy, its processes\n"
	"      --all     also groups without any process\n"
	"      --json    for programs\n";

/* Longest path with every byte escaped. */
#define SAFE_TEXT (4 * UP_PATH_MAX + 1)

struct list_args {
	bool json, all;
	const char *root;
	char **names; /* [name_count] */
	size_t name_count;
};

struct list {
	struct up_source source;
	struct up_arena arena;
	bool utf8;
};

static json_t *number_or_null(struct up_u64 value)
{
	return value.has ? json_integer((json_int_t)value.n) : json_null();
}

/* JSON holds UTF-8 only. Other bytes are escaped as on a terminal, and KEY_hex holds them as they are. */
static void set_text(json_t *object, const char *key, const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	char safe[SAFE_TEXT], name[64];

	if (text && !json) {
		for (size_t i = 0; text[i] && 2 * i + 2 < sizeof(safe); i++)
			snprintf(safe + 2 * i, sizeof(safe) - 2 * i, "%02x", (unsigned char)text[i]);
		snprintf(name, sizeof(name), "%s_hex", key);
		json_object_set_new(object, name, json_string(safe));
		json = json_string(up_terminal_text(text, true, safe, sizeof(safe)));
	}
	json_object_set_new(object, key, json);
}

static int print_json(json_t *list)
{
	const int r = json_dumpf(list, stdout, JSON_INDENT(2));

	putchar('\n');
	json_decref(list);
	return r;
}

static int print_items_json(const struct up_inventory_item *items, size_t count, bool all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *item;

		if (!all && !items[i].processes)
			continue;
		item = json_object();
		set_text(item, "path", items[i].path);
		set_text(item, "kind", items[i].kind);
		set_text(item, "container", items[i].container);
		json_object_set_new(item, "processes", json_integer((json_int_t)items[i].processes));
		json_object_set_new(item, "cpu_quota_us", number_or_null(items[i].cpu_quota_us));
		json_object_set_new(item, "cpu_period_us", number_or_null(items[i].cpu_period_us));
		json_object_set_new(item, "memory_limit_bytes", number_or_null(items[i].memory_bytes));
		json_array_append_new(list, item);
	}
	return print_json(list);
}

static void print_items(const struct list *list, const struct up_inventory_item *items, size_t count, bool all)
{
	printf("%-9s %9s %10s %9s  %s\n", "KIND", "PROCESSES", "CPU LIMIT", "MEMORY", "NAME");
	for (size_t i = 0; i < count; i++) {
		const struct up_inventory_item *item = &items[i];
		char cpu[32] = "-", memory[32] = "-", safe[SAFE_TEXT];

		if (!all && !item->processes)
			continue;
		if (item->cpu_quota_us.has && item->cpu_period_us.has && item->cpu_period_us.n)
			snprintf(cpu, sizeof(cpu), "%.2f", (double)item->cpu_quota_us.n / (double)item->cpu_period_us.n);
		if (item->memory_bytes.has)
			snprintf(memory, sizeof(memory), "%.0fM", (double)item->memory_bytes.n / 1048576);
		printf("%-9s %9zu %10s %9s  %s", item->container ? "container" : item->kind, item->processes, cpu, memory,
			up_terminal_text(item->path, list->utf8, safe, sizeof(safe)));
		if (item->container)
			printf("  (%s)", up_terminal_text(item->container, list->utf8, safe, sizeof(safe)));
		putchar('\n');
	}
}

static int list_all(struct list *list, const struct list_args *args)
{
	struct up_hierarchies hierarchies;
	struct up_inventory_item *items;
	size_t count;
	int r = up_hierarchies_read(&list->source, &list->arena, &hierarchies);

	if (r == 0)
		r = up_inventory_read(&list->source, &list->arena, &hierarchies, &items, &count);
	if (r == 0 && args->json)
		r = print_items_json(items, count, args->all);
	else if (r == 0)
		print_items(list, items, count, args->all);
	if (r < 0)
		fprintf(stderr, "useprobe: %s\n",
			r == -ENOENT ? "no cgroup file system is mounted; only --pid and --host can be measured" : strerror(-r));
	return r < 0 ? 1 : 0;
}

/* Directory of TARGET in the hierarchy of CONTROLLER, or with UP_CTL_COUNT in v2. */
static bool directory(const struct up_target *target, unsigned controller, char *ret, size_t size)
{
	return controller == UP_CTL_COUNT ? up_target_v2_dir(target, 0, ret, size)
					  : up_target_dir(target, (enum up_controller)controller, 0, ret, size, NULL);
}

static const char *hierarchy_name(unsigned controller)
{
	return controller == UP_CTL_COUNT ? "v2" : up_controller_name((enum up_controller)controller);
}

/* One line for each directory, with the controllers that have it in common: on unified v2 all of them. */
static void print_directories(struct list *list, const struct up_target *target)
{
	char safe[SAFE_TEXT], dirs[UP_CTL_COUNT + 1][UP_PATH_MAX];
	bool left[UP_CTL_COUNT + 1];

	for (unsigned c = 0; c <= UP_CTL_COUNT; c++)
		left[c] = directory(target, c, dirs[c], sizeof(dirs[c]));
	for (unsigned c = 0; c <= UP_CTL_COUNT; c++) {
		if (!left[c])
			continue;
		printf("  %-10s %s  (%s", "directory", up_terminal_text(dirs[c], list->utf8, safe, sizeof(safe)),
			hierarchy_name(c));
		for (unsigned other = c + 1; other <= UP_CTL_COUNT; other++) {
			if (!left[other] || strcmp(dirs[c], dirs[other]) != 0)
				continue;
			printf(", %s", hierarchy_name(other));
			left[other] = false;
		}
		printf(")\n");
	}
}

static void print_target(struct list *list, const struct up_target *target, size_t processes)
{
	char safe[SAFE_TEXT];

	printf("%s\n", up_terminal_text(target->name, list->utf8, safe, sizeof(safe)));
	printf("  %-10s %s%s%s\n", "found as", target->how, *target->container_id ? " " : "", target->container_id);
	printf("  %-10s %s\n", "cgroup", up_terminal_text(target->label, list->utf8, safe, sizeof(safe)));
	print_directories(list, target);
	printf("  %-10s %zu\n", "processes", processes);
}

static json_t *target_json(const struct up_target *target, size_t processes)
{
	json_t *item = json_object(), *directories = json_object();
	char dir[UP_PATH_MAX];

	set_text(item, "name", target->name);
	set_text(item, "how", target->how);
	set_text(item, "cgroup", target->label);
	set_text(item, "container_id", *target->container_id ? target->container_id : NULL);
	for (unsigned c = 0; c <= UP_CTL_COUNT; c++)
		if (directory(target, c, dir, sizeof(dir)))
			set_text(directories, hierarchy_name(c), dir);
	json_object_set_new(item, "directories", directories);
	json_object_set_new(item, "v2_id", target->v2_id ? json_integer((json_int_t)target->v2_id) : json_null());
	json_object_set_new(item, "processes", json_integer((json_int_t)processes));
	return item;
}

static int list_names(struct list *list, const struct list_args *args)
{
	struct up_targets *targets = calloc(1, sizeof(*targets));
	json_t *json = args->json ? json_array() : NULL;
	char message[8192];
	int r = targets ? up_targets_init(targets, &list->source, &list->arena) : -ENOMEM;

	if (r < 0 && r != -ENOENT)
		fprintf(stderr, "useprobe: the cgroup mounts cannot be read: %s\n", strerror(-r));
	else
		r = 0;
	for (size_t i = 0; r == 0 && i < args->name_count; i++) {
		r = up_targets_add_name(targets, &list->source, &list->arena, args->names[i], false, message, sizeof(message));
		if (r < 0)
			fprintf(stderr, "useprobe: %s\n", message);
	}
	for (size_t i = 0; r == 0 && i < targets->count; i++) {
		pid_t *pids;
		size_t count;

		if (up_target_pids(&targets->items[i], &list->source, &list->arena, &pids, &count) < 0)
			count = 0;
		if (json)
			json_array_append_new(json, target_json(&targets->items[i], count));
		else
			print_target(list, &targets->items[i], count);
	}
	if (r == 0 && json)
		print_json(json);
	else
		json_decref(json);
	if (targets)
		up_targets_done(targets);
	free(targets);
	return r < 0 ? 2 : 0;
}

static int run(const struct list_args *args)
{
	struct list list = { .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 };
	int r = up_source_open(&list.source, args->root), status = 1;

	if (r < 0) {
		fprintf(stderr, "useprobe: %s: %s\n", args->root ? args->root : "/", strerror(-r));
		return 1;
	}
	if (up_arena_init(&list.arena) == 0)
		status = args->name_count ? list_names(&list, args) : list_all(&list, args);
	else
		fprintf(stderr, "useprobe: %s\n", strerror(ENOMEM));
	up_arena_done(&list.arena);
	up_source_close(&list.source);
	return status;
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
	args.names = argv + optind;
	args.name_count = (size_t)(argc - optind);
	return run(&args);
}
