#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "load_helper.h"

int load_bytes(struct up_load *load, const char *text, size_t n, const struct up_load_options *options)
{
	char path[32];
	int fd = memfd_create("load", MFD_CLOEXEC), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(up_load_init(load), 0);
	r = up_load_read(load, path, options);
	close(fd);
	return r;
}

int load_text(struct up_load *load, const char *text, const struct up_load_options *options)
{
	return load_bytes(load, text, strlen(text), options);
}

void load_file(struct up_load *load, const char *path)
{
	assert_int_equal(up_load_init(load), 0);
	if (up_load_read(load, path, NULL) != 0)
		fail_msg("%s", load->error);
	assert_int_equal(up_load_count(load), 0);
}

void assert_point(const struct up_load *load, size_t k, int64_t start_us, double latency_ms, bool failed, const char *why)
{
	const struct up_point *point = &load->points.at[k];

	if (k >= load->points.n)
		fail_msg("%s: only %zu requests", why, load->points.n);
	if (point->start_us != start_us || fabs((double)up_packed_latency_ns(point->packed) / 1e6 - latency_ms) > 1e-9 ||
		!!(point->packed & UP_POINT_FAILED) != failed)
		fail_msg("%s: request %zu starts at %lld us, %.6f ms, flags %llu", why, k, (long long)point->start_us,
			(double)up_packed_latency_ns(point->packed) / 1e6, (unsigned long long)(point->packed & 15));
}

struct up_summary load_summary(struct up_load *load)
{
	struct up_summary summary;
	struct up_dist dist;

	assert_int_equal(up_load_dist(load, &up_select_all, &dist), 0);
	up_dist_summary(&dist, load->failed_known, &summary);
	up_dist_done(&dist);
	return summary;
}

void sweep_truncation(const char *text, size_t n, const struct up_load_options *options)
{
	struct up_load whole, part;
	size_t most = 0;

	assert_int_equal(load_bytes(&whole, text, n, options), 0);
	for (size_t k = 0; k < n; k++) {
		load_bytes(&part, text, k, options);
		if (part.points.n > whole.points.n || part.points.n < most)
			fail_msg("%zu bytes of %zu: %zu requests, after %zu, of %zu", k, n, part.points.n, most, whole.points.n);
		most = part.points.n;
		if (memcmp(part.points.at ? part.points.at : whole.points.at, whole.points.at,
			    part.points.n * sizeof(*part.points.at)) != 0)
			fail_msg("%zu bytes of %zu: a request that the whole file does not have", k, n);
		up_load_done(&part);
	}
	up_load_done(&whole);
}

void sweep_file(const char *path, size_t max_bytes, const struct up_load_options *options)
{
	char *text = malloc(max_bytes);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_non_null(text);
	assert_true(fd >= 0);
	n = read(fd, text, max_bytes);
	assert_true(n > 0);
	close(fd);
	sweep_truncation(text, (size_t)n, options);
	free(text);
}

double random_unit(uint64_t *state)
{
	*state ^= *state << 13; /* xorshift64, Marsaglia 2003 */
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / 9007199254740992.0;
}
