/* Looks: the thread that runs bpf/look.bpf.h over all connections in the targets' namespaces, 20 times a second, less often when that
 * costs more than 2 % of one CPU: the kernel walks the whole table of connections, 2 ms where it has 262144 buckets. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "requests_internal.h"
#include "useprobe/clock.h"
#include "useprobe/thread.h"

#define LOOK_NS (50 * UP_NS_PER_MS)
#define SHARE 50 /* a pass takes at most 1/50 of the time */
#define STACK_BYTES ((size_t)256 << 10)

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * UP_NS_PER_S + (uint64_t)now.tv_nsec;
}

struct pass {
	const struct up_requests *requests;
	int fd;
};

/* Runs inside a namespace: that one's connections are walked, whoever reads the descriptor. */
static int create_inside(void *arg)
{
	struct pass *pass = arg;

	pass->fd = bpf_iter_create(bpf_link__fd(pass->requests->look_link));
	return pass->fd < 0 ? -errno : 0;
}

/* One pass over one namespace; the iterator says nothing, it counts. */
static bool look_at_space(struct up_requests *requests, const struct up_space *space)
{
	struct pass pass = { .requests = requests };
	char nothing[64];
	ssize_t len;

	if (up_netns_run(requests->look_helper, space->pid, space->inode, create_inside, &pass) < 0)
		return false;
	do {
		len = read(pass.fd, nothing, sizeof(nothing));
	} while (len > 0 || (len < 0 && errno == EINTR));
	close(pass.fd);
	return len == 0;
}

static void look(struct up_requests *requests)
{
	struct up_space spaces[UP_NETNS_MAX];
	uint32_t masks[UP_NETNS_MAX];
	uint64_t seen[UP_NETNS_MAX] = { 0 };
	size_t count, seen_count = 0;

	if (requests->look_sockets) {
		count = sockets_all_spaces(requests->look_sockets, spaces, masks);
	} else {
		spaces[0] = (struct up_space){ .inode = requests->skeleton->bss->host_netns };
		count = spaces[0].inode != 0;
	}
	for (size_t i = 0; i < count; i++)
		if (look_at_space(requests, &spaces[i]))
			seen[seen_count++] = spaces[i].inode;
	pthread_mutex_lock(&requests->look_lock);
	memcpy(requests->look_spaces, seen, seen_count * sizeof(*seen));
	requests->look_space_count = seen_count;
	pthread_mutex_unlock(&requests->look_lock);
}

bool requests_looked(struct up_requests *requests, uint64_t inode)
{
	bool found = false;

	pthread_mutex_lock(&requests->look_lock);
	for (size_t i = 0; i < requests->look_space_count; i++)
		found |= requests->look_spaces[i] == inode;
	pthread_mutex_unlock(&requests->look_lock);
	return found;
}

static void *look_main(void *arg)
{
	struct up_requests *requests = arg;
	uint32_t adopted = __atomic_load_n(&requests->skeleton->bss->generation, __ATOMIC_ACQUIRE);
	uint64_t due_ns = read_clock(CLOCK_MONOTONIC), pass = 0;

	pthread_mutex_lock(&requests->look_lock);
	while (!requests->look_stop) {
		const uint64_t now_ns = read_clock(CLOCK_MONOTONIC);
		const uint32_t generation = __atomic_load_n(&requests->skeleton->bss->generation, __ATOMIC_ACQUIRE);
		uint64_t cpu_ns;

		if (now_ns < due_ns) {
			const struct timespec until = { .tv_sec = (time_t)(due_ns / UP_NS_PER_S),
				.tv_nsec = (long)(due_ns % UP_NS_PER_S) };

			pthread_cond_timedwait(&requests->look_wake, &requests->look_lock, &until);
			continue;
		}
		pthread_mutex_unlock(&requests->look_lock);
		cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
		/* Connections that were accepted before their listener was known have no place in the table yet. */
		if (generation != adopted)
			requests_adopt(requests->skeleton);
		adopted = generation;
		look(requests);
		cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		due_ns = read_clock(CLOCK_MONOTONIC) +
			 requests_period_ns(SHARE * cpu_ns > LOOK_NS ? SHARE * cpu_ns : LOOK_NS, pass++);
		pthread_mutex_lock(&requests->look_lock);
	}
	pthread_mutex_unlock(&requests->look_lock);
	return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct up_requests *requests)
{
	return up_thread_start(&requests->look_thread, "up-requests", STACK_BYTES, look_main, requests);
}

static int attach(struct up_requests *requests)
{
	requests->look_link = bpf_program__attach_iter(requests->skeleton->progs.up_req_look, NULL);
	return requests->look_link ? up_netns_helper_new(&requests->look_helper) : errno ? -errno : -ENOTSUP;
}

static void release(struct up_requests *requests)
{
	bpf_link__destroy(requests->look_link);
	up_netns_helper_free(requests->look_helper);
	requests->look_link = NULL;
	requests->look_helper = NULL;
}

int requests_look_start(struct up_requests *requests, struct up_sockets *sockets)
{
	pthread_condattr_t condition;
	struct timespec tick;
	int r;

	/* The coarse clock moves by jiffies (kernel/time/posix-timers.c). */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0)
		return -errno;
	requests->skeleton->bss->jiffy_ns = (uint64_t)tick.tv_nsec;
	requests->look_sockets = sockets;
	pthread_mutex_init(&requests->look_lock, NULL);
	pthread_condattr_init(&condition);
	pthread_condattr_setclock(&condition, CLOCK_MONOTONIC);
	pthread_cond_init(&requests->look_wake, &condition);
	pthread_condattr_destroy(&condition);
	r = attach(requests);
	if (r == 0)
		r = start_thread(requests);
	requests->look_started = r == 0;
	if (r < 0)
		release(requests);
	return r;
}

void requests_look_stop(struct up_requests *requests)
{
	if (!requests->look_started)
		return;
	pthread_mutex_lock(&requests->look_lock);
	requests->look_stop = true;
	pthread_cond_broadcast(&requests->look_wake);
	pthread_mutex_unlock(&requests->look_lock);
	pthread_join(requests->look_thread, NULL);
	release(requests);
	pthread_cond_destroy(&requests->look_wake);
	pthread_mutex_destroy(&requests->look_lock);
	requests->look_started = false;
}
