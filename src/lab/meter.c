/* meter - levels integrated over time, without a lock that all threads share: a mutex here would itself be the contention that
 * the laboratory is meant to produce only on request. Each thread owns a tally behind a sequence number; a reader sums them.
 *
 * The integral of a level needs no old value: an entry at t adds -t, an exit at t adds +t, and sum + level x now is the area up to
 * now. Times are taken modulo 2^64, where the sum of exact parts is exact. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "meter.h"

unsigned lab_bucket_index(uint64_t ns)
{
	if (ns < 8)
		return (unsigned)ns;
	const unsigned octave = 63 - (unsigned)__builtin_clzll(ns);
	const unsigned index = (octave - 2) * 8 + ((unsigned)(ns >> (octave - 3)) & 7);

	return index < LAB_BUCKETS ? index : LAB_BUCKETS - 1;
}

uint64_t lab_bucket_lower_ns(unsigned index)
{
	if (index < 8)
		return index;
	return (uint64_t)(8 + index % 8) << (index / 8 - 1);
}

void lab_meter_init(struct lab_meter *meter)
{
	memset(meter, 0, sizeof(*meter));
	pthread_mutex_init(&meter->mutex, NULL);
}

void lab_meter_done(struct lab_meter *meter)
{
	struct lab_tally *tally = atomic_load(&meter->first);

	while (tally) {
		struct lab_tally *next = tally->next;

		free(tally);
		tally = next;
	}
	atomic_store(&meter->first, NULL);
	pthread_mutex_destroy(&meter->mutex);
}

struct lab_tally *lab_meter_join(struct lab_meter *meter)
{
	struct lab_tally *tally;

	pthread_mutex_lock(&meter->mutex);
	tally = meter->first_free;
	if (tally) {
		meter->first_free = tally->next_free;
	} else {
		tally = calloc(1, sizeof(*tally));
		if (tally) {
			tally->next = atomic_load_explicit(&meter->first, memory_order_relaxed);
			atomic_store_explicit(&meter->first, tally, memory_order_release);
		}
	}
	pthread_mutex_unlock(&meter->mutex);
	return tally;
}

void lab_meter_leave(struct lab_meter *meter, struct lab_tally *tally)
{
	if (!tally)
		return;
	pthread_mutex_lock(&meter->mutex);
	tally->next_free = meter->first_free;
	meter->first_free = tally;
	pthread_mutex_unlock(&meter->mutex);
}

/* Single writer, so a load and a store do; atomics only because others read. */
static void add_u64(_Atomic uint64_t *place, uint64_t n)
{
	atomic_store_explicit(place, atomic_load_explicit(place, memory_order_relaxed) + n, memory_order_release);
}

void lab_tally_gauge(struct lab_tally *tally, unsigned gauge, int delta, uint64_t now_ns)
{
	const uint32_t sequence = atomic_load_explicit(&tally->sequence, memory_order_relaxed);
	const int64_t level = atomic_load_explicit(&tally->level[gauge], memory_order_relaxed);

	/* Each store releases the ones before it: who sees a new field also sees the odd sequence. */
	atomic_store_explicit(&tally->sequence, sequence + 1, memory_order_relaxed);
	atomic_store_explicit(&tally->level[gauge], level + delta, memory_order_release);
	add_u64(&tally->moment_ns[gauge], (uint64_t)-delta * now_ns);
	atomic_store_explicit(&tally->sequence, sequence + 2, memory_order_release);
}

void lab_tally_count(struct lab_tally *tally, unsigned count, uint64_t n)
{
	add_u64(&tally->count[count], n);
}

void lab_tally_departure(struct lab_tally *tally, uint64_t residence_ns)
{
	add_u64(&tally->count[LAB_DEPARTURES], 1);
	add_u64(&tally->count[LAB_RESIDENCE_NS], residence_ns);
	add_u64(&tally->bucket[lab_bucket_index(residence_ns)], 1);
}

/* Level and moment of each gauge from one state of the tally. A writer can be preempted between its stores: then wait. */
static void read_gauges(struct lab_tally *tally, int64_t *level, uint64_t *moment_ns)
{
	for (;;) {
		const uint32_t before = atomic_load_explicit(&tally->sequence, memory_order_acquire);

		for (unsigned i = 0; i < LAB_GAUGES; i++) {
			level[i] = atomic_load_explicit(&tally->level[i], memory_order_acquire);
			moment_ns[i] = atomic_load_explicit(&tally->moment_ns[i], memory_order_acquire);
		}
		if (!(before & 1) && atomic_load_explicit(&tally->sequence, memory_order_relaxed) == before)
			return;
		sched_yield();
	}
}

void lab_meter_read(struct lab_meter *meter, uint64_t now_ns, struct lab_totals *ret_totals)
{
	struct lab_totals totals = { .now_ns = now_ns };
	int64_t level[LAB_GAUGES];
	uint64_t moment_ns[LAB_GAUGES];

	for (struct lab_tally *t = atomic_load_explicit(&meter->first, memory_order_acquire); t; t = t->next) {
		read_gauges(t, level, moment_ns);
		for (unsigned i = 0; i < LAB_GAUGES; i++) {
			totals.level[i] += level[i];
			totals.area_ns[i] += (uint64_t)level[i] * now_ns + moment_ns[i];
		}
		for (unsigned i = 0; i < LAB_COUNTS; i++)
			totals.count[i] += atomic_load_explicit(&t->count[i], memory_order_relaxed);
		for (unsigned i = 0; i < LAB_BUCKETS; i++)
			totals.bucket[i] += atomic_load_explicit(&t->bucket[i], memory_order_relaxed);
	}
	*ret_totals = totals;
}
