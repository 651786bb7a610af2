/* Texts of the command line: times, counts, distributions, ladders, sweeps. */
#include <stdlib.h>
#include <string.h>

#include "../../src/lab/schedule.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* A plan that was taken can be carried out. */
static void plan(const struct lab_schedule *schedule)
{
	struct lab_arrivals arrivals;
	double at_s, last_s = 0;
	unsigned piece;

	check(schedule->n_pieces >= 1 && schedule->n_pieces <= LAB_PIECES_MAX && schedule->duration_s > 0);
	if (schedule->closed) {
		check(schedule->pieces[0].users >= 1);
		return;
	}
	lab_arrivals_init(&arrivals, schedule, true, 1);
	for (int i = 0; i < 1000 && lab_arrivals_next(&arrivals, &at_s, &piece); i++) {
		check(at_s >= last_s && at_s <= schedule->duration_s + 1e-6 && piece < schedule->n_pieces);
		last_s = at_s;
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct lab_schedule schedule;
	struct lab_dist dist;
	uint64_t value;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	(void)lab_time_read(text, &value);
	if (lab_count_read(text, 3, 99, &value) == 0)
		check(value >= 3 && value <= 99);
	if (lab_dist_read(text, &dist) == 0)
		check(dist.mean_ns >= 0 && dist.mean_ns <= 3.6e12);
	if (lab_steps_read(text, &schedule) == 0)
		plan(&schedule);
	if (lab_sweep_read(text, &schedule) == 0)
		plan(&schedule);
	free(text);
	return 0;
}
