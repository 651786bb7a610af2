/* pool - connections to a dependency: borrow, ask, wait for the line, give back. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "number.h"
#include "pool.h"

#define CONNECT_MAX_NS (2 * LAB_NS_PER_S)
#define WAITING (-1)
#define CANCELLED (-2)
#define ANSWER_MAX_NS (60 * LAB_NS_PER_S)

/* A thread in the pool's queue, on that thread's stack. Its own condition: a freed connection wakes exactly the first. */
struct lab_pool_waiter {
	struct lab_pool_waiter *next;
	pthread_cond_t granted;
	int slot; /* WAITING until granted, CANCELLED when the pool closes */
};

int lab_pool_init(struct lab_pool *pool, const struct lab_address *address, unsigned index, unsigned size, uint64_t wait_max_ns)
{
	int connected = 0;

	*pool = (struct lab_pool){ .address = address, .index = index, .size = size, .wait_max_ns = wait_max_ns, .n_idle = size };
	pool->fd = malloc(size * sizeof(*pool->fd));
	pool->idle = malloc(size * sizeof(*pool->idle));
	if (!pool->fd || !pool->idle) {
		free(pool->fd);
		free(pool->idle);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < size; i++) {
		pool->idle[i] = size - 1 - i;
		pool->fd[i] = -1;
	}
	/* The first failure ends it: a pool of 100 must not wait 100 times for a server that is not there. */
	for (unsigned i = 0; i < size; i++) {
		const int fd = lab_connect(address, CONNECT_MAX_NS, ANSWER_MAX_NS);

		if (fd < 0)
			break;
		pool->fd[i] = fd;
		connected++;
	}
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_condattr_init(&pool->clock);
	pthread_condattr_setclock(&pool->clock, CLOCK_MONOTONIC);
	return connected;
}

void lab_pool_done(struct lab_pool *pool)
{
	if (!pool->fd)
		return;
	for (unsigned i = 0; i < pool->size; i++)
		if (pool->fd[i] >= 0)
			close(pool->fd[i]);
	free(pool->fd);
	free(pool->idle);
	pthread_mutex_destroy(&pool->mutex);
	pthread_condattr_destroy(&pool->clock);
	pool->fd = NULL;
}

/* Takes WAITER out of the queue; the mutex is held. */
static void leave_queue(struct lab_pool *pool, struct lab_pool_waiter *waiter)
{
	struct lab_pool_waiter **link = &pool->first, *before = NULL;

	for (; *link != waiter; link = &(*link)->next)
		before = *link;
	*link = waiter->next;
	if (pool->last == waiter)
		pool->last = before;
}

/* Waits in the queue until a slot is granted; the mutex is held. The slot, -ETIMEDOUT, or -ECANCELED. */
static int wait_for_slot(struct lab_pool *pool)
{
	struct lab_pool_waiter self = { .slot = WAITING };
	const uint64_t deadline_ns = lab_now_ns() + pool->wait_max_ns;
	const struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / LAB_NS_PER_S),
		.tv_nsec = (long)(deadline_ns % LAB_NS_PER_S) };
	int r = 0;

	pthread_cond_init(&self.granted, &pool->clock);
	/* SELF is out of the queue again before this returns: by the grant, by the cancel or by leave_queue(). */
	if (pool->last)
		pool->last->next = &self;
	else
		/* cppcheck-suppress autoVariables */
		pool->first = &self;
	/* cppcheck-suppress autoVariables */
	pool->last = &self;
	while (self.slot == WAITING && r != ETIMEDOUT)
		r = pool->wait_max_ns ? pthread_cond_timedwait(&self.granted, &pool->mutex, &deadline)
				      : pthread_cond_wait(&self.granted, &pool->mutex);
	if (self.slot == WAITING)
		leave_queue(pool, &self);
	pthread_cond_destroy(&self.granted);
	return self.slot == WAITING ? -ETIMEDOUT : self.slot == CANCELLED ? -ECANCELED : self.slot;
}

/* The slot of a connection that is now the caller's, -ETIMEDOUT, or -ECANCELED. */
static int borrow(struct lab_pool *pool, struct lab_tally *tally)
{
	int slot;

	pthread_mutex_lock(&pool->mutex);
	if (pool->closed) {
		slot = -ECANCELED;
	} else if (pool->n_idle) {
		slot = (int)pool->idle[--pool->n_idle];
	} else {
		lab_tally_count(tally, LAB_POOL_WAITS + pool->index, 1);
		lab_tally_gauge(tally, LAB_POOL_WAIT + pool->index, 1, lab_now_ns());
		slot = wait_for_slot(pool);
		lab_tally_gauge(tally, LAB_POOL_WAIT + pool->index, -1, lab_now_ns());
		if (slot == -ETIMEDOUT)
			lab_tally_count(tally, LAB_POOL_TIMEOUTS + pool->index, 1);
	}
	if (slot >= 0)
		lab_tally_gauge(tally, LAB_POOL_BUSY + pool->index, 1, lab_now_ns());
	pthread_mutex_unlock(&pool->mutex);
	return slot;
}

static void give_back(struct lab_pool *pool, struct lab_tally *tally, int slot)
{
	pthread_mutex_lock(&pool->mutex);
	lab_tally_gauge(tally, LAB_POOL_BUSY + pool->index, -1, lab_now_ns());
	struct lab_pool_waiter *waiter = pool->first;

	if (waiter) {
		pool->first = waiter->next;
		if (!pool->first)
			pool->last = NULL;
		waiter->slot = slot;
		pthread_cond_signal(&waiter->granted);
	} else {
		pool->idle[pool->n_idle++] = (unsigned)slot;
	}
	pthread_mutex_unlock(&pool->mutex);
}

/* Sends the query and reads up to the end of the answer's line. 0, or -errno. */
static int exchange(int fd)
{
	static const char query[] = "Q 1\n";
	char answer[256];
	ssize_t n;

	if (send(fd, query, sizeof(query) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(query) - 1)
		return -EIO;
	for (;;) {
		n = recv(fd, answer, sizeof(answer), 0);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && answer[n - 1] == '\n')
			return 0;
	}
}

void lab_pool_cancel(struct lab_pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->closed = true;
	for (unsigned i = 0; i < pool->size; i++)
		if (pool->fd[i] >= 0)
			shutdown(pool->fd[i], SHUT_RDWR);
	for (struct lab_pool_waiter *waiter = pool->first, *next; waiter; waiter = next) {
		next = waiter->next; /* before the grant: the waiter lives on its thread's stack */
		waiter->slot = CANCELLED;
		pthread_cond_signal(&waiter->granted);
	}
	pool->first = pool->last = NULL;
	pthread_mutex_unlock(&pool->mutex);
}

/* Sets the descriptor of a borrowed slot. Under the mutex, because lab_pool_cancel reads all of them. */
static void set_fd(struct lab_pool *pool, int slot, int fd)
{
	pthread_mutex_lock(&pool->mutex);
	if (pool->fd[slot] >= 0)
		close(pool->fd[slot]);
	pool->fd[slot] = fd;
	if (fd >= 0 && pool->closed)
		shutdown(fd, SHUT_RDWR);
	pthread_mutex_unlock(&pool->mutex);
}

/* Makes a connection for a slot that has none. The descriptor, or -EIO. */
static int reconnect(struct lab_pool *pool, struct lab_tally *tally, int slot)
{
	const int fd = lab_connect(pool->address, CONNECT_MAX_NS, ANSWER_MAX_NS);

	if (fd == -EMFILE || fd == -ENFILE)
		lab_tally_count(tally, LAB_EMFILE, 1);
	lab_tally_count(tally, fd < 0 ? LAB_DB_ERRORS + pool->index : LAB_DB_CONNECTS + pool->index, 1);
	if (fd < 0)
		return -EIO;
	set_fd(pool, slot, fd);
	return fd;
}

int lab_pool_query(struct lab_pool *pool, struct lab_tally *tally)
{
	const int slot = borrow(pool, tally);
	int r, fd;

	if (slot < 0)
		return slot;
	fd = r = pool->fd[slot] >= 0 ? pool->fd[slot] : reconnect(pool, tally, slot);
	if (fd >= 0) {
		lab_tally_gauge(tally, LAB_DB_BUSY + pool->index, 1, lab_now_ns());
		r = exchange(fd);
		lab_tally_gauge(tally, LAB_DB_BUSY + pool->index, -1, lab_now_ns());
		lab_tally_count(tally, r < 0 ? LAB_DB_ERRORS + pool->index : LAB_DB_QUERIES + pool->index, 1);
		if (r < 0)
			set_fd(pool, slot, -1);
	}
	give_back(pool, tally, slot);
	return r < 0 ? -EIO : 0;
}
