/* Which stretches of a run are compared: the bad one and the good ones. */
#include <stdlib.h>

#include "attribution_internal.h"

enum { SLICES_MAX = 16, SLICE_TICKS = UP_TICKS_MIN + 1 };

static void add_good(struct up_job *job, int64_t from_us, int64_t to_us)
{
	if (job->n_good == UP_GOOD_MAX || to_us <= from_us)
		return;
	job->good[job->n_good][0] = from_us;
	job->good[job->n_good++][1] = to_us;
}

void up_job_take_stages(struct up_job *job)
{
	const struct up_attribution_input *in = job->in;
	const struct up_stage *bad = &in->stage[in->bad];

	job->bad[0] = bad->from_us + in->shift_us;
	job->bad[1] = bad->to_us + in->shift_us;
	/* Of a ladder that goes up and down the good ones on both sides. */
	for (size_t i = 0; i < in->n_stages; i++)
		if (in->stage[i].verdict == UP_STAGE_GOOD)
			add_good(job, in->stage[i].from_us + in->shift_us, in->stage[i].to_us + in->shift_us);
}

void up_job_span(const struct up_attribution_input *in, int64_t *ret_from_us, int64_t *ret_to_us)
{
	const struct up_recording *r = in->recording;

	*ret_from_us = r->n_ticks ? r->tick[0].wall_us : 0;
	*ret_to_us = r->n_ticks ? r->tick[r->n_ticks - 1].wall_us : 0;
	if (in->n_stages) {
		*ret_from_us = in->stage[0].from_us + in->shift_us;
		*ret_to_us = in->stage[in->n_stages - 1].to_us + in->shift_us;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct up_episode *x = a, *y = b;

	return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Mean distance of two ticks. */
static int64_t tick_us(const struct up_recording *r)
{
	return r->n_ticks > 1 ? (r->tick[r->n_ticks - 1].wall_us - r->tick[0].wall_us) / (int64_t)(r->n_ticks - 1) : 1000000;
}

void up_job_take_slices(struct up_job *job, const struct up_episode *episodes, size_t n)
{
	const int64_t shortest_us = SLICE_TICKS * tick_us(job->in->recording);
	struct up_episode *sorted = calloc(n + 1, sizeof(*sorted));
	int64_t from_us, to_us, slice_us;

	job->bad[0] = episodes[0].from_us;
	job->bad[1] = episodes[0].to_us;
	up_job_span(job->in, &from_us, &to_us);
	slice_us = (to_us - from_us) / SLICES_MAX > shortest_us ? (to_us - from_us) / SLICES_MAX : shortest_us;
	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = episodes[i];
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), by_time);
	for (size_t i = 0; sorted && i <= n; i++) {
		const int64_t begin_us = i ? sorted[i - 1].to_us : from_us, end_us = i < n ? sorted[i].from_us : to_us;
		const int64_t pieces = (end_us - begin_us) / slice_us;

		for (int64_t k = 0; k < pieces; k++)
			add_good(job, begin_us + (end_us - begin_us) * k / pieces,
				begin_us + (end_us - begin_us) * (k + 1) / pieces);
	}
	free(sorted);
}
