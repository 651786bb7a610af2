/* Requests of a load run, 16 bytes each: up to two million in memory, the rest in an unlinked temporary file, so that memory stays
 * bounded whatever the size of the input and every analysis still sees every request. */
#ifndef UP_POINTS_H
#define UP_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UP_POINTS_MAX = 2000000 }; /* in memory; a series up to this size has exact percentiles */

/* Flags of a request, in the low bits of `packed`. */
enum {
	UP_POINT_FAILED = 1,
	UP_POINT_LATE = 2, /* sent more than UP_LATE_NS after its intended start: the generator's doing */
	UP_POINT_TRANSACTION = 4, /* a row that repeats its children; gone or cleared when reading is over */
};
enum { UP_POINT_NAME_SHIFT = 4, UP_POINT_NAMES_MAX = 4096, UP_POINT_LATENCY_SHIFT = 16 };

struct up_point {
	int64_t start_us; /* unix time, or since the run's beginning in a file without dates */
	uint64_t packed; /* latency_ns << 16 | name << 4 | flags: its order is the order by latency */
};

enum up_points_order { UP_POINTS_AS_READ, UP_POINTS_BY_START, UP_POINTS_BY_LATENCY, UP_POINTS_BY_NAME };

struct up_points {
	struct up_point *at; /* owned, [n] the last n points added (all of them while n_spilled is 0) */
	size_t n, room;
	uint64_t n_spilled; /* points in the temporary file, before those of `at` */
	int spill_fd; /* owned, -1 while nothing was spilled */
	enum up_points_order order; /* of `at`; only without a spill is anything sorted */
};

/* LATENCY_NS must be below 2^48 and NAME below UP_POINT_NAMES_MAX. */
static inline uint64_t up_point_pack(uint64_t latency_ns, unsigned name, unsigned flags)
{
	return latency_ns << UP_POINT_LATENCY_SHIFT | (uint64_t)name << UP_POINT_NAME_SHIFT | flags;
}
static inline uint64_t up_packed_latency_ns(uint64_t packed)
{
	return packed >> UP_POINT_LATENCY_SHIFT;
}
static inline unsigned up_packed_name(uint64_t packed)
{
	return (unsigned)(packed >> UP_POINT_NAME_SHIFT) & (UP_POINT_NAMES_MAX - 1);
}
/* End of a request in the unit of its start, rounded down. */
static inline int64_t up_point_end_us(const struct up_point *point)
{
	return point->start_us + (int64_t)(up_packed_latency_ns(point->packed) / 1000);
}

void up_points_init(struct up_points *points);
/* Frees everything; NULL is fine. */
void up_points_done(struct up_points *points);
/* Adds one request. 0; -ENOMEM; the error of the temporary file (-ENOSPC and the like): what was added before stays. */
int up_points_add(struct up_points *points, int64_t start_us, uint64_t packed);
/* All requests, in memory and in the temporary file. */
uint64_t up_points_total(const struct up_points *points);
/* Calls VISIT for blocks of points in the order they were added, from index FIRST on (in memory the order is points->order). VISIT may
 * change the points of a block in memory only. Stops at the first result that is not 0 and returns it; else 0 or the error of reading. */
int up_points_each(
	struct up_points *points, uint64_t first, int (*visit)(void *ctx, struct up_point *block, size_t n), void *ctx);
/* Takes out the points from index FIRST on that have FLAG (or, with KEEP, clears the flag). *ret_removed: how many went. 0, -ENOMEM or the error of the
 * temporary file. */
int up_points_remove(struct up_points *points, uint64_t first, unsigned flag, bool keep, uint64_t *ret_removed);
/* Sorts what is in memory; does nothing when something was spilled. */
void up_points_sort(struct up_points *points, enum up_points_order order);
/* First index in memory whose start is at or after START_US; points must be UP_POINTS_BY_START. */
size_t up_points_lower_bound(const struct up_points *points, int64_t start_us);

/* In-place sorts without extra memory (introsort): points by start, points by packed (latency), points by name and then
 * latency, plain numbers. */
void up_sort_by_start(struct up_point *points, size_t n);
void up_sort_by_packed(struct up_point *points, size_t n);
void up_sort_by_name(struct up_point *points, size_t n);
void up_sort_u64(uint64_t *values, size_t n);

#endif
