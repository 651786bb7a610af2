/* /proc/PID/ns/net is a link "net:[4026531840]"; the number is the namespace's inode, the same one that struct net has as ns.inum.
 * setns() acts on the calling thread only (kernel/nsproxy.c), hence the helper. */
#include "useprobe/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "useprobe/scan.h"
#include "useprobe/thread.h"

#define STACK_BYTES ((size_t)256 << 10)

struct up_netns_helper {
	pthread_t thread;
	pthread_mutex_t callers; /* one job at a time */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool job, done, stop; /* under lock */
	int own_fd; /* namespace the helper was born in */
	/* The job, under lock. */
	pid_t pid;
	uint64_t inode;
	up_netns_fn *fn;
	void *arg;
	int result;
};

/* Descriptor of the namespace of PID, or -errno. */
static int open_namespace(pid_t pid, uint64_t inode)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (inode && (fstat(fd, &st) < 0 || st.st_ino != inode)) {
		close(fd);
		return -ESTALE; /* the pid has been used again, or the process has moved */
	}
	return fd;
}

static int run_job(struct up_netns_helper *helper)
{
	int fd, r;

	if (helper->pid == 0)
		return helper->fn(helper->arg);
	fd = open_namespace(helper->pid, helper->inode);
	if (fd < 0)
		return fd;
	r = setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
	close(fd);
	if (r < 0)
		return r;
	r = helper->fn(helper->arg);
	/* Back home: a helper left behind would keep a dead container's namespace alive. It cannot fail where entering did not. */
	if (setns(helper->own_fd, CLONE_NEWNET) < 0)
		return -errno;
	return r;
}

static void *helper_main(void *arg)
{
	struct up_netns_helper *helper = arg;

	pthread_mutex_lock(&helper->lock);
	while (!helper->stop) {
		if (helper->job) {
			helper->result = run_job(helper);
			helper->job = false;
			helper->done = true;
			pthread_cond_broadcast(&helper->changed);
		}
		if (!helper->stop)
			pthread_cond_wait(&helper->changed, &helper->lock);
	}
	pthread_mutex_unlock(&helper->lock);
	return NULL;
}

static void release(struct up_netns_helper *helper)
{
	if (helper->own_fd >= 0)
		close(helper->own_fd);
	pthread_cond_destroy(&helper->changed);
	pthread_mutex_destroy(&helper->lock);
	pthread_mutex_destroy(&helper->callers);
	free(helper);
}

int up_netns_helper_new(struct up_netns_helper **ret)
{
	struct up_netns_helper *helper = calloc(1, sizeof(*helper));
	int r;

	if (!helper)
		return -ENOMEM;
	helper->own_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	pthread_mutex_init(&helper->callers, NULL);
	pthread_mutex_init(&helper->lock, NULL);
	pthread_cond_init(&helper->changed, NULL);
	r = up_thread_start(&helper->thread, "up-netns", STACK_BYTES, helper_main, helper);
	if (r < 0) {
		release(helper);
		return r;
	}
	*ret = helper;
	return 0;
}

void up_netns_helper_free(struct up_netns_helper *helper)
{
	if (!helper)
		return;
	pthread_mutex_lock(&helper->lock);
	helper->stop = true;
	pthread_cond_broadcast(&helper->changed);
	pthread_mutex_unlock(&helper->lock);
	pthread_join(helper->thread, NULL);
	release(helper);
}

int up_netns_run(struct up_netns_helper *helper, pid_t pid, uint64_t inode, up_netns_fn *fn, void *arg)
{
	int r;

	if (pid != 0 && helper->own_fd < 0)
		return -ENOENT; /* no way back: no namespaces in this kernel, or /proc is not mounted */
	pthread_mutex_lock(&helper->callers);
	pthread_mutex_lock(&helper->lock);
	helper->pid = pid;
	helper->inode = inode;
	helper->fn = fn;
	helper->arg = arg;
	helper->done = false;
	helper->job = true;
	pthread_cond_broadcast(&helper->changed);
	while (!helper->done)
		pthread_cond_wait(&helper->changed, &helper->lock);
	r = helper->result;
	pthread_mutex_unlock(&helper->lock);
	pthread_mutex_unlock(&helper->callers);
	return r;
}

int up_netns_parse(const char *text, uint64_t *ret_inode)
{
	uint64_t inode;

	if (!up_scan_literal(&text, "net:[") || up_scan_u64(&text, &inode) < 0 || !up_scan_literal(&text, "]") || *text ||
		inode == 0)
		return -EBADMSG;
	*ret_inode = inode;
	return 0;
}

int up_netns_of(const struct up_source *source, pid_t pid, uint64_t *ret_inode)
{
	char path[64], text[64];
	int r;

	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/thread-self/ns/net");
	else
		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	r = up_source_readlink(source, path, text, sizeof(text));
	return r < 0 ? r : up_netns_parse(text, ret_inode);
}

static void add(struct up_netns_set *set, uint64_t inode, pid_t pid)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].inode == inode)
			return;
	if (set->count == UP_NETNS_MAX) {
		set->more++;
		return;
	}
	set->items[set->count++] = (struct up_netns_ref){ .inode = inode, .pid = pid };
}

void up_netns_collect(const struct up_source *source, const pid_t *pids, size_t count, struct up_netns_set *set)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t inode;
		const int r = up_netns_of(source, pids[i], &inode);

		if (r == 0)
			add(set, inode, pids[i]);
		else if (r == -EACCES || r == -EPERM)
			set->denied++;
	}
}
