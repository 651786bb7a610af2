/* Any bytes as a load file of the format in FUZZ_VARIANT: no crash, figures that hold together, and a cut file gives the first requests of the whole one. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "useprobe/curve.h"
#include "useprobe/knee.h"
#include "useprobe/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
	if (!ok)
		abort();
}

static int read_bytes(struct up_load *load, const uint8_t *data, size_t size)
{
	struct up_load_options options = { .format = getenv("FUZZ_VARIANT"),
		.columns = "start=1,latency=2:us,ok=3,name=4,intended=5" };
	const int fd = memfd_create("load", MFD_CLOEXEC);
	char path[32];
	int r;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(up_load_init(load) == 0);
	r = up_load_read(load, path, &options);
	close(fd);
	check(r == 0 || load->error[0]);
	return r;
}

static void check_summary(struct up_load *load)
{
	struct up_summary s, corrected;
	struct up_dist dist, fixed;

	check(up_load_dist(load, &up_select_all, &dist) == 0);
	up_dist_summary(&dist, true, &s);
	check(s.n == up_points_total(&load->points) && s.failed <= s.n);
	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		check(s.q[i].ms >= s.min_ms && s.q[i].ms <= s.max_ms);
		check(i == 0 || s.q[i].ms >= s.q[i - 1].ms);
		check(s.q[i].linear_ms >= s.min_ms - 1e-6 && s.q[i].linear_ms <= s.max_ms + 1e-6);
	}
	check(s.mean_ms >= s.min_ms - 1e-6 && s.mean_ms <= s.max_ms + 1e-6);
	if (s.max_ms < 1e5 && up_omission_correct(&dist, 10000000, &fixed) == 0) {
		up_dist_summary(&fixed, true, &corrected);
		check(corrected.n >= s.n && corrected.max_ms == s.max_ms);
		up_dist_done(&fixed);
	}
	up_dist_done(&dist);
}

static void check_curve(struct up_load *load)
{
	struct up_curve curve;
	struct up_knee knee;
	int r = up_curve_build(load, &up_curve_defaults, &curve);

	check(r == 0 || r == -ENODATA);
	up_knee_find(&curve, NULL, &knee);
	check(knee.verdict == UP_KNEE_FOUND || knee.reason[0]);
	for (size_t i = 0; i < curve.n; i++) {
		const struct up_step *step = &curve.step[i];

		check(step->settled_us >= step->start_us && step->end_us > step->settled_us && step->in_flight >= 0);
		check(step->ends_failed <= step->ends);
	}
	up_curve_done(&curve);
}

/* Without quotes, which may join lines, the first half of a file holds the first of its requests and no other. */
static void check_half(const struct up_load *whole, const uint8_t *data, size_t size)
{
	struct up_load half;

	if (memchr(data, '"', size) || size < 2 || (data[0] == 0x1f && data[1] == 0x8b))
		return;
	read_bytes(&half, data, size / 2);
	check(half.points.n <= whole->points.n);
	for (size_t i = 0; i < half.points.n; i++) {
		check(half.points.at[i].start_us == whole->points.at[i].start_us);
		check(up_packed_latency_ns(half.points.at[i].packed) == up_packed_latency_ns(whole->points.at[i].packed));
	}
	up_load_done(&half);
}

/* Percentiles from buckets lie in their bucket and never fall. */
static void check_told(const struct up_told *told)
{
	check(told->n > 0 && told->failed <= told->n && !(told->mean_ms < 0));
	for (unsigned i = 0; i < UP_QUANTILES && told->bucketed; i++) {
		check(told->lo_ms[i] >= 0 && told->hi_ms[i] >= told->lo_ms[i] && isnan(told->ms[i]) == isinf(told->hi_ms[i]));
		check(isnan(told->ms[i]) || (told->ms[i] >= told->lo_ms[i] && told->ms[i] <= told->hi_ms[i] * (1 + 1e-12)));
		check(i == 0 || told->lo_ms[i] >= told->lo_ms[i - 1]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct up_load load;
	int r = read_bytes(&load, data, size);

	if (r == 0 && load.file[0].told.bucketed)
		check_told(&load.file[0].told);
	if (r == 0 && up_points_total(&load.points) > 0 && up_points_total(&load.points) < 200000) {
		check_half(&load, data, size);
		/* Longer runs are only slow here: they take more memory and time, no other code. */
		if (load.last_end_us - load.first_start_us < 2000000000 && load.seconds.n < 2000 && up_load_count(&load) == 0 &&
			load.seconds.n < 2000)
			check_curve(&load);
		check_summary(&load);
	}
	up_load_done(&load);
	return 0;
}
