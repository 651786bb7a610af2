/* Groups of a scenario: one around all, one for each role, in every hierarchy that can limit or count them. v1, hybrid and v2. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "number.h"
#include "scenario_run.h"

#define PARENT_NAME "limit"

static const char *const role_names[SCENARIO_ROLES] = { "server", "db", "load", "decoy", "rival" };

static int write_text(const char *dir, const char *file, const char *text)
{
	const size_t len = strlen(text);
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	close(fd);
	return n == (ssize_t)len ? 0 : -EIO;
}

static bool read_text(const char *dir, const char *file, char *ret, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, ret, size - 1);
	close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool has_option(const char *options, const char *word)
{
	const size_t len = strlen(word);

	for (const char *p = options; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
		if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return true;
	return false;
}

static int make_dir(struct scenario_run *run, enum scenario_role role, const char *inside, const char *name)
{
	char *dir;

	if (run->dir_count == SCENARIO_DIRS)
		return -ENOSPC;
	dir = run->dirs[run->dir_count];
	if ((size_t)snprintf(dir, sizeof(run->dirs[0]), "%s/%s", inside, name) >= sizeof(run->dirs[0]))
		return -ENAMETOOLONG;
	if (mkdir(dir, 0755) < 0)
		return -errno;
	run->dir_role[run->dir_count++] = role;
	return 0;
}

/* CPUs for ROLE: the server and its rival share the first, everyone else the last one. */
static int set_cpus(const char *dir, const char *mount, enum scenario_role role)
{
	const long last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	const bool first = role == SCENARIO_SERVER || role == SCENARIO_RIVAL;
	char cpus[32], mems[64];
	int r;

	if (role == SCENARIO_ROLES)
		snprintf(cpus, sizeof(cpus), "0-%ld", last);
	else
		snprintf(cpus, sizeof(cpus), "%ld", first ? 0 : last);
	r = write_text(dir, "cpuset.cpus", cpus);
	/* v1 wants the memory nodes named, v2 inherits them. */
	if (r == 0 && read_text(mount, "cpuset.mems", mems, sizeof(mems)))
		r = write_text(dir, "cpuset.mems", mems);
	return r;
}

static int set_quota(const char *dir, bool v2, double cpus)
{
	char text[64];

	if (!(cpus > 0))
		return 0;
	snprintf(text, sizeof(text), v2 ? "%.0f 100000" : "%.0f", cpus * 1e5);
	return write_text(dir, v2 ? "cpu.max" : "cpu.cfs_quota_us", text);
}

static int set_memory(const char *dir, bool v2, unsigned mb)
{
	char text[32];

	if (!mb)
		return 0;
	snprintf(text, sizeof(text), "%u", mb << 20);
	return write_text(dir, v2 ? "memory.max" : "memory.limit_in_bytes", text);
}

/* Limits of the group of ROLE (SCENARIO_ROLES: the one around all) in the hierarchy mounted at MOUNT. */
static int set_limits(const char *dir, const char *mount, bool v2, const char *options, enum scenario_role role,
	const struct scenario_plan *plan)
{
	int r = 0;

	/* The neighbours of a shared machine should not decide the answer. */
	if (role == SCENARIO_ROLES && has_option(options, "cpu"))
		(void)!write_text(dir, v2 ? "cpu.weight" : "cpu.shares", v2 ? "3000" : "30720");
	if (has_option(options, "cpuset"))
		r = set_cpus(dir, mount, role);
	if (r == 0 && has_option(options, "cpu"))
		r = set_quota(dir, v2, role == SCENARIO_SERVER ? plan->quota_cpus : 0);
	if (r == 0 && has_option(options, "memory") && role == SCENARIO_SERVER)
		r = set_memory(dir, v2, plan->memory_mb);
	return r;
}

/* A group of the server's own around its group, with the quota. RET is where the server's goes. */
static int make_parent(struct scenario_run *run, const struct scenario_plan *plan, const char *outer, const char *mount, bool v2,
	const char *options, const char **ret)
{
	int r = make_dir(run, SCENARIO_ROLES, outer, PARENT_NAME);

	if (r < 0)
		return r;
	*ret = run->dirs[run->dir_count - 1];
	if (has_option(options, "cpuset"))
		r = set_cpus(*ret, mount, SCENARIO_SERVER);
	if (r == 0 && has_option(options, "cpu"))
		r = set_quota(*ret, v2, plan->parent_quota_cpus);
	if (r == 0 && v2)
		(void)!write_text(*ret, "cgroup.subtree_control", "+cpu +cpuset +memory");
	return r;
}

/* OPTIONS: controllers of the hierarchy, comma-separated. */
static int make_tree(struct scenario_run *run, const struct scenario_plan *plan, const char *mount, bool v2, const char *options)
{
	const char *outer;
	int r = make_dir(run, SCENARIO_ROLES, mount, run->group);

	if (r < 0)
		return r;
	outer = run->dirs[run->dir_count - 1];
	r = set_limits(outer, mount, v2, options, SCENARIO_ROLES, plan);
	if (r == 0 && v2)
		(void)!write_text(outer, "cgroup.subtree_control", "+cpu +cpuset +memory");
	for (unsigned role = 0; r == 0 && role < SCENARIO_ROLES; role++) {
		const char *inside = outer;

		if (role == SCENARIO_SERVER && run->nested)
			r = make_parent(run, plan, outer, mount, v2, options, &inside);
		if (r == 0)
			r = make_dir(run, (enum scenario_role)role, inside, role_names[role]);
		if (r == 0)
			r = set_limits(run->dirs[run->dir_count - 1], mount, v2, options, (enum scenario_role)role, plan);
	}
	return r;
}

/* One line of /proc/mounts. */
static int use_mount(
	struct scenario_run *run, const struct scenario_plan *plan, const char *mount, const char *type, char *options)
{
	char controllers[256];

	if (strcmp(type, "cgroup2") == 0) {
		if (!read_text(mount, "cgroup.controllers", controllers, sizeof(controllers)) || !strstr(controllers, "cpu"))
			return 0;
		(void)!write_text(mount, "cgroup.subtree_control", "+cpu +cpuset +memory");
		controllers[strcspn(controllers, "\n")] = '\0';
		for (char *p = controllers; *p; p++)
			if (*p == ' ')
				*p = ',';
		return make_tree(run, plan, mount, true, controllers);
	}
	if (strcmp(type, "cgroup") != 0 ||
		(!has_option(options, "cpu") && !has_option(options, "cpuacct") && !has_option(options, "cpuset") &&
			!has_option(options, "memory") && !has_option(options, "freezer")))
		return 0;
	return make_tree(run, plan, mount, false, options);
}

int scenario_groups(struct scenario_run *run, const struct scenario_plan *plan)
{
	FILE *mounts = fopen("/proc/mounts", "re");
	char mount[160], type[32], options[512];
	int r = mounts ? 0 : -errno;

	snprintf(run->group, sizeof(run->group), "uselab-%d", (int)getpid());
	run->nested = plan->parent_quota_cpus > 0;
	while (r == 0 && fscanf(mounts, "%*s %159s %31s %511s %*d %*d", mount, type, options) == 3)
		r = use_mount(run, plan, mount, type, options);
	if (mounts)
		fclose(mounts);
	return r < 0 ? r : run->dir_count ? 0 : -ENOENT;
}

char *scenario_path(const struct scenario_run *run, enum scenario_role role, char *ret, size_t size)
{
	const bool nested = run->nested && (role == SCENARIO_ROLES || role == SCENARIO_SERVER);

	snprintf(ret, size, "/%s%s%s%s", run->group, nested ? "/" PARENT_NAME : "", role == SCENARIO_ROLES ? "" : "/",
		role == SCENARIO_ROLES ? "" : role_names[role]);
	return ret;
}

/* The number that begins TEXT's first line, all of it. */
static bool take_count(char *text, uint64_t *ret)
{
	text[strcspn(text, "\n")] = '\0';
	return lab_count_read(text, 0, UINT64_MAX, ret) == 0;
}

void scenario_cpu(struct scenario_run *run)
{
	static const char key[] = "usage_usec ";

	for (unsigned i = 0; i < run->dir_count; i++) {
		uint64_t n;
		char text[1024], *usage;

		if (run->dir_role[i] == SCENARIO_ROLES)
			continue;
		if (read_text(run->dirs[i], "cpuacct.usage", text, sizeof(text)) && take_count(text, &n))
			run->cpu_s[run->dir_role[i]] = (double)n / 1e9;
		else if (read_text(run->dirs[i], "cpu.stat", text, sizeof(text)) && (usage = strstr(text, key)) &&
			 take_count(usage + strlen(key), &n))
			run->cpu_s[run->dir_role[i]] = (double)n / 1e6;
	}
}
