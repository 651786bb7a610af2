/* Clock: the only way to the time. Real: CLOCK_MONOTONIC and CLOCK_REALTIME. Tests and recorded trees use a fake one. */
#ifndef UP_CLOCK_H
#define UP_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define UP_NS_PER_S 1000000000ull
#define UP_NS_PER_MS 1000000ull
#define UP_NS_PER_US 1000ull

struct up_clock {
	void *self;
	uint64_t (*mono_ns)(void *self);
	uint64_t (*wall_ns)(void *self);
	/* Waits until the monotonic DEADLINE, or until FD (>= 0) is readable. 0 at the deadline, 1 for the descriptor, -EINTR after a
	 * signal. */
	int (*wait_until)(void *self, uint64_t deadline_ns, int fd);
};

extern const struct up_clock up_clock_real;

/* Adds exactly what wait_until asks for, at once. wall_step_ns is added to the wall clock at the next wait (a stepped clock). */
struct up_fake_clock {
	uint64_t mono_ns;
	uint64_t wall_ns;
	int64_t wall_step_ns;
};
struct up_clock up_clock_fake(struct up_fake_clock *fake);

/* RFC 3339 in UTC with milliseconds, "2026-11-30T19:50:00.123Z", 25 bytes with the NUL. */
#define UP_TIME_TEXT 32
void up_time_format(uint64_t wall_ns, char ret[UP_TIME_TEXT]);

/* "200ms", "1s", "2m", "1h", "0.1" (seconds). 0 or -EINVAL; at most ten years. */
int up_time_parse(const char *text, uint64_t *ret_ns);

#endif
