#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void run_program(const struct child *child, char **argv)
{
	sigset_t none;
	int status;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &child->descriptors);
	execvp(argv[0], argv);
	status = errno == ENOENT ? 127 : 126;
	fprintf(stderr, "useprobe: cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(status);
}

int child_start(struct child *child, char **argv)
{
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0)
		return -errno;
	if (child->pid == 0)
		run_program(child, argv);
	child->running = true;
	return 0;
}

void child_poll(struct child *child)
{
	int status;

	if (!child->running || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return;
	child->running = false;
	child->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_stop(struct child *child)
{
	const struct timespec step = { .tv_nsec = 20 * 1000 * 1000 };

	for (int i = 0; i < 100 && child->running; i++) {
		if (i == 0)
			kill(child->pid, SIGTERM);
		nanosleep(&step, NULL);
		child_poll(child);
	}
	if (child->running) {
		kill(child->pid, SIGKILL);
		nanosleep(&step, NULL);
		child_poll(child);
	}
}
