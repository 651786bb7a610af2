#include "useprobe/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "useprobe/scan.h"

#define TEN_YEARS_S (10.0 * 366 * 86400)

static uint64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * UP_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t real_mono_ns(void *self)
{
	(void)self;
	return now_ns(CLOCK_MONOTONIC);
}

static uint64_t real_wall_ns(void *self)
{
	(void)self;
	return now_ns(CLOCK_REALTIME);
}

static int real_wait_until(void *self, uint64_t deadline_ns, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	(void)self;
	for (;;) {
		const uint64_t now = now_ns(CLOCK_MONOTONIC);
		const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
		const struct timespec timeout = { .tv_sec = (time_t)(left / UP_NS_PER_S), .tv_nsec = (long)(left % UP_NS_PER_S) };
		const int n = ppoll(&poll_fd, fd >= 0 ? 1 : 0, &timeout, NULL);

		if (n < 0)
			return -errno;
		if (n > 0)
			return 1;
		if (now_ns(CLOCK_MONOTONIC) >= deadline_ns)
			return 0;
	}
}

const struct up_clock up_clock_real = {
	.mono_ns = real_mono_ns,
	.wall_ns = real_wall_ns,
	.wait_until = real_wait_until,
};

static uint64_t fake_mono_ns(void *self)
{
	return ((struct up_fake_clock *)self)->mono_ns;
}

static uint64_t fake_wall_ns(void *self)
{
	return ((struct up_fake_clock *)self)->wall_ns;
}

static int fake_wait_until(void *self, uint64_t deadline_ns, int fd)
{
	struct up_fake_clock *fake = self;
	const uint64_t step = deadline_ns > fake->mono_ns ? deadline_ns - fake->mono_ns : 0;

	(void)fd;
	fake->mono_ns += step;
	fake->wall_ns += step + (uint64_t)fake->wall_step_ns;
	fake->wall_step_ns = 0;
	return 0;
}

struct up_clock up_clock_fake(struct up_fake_clock *fake)
{
	return (struct up_clock){ .self = fake, .mono_ns = fake_mono_ns, .wall_ns = fake_wall_ns, .wait_until = fake_wait_until };
}

void up_time_format(uint64_t wall_ns, char ret[UP_TIME_TEXT])
{
	const time_t seconds = (time_t)(wall_ns / UP_NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	/* The masks tell the compiler what the calendar guarantees, so that it can check the length. */
	snprintf(ret, UP_TIME_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)(tm.tm_year + 1900) % 10000u,
		(unsigned)(tm.tm_mon + 1) % 100u, (unsigned)tm.tm_mday % 100u, (unsigned)tm.tm_hour % 100u,
		(unsigned)tm.tm_min % 100u, (unsigned)tm.tm_sec % 100u, (unsigned)(wall_ns / UP_NS_PER_MS % 1000));
}

int up_time_parse(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "m", 60 }, { "min", 60 }, { "h", 3600 } };
	double number;

	if (up_scan_decimal(&text, &number) < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text, units[i].suffix) != 0)
			continue;
		if (number * units[i].seconds > TEN_YEARS_S)
			return -EINVAL;
		*ret_ns = (uint64_t)(number * units[i].seconds * 1e9 + 0.5);
		return 0;
	}
	return -EINVAL;
}
