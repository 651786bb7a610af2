/* work - what a request costs: CPU, waits, locks, queries, disk; each part with its own integral. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

#define FIRST_LOOPS_PER_NS 0.1 /* low: a first guess must not burn too much */
#define MAX_BLIND_NS 500000.0
#define MIN_LEARN_NS 2000
#define PAGE_BYTES 4096
#define FSYNC_PAGES 4096 /* the written file stays at 16 MiB */

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * LAB_NS_PER_S + (uint64_t)now.tv_nsec;
}

void lab_burn(struct lab_hand *hand, uint64_t ns)
{
	const uint64_t start_ns = thread_cpu_ns();
	const int64_t want_ns = (int64_t)ns - hand->burn_debt_ns;
	double loops_per_ns = hand->loops_per_ns > 0 ? hand->loops_per_ns : FIRST_LOOPS_PER_NS;
	volatile uint64_t sink = start_ns;
	int64_t used_ns = 0;

	while (used_ns < want_ns) {
		/* The thread clock is a system call. Running up to nearly the wanted time between two looks keeps this user time. */
		const double aim_ns = fmin(0.95 * (double)(want_ns - used_ns), MAX_BLIND_NS);
		const uint64_t loops = (uint64_t)(aim_ns * loops_per_ns) + 200;
		const int64_t before_ns = used_ns;

		for (uint64_t i = 0; i < loops; i++)
			sink = sink * 6364136223846793005ull + 1;
		used_ns = (int64_t)(thread_cpu_ns() - start_ns);
		if (used_ns - before_ns > MIN_LEARN_NS)
			loops_per_ns = (double)loops / (double)(used_ns - before_ns);
	}
	hand->loops_per_ns = loops_per_ns;
	hand->burn_debt_ns = used_ns - want_ns;
}

/* Opens PATH for reading and writing, at least BYTES long. The descriptor, or -errno with ret_error. */
static int open_file(const char *path, uint64_t bytes, struct lab_error *ret_error)
{
	static const char block[65536] = { 1 };
	struct stat info = { 0 };
	int r = 0, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || fstat(fd, &info) < 0)
		r = -errno;
	for (uint64_t at = 0; r == 0 && at < bytes && (uint64_t)info.st_size < bytes; at += sizeof(block))
		if (pwrite(fd, block, sizeof(block), (off_t)at) != (ssize_t)sizeof(block))
			r = errno ? -errno : -ENOSPC;
	if (r < 0) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s: %s; name a file that can be written, on a disk with room",
			path, strerror(-r));
		if (fd >= 0)
			close(fd);
		return r;
	}
	return fd;
}

static int open_files(struct lab_work *work, struct lab_error *ret_error)
{
	const struct lab_server_options *o = work->options;

	if (o->fsync_path) {
		work->fsync_fd = open_file(o->fsync_path, 0, ret_error);
		if (work->fsync_fd < 0)
			return work->fsync_fd;
	}
	if (o->pages_path[0]) {
		work->pages_fd = open_file(o->pages_path, (uint64_t)o->pages_mb << 20, ret_error);
		if (work->pages_fd < 0)
			return work->pages_fd;
		(void)fdatasync(work->pages_fd); /* dirty pages could not be dropped under pressure */
		(void)posix_fadvise(work->pages_fd, 0, 0, POSIX_FADV_RANDOM);
		/* What is cached from before belongs to another cgroup's memory: read it anew, on our account. */
		(void)posix_fadvise(work->pages_fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	if (o->alloc_mb) {
		const size_t bytes = (size_t)o->alloc_mb << 20;

		work->ballast = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (work->ballast == MAP_FAILED) {
			work->ballast = NULL;
			snprintf(ret_error->text, sizeof(ret_error->text), "--alloc-mb %u: %s; ask for less", o->alloc_mb,
				strerror(errno));
			return -ENOMEM;
		}
		for (size_t i = 0; i < bytes; i += PAGE_BYTES)
			((char *)work->ballast)[i] = 1;
	}
	return 0;
}

int lab_work_init(struct lab_work *work, const struct lab_server_options *options, int *ret_missing, struct lab_error *ret_error)
{
	int r;

	memset(work, 0, sizeof(*work));
	work->options = options;
	work->fsync_fd = work->pages_fd = -1;
	work->start_ns = lab_now_ns();
	pthread_mutex_init(&work->report_lock, NULL);
	pthread_mutex_init(&work->hot_lock, NULL);
	*ret_missing = -1;
	r = open_files(work, ret_error);
	for (unsigned i = 0; r >= 0 && i < options->n_dependencies; i++) {
		const struct lab_dependency *dependency = &options->dependencies[i];

		r = lab_pool_init(&work->pools[i], &dependency->address, i, dependency->pool, options->pool_timeout_ns);
		if (r < 0)
			snprintf(ret_error->text, sizeof(ret_error->text), "no memory for a pool of %u connections",
				dependency->pool);
		else if (r < (int)dependency->pool)
			*ret_missing = (int)i;
		if (r >= 0)
			work->n_pools = i + 1;
	}
	if (r < 0)
		lab_work_done(work);
	return r < 0 ? r : 0;
}

void lab_work_done(struct lab_work *work)
{
	for (unsigned i = 0; i < work->n_pools; i++)
		lab_pool_done(&work->pools[i]);
	if (work->fsync_fd >= 0)
		close(work->fsync_fd);
	if (work->pages_fd >= 0)
		close(work->pages_fd);
	if (work->ballast)
		munmap(work->ballast, (size_t)work->options->alloc_mb << 20);
	pthread_mutex_destroy(&work->report_lock);
	pthread_mutex_destroy(&work->hot_lock);
}

/* A part of the request that lasts as long as GAUGE is raised. */
static void enter(struct lab_hand *hand, unsigned gauge)
{
	lab_tally_gauge(hand->tally, gauge, 1, lab_now_ns());
}

static void leave(struct lab_hand *hand, unsigned gauge)
{
	lab_tally_gauge(hand->tally, gauge, -1, lab_now_ns());
}

static void lock_for(pthread_mutex_t *lock, struct lab_tally *tally, uint64_t hold_ns)
{
	if (pthread_mutex_trylock(lock) != 0) {
		lab_tally_gauge(tally, LAB_LOCK_WAIT, 1, lab_now_ns());
		pthread_mutex_lock(lock);
		lab_tally_gauge(tally, LAB_LOCK_WAIT, -1, lab_now_ns());
	}
	if (hold_ns) {
		const uint64_t now_ns = lab_now_ns();

		lab_tally_gauge(tally, LAB_LOCK_HELD, 1, now_ns);
		lab_sleep_until(now_ns + hold_ns);
		lab_tally_gauge(tally, LAB_LOCK_HELD, -1, lab_now_ns());
	}
	pthread_mutex_unlock(lock);
}

void lab_work_report(struct lab_work *work, struct lab_tally *tally)
{
	lock_for(&work->report_lock, tally, work->options->report_hold_ns);
}

static void burn(struct lab_hand *hand, uint64_t ns)
{
	if (!ns)
		return;
	enter(hand, LAB_BURNING);
	lab_burn(hand, ns);
	leave(hand, LAB_BURNING);
}

static void plain_wait(struct lab_hand *hand, uint64_t ns)
{
	const uint64_t now_ns = lab_now_ns();

	if (!ns)
		return;
	lab_tally_gauge(hand->tally, LAB_WAITING, 1, now_ns);
	lab_sleep_until(now_ns + ns);
	leave(hand, LAB_WAITING);
}

/* 200, 502 or 503. */
static int ask_dependencies(struct lab_work *work, struct lab_hand *hand)
{
	for (unsigned i = 0; i < work->n_pools; i++) {
		const struct lab_dependency *dependency = &work->options->dependencies[i];

		if (dependency->every > 1 && lab_random_next(&hand->random) % dependency->every != 0)
			continue;
		for (unsigned q = 0; q < dependency->queries; q++) {
			const int r = lab_pool_query(&work->pools[i], hand->tally);

			if (r < 0)
				return r == -ETIMEDOUT ? 503 : 502;
		}
	}
	return 200;
}

static void use_disk(struct lab_work *work, struct lab_hand *hand)
{
	const struct lab_server_options *o = work->options;
	const uint64_t n = atomic_fetch_add(&work->n_requests, 1);
	char page[PAGE_BYTES];

	if (work->fsync_fd < 0 && work->pages_fd < 0)
		return;
	enter(hand, LAB_DISK);
	if (work->fsync_fd >= 0) {
		memset(page, (int)(n & 0xff), sizeof(page));
		/* A write that fails (disk full) costs no less time and is not what is measured here. */
		(void)!pwrite(work->fsync_fd, page, sizeof(page), (off_t)(n % FSYNC_PAGES * PAGE_BYTES));
		(void)fsync(work->fsync_fd);
	}
	/* Each page twice: only what has been used again counts as working set, whose loss the kernel calls memory pressure. */
	const struct lab_random again = hand->random;

	for (unsigned i = 0; work->pages_fd >= 0 && i < 2 * o->pages_per_request; i++) {
		if (i == o->pages_per_request)
			hand->random = again;
		const uint64_t at = lab_random_next(&hand->random) % ((uint64_t)o->pages_mb << 8);

		(void)!pread(work->pages_fd, page, sizeof(page), (off_t)(at * PAGE_BYTES));
	}
	leave(hand, LAB_DISK);
}

static void leak(struct lab_work *work, struct lab_hand *hand)
{
	if (!work->options->leak_every || lab_random_next(&hand->random) % work->options->leak_every != 0)
		return;
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		lab_tally_count(hand->tally, LAB_LEAKED, 1);
	else if (errno == EMFILE || errno == ENFILE)
		lab_tally_count(hand->tally, LAB_EMFILE, 1);
}

int lab_work_run(struct lab_work *work, struct lab_hand *hand)
{
	const struct lab_server_options *o = work->options;
	const uint64_t age_ns = lab_now_ns() - work->start_ns;
	const bool slow = o->slow_for_ns && age_ns >= o->slow_at_ns && age_ns - o->slow_at_ns < o->slow_for_ns;
	const double factor = slow ? o->slow_factor : 1;
	const uint64_t cpu_ns = (uint64_t)((double)lab_dist_draw_ns(&o->cpu, &hand->random) * factor);
	uint64_t wait_ns = (uint64_t)((double)lab_dist_draw_ns(&o->wait, &hand->random) * factor);
	int status;

	if (o->miss_every && lab_random_next(&hand->random) % o->miss_every == 0)
		wait_ns += o->miss_ns;
	if (o->report_every_ns)
		lock_for(&work->report_lock, hand->tally, 0);
	burn(hand, cpu_ns / 2);
	if (o->hot_lock_ns)
		lock_for(&work->hot_lock, hand->tally, o->hot_lock_ns);
	status = ask_dependencies(work, hand);
	if (status == 200) {
		plain_wait(hand, wait_ns);
		use_disk(work, hand);
		leak(work, hand);
	}
	burn(hand, cpu_ns - cpu_ns / 2);
	return status;
}
