#include "scenario_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 64

int scenario_ports(struct scenario_run *run)
{
	int fds[3] = { -1, -1, -1 }, r = 0;

	/* All are held until the last one is known, so that they differ. */
	for (unsigned i = 0; r == 0 && i < 3; i++) {
		struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t length = sizeof(address);

		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0 || bind(fds[i], (struct sockaddr *)&address, sizeof(address)) < 0 ||
			getsockname(fds[i], (struct sockaddr *)&address, &length) < 0)
			r = -errno;
		run->ports[i] = ntohs(address.sin_port);
	}
	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}

/* Writes the text a @WORD stands for. False: it stands for nothing. */
static bool meaning(const struct scenario_run *run, const char *word, size_t length, char *ret, size_t size)
{
	static const struct {
		const char *word;
		int port;
		enum scenario_role role;
	} words[] = {
		{ "@URL", 0, SCENARIO_ROLES },
		{ "@DB", 1, SCENARIO_ROLES },
		{ "@OTHER", 2, SCENARIO_ROLES },
		{ "@SERVER", -1, SCENARIO_SERVER },
		{ "@PARENT", -1, SCENARIO_ROLES },
		{ "@RIVAL", -1, SCENARIO_RIVAL },
	};

	if (length == 4 && strncmp(word, "@DIR", 4) == 0) {
		snprintf(ret, size, "%s", run->dir);
		return true;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].word) != length || strncmp(words[i].word, word, length) != 0)
			continue;
		if (words[i].port < 0)
			scenario_path(run, words[i].role, ret, size);
		else
			snprintf(ret, size, "127.0.0.1:%u", run->ports[words[i].port]);
		return true;
	}
	return false;
}

char *scenario_expand(const struct scenario_run *run, const char *text, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	while (*text && used + 1 < size) {
		const size_t length = *text == '@' ? 1 + strspn(text + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 1;
		char buffer[sizeof(run->dir)] = "";
		const bool known = length > 1 && meaning(run, text, length, buffer, sizeof(buffer));
		const int n = known ? snprintf(ret + used, size - used, "%s", buffer)
				    : snprintf(ret + used, size - used, "%.*s", (int)length, text);

		used += (size_t)n;
		text += length;
	}
	return ret;
}

/* In the child: joins ROLE's group and becomes ARGV. */
static void become(struct scenario_run *run, char *const argv[], const char *log, enum scenario_role role)
{
	char path[512];
	int fd;

	for (unsigned i = 0; role != SCENARIO_ROLES && i < run->dir_count; i++) {
		if (run->dir_role[i] != role)
			continue;
		snprintf(path, sizeof(path), "%s/cgroup.procs", run->dirs[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(126);
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/%s", run->dir, log);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	execvp(argv[0], argv);
	_exit(127);
}

pid_t scenario_start(
	struct scenario_run *run, const char *const *head, const char *options, const char *log, enum scenario_role role)
{
	char text[2 * SCENARIO_TEXT], *argv[ARGS_MAX], *rest = scenario_expand(run, options, text, sizeof(text)), *word;
	unsigned n = 0;
	pid_t pid;

	if (!*head)
		return -EINVAL;
	if (run->pid_count == SCENARIO_PROCESSES)
		return -ENOSPC;
	for (; *head && n + 1 < ARGS_MAX; head++)
		argv[n++] = (char *)*head;
	while ((word = strsep(&rest, " ")) && n + 1 < ARGS_MAX)
		if (*word)
			argv[n++] = word;
	argv[n] = NULL;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become(run, argv, log, role);
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

	const int looks = (int)ceil(seconds / 0.05);

	for (int look = 0; look < looks; look++) {
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
	while (run->dir_count) {
		const char *dir = run->dirs[--run->dir_count];

		for (int tries = 0; rmdir(dir) < 0 && errno == EBUSY && tries < 40; tries++)
			scenario_sleep(0.05);
	}
}
