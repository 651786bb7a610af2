/* The load generator's plan and its reading of answers. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/lab/heap.h"
#include "../../src/lab/record.h"
#include "../../src/lab/response.h"
#include "../../src/lab/schedule.h"

static void ladder(void **state)
{
	struct lab_schedule s;

	(void)state;
	assert_int_equal(lab_steps_read("100:100:3:40s:2s", &s), 0);
	assert_false(s.closed);
	assert_int_equal(s.n_pieces, 5);
	assert_true(fabs(s.duration_s - 124) < 1e-9);
	assert_int_equal(s.pieces[0].step, 1);
	assert_true(s.pieces[0].rate_begin_per_s == 100 && s.pieces[0].duration_s == 40);
	assert_int_equal(s.pieces[1].step, 0);
	assert_true(s.pieces[1].rate_begin_per_s == 100 && s.pieces[1].rate_end_per_s == 200 && s.pieces[1].start_s == 40);
	assert_int_equal(s.pieces[4].step, 3);
	assert_true(s.pieces[4].rate_end_per_s == 300 && s.pieces[4].start_s == 84);
	assert_int_equal(lab_steps_read("0.5:0:1:1m", &s), 0);
	assert_int_equal(s.n_pieces, 1);
	assert_true(s.duration_s == 60);
	assert_int_equal(lab_schedule_piece(&s, 59.9, 0), 0);
	assert_int_equal(lab_schedule_piece(&s, 60, 0), 1);
}

static void sweep(void **state)
{
	struct lab_schedule s;

	(void)state;
	assert_int_equal(lab_sweep_read("1..48:500ms", &s), 0);
	assert_true(s.closed);
	assert_int_equal(s.n_pieces, 7); /* 1 2 4 8 16 32 48 */
	assert_int_equal(s.pieces[5].users, 32);
	assert_int_equal(s.pieces[6].users, 48);
	assert_int_equal(s.pieces[6].step, 7);
	assert_int_equal(lab_sweep_read("3,1:2s", &s), 0);
	assert_int_equal(s.n_pieces, 2);
	assert_int_equal(s.pieces[1].users, 1);
}

static void bad_plans(void **state)
{
	static const char *const steps[] = { "", "100", "100:100:3", "100:100:3:", "0:100:3:10s", "100:100:0:10s",
		"100:100:2.5:10s", "100:100:3:0", "100:100:3:10s:1s:1s", "-1:1:1:1s", "1e3:1:1:1s", "100:100:3:10x",
		"2000000:0:1:1s" };
	static const char *const sweeps[] = { "", "1,2", ":10s", "1,,2:10s", "0:10s", "1,2,:10s", "8..4:10s", "..4:1s", "1.5:1s",
		"1:0" };
	struct lab_schedule s = { .n_pieces = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (lab_steps_read(steps[i], &s) != -EINVAL || s.n_pieces != 77)
			fail_msg("--steps %s was taken", steps[i]);
	for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
		if (lab_sweep_read(sweeps[i], &s) != -EINVAL || s.n_pieces != 77)
			fail_msg("--sweep %s was taken", sweeps[i]);
	assert_int_equal(lab_steps_read("1:1:300:1s:1s", &s), -E2BIG);
	assert_int_equal(lab_steps_read("1:1:99999999:1s", &s), -E2BIG);
}

/* Counts the arrivals of each piece and checks that they lie in it, in order. */
static void count_arrivals(const struct lab_schedule *s, bool poisson, uint64_t seed, unsigned *ret_counts)
{
	struct lab_arrivals arrivals;
	double at_s, last_s = -1;
	unsigned piece;

	memset(ret_counts, 0, s->n_pieces * sizeof(*ret_counts));
	lab_arrivals_init(&arrivals, s, poisson, seed);
	while (lab_arrivals_next(&arrivals, &at_s, &piece)) {
		assert_true(at_s > last_s || (poisson && at_s >= last_s));
		assert_true(at_s >= s->pieces[piece].start_s - 1e-9);
		assert_true(at_s <= s->pieces[piece].start_s + s->pieces[piece].duration_s + 1e-9);
		ret_counts[piece]++;
		last_s = at_s;
	}
}

/* 7.3/s for 10 s and steps of it: sums that binary fractions miss must not lose or move an arrival. */
static void even_arrivals(void **state)
{
	struct lab_schedule s;
	struct lab_arrivals arrivals;
	unsigned counts[LAB_PIECES_MAX], piece;
	double at_s;

	(void)state;
	assert_int_equal(lab_steps_read("100:100:3:10s:2s", &s), 0);
	count_arrivals(&s, false, 1, counts);
	assert_int_equal(counts[0], 1000);
	assert_int_equal(counts[1], 300); /* (100 + 200) / 2 x 2 s */
	assert_int_equal(counts[2], 2000);
	assert_int_equal(counts[3], 500);
	assert_int_equal(counts[4], 3000);
	assert_int_equal(lab_steps_read("7.3:0.1:3:10s", &s), 0);
	count_arrivals(&s, false, 1, counts);
	assert_int_equal(counts[0], 73);
	assert_int_equal(counts[1], 74);
	assert_int_equal(counts[2], 75);
	lab_schedule_constant(4, 0, 1, &s);
	lab_arrivals_init(&arrivals, &s, false, 1);
	for (int i = 0; i < 4; i++) {
		assert_true(lab_arrivals_next(&arrivals, &at_s, &piece));
		assert_true(fabs(at_s - i * 0.25) < 1e-12);
	}
	assert_false(lab_arrivals_next(&arrivals, &at_s, &piece));
}

/* A ramp from 100/s to 200/s in 2 s: half of the time has passed after 125 of 300 arrivals (100 x 1 + 50 x 1 / 2). */
static void ramp_is_linear(void **state)
{
	struct lab_schedule s;
	struct lab_arrivals arrivals;
	double at_s = 0;
	unsigned piece;

	(void)state;
	assert_int_equal(lab_steps_read("100:100:2:1s:2s", &s), 0);
	lab_arrivals_init(&arrivals, &s, false, 1);
	for (int i = 0; i <= 100 + 125; i++)
		assert_true(lab_arrivals_next(&arrivals, &at_s, &piece));
	assert_int_equal(piece, 1);
	assert_true(fabs(at_s - 2) < 1e-9);
}

static void poisson_arrivals(void **state)
{
	struct lab_schedule s;
	unsigned counts[LAB_PIECES_MAX], again[LAB_PIECES_MAX];
	double sum = 0, squares = 0;

	(void)state;
	lab_schedule_constant(100, 0, 10, &s);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		count_arrivals(&s, true, seed, counts);
		sum += counts[0];
		squares += (double)counts[0] * counts[0];
	}
	/* Mean and variance of a Poisson count are both 1000; 4 standard errors of each over 400 runs. */
	const double mean = sum / 400, variance = squares / 400 - mean * mean;

	assert_true(fabs(mean - 1000) < 4 * sqrt(1000.0 / 400));
	assert_true(fabs(variance - 1000) < 4 * 1000 * sqrt(2.0 / 400));
	count_arrivals(&s, true, 7, counts);
	count_arrivals(&s, true, 7, again);
	assert_int_equal(counts[0], again[0]);
}

static const char plain[] = "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\nhello";
static const char chunked[] =
	"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n";
static const char continued[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
static const char old[] = "HTTP/1.0 200\nconnection: Keep-Alive\ncontent-length: 1\n\nx";

/* Each answer cut at every place: the same result, nothing read beyond its end, not complete before it. */
static void answers_in_pieces(void **state)
{
	static const struct {
		const char *text;
		int status;
		bool keep_alive;
	} cases[] = { { plain, 200, true }, { chunked, 404, true }, { continued, 204, false }, { old, 200, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const size_t length = strlen(cases[i].text);

		for (size_t cut = 0; cut <= length; cut++) {
			struct lab_response r;
			char rest[200];

			lab_response_start(&r);
			assert_int_equal(lab_response_feed(&r, cases[i].text, cut), cut);
			assert_int_equal(r.phase == LAB_PHASE_DONE, cut == length);
			memcpy(rest, cases[i].text + cut, length - cut);
			memcpy(rest + length - cut, "HTTP", 4);
			assert_int_equal(lab_response_feed(&r, rest, length - cut + 4), length - cut);
			assert_int_equal(r.phase, LAB_PHASE_DONE);
			assert_int_equal(r.status, cases[i].status);
			assert_int_equal(r.keep_alive, cases[i].keep_alive);
		}
	}
}

static void answers_that_are_none(void **state)
{
	static const char *const texts[] = { "HTTP/2 200 OK\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 20x OK\r\n", "HTTP/1.1 2000 OK\r\n",
		"\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n", "HTTP/1.1 200 OK\r\nno header\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct lab_response r;

		lab_response_start(&r);
		if (lab_response_feed(&r, texts[i], strlen(texts[i])) != -EBADMSG)
			fail_msg("`%s` was taken", texts[i]);
	}
}

static void answer_until_close(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\n\r\nall that comes";
	struct lab_response r;

	(void)state;
	lab_response_start(&r);
	assert_false(lab_response_closed(&r));
	assert_int_equal(lab_response_feed(&r, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_true(lab_response_closed(&r));
	assert_int_equal(r.phase, LAB_PHASE_DONE);
	assert_false(r.keep_alive);
}

static void nearest_rank(void **state)
{
	uint32_t values[200];

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		values[i] = i + 1;
	assert_int_equal(lab_nearest_rank(values, 200, 50), 100);
	assert_int_equal(lab_nearest_rank(values, 200, 99), 198);
	assert_int_equal(lab_nearest_rank(values, 200, 99.9), 200);
	assert_int_equal(lab_nearest_rank(values, 100, 95), 95); /* 0.95 x 100 is not exact in binary */
	assert_int_equal(lab_nearest_rank(values, 1, 50), 1);
	assert_int_equal(lab_nearest_rank(values, 3, 50), 2);
}

static void heap_sorts(void **state)
{
	struct lab_heap_entry entries[500];
	struct lab_heap heap = { .entries = entries, .max = 500 };
	struct lab_random random;
	uint64_t last_ns = 0;

	(void)state;
	lab_random_init(&random, 3, 0);
	for (unsigned i = 0; i < 500; i++)
		lab_heap_push(&heap, lab_random_next(&random) % 100, i);
	while (heap.n) {
		const struct lab_heap_entry entry = lab_heap_pop(&heap);

		assert_true(entry.due_ns >= last_ns);
		last_ns = entry.due_ns;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ladder),
		cmocka_unit_test(sweep),
		cmocka_unit_test(bad_plans),
		cmocka_unit_test(even_arrivals),
		cmocka_unit_test(ramp_is_linear),
		cmocka_unit_test(poisson_arrivals),
		cmocka_unit_test(answers_in_pieces),
		cmocka_unit_test(answers_that_are_none),
		cmocka_unit_test(answer_until_close),
		cmocka_unit_test(nearest_rank),
		cmocka_unit_test(heap_sorts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
