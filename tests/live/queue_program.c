/* A program with a queue of its own that counts its depth itself. Producers put items at random times, workers take them and work.
 * usage: queue_program MODE SECONDS ITEMS_PER_S WORKERS SERVICE_US [HOLD_MS]
 *   MODE block: jobs_pop waits inside for an item;  poll: jobs_try_pop returns NULL when there is none.
 *   HOLD_MS: the workers begin that much later, so that items pile up first.
 * Every 100 ms one line: CLOCK_MONOTONIC ns, integral of the depth in item-ns, items put, items taken, depth, highest depth so far. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROOM 100000

struct job {
	struct job *next;
	int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first;
static uint64_t depth, highest, put, taken, area_ns, changed_ns;
static int stop;
static double rate_per_s, service_us;
static int blocking, hold_ms;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* With the lock held. */
static void change(int by)
{
	const uint64_t t = now_ns();

	area_ns += depth * (t - changed_ns);
	changed_ns = t;
	depth += (uint64_t)(int64_t)by;
	if (depth > highest)
		highest = depth;
	put += by > 0;
	taken += by < 0;
}

__attribute__((noinline)) void jobs_push(struct job *job)
{
	pthread_mutex_lock(&lock);
	job->next = NULL;
	*last = job;
	last = &job->next;
	change(1);
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static struct job *unlink_first(void)
{
	struct job *job = first;

	if (!job)
		return NULL;
	first = job->next;
	if (!first)
		last = &first;
	change(-1);
	return job;
}

__attribute__((noinline)) struct job *jobs_pop(void)
{
	struct job *job;

	pthread_mutex_lock(&lock);
	while (!(job = unlink_first()) && !stop)
		pthread_cond_wait(&filled, &lock);
	pthread_mutex_unlock(&lock);
	return job;
}

__attribute__((noinline)) struct job *jobs_try_pop(void)
{
	struct job *job;

	pthread_mutex_lock(&lock);
	job = unlink_first();
	pthread_mutex_unlock(&lock);
	return job;
}

/* An item is taken where its work begins. */
__attribute__((noinline)) void job_run(struct job *job)
{
	usleep((useconds_t)service_us);
	free(job);
}

static void *work(void *arg)
{
	(void)arg;
	usleep((useconds_t)hold_ms * 1000);
	while (!stop) {
		struct job *job = blocking ? jobs_pop() : jobs_try_pop();

		if (job)
			job_run(job);
		else
			usleep(2000);
	}
	return NULL;
}

static void *produce(void *arg)
{
	unsigned seed = 7;

	(void)arg;
	while (!stop) {
		struct job *job = malloc(sizeof(*job));

		jobs_push(job);
		/* Poisson arrivals. */
		usleep((useconds_t)(-log((rand_r(&seed) + 1.0) / ((double)RAND_MAX + 2)) * 1e6 / rate_per_s));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double seconds;
	int workers;

	if (argc < 6)
		return 2;
	blocking = strcmp(argv[1], "block") == 0;
	seconds = atof(argv[2]);
	rate_per_s = atof(argv[3]);
	workers = atoi(argv[4]);
	service_us = atof(argv[5]);
	hold_ms = argc > 6 ? atoi(argv[6]) : 0;
	changed_ns = now_ns();
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < workers; i++)
		pthread_create(&thread, NULL, work, NULL);
	pthread_create(&thread, NULL, produce, NULL);
	for (int i = 0; i < seconds * 10; i++) {
		usleep(100000);
		pthread_mutex_lock(&lock);
		change(0);
		printf("%llu %llu %llu %llu %llu %llu\n", (unsigned long long)changed_ns, (unsigned long long)area_ns,
			(unsigned long long)put, (unsigned long long)taken, (unsigned long long)depth,
			(unsigned long long)highest);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}
