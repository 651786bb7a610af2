/* Random direct reads and writes of 4 KiB, each timed. usage: disk_program FILE SECONDS
 * Makes FILE (16 MiB) and prints for each direction: count, then the sorted times' 1st, 50th and 99th percentile and mean in ms. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 4096
#define TIMES_MAX 1000000

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void tell(const char *what, double *ms, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += ms[i];
	qsort(ms, count, sizeof(*ms), compare);
	if (count)
		printf("%s %zu %.4f %.4f %.4f %.4f\n", what, count, ms[count / 100], ms[count / 2], ms[count * 99 / 100],
			sum / (double)count);
}

int main(int argc, char **argv)
{
	static double ms[2][TIMES_MAX];
	size_t count[2] = { 0, 0 };
	char *block;
	double start, before;
	int fd;

	if (argc != 3 || posix_memalign((void **)&block, BLOCK, BLOCK))
		return 2;
	memset(block, 'x', BLOCK);
	fd = open(argv[1], O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 77;
	}
	for (off_t i = 0; i < BLOCKS; i++)
		if (pwrite(fd, block, BLOCK, i * BLOCK) != BLOCK)
			return 1;
	fsync(fd);
	for (start = before = now_s(); before - start < atof(argv[2]);) {
		const int direction = rand() % 2;
		const off_t at = (off_t)(rand() % BLOCKS) * BLOCK;
		double after;

		if ((direction ? pwrite(fd, block, BLOCK, at) : pread(fd, block, BLOCK, at)) != BLOCK)
			return 1;
		after = now_s();
		if (count[direction] < TIMES_MAX)
			ms[direction][count[direction]++] = 1e3 * (after - before);
		before = after;
	}
	tell("read", ms[0], count[0]);
	tell("write", ms[1], count[1]);
	return 0;
}
