#include "scenario_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static int make_group(struct scenario_run *run, const char *mount)
{
	char *dir = run->groups[run->group_count];

	if (run->group_count == SCENARIO_GROUPS)
		return -ENOSPC;
	if ((size_t)snprintf(dir, sizeof(run->groups[0]), "%s/%s", mount, run->group) >= sizeof(run->groups[0]))
		return -ENAMETOOLONG;
	if (mkdir(dir, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	run->group_count++;
	return 0;
}

static bool has_option(const char *options, const char *word)
{
	const size_t len = strlen(word);

	for (const char *p = options; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
		if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return true;
	return false;
}

/* One line of /proc/mounts: a v1 hierarchy with one of our controllers, or v2 with the cpu controller. */
static int use_mount(struct scenario_run *run, const char *mount, const char *type, const char *options, double quota_cpus)
{
	char path[512], text[64], controllers[256] = "";
	int fd, r;

	if (strcmp(type, "cgroup2") == 0) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			if (read(fd, controllers, sizeof(controllers) - 1) < 0)
				controllers[0] = '\0';
			close(fd);
		}
		if (!strstr(controllers, "cpu"))
			return 0;
		(void)!write_text(mount, "cgroup.subtree_control", "+cpu +memory");
		r = make_group(run, mount);
		snprintf(text, sizeof(text), "%.0f 100000", quota_cpus * 1e5);
		return r < 0 || quota_cpus <= 0 ? r : write_text(run->groups[run->group_count - 1], "cpu.max", text);
	}
	if (strcmp(type, "cgroup") != 0 ||
		(!has_option(options, "cpu") && !has_option(options, "cpuacct") && !has_option(options, "memory")))
		return 0;
	r = make_group(run, mount);
	snprintf(text, sizeof(text), "%.0f", quota_cpus * 1e5);
	if (r == 0 && quota_cpus > 0 && has_option(options, "cpu"))
		r = write_text(run->groups[run->group_count - 1], "cpu.cfs_quota_us", text);
	return r;
}

int scenario_group(struct scenario_run *run, double quota_cpus)
{
	FILE *mounts = fopen("/proc/mounts", "re");
	char mount[200], type[32], options[512];
	int r = mounts ? 0 : -errno;

	snprintf(run->group, sizeof(run->group), "uselab-%d", (int)getpid());
	while (r == 0 && fscanf(mounts, "%*s %199s %31s %511s %*d %*d", mount, type, options) == 3)
		r = use_mount(run, mount, type, options, quota_cpus);
	if (mounts)
		fclose(mounts);
	return r < 0 ? r : run->group_count ? 0 : -ENOENT;
}

static void run_program(struct scenario_run *run, char *const argv[], const char *log, bool inside)
{
	char path[512];
	int fd;

	for (unsigned i = 0; inside && i < run->group_count; i++)
		if (write_text(run->groups[i], "cgroup.procs", "0") < 0)
			_exit(126);
	snprintf(path, sizeof(path), "%s/%s", run->dir, log);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	execvp(argv[0], argv);
	_exit(127);
}

pid_t scenario_start(struct scenario_run *run, char *const argv[], const char *log, bool inside)
{
	pid_t pid;

	if (run->pid_count == SCENARIO_PROCESSES)
		return -ENOSPC;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_program(run, argv, log, inside);
	run->pids[run->pid_count++] = pid;
	return pid;
}

void scenario_sleep(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&left, NULL);
}

static void forget(struct scenario_run *run, pid_t pid)
{
	for (unsigned i = 0; i < run->pid_count; i++)
		if (run->pids[i] == pid)
			run->pids[i] = run->pids[--run->pid_count];
}

int scenario_wait(struct scenario_run *run, pid_t pid, double seconds)
{
	int status;

	for (double waited = 0; waited < seconds; waited += 0.05) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			forget(run, pid);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		scenario_sleep(0.05);
	}
	return -1;
}

void scenario_cleanup(struct scenario_run *run)
{
	for (unsigned i = 0; i < run->pid_count; i++) {
		kill(run->pids[i], SIGCONT);
		kill(run->pids[i], SIGTERM);
	}
	while (run->pid_count) {
		const pid_t pid = run->pids[0];

		if (scenario_wait(run, pid, 3) < 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			forget(run, pid);
		}
	}
	for (unsigned i = 0; i < run->group_count; i++)
		for (int tries = 0; rmdir(run->groups[i]) < 0 && errno == EBUSY && tries < 20; tries++)
			scenario_sleep(0.05);
	run->group_count = 0;
}
