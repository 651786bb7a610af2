/* The store of requests: an array of two million, and a temporary file without a name for what comes beyond. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "useprobe/points.h"

enum { SPILL_BLOCK = 65536, ROOM_FIRST = 4096 };

void up_points_init(struct up_points *points)
{
	*points = (struct up_points){ .spill_fd = -1 };
}

void up_points_done(struct up_points *points)
{
	if (!points)
		return;
	free(points->at);
	if (points->spill_fd >= 0)
		close(points->spill_fd);
	up_points_init(points);
}

static int write_all(int fd, const void *data, size_t n_bytes)
{
	const char *at = data;

	while (n_bytes > 0) {
		ssize_t done = write(fd, at, n_bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		at += done;
		n_bytes -= (size_t)done;
	}
	return 0;
}

static int spill_open(void)
{
	const char *dir = getenv("TMPDIR");
	char path[] = "/tmp/useprobe.XXXXXX";
	int fd;

	fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	fd = mkostemp(path, O_CLOEXEC); /* a file system without O_TMPFILE */
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int spill(struct up_points *points)
{
	int r;

	if (points->spill_fd < 0) {
		r = spill_open();
		if (r < 0)
			return r;
		points->spill_fd = r;
	}
	r = write_all(points->spill_fd, points->at, points->n * sizeof(*points->at));
	if (r < 0)
		return r;
	points->n_spilled += points->n;
	points->n = 0;
	return 0;
}

static int grow(struct up_points *points)
{
	size_t room = points->room ? points->room + points->room / 2 : ROOM_FIRST;
	struct up_point *at;

	if (room > UP_POINTS_MAX)
		room = UP_POINTS_MAX;
	at = realloc(points->at, room * sizeof(*at));
	if (!at)
		return -ENOMEM;
	points->at = at;
	points->room = room;
	return 0;
}

int up_points_add(struct up_points *points, int64_t start_us, uint64_t packed)
{
	int r = 0;

	if (points->n == points->room)
		r = points->room < UP_POINTS_MAX ? grow(points) : spill(points);
	if (r < 0)
		return r;
	points->at[points->n++] = (struct up_point){ .start_us = start_us, .packed = packed };
	points->order = UP_POINTS_AS_READ;
	return 0;
}

uint64_t up_points_total(const struct up_points *points)
{
	return points->n_spilled + points->n;
}

/* Reads up to N spilled points from index FIRST. The number read (at least 1), or the error. */
static ssize_t spill_read(const struct up_points *points, uint64_t first, struct up_point *block, size_t n)
{
	size_t want = n * sizeof(*block), have = 0;

	while (have < want) {
		ssize_t got = pread(points->spill_fd, (char *)block + have, want - have, (off_t)(first * sizeof(*block) + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EIO;
		have += (size_t)got;
	}
	return (ssize_t)n;
}

static int each_spilled(
	struct up_points *points, uint64_t first, int (*visit)(void *ctx, struct up_point *block, size_t n), void *ctx)
{
	struct up_point *block = calloc(SPILL_BLOCK, sizeof(*block));
	int r = 0;

	if (!block)
		return -ENOMEM;
	while (r == 0 && first < points->n_spilled) {
		uint64_t left = points->n_spilled - first;
		ssize_t got = spill_read(points, first, block, left < SPILL_BLOCK ? (size_t)left : SPILL_BLOCK);

		if (got < 0) {
			r = (int)got;
			break;
		}
		r = visit(ctx, block, (size_t)got);
		first += (uint64_t)got;
	}
	free(block);
	return r;
}

int up_points_each(struct up_points *points, uint64_t first, int (*visit)(void *ctx, struct up_point *block, size_t n), void *ctx)
{
	uint64_t skip = 0;

	if (first < points->n_spilled) {
		int r = each_spilled(points, first, visit, ctx);

		if (r != 0)
			return r;
	} else {
		skip = first - points->n_spilled;
	}
	if (skip >= points->n)
		return 0;
	return visit(ctx, points->at + skip, points->n - (size_t)skip);
}

struct removal {
	struct up_points *into;
	uint64_t index, first, removed;
	unsigned flag;
	bool keep;
};

static int remove_block(void *ctx, struct up_point *block, size_t n)
{
	struct removal *removal = ctx;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++, removal->index++) {
		struct up_point point = block[i];

		if (removal->index >= removal->first && (point.packed & removal->flag)) {
			if (!removal->keep) {
				removal->removed++;
				continue;
			}
			point.packed &= ~(uint64_t)removal->flag;
		}
		r = up_points_add(removal->into, point.start_us, point.packed);
	}
	return r;
}

/* Everything is in memory: the array shrinks in place. */
static uint64_t remove_in_memory(struct up_points *points, const struct removal *removal)
{
	size_t kept = 0;

	for (size_t i = 0; i < points->n; i++) {
		struct up_point point = points->at[i];

		if (i >= removal->first && (point.packed & removal->flag)) {
			if (!removal->keep)
				continue;
			point.packed &= ~(uint64_t)removal->flag;
		}
		points->at[kept++] = point;
	}
	kept = points->n - kept;
	points->n -= kept;
	return kept;
}

int up_points_remove(struct up_points *points, uint64_t first, unsigned flag, bool keep, uint64_t *ret_removed)
{
	struct up_points kept;
	struct removal removal = { .into = &kept, .first = first, .flag = flag, .keep = keep };
	int r;

	if (points->n_spilled == 0) {
		*ret_removed = remove_in_memory(points, &removal);
		return 0;
	}
	up_points_init(&kept);
	r = up_points_each(points, 0, remove_block, &removal);
	if (r < 0) {
		up_points_done(&kept);
		return r;
	}
	up_points_done(points);
	*points = kept;
	*ret_removed = removal.removed;
	return 0;
}

void up_points_sort(struct up_points *points, enum up_points_order order)
{
	if (points->n_spilled > 0 || points->order == order)
		return;
	if (order == UP_POINTS_BY_START)
		up_sort_by_start(points->at, points->n);
	else if (order == UP_POINTS_BY_LATENCY)
		up_sort_by_packed(points->at, points->n);
	else if (order == UP_POINTS_BY_NAME)
		up_sort_by_name(points->at, points->n);
	points->order = order;
}

size_t up_points_lower_bound(const struct up_points *points, int64_t start_us)
{
	size_t lo = 0, hi = points->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (points->at[mid].start_us < start_us)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
